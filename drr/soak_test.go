package drr

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var soak = flag.Duration("soak", 0, "for how long TestGateSoak runs")

// TestGateSoak lets ten thousand tenants at a time come and go at a gate, under
// ever new names, for as long as -soak says, and requires that memory and
// goroutines stay what they were and that the counts add up.
func TestGateSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("run with -soak 10m")
	}
	g := newGate(t, GateConfig{Slots: 32, Limits: Limits{
		Config: Config{Quantum: 100, MaxDepth: 5000, MaxTenantDepth: 20}, MaxTenantSeats: 8, MaxWait: 50 * time.Millisecond,
	}})
	goroutines := runtime.NumGoroutine()
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var asked, names atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for w := range 200 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(w)))
			for !stop.Load() {
				// One of the ten thousand newest names, or a newer one.
				name := names.Load() - r.Int64N(10_000)
				if r.IntN(5) == 0 {
					name = names.Add(1)
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+r.IntN(100))*time.Millisecond)
				asked.Add(1)
				gr, err := g.Acquire(ctx, Request{Tenant: fmt.Sprint(name), Cost: 1 + r.Int64N(200), Seats: 1 + r.IntN(3)})
				if err == nil {
					if r.IntN(3) == 0 {
						gr.Charge(r.Int64N(50))
					}
					for range r.IntN(20) {
						runtime.Gosched()
					}
					gr.ReleaseCost(r.Int64N(300))
				} else if !errors.Is(err, ErrRejected) && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	var first uint64
	end := time.Now().Add(*soak)
	tick := time.NewTicker(max(time.Second, *soak/20))
	defer tick.Stop()
	for now := range tick.C {
		h := heap()
		if first == 0 {
			first = h
		}
		s := g.Stats()
		t.Logf("%d asked, %d names, heap %d KiB, %d tenants with state, %d waiting, %d running", asked.Load(), names.Load(), h>>10, s.Tenants, s.Waiting, s.Running)
		if now.After(end) {
			require.Less(t, h, 2*first+8<<20, "memory grows")
			break
		}
	}
	stop.Store(true)
	wg.Wait()
	s := g.Stats()
	require.EqualValues(t, asked.Load(), int64(s.Done+s.Cancelled+s.TenantFull+s.Full+s.WaitedTooLong+s.NeverFits+s.Closed))
	require.Zero(t, s.InUse+s.Waiting)
	require.NoError(t, g.Shutdown(context.Background()))
	g.Close()
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines+2)
}
