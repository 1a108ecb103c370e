package drr

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWaitIsCalibrated: under a steady overload, estimates of waits above a
// second are within a quarter of what came, in the median, for tenants of
// different weights, loads and costs; and they aren't one-sided.
func TestWaitIsCalibrated(t *testing.T) {
	for _, c := range []struct {
		mean    float64 // the costs of even tenants; odd ones' are 1
		quantum int64
	}{{1, 1000}, {1, 50}, {1, 1}, {5, 1000}, {5, 50}, {5, 1}} {
		t.Run(fmt.Sprintf("cost=%g/quantum=%d", c.mean, c.quantum), func(t *testing.T) {
			var errs []float64
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t, GateConfig{Slots: 4, Limits: Limits{Config: Config{Quantum: c.quantum, MaxTenantDepth: 60}}})
				var mu sync.Mutex
				var wg sync.WaitGroup
				start := time.Now()
				for i := range 8 {
					tenant := fmt.Sprint(i)
					require.NoError(t, g.SetWeight(tenant, float64(1+i%3)))
					wg.Go(func() {
						r := rand.New(rand.NewPCG(1, uint64(i)))
						scale := 1.0
						if i%2 == 0 {
							scale = c.mean
						}
						for time.Since(start) < 300*time.Second {
							time.Sleep(time.Duration(r.ExpFloat64() / 12 * scale * float64(time.Second)))
							service := time.Duration(r.ExpFloat64()*scale*50*float64(time.Millisecond)) + 1
							cost := int64(service/time.Millisecond) + 1
							wg.Go(func() {
								estimate := g.Wait(tenant, cost)
								asked := time.Now()
								gr, err := g.Acquire(context.Background(), Request{Tenant: tenant, Cost: cost})
								if err != nil {
									return
								}
								waited := time.Since(asked)
								if waited > time.Second && asked.Sub(start) > 90*time.Second {
									mu.Lock()
									errs = append(errs, (estimate.Wait-waited).Seconds()/waited.Seconds())
									mu.Unlock()
								}
								time.Sleep(service)
								gr.Release()
							})
						}
					})
				}
				wg.Wait()
			})
			require.Greater(t, len(errs), 1000)
			slices.Sort(errs)
			bias := errs[len(errs)/2]
			for i, e := range errs {
				errs[i] = math.Abs(e)
			}
			slices.Sort(errs)
			t.Logf("%d waits above a second: median error %.1f %%, ninth decile %.1f %%, bias %+.1f %%",
				len(errs), 100*errs[len(errs)/2], 100*errs[len(errs)*9/10], 100*bias)
			require.LessOrEqual(t, errs[len(errs)/2], 0.25)
			require.InDelta(t, 0, bias, 0.2)
		})
	}
}

func TestWaitSaysWhatItKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, GateConfig{Slots: 1})
		require.Equal(t, Estimate{Known: true}, g.Wait("a", 5), "it would run at once")
		gr := acquire(t, g, Request{Tenant: "a"})
		require.Equal(t, Estimate{Position: 1}, g.Wait("a", 5), "nothing was measured")
		for i := range 3 {
			go func() {
				gr := acquire(t, g, Request{Tenant: "a", Cost: int64(10 + i)})
				time.Sleep(time.Second)
				gr.Release()
			}()
			synctest.Wait()
		}
		e := g.Wait("a", 5)
		require.Equal(t, 4, e.Position)
		require.EqualValues(t, 33, e.CostAhead)
		require.Equal(t, 3, g.Stats().Waiting)
		time.Sleep(500 * time.Millisecond)
		require.Equal(t, 500*time.Millisecond, g.Stats().OldestWait)
		gr.Release()
		time.Sleep(10 * time.Second)
		s := g.Stats()
		require.Zero(t, s.Waiting)
		require.Positive(t, s.CostPerSecond)
		require.Positive(t, s.RequestsPerSecond)
	})
}
