package grpcgate_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/fairlane-go/fairlane/drr"

	grpcgate "github.com/fairlane-go/fairlane/adapters/grpc"
)

// echo is some service.
type echo struct {
	pb.UnimplementedTestServiceServer
}

func (echo) UnaryCall(_ context.Context, req *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	return &pb.SimpleResponse{Payload: req.Payload}, nil
}

// A server with one slot, whose client is told why it was refused and when to
// come back.
func Example() {
	gate, err := drr.NewGate(drr.GateConfig{Slots: 1, Limits: drr.Limits{MaxWait: 10 * time.Millisecond}})
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(
		grpc.UnaryInterceptor(grpcgate.UnaryServerInterceptor(gate, grpcgate.Options{})),
		grpc.StreamInterceptor(grpcgate.StreamServerInterceptor(gate, grpcgate.Options{})))
	pb.RegisterTestServiceServer(server, echo{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go server.Serve(listener)
	defer server.Stop()

	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client := pb.NewTestServiceClient(conn)
	call := func(tenant string) error {
		ctx := metadata.AppendToOutgoingContext(context.Background(), grpcgate.DefaultTenantKey, tenant)
		_, err := client.UnaryCall(ctx, &pb.SimpleRequest{})
		return err
	}

	fmt.Println("free:", call("acme"))

	busy, _ := gate.TryAcquire(drr.Request{Tenant: "heavy"}) // something takes the slot, and longer than MaxWait
	refusal := status.Convert(call("acme"))
	busy.Release()
	fmt.Println("busy:", refusal.Code())
	for _, detail := range refusal.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			fmt.Println("why:", detail.Reason)
		case *errdetails.RetryInfo:
			fmt.Println("retry after:", detail.RetryDelay.AsDuration())
		}
	}
	// Output:
	// free: <nil>
	// busy: Unavailable
	// why: WAITED_TOO_LONG
	// retry after: 1s
}

// A call that costs what its reply turns out to hold: it is let through at an
// estimate, and settled when its handler has returned.
func ExampleOptions() {
	gate, err := drr.NewGate(drr.GateConfig{Slots: 1, Limits: drr.Limits{Hooks: drr.Hooks{
		Done: func(tenant string, cost int64) { fmt.Println(tenant, "paid", cost) },
	}}})
	if err != nil {
		log.Fatal(err)
	}
	intercept := grpcgate.UnaryServerInterceptor(gate, grpcgate.Options{
		Tenant: func(context.Context, string) (string, error) { return "acme", nil }, // from the peer's certificate, say
		Cost: func(_ context.Context, _ string, req any) int64 {
			return int64(req.(*pb.SimpleRequest).ResponseSize)
		},
		Settle: func(_ context.Context, _ string, _, reply any, err error) int64 {
			if err != nil {
				return -1 // leave it at the estimate
			}
			return int64(len(reply.(*pb.SimpleResponse).Payload.Body))
		},
	})
	handler := func(context.Context, any) (any, error) {
		return &pb.SimpleResponse{Payload: &pb.Payload{Body: make([]byte, 40)}}, nil
	}
	_, err = intercept(context.Background(), &pb.SimpleRequest{ResponseSize: 100}, &grpc.UnaryServerInfo{}, handler)
	fmt.Println(err)
	// Output:
	// acme paid 40
	// <nil>
}

// clientStream stands for what gRPC gives to the handler of a stream.
type clientStream struct{ grpc.ServerStream }

func (clientStream) Context() context.Context { return context.Background() }
func (clientStream) SendMsg(any) error        { return nil }

// A handler that streams charges for what it sends, as it sends it, so that it
// counts towards its tenant's share before the stream ends.
func ExampleGrantFromContext() {
	gate, err := drr.NewGate(drr.GateConfig{Slots: 1, Limits: drr.Limits{Hooks: drr.Hooks{
		Done: func(tenant string, cost int64) { fmt.Println(tenant, "paid", cost) },
	}}})
	if err != nil {
		log.Fatal(err)
	}
	intercept := grpcgate.StreamServerInterceptor(gate, grpcgate.Options{
		Tenant: func(context.Context, string) (string, error) { return "acme", nil },
	})
	handler := func(_ any, stream grpc.ServerStream) error {
		grant := grpcgate.GrantFromContext(stream.Context())
		for _, chunk := range []string{"one", "two", "three"} {
			if err := stream.SendMsg(chunk); err != nil {
				return err
			}
			if err := grant.Charge(int64(len(chunk))); err != nil {
				return err
			}
			fmt.Println("sent", chunk, "balance", gate.TenantStats("acme").Balance)
		}
		return nil
	}
	if err := intercept(nil, clientStream{}, &grpc.StreamServerInfo{}, handler); err != nil {
		log.Fatal(err)
	}
	// Output:
	// sent one balance -3
	// sent two balance -6
	// sent three balance -11
	// acme paid 12
}
