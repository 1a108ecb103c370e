package grpcgate_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"

	"github.com/fairlane-go/fairlane/drr"

	grpcgate "github.com/fairlane-go/fairlane/adapters/grpc"
)

// interceptOnce returns a function that has the unary interceptor, with free
// seats, run a handler that does nothing.
func interceptOnce(t testing.TB) func() {
	gate, err := drr.NewGate(drr.GateConfig{Slots: 8})
	require.NoError(t, err)
	intercept := grpcgate.UnaryServerInterceptor(gate, grpcgate.Options{})
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(grpcgate.DefaultTenantKey, "acme"))
	info := &grpc.UnaryServerInfo{FullMethod: pb.TestService_UnaryCall_FullMethodName}
	handler := func(context.Context, any) (any, error) { return nil, nil }
	return func() {
		if _, err := intercept(ctx, nil, info, handler); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAllocs: one for the tenant's metadata, which gRPC copies, one for the
// context, and one for the grant in it.
func TestAllocs(t *testing.T) {
	require.LessOrEqual(t, testing.AllocsPerRun(1000, interceptOnce(t)), 3.0)
}

// BenchmarkIntercept is what the interceptor adds to a call let through at once.
func BenchmarkIntercept(b *testing.B) {
	call := interceptOnce(b)
	b.ReportAllocs()
	for b.Loop() {
		call()
	}
}

// BenchmarkCall is a whole call on loopback, with and without the gate.
func BenchmarkCall(b *testing.B) {
	for _, gated := range []string{"off", "on"} {
		b.Run("gate="+gated, func(b *testing.B) {
			s := start(b, drr.GateConfig{Slots: 8}, grpcgate.Options{
				Skip: func(context.Context, string) bool { return gated == "off" },
			})
			ctx, req := as(b.Context(), "acme"), &pb.SimpleRequest{}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.client.UnaryCall(ctx, req); err != nil {
					b.Fatal(err)
				}
				<-s.errs
			}
		})
	}
}
