package grpcgate_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/fairlane-go/fairlane/drr"

	grpcgate "github.com/fairlane-go/fairlane/adapters/grpc"
)

// service is a server's service whose handlers a test supplies. Nil ones answer
// at once.
type service struct {
	pb.UnimplementedTestServiceServer
	unary  func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error)
	stream func(grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error
	ran    atomic.Int64 // how many handlers have started
}

func (s *service) UnaryCall(ctx context.Context, req *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	s.ran.Add(1)
	if s.unary == nil {
		return &pb.SimpleResponse{}, nil
	}
	return s.unary(ctx, req)
}

func (s *service) FullDuplexCall(stream grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
	s.ran.Add(1)
	if s.stream == nil {
		return nil
	}
	return s.stream(stream)
}

// server is a gRPC server behind a gate, on loopback, with a client.
type server struct {
	*service
	gate   *drr.Gate
	conn   *grpc.ClientConn
	client pb.TestServiceClient
	errs   chan error // what the interceptors under test returned, in order
}

// recovered is what the handler's panic becomes, outside of the gate.
var errRecovered = status.Error(codes.Internal, "recovered")

// start runs a server until the test ends. The interceptor outside of the gate
// turns panics into errors, and keeps what the gate's returned.
func start(t testing.TB, config drr.GateConfig, o grpcgate.Options, dial ...grpc.DialOption) *server {
	t.Helper()
	gate, err := drr.NewGate(config)
	require.NoError(t, err)
	s := &server{service: &service{}, gate: gate, errs: make(chan error, 1<<16)}
	outside := func(call func() error) (err error) {
		defer func() {
			if recover() != nil {
				err = errRecovered
			}
			s.errs <- err
		}()
		return call()
	}
	g := grpc.NewServer(
		grpc.WaitForHandlers(true),
		grpc.ChainUnaryInterceptor(
			func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (reply any, err error) {
				err = outside(func() error { reply, err = handler(ctx, req); return err })
				return reply, err
			},
			grpcgate.UnaryServerInterceptor(gate, o)),
		grpc.ChainStreamInterceptor(
			func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
				return outside(func() error { return handler(srv, ss) })
			},
			grpcgate.StreamServerInterceptor(gate, o)))
	pb.RegisterTestServiceServer(g, s.service)
	healthpb.RegisterHealthServer(g, health.NewServer())
	s.conn = serve(t, g, dial...)
	s.client = pb.NewTestServiceClient(s.conn)
	return s
}

// serve runs g on loopback until the test ends, and connects to it.
func serve(t testing.TB, g *grpc.Server, dial ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- g.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), append(dial, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		g.Stop() // and wait for the handlers: none may hang
		require.NoError(t, <-done)
	})
	return conn
}

// as returns ctx with the tenant in its metadata.
func as(ctx context.Context, tenant string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, grpcgate.DefaultTenantKey, tenant)
}

// A kind of call, so that tests can do the same with each. It returns when the
// server has answered, with the trailer.
type kind struct {
	name string
	call func(s *server, ctx context.Context) (metadata.MD, error)
}

var kinds = []kind{
	{"unary", func(s *server, ctx context.Context) (trailer metadata.MD, err error) {
		_, err = s.client.UnaryCall(ctx, &pb.SimpleRequest{}, grpc.Trailer(&trailer))
		return trailer, err
	}},
	{"stream", func(s *server, ctx context.Context) (metadata.MD, error) {
		stream, err := s.client.FullDuplexCall(ctx)
		if err != nil {
			return nil, err
		}
		if err := stream.CloseSend(); err != nil {
			return nil, err
		}
		for {
			_, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return stream.Trailer(), nil
			}
			if err != nil {
				return stream.Trailer(), err
			}
		}
	}},
}

func eachKind(t *testing.T, test func(t *testing.T, k kind)) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) { test(t, k) })
	}
}

// occupy takes one seat of a gate, for which nobody waits.
func occupy(t testing.TB, gate *drr.Gate) drr.Grant {
	t.Helper()
	grant, ok := gate.TryAcquire(drr.Request{Tenant: "occupant"})
	require.True(t, ok)
	return grant
}

// eventually waits until cond holds: for what other goroutines do in their time.
func eventually(t testing.TB, cond func() bool) {
	t.Helper()
	require.Eventually(t, cond, 20*time.Second, time.Millisecond)
}

// waiting waits until n requests wait at the gate.
func waiting(t testing.TB, gate *drr.Gate, n int) {
	t.Helper()
	eventually(t, func() bool { return gate.Stats().Waiting == n })
}

// idle requires that nothing waits, runs or holds a seat, or soon doesn't: the
// client may hear of the end of a call before the interceptor has returned.
func idle(t testing.TB, gate *drr.Gate) {
	t.Helper()
	eventually(t, func() bool {
		s := gate.Stats()
		return s.Waiting == 0 && s.Running == 0 && s.InUse == 0
	})
}
