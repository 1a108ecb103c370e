package grpcgate_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/fairlane-go/fairlane/drr"

	grpcgate "github.com/fairlane-go/fairlane/adapters/grpc"
)

// TestManyAtOnce has many clients call, stream, cancel and time out at random
// while handlers panic and the gate's slots change, and then holds the clients'
// own counts against the gate's: every call was answered once, in the way that
// the gate says, and nothing is left.
func TestManyAtOnce(t *testing.T) {
	const (
		clients = 24
		each    = 100
		slots   = 3
	)
	rejected := map[string]int{} // by tenant
	var mu sync.Mutex
	s := start(t, drr.GateConfig{Slots: slots, Limits: drr.Limits{
		Config:  drr.Config{MaxDepth: 12, MaxTenantDepth: 4},
		MaxWait: 3 * time.Millisecond,
		Hooks: drr.Hooks{Rejected: func(e *drr.RejectedError) {
			mu.Lock()
			defer mu.Unlock()
			rejected[e.Tenant]++
		}},
	}}, grpcgate.Options{
		Cost:   func(context.Context, string, any) int64 { return 2 },
		Settle: func(context.Context, string, any, any, error) int64 { return 1 },
	})
	var running, most atomic.Int64
	handle := func(ctx context.Context) error {
		n := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		switch rand.IntN(20) {
		case 0:
			panic("at random")
		case 1:
			grpcgate.GrantFromContext(ctx).Charge(3)
		}
		select { // some real work
		case <-ctx.Done():
		case <-time.After(time.Duration(rand.IntN(300)) * time.Microsecond):
		}
		return nil
	}
	s.unary = func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		return &pb.SimpleResponse{}, handle(ctx)
	}
	s.stream = func(stream grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
		return errors.Join(handle(stream.Context()), stream.Send(&pb.StreamingOutputCallResponse{}))
	}

	var wg sync.WaitGroup
	var answered, unknown atomic.Int64
	refused := make([]int, clients)
	for c := range clients {
		wg.Go(func() {
			tenant := strconv.Itoa(c)
			for range each {
				ctx, cancel := context.WithCancel(as(context.Background(), tenant))
				if c%2 == 1 { // this one is impatient
					ctx, cancel = context.WithTimeout(as(context.Background(), tenant), time.Duration(rand.IntN(4000))*time.Microsecond)
				}
				_, err := kinds[rand.IntN(2)].call(s, ctx)
				cancel()
				answered.Add(1)
				if s.gate.SetSlots(1+rand.IntN(slots)) != nil || s.gate.Stats().InUse > slots {
					unknown.Add(1)
				}
				st := status.Convert(err)
				info, _ := details(t, st)
				switch {
				case info != nil:
					refused[c]++
				case c%2 == 0 && st.Code() != codes.OK && st.Message() != "recovered":
					unknown.Add(1)
				}
			}
		})
	}
	wg.Wait()
	idle(t, s.gate)

	require.EqualValues(t, clients*each, answered.Load())
	require.Zero(t, unknown.Load(), "an answer that no rule explains")
	require.LessOrEqual(t, most.Load(), int64(slots), "more handlers at once than there are seats")
	stats := s.gate.Stats()
	require.EqualValues(t, s.ran.Load(), stats.Done, "handlers that ran, and grants released")
	require.Zero(t, running.Load())
	mu.Lock()
	defer mu.Unlock()
	total := 0
	for c := range clients {
		n := rejected[strconv.Itoa(c)]
		total += n
		if c%2 == 0 {
			require.Equal(t, n, refused[c], "refusals that reached the patient client %d", c)
		} else {
			require.GreaterOrEqual(t, n, refused[c])
		}
	}
	require.EqualValues(t, total, stats.TenantFull+stats.Full+stats.WaitedTooLong)
	require.Positive(t, total)
	require.Positive(t, stats.Done)
	t.Logf("%d calls: %d ran, %d given up, %d refused", clients*each, stats.Done, stats.Cancelled, total)
}
