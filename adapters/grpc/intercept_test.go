package grpcgate_test

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/fairlane-go/fairlane/drr"

	grpcgate "github.com/fairlane-go/fairlane/adapters/grpc"
)

// ended is what a gate's Done hook was told.
type ended struct {
	tenant string
	cost   int64
}

// ends returns a config of that many slots, and where its Done hook tells.
func ends(slots int) (drr.GateConfig, chan ended) {
	done := make(chan ended, 1<<10)
	return drr.GateConfig{Slots: slots, Limits: drr.Limits{Hooks: drr.Hooks{
		Done: func(tenant string, cost int64) { done <- ended{tenant, cost} },
	}}}, done
}

func TestWhoseCallItIs(t *testing.T) {
	broken := status.Error(codes.Unauthenticated, "who are you?")
	rows := []struct {
		name   string
		tenant func(context.Context, string) (string, error)
		md     []string
		want   string
		err    string // the message, if it fails
		code   codes.Code
	}{
		{name: "named", md: []string{"x-tenant-id", "acme"}, want: "acme"},
		{name: "empty", md: []string{"x-tenant-id", ""}, want: ""},
		{name: "not named", want: ""},
		{name: "another key", md: []string{"tenant", "acme"}, want: ""},
		{name: "as long as it may be", md: []string{"x-tenant-id", strings.Repeat("x", 256)}, want: strings.Repeat("x", 256)},
		{name: "too long", md: []string{"x-tenant-id", strings.Repeat("x", 257)}, code: codes.InvalidArgument, err: "257 bytes"},
		{name: "named twice", md: []string{"x-tenant-id", "a", "x-tenant-id", "a"}, code: codes.InvalidArgument, err: "2 values"},
		{name: "a list is one name", md: []string{"x-tenant-id", "a,b"}, want: "a,b"},
		{name: "own key in any case", tenant: grpcgate.TenantFromMetadata("API-Key"), md: []string{"api-key", "k1"}, want: "k1"},
		{name: "binary key", tenant: grpcgate.TenantFromMetadata("id-bin"), md: []string{"id-bin", "\x00\xff"}, want: "\x00\xff"},
		{name: "own function", tenant: func(_ context.Context, m string) (string, error) { return m[:6], nil }, want: "/grpc."},
		{name: "own error", tenant: func(context.Context, string) (string, error) { return "x", broken }, code: codes.Unauthenticated, err: "who are you?"},
		{name: "own plain error", tenant: func(context.Context, string) (string, error) { return "x", errors.New("lost") }, code: codes.Unknown, err: "lost"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			eachKind(t, func(t *testing.T, k kind) {
				config, done := ends(1)
				s := start(t, config, grpcgate.Options{Tenant: row.tenant})
				_, err := k.call(s, metadata.AppendToOutgoingContext(t.Context(), row.md...))
				require.Equal(t, row.code, status.Code(err), "%v", err)
				if row.code != codes.OK {
					require.Contains(t, status.Convert(err).Message(), row.err)
					require.Zero(t, s.ran.Load())
					require.Zero(t, s.gate.Stats().Done)
					return
				}
				require.Equal(t, ended{row.want, 1}, <-done)
				require.EqualValues(t, 1, s.ran.Load())
			})
		})
	}
}

// TestCostAndSeatsOfTheRequest: both are asked of the method and the message.
func TestCostAndSeatsOfTheRequest(t *testing.T) {
	config, done := ends(5)
	inUse := make(chan int, 1)
	s := start(t, config, grpcgate.Options{
		Cost: func(_ context.Context, method string, req any) int64 {
			if req == nil {
				return int64(len(method))
			}
			return int64(req.(*pb.SimpleRequest).ResponseSize)
		},
		Seats: func(_ context.Context, _ string, req any) int {
			if req == nil {
				return 2
			}
			return 3
		},
	})
	s.unary = func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		inUse <- s.gate.Stats().InUse
		return &pb.SimpleResponse{}, nil
	}
	s.stream = func(grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
		inUse <- s.gate.Stats().InUse
		return nil
	}
	_, err := s.client.UnaryCall(as(t.Context(), "acme"), &pb.SimpleRequest{ResponseSize: 77})
	require.NoError(t, err)
	require.Equal(t, ended{"acme", 77}, <-done)
	require.Equal(t, 3, <-inUse)
	_, err = kinds[1].call(s, as(t.Context(), "acme"))
	require.NoError(t, err)
	require.Equal(t, ended{"acme", int64(len(pb.TestService_FullDuplexCall_FullMethodName))}, <-done)
	require.Equal(t, 2, <-inUse)
}

// TestSettle: what Settle returns is what the tenant pays, if it can be a cost,
// and Settle sees what the handler got and returned.
func TestSettle(t *testing.T) {
	failed := status.Error(codes.NotFound, "no such thing")
	for _, row := range []struct {
		settle, pays int64
		err          error
	}{
		{settle: 7, pays: 7},
		{settle: 0, pays: 0},
		{settle: drr.MaxCost, pays: drr.MaxCost},
		{settle: -1, pays: 10 + 5}, // the estimate and what the handler charged
		{settle: drr.MaxCost + 1, pays: 10 + 5},
		{settle: math.MinInt64, pays: 10 + 5},
		{settle: 3, pays: 3, err: failed},
	} {
		t.Run(strconv.FormatInt(row.settle, 10), func(t *testing.T) {
			eachKind(t, func(t *testing.T, k kind) {
				config, done := ends(1)
				saw := make(chan [3]any, 1)
				s := start(t, config, grpcgate.Options{
					Cost: func(context.Context, string, any) int64 { return 10 },
					Settle: func(ctx context.Context, _ string, req, reply any, err error) int64 {
						saw <- [3]any{req, reply, err}
						return row.settle
					},
				})
				var got *pb.SimpleRequest
				reply := &pb.SimpleResponse{Username: "u"}
				s.unary = func(ctx context.Context, req *pb.SimpleRequest) (*pb.SimpleResponse, error) {
					got = req
					return reply, errors.Join(row.err, grpcgate.GrantFromContext(ctx).Charge(5))
				}
				s.stream = func(stream grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
					return errors.Join(row.err, grpcgate.GrantFromContext(stream.Context()).Charge(5))
				}
				_, err := k.call(s, as(t.Context(), "acme"))
				require.Equal(t, row.err != nil, err != nil)
				require.Equal(t, ended{"acme", row.pays}, <-done)
				what := <-saw
				if k.name == "unary" {
					require.Same(t, got, what[0])
					require.Same(t, reply, what[1])
				} else {
					require.Nil(t, what[0])
					require.Nil(t, what[1])
				}
				if row.err == nil {
					require.Nil(t, what[2])
				} else {
					require.ErrorIs(t, what[2].(error), row.err)
				}
				idle(t, s.gate)
				require.Empty(t, done, "paid twice")
			})
		})
	}
}

// TestPanicReleases: a handler or a Settle that panics leaves no seat taken.
func TestPanicReleases(t *testing.T) {
	for _, where := range []string{"handler", "settle"} {
		t.Run(where, func(t *testing.T) {
			eachKind(t, func(t *testing.T, k kind) {
				var settled atomic.Int64
				config, done := ends(1)
				s := start(t, config, grpcgate.Options{
					Cost: func(context.Context, string, any) int64 { return 10 },
					Settle: func(context.Context, string, any, any, error) int64 {
						settled.Add(1)
						panic("in Settle")
					},
				})
				if where == "handler" {
					s.unary = func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) { panic("in the handler") }
					s.stream = func(grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
						panic("in the handler")
					}
				}
				for range 3 { // with one seat, the second would hang
					_, err := k.call(s, as(t.Context(), "acme"))
					require.ErrorIs(t, err, errRecovered)
					require.Equal(t, ended{"acme", 10}, <-done)
				}
				require.Equal(t, where == "settle", settled.Load() == 3)
				require.Equal(t, where == "handler", settled.Load() == 0)
				idle(t, s.gate)
			})
		})
	}
}

// TestStreamKeepsItsSeat until its handler returns, however long it idles, and
// pays for what it charges as it goes.
func TestStreamKeepsItsSeat(t *testing.T) {
	config, done := ends(1)
	s := start(t, config, grpcgate.Options{})
	s.stream = func(stream grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
		for {
			if _, err := stream.Recv(); err != nil {
				return nil // the client has closed its side
			}
			if err := grpcgate.GrantFromContext(stream.Context()).Charge(10); err != nil {
				return err
			}
			if err := stream.Send(&pb.StreamingOutputCallResponse{}); err != nil {
				return err
			}
		}
	}
	stream, err := s.client.FullDuplexCall(as(t.Context(), "streams"))
	require.NoError(t, err)
	for i := range 3 {
		require.NoError(t, stream.Send(&pb.StreamingOutputCallRequest{}))
		_, err = stream.Recv()
		require.NoError(t, err)
		require.Equal(t, 1, s.gate.Stats().InUse)
		require.EqualValues(t, -10*(i+1), s.gate.TenantStats("streams").Balance)
	}
	answer := make(chan error, 1)
	go func() {
		_, err := kinds[0].call(s, as(t.Context(), "waits"))
		answer <- err
	}()
	waiting(t, s.gate, 1)
	require.NoError(t, stream.CloseSend())
	require.NoError(t, <-answer)
	require.Equal(t, ended{"streams", 1 + 3*10}, <-done)
	require.Equal(t, ended{"waits", 1}, <-done)
}

// TestClientGoneWhileStreaming: the handler hears of it, and the seat is free
// when it has returned.
func TestClientGoneWhileStreaming(t *testing.T) {
	s := start(t, drr.GateConfig{Slots: 1}, grpcgate.Options{})
	s.stream = func(stream grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
		<-stream.Context().Done()
		return stream.Context().Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.client.FullDuplexCall(ctx)
	require.NoError(t, err)
	eventually(t, func() bool { return s.gate.Stats().InUse == 1 })
	cancel()
	idle(t, s.gate)
	require.EqualValues(t, 1, s.gate.Stats().Done)
}

// TestEarlyRelease: a handler may give its seat back before it returns.
func TestEarlyRelease(t *testing.T) {
	config, done := ends(1)
	s := start(t, config, grpcgate.Options{Settle: func(context.Context, string, any, any, error) int64 { return 99 }})
	s.unary = func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		if err := grpcgate.GrantFromContext(ctx).ReleaseCost(3); err != nil {
			return nil, err
		}
		return &pb.SimpleResponse{}, nil
	}
	_, err := kinds[0].call(s, as(t.Context(), "acme"))
	require.NoError(t, err)
	require.Equal(t, ended{"acme", 3}, <-done)
	idle(t, s.gate)
	require.Empty(t, done, "paid twice")
}

// TestNoGrant: a context of no call has a grant of nothing.
func TestNoGrant(t *testing.T) {
	grant := grpcgate.GrantFromContext(t.Context())
	require.Equal(t, drr.Grant{}, grant)
	require.NoError(t, grant.Charge(1))
	grant.Release()
}

// TestSkip: health checks are answered by a full or closed gate's server, unless
// Skip says otherwise; and Skip can let other methods by.
func TestSkip(t *testing.T) {
	calls := func(o grpcgate.Options) (check, watch, unary, stream codes.Code) {
		s := start(t, drr.GateConfig{Slots: 1}, o)
		s.gate.Close()
		s.unary = func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
			if grpcgate.GrantFromContext(ctx) != (drr.Grant{}) {
				return nil, status.Error(codes.Internal, "a call that went by the gate has a grant")
			}
			return &pb.SimpleResponse{}, nil
		}
		c := healthpb.NewHealthClient(s.conn)
		_, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{})
		check = status.Code(err)
		w, err := c.Watch(t.Context(), &healthpb.HealthCheckRequest{})
		require.NoError(t, err)
		_, err = w.Recv()
		watch = status.Code(err)
		_, err = kinds[0].call(s, t.Context())
		unary = status.Code(err)
		_, err = kinds[1].call(s, t.Context())
		return check, watch, unary, status.Code(err)
	}
	check, watch, unary, stream := calls(grpcgate.Options{})
	require.Equal(t, []codes.Code{codes.OK, codes.OK, codes.Unavailable, codes.Unavailable}, []codes.Code{check, watch, unary, stream})

	check, watch, unary, stream = calls(grpcgate.Options{Skip: func(_ context.Context, method string) bool {
		return strings.HasPrefix(method, "/grpc.testing.")
	}})
	require.Equal(t, []codes.Code{codes.Unavailable, codes.Unavailable, codes.OK, codes.OK}, []codes.Code{check, watch, unary, stream})
}

// TestBacklogDelaysNobodyElse: behind ten calls of one tenant, another's only
// call is the second at the latest.
func TestBacklogDelaysNobodyElse(t *testing.T) {
	s := start(t, drr.GateConfig{Slots: 1}, grpcgate.Options{})
	order := make(chan string, 11)
	s.unary = func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		order <- metadata.ValueFromIncomingContext(ctx, grpcgate.DefaultTenantKey)[0]
		return &pb.SimpleResponse{}, nil
	}
	seat := occupy(t, s.gate)
	answers := make(chan error, 11)
	call := func(tenant string) {
		_, err := kinds[0].call(s, as(t.Context(), tenant))
		answers <- err
	}
	for range 10 {
		go call("heavy")
	}
	waiting(t, s.gate, 10)
	go call("quiet")
	waiting(t, s.gate, 11)
	seat.Release()
	for range 11 {
		require.NoError(t, <-answers)
	}
	require.Contains(t, []string{<-order, <-order}, "quiet")
}
