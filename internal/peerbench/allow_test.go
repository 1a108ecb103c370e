package peerbench

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/fairlane-go/fairlane/quota"
)

// BenchmarkAllow measures a decision on one token by one limiter that all
// goroutines ask. With clock=real each decision reads the clock, as it does where
// nobody else needs the time; with clock=given the caller has it. Goroutines are
// the benchmark's own, because RunParallel runs a multiple of GOMAXPROCS.
func BenchmarkAllow(b *testing.B) {
	for _, outcome := range []string{"admitted", "refused"} {
		for _, goroutines := range []int{1, 8} {
			for _, d := range deciders {
				b.Run(fmt.Sprintf("impl=%s/clock=%s/outcome=%s/goroutines=%d", d.impl, d.clock, outcome, goroutines), func(b *testing.B) {
					decide := d.start(limits[outcome])
					require.Equal(b, 1, decide(1), "a full bucket refuses")
					b.ReportAllocs()
					b.ResetTimer()
					admitted := inParallel(goroutines, b.N, decide)
					b.StopTimer()
					if outcome == "admitted" {
						require.GreaterOrEqual(b, admitted, b.N-b.N/100)
					} else {
						require.LessOrEqual(b, admitted, b.N/100)
					}
				})
			}
		}
	}
}

// limits are those of a tenant far below its limit and of one far above it, in
// tokens per second and tokens.
var limits = map[string]limit{
	"admitted": {1e9, 1 << 40},
	"refused":  {1e-3, 1},
}

type limit struct {
	rate  float64
	burst int64
}

// A decider starts with a full bucket and returns what asks it for one token n
// times and says how often it got one.
type decider struct {
	impl, clock string
	start       func(limit) (decide func(n int) int)
}

// stride is how many decisions with clock=given share a reading of the clock. To
// each the time given is 1 ns after the one before, so that it moves. Stepping a
// time.Time, as xtime takes, costs a little more than stepping a time.Duration.
const stride = 64

var deciders = []decider{
	{"quota", "real", func(l limit) func(int) int {
		b, start := newBucket(l), time.Now()
		return func(n int) (admitted int) {
			for range n {
				d, err := b.Allow(time.Since(start), 1)
				must(err == nil, "quota refused a cost of 1")
				if d.OK {
					admitted++
				}
			}
			return admitted
		}
	}},
	{"xtime", "real", func(l limit) func(int) int {
		r := newLimiter(l)
		return func(n int) (admitted int) {
			for range n {
				if r.Allow() {
					admitted++
				}
			}
			return admitted
		}
	}},
	{"quota", "given", func(l limit) func(int) int {
		b, start := newBucket(l), time.Now()
		return func(n int) (admitted int) {
			var now time.Duration
			for i := range n {
				if now++; i%stride == 0 {
					now = time.Since(start)
				}
				d, err := b.Allow(now, 1)
				must(err == nil, "quota refused a cost of 1")
				if d.OK {
					admitted++
				}
			}
			return admitted
		}
	}},
	{"xtime", "given", func(l limit) func(int) int {
		r := newLimiter(l)
		return func(n int) (admitted int) {
			var now time.Time
			for i := range n {
				if now = now.Add(1); i%stride == 0 {
					now = time.Now()
				}
				if r.AllowN(now, 1) {
					admitted++
				}
			}
			return admitted
		}
	}},
}

func newBucket(l limit) *quota.Bucket {
	b, err := quota.NewBucket(quota.Limit{Rate: quota.PerSecond(l.rate), Burst: l.burst})
	must(err == nil, "quota refused its limit")
	return b
}

func newLimiter(l limit) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(l.rate), int(l.burst))
}

// inParallel shares n decisions out among goroutines and returns how many were
// admitted.
func inParallel(goroutines, n int, decide func(n int) int) int {
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() { admitted.Add(int64(decide((n + i) / goroutines))) })
	}
	wg.Wait()
	return int(admitted.Load())
}

// TestSameDecisions asks both for the same, in steps of half a second at a rate
// of one token in two, which floats hold exactly.
func TestSameDecisions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	bucket, limiter := newBucket(limit{0.5, 10}), newLimiter(limit{0.5, 10})
	epoch := time.Unix(0, 0)
	var now time.Duration
	var outcomes [2]int
	for i := range 10_000 {
		now += time.Duration(rng.IntN(12)) * time.Second / 2
		cost := 1 + rng.IntN(4)
		d, err := bucket.Allow(now, int64(cost))
		require.NoError(t, err)
		require.Equal(t, limiter.AllowN(epoch.Add(now), cost), d.OK, "decision %d, at %v, on %d", i, now, cost)
		if d.OK {
			outcomes[1]++
		} else {
			outcomes[0]++
		}
	}
	require.Greater(t, outcomes[0], 1000)
	require.Greater(t, outcomes[1], 1000)
}

// TestDeciders looks at the loops that the benchmark times.
func TestDeciders(t *testing.T) {
	for _, d := range deciders {
		for _, goroutines := range []int{1, 8} {
			for _, n := range []int{1, 7, 1001} {
				require.Equal(t, n, inParallel(goroutines, n, d.start(limits["admitted"])), "%s, %s clock", d.impl, d.clock)
				require.Equal(t, 1, inParallel(goroutines, n, d.start(limits["refused"])), "%s, %s clock", d.impl, d.clock)
				// Ten tokens, and then none for as long as this test runs.
				require.Equal(t, min(n, 10), inParallel(goroutines, n, d.start(limit{1e-6, 10})), "%s, %s clock", d.impl, d.clock)
			}
		}
	}
}
