package grpcgate

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/fairlane-go/fairlane/drr"
)

// UnaryServerInterceptor returns an interceptor that lets unary calls through
// the gate. It panics if gate is nil. What it does with a call that isn't let
// through is in the package's documentation. It adds 3 allocations to a call.
func UnaryServerInterceptor(gate *drr.Gate, o Options) grpc.UnaryServerInterceptor {
	g := newGuard(gate, o)
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if g.Skip(ctx, info.FullMethod) {
			return handler(ctx, req)
		}
		grant, err := g.acquire(ctx, info.FullMethod, req)
		if err != nil {
			return nil, err
		}
		defer grant.Release() // it is harmless after settle, and needed after a panic
		ctx = withGrant(ctx, grant)
		reply, err := handler(ctx, req)
		g.settle(ctx, grant, info.FullMethod, req, reply, err)
		return reply, err
	}
}

// StreamServerInterceptor returns an interceptor that lets streams through the
// gate, each holding its seats until its handler returns. It panics if gate is
// nil.
func StreamServerInterceptor(gate *drr.Gate, o Options) grpc.StreamServerInterceptor {
	g := newGuard(gate, o)
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		ctx := ss.Context()
		if g.Skip(ctx, info.FullMethod) {
			return handler(srv, ss)
		}
		grant, err := g.acquire(ctx, info.FullMethod, nil)
		if err != nil {
			return err
		}
		defer grant.Release() // as above
		ctx = withGrant(ctx, grant)
		err = handler(srv, &grantedStream{ss, ctx})
		g.settle(ctx, grant, info.FullMethod, nil, nil, err)
		return err
	}
}

// guard is what the two interceptors have in common: a gate, and Options of
// which only Settle may be nil.
type guard struct {
	gate *drr.Gate
	Options
}

func newGuard(gate *drr.Gate, o Options) *guard {
	if gate == nil {
		panic("grpcgate: nil gate")
	}
	if o.Tenant == nil {
		o.Tenant = TenantFromMetadata(DefaultTenantKey)
	}
	if o.Cost == nil {
		o.Cost = func(context.Context, string, any) int64 { return 1 }
	}
	if o.Seats == nil {
		o.Seats = func(context.Context, string, any) int { return 1 }
	}
	if o.Skip == nil {
		o.Skip = skipHealth
	}
	return &guard{gate, o}
}

// acquire waits for the call's seats, or returns the error to answer it with.
func (g *guard) acquire(ctx context.Context, method string, req any) (drr.Grant, error) {
	tenant, err := g.Tenant(ctx, method)
	if err != nil {
		return drr.Grant{}, err
	}
	grant, err := g.gate.Acquire(ctx, drr.Request{
		Tenant: tenant, Cost: g.Cost(ctx, method, req), Seats: g.Seats(ctx, method, req),
	})
	if err == nil {
		return grant, nil
	}
	// The context comes first: its cause, which err wraps then, may be anything,
	// and isn't for clients to read.
	if done := ctx.Err(); done != nil && errors.Is(err, done) {
		return drr.Grant{}, status.FromContextError(done).Err()
	}
	var rejected *drr.RejectedError
	if !errors.As(err, &rejected) { // a *drr.ValueError
		return drr.Grant{}, status.Error(codes.InvalidArgument, err.Error())
	}
	if ms := pushback(rejected); ms != "" {
		// It fails only where there is no server, and so no trailer to miss.
		_ = grpc.SetTrailer(ctx, metadata.Pairs(pushbackKey, ms))
	}
	return drr.Grant{}, RejectedStatus(rejected).Err()
}

// settle charges what the call cost in the end, if Options.Settle says so.
func (g *guard) settle(ctx context.Context, grant drr.Grant, method string, req, reply any, err error) {
	if g.Settle != nil {
		_ = grant.ReleaseCost(g.Settle(ctx, method, req, reply, err)) // out of range: as documented
	}
}

type grantKey struct{}

func withGrant(ctx context.Context, grant drr.Grant) context.Context {
	return context.WithValue(ctx, grantKey{}, grant)
}

// GrantFromContext returns the grant of the call whose handler has ctx, so that
// the handler can Charge it as it goes, or release it early once what is left to
// do takes no seat. The zero Grant, which is harmless, is returned for a context
// of no such call. With two gates in a chain it is the inner one's grant.
func GrantFromContext(ctx context.Context) drr.Grant {
	grant, _ := ctx.Value(grantKey{}).(drr.Grant)
	return grant
}

// grantedStream is a stream with its grant in its context.
type grantedStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *grantedStream) Context() context.Context { return s.ctx }
