package grpcgate

import (
	"context"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Options say whose a call is and what it takes. The zero value is valid: the
// tenant comes from the metadata, and each call costs 1 and takes one seat. The
// functions may be called by several goroutines at once.
type Options struct {
	// Tenant returns whose call it is. Any string will do, "" included. If it
	// returns an error, the call fails with it as if the handler had returned
	// it: make it a status error. Nil means TenantFromMetadata(DefaultTenantKey).
	Tenant func(ctx context.Context, fullMethod string) (string, error)

	// Cost returns what the call is expected to cost, in the unit of the gate's
	// quantum: 1 to drr.MaxCost, or 0 for 1. req is the request message, or nil
	// for a stream. Nil means 1.
	Cost func(ctx context.Context, fullMethod string, req any) int64

	// Seats returns how many of the gate's slots the call takes: 1 or more, or 0
	// for 1. req is as for Cost. Nil means 1.
	Seats func(ctx context.Context, fullMethod string, req any) int

	// Settle returns what the call cost in all, 0 to drr.MaxCost, once its
	// handler has returned reply and err; req and reply are nil for a stream. Any
	// other value, such as -1, leaves the tenant charged with the Cost and what
	// the handler charged on its grant. So does a panic of the handler, after
	// which Settle isn't called. Nil means -1.
	Settle func(ctx context.Context, fullMethod string, req, reply any, err error) int64

	// Skip reports whether the call goes by the gate, neither waiting nor taking
	// a seat. Nil means the methods of grpc.health.v1.Health: a probe that waits
	// behind the load says that a busy server is dead, and a Watch would keep a
	// seat for good.
	Skip func(ctx context.Context, fullMethod string) bool
}

const (
	// DefaultTenantKey is the metadata key that names the tenant if
	// Options.Tenant is nil.
	DefaultTenantKey = "x-tenant-id"

	// MaxTenantLen is the longest tenant, in bytes, that TenantFromMetadata takes.
	MaxTenantLen = 256
)

// TenantFromMetadata returns an Options.Tenant that takes the tenant from the
// call's metadata. Calls without the key are all of one tenant, "". A call that
// has it more than once, or longer than MaxTenantLen, fails with InvalidArgument:
// of two names, one may be the client's and one the proxy's. The case of key
// doesn't matter; if it ends in "-bin", tenants are arbitrary bytes.
//
// It believes what the client says, and whoever may choose names freely can take
// the shares of any number of tenants. So either something in front of the server
// sets the key, or Tenant should return an identity that was authenticated.
func TenantFromMetadata(key string) func(ctx context.Context, fullMethod string) (string, error) {
	return func(ctx context.Context, _ string) (string, error) {
		values := metadata.ValueFromIncomingContext(ctx, key)
		switch {
		case len(values) == 0:
			return "", nil
		case len(values) > 1:
			return "", status.Errorf(codes.InvalidArgument, "grpcgate: metadata has %d values of %q, want one", len(values), key)
		case len(values[0]) > MaxTenantLen:
			return "", status.Errorf(codes.InvalidArgument, "grpcgate: metadata %q has %d bytes, want at most %d", key, len(values[0]), MaxTenantLen)
		}
		return values[0], nil
	}
}

// skipHealth is the Skip of Options that leave it nil.
func skipHealth(_ context.Context, fullMethod string) bool {
	return strings.HasPrefix(fullMethod, "/grpc.health.v1.Health/")
}
