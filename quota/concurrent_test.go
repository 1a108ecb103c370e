package quota

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// together runs n calls of f at once.
func together(n int, f func(i int)) {
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range n {
		done.Go(func() {
			start.Wait()
			f(i)
		})
	}
	start.Done()
	done.Wait()
}

// With N tokens and 1,000 that ask at one instant, exactly N are admitted.
func TestConcurrentAskersGetExactlyTheBurst(t *testing.T) {
	const n = 617
	for round := range 20 {
		b := mustBucket(t, Limit{PerSecond(3), n})
		var admitted atomic.Int64
		together(1000, func(int) {
			if d, err := b.Allow(time.Second, 1); err == nil && d.OK {
				admitted.Add(1)
			}
		})
		require.EqualValues(t, n, admitted.Load(), "round %d", round)
		require.Zero(t, b.Balance(time.Second))
	}
}

// The same while the limit changes, the era runs out, and others refund,
// charge and look: no token is lost or made.
func TestConcurrentChangesConserveTokens(t *testing.T) {
	const n = 617
	limits := []Limit{{PerSecond(3), n}, {PerSecond(7e9), n}, {Rate{}, n}, {PerSecond(0.3), n}}
	for round := range 20 {
		b := mustBucket(t, limits[0])
		var admitted atomic.Int64
		together(1100, func(i int) {
			switch {
			case i%11 == 0:
				_ = b.SetLimit(0, limits[i/11%len(limits)])
			case i%11 == 1:
				_ = b.Charge(0, 2)
				_ = b.Refund(0, 1)
				b.Balance(0)
				_ = b.Refund(0, 1)
			default:
				if d, err := b.Allow(0, 1); err == nil && d.OK {
					admitted.Add(1)
				}
			}
		})
		require.EqualValues(t, n-admitted.Load(), b.Balance(0), "round %d", round)
		require.LessOrEqual(t, admitted.Load(), int64(n))
	}
}

// Time runs, for all at once and not quite in order, and eras end on the way: the
// balance is, to the unit, what was there and came in less what was admitted.
func TestConcurrentEras(t *testing.T) {
	const askers, calls, step, burst = 8, 2000, 100e9 + 7, 1000
	// One token a second, in units of a millionth of a nanosecond: an era lasts
	// a dozen steps. A step brings 100 tokens and an asker wants 150, so the
	// bucket stays between empty and full, where nothing is capped.
	terms := newTerms(Limit{PerSecond(1), burst}, 1e6, 1e15)
	b := new(Bucket)
	b.init(terms, 0)
	o := newOracle(terms, 0)
	b.charge(0, burst)
	var clock, admitted, refused atomic.Int64
	together(askers, func(int) {
		for range calls {
			if d, _ := b.Allow(time.Duration(clock.Add(step)), 150); d.OK {
				admitted.Add(150)
			} else {
				refused.Add(1)
			}
		}
	})
	end := clock.Load()
	require.EqualValues(t, askers*calls*int64(step), end)
	require.Positive(t, refused.Load())
	require.Greater(t, b.era.Load().base, end/2, "eras have ended")
	b.Balance(time.Duration(end))
	o.latest = end
	o.balance.SetFrac64(end, 1e9).Sub(o.balance, rat(admitted.Load()))
	check(t, b, o)
}

// Nobody is refused whom each order of the calls would have admitted: each reads
// the clock anew, so no more than the askers can meet at one instant, and each
// nanosecond fills the bucket.
func TestConcurrentClocksRefuseNobody(t *testing.T) {
	const askers = 8
	b := mustBucket(t, Limit{PerSecond(1e15), askers})
	var clock, refused atomic.Int64
	together(askers, func(int) {
		for range 20_000 {
			if d, _ := b.Allow(time.Duration(clock.Add(1)), 1); !d.OK {
				refused.Add(1)
			}
		}
	})
	require.Zero(t, refused.Load())
}

// Each tenant has its own burst, also if it comes at once with all others, and
// while sweeps and limit changes go on.
func TestConcurrentTenants(t *testing.T) {
	const tenants, burst = 20, 37
	limit := Limit{Per(1, time.Hour), burst}
	l := mustLimiter(t, LimiterConfig{Default: limit})
	var admitted [tenants]atomic.Int64
	together(2000, func(i int) {
		switch i % 40 {
		case 20:
			l.Sweep(0)
		case 21:
			_ = l.SetDefault(0, Limit{Rate{}, burst})
		case 22:
			_ = l.SetLimit(0, fmt.Sprint(i%tenants), limit)
		case 23:
			l.ClearLimit(0, fmt.Sprint(i%tenants))
		default:
			tenant := i / 40 % tenants
			for range 2 {
				if d, err := l.Allow(0, fmt.Sprint(tenant), 1); err == nil && d.OK {
					admitted[tenant].Add(1)
				}
			}
		}
	})
	for i := range admitted {
		require.EqualValues(t, burst, admitted[i].Load(), "tenant %d", i)
	}
	checkLimiter(t, l)
}

// What is held at once never exceeds the burst, while full buckets are dropped
// all the time: none is dropped under the hands of a call that has found it.
func TestConcurrentRefundsAndSweeps(t *testing.T) {
	const askers, tenants, burst = 16, 4, 1
	l := mustLimiter(t, LimiterConfig{Default: Limit{Burst: burst}})
	var held [tenants]atomic.Int64
	var tooMany, grants, dropped, done atomic.Int64
	together(askers+1, func(i int) {
		if i == askers {
			for done.Load() < askers {
				dropped.Add(int64(l.Sweep(0)))
				runtime.Gosched()
			}
			return
		}
		defer done.Add(1)
		name := fmt.Sprint(i % tenants)
		for range 3000 {
			if d, err := l.Allow(0, name, 1); err != nil || !d.OK {
				runtime.Gosched()
				continue
			}
			grants.Add(1)
			if held[i%tenants].Add(1) > burst {
				tooMany.Add(1)
			}
			runtime.Gosched() // hold it for a while
			held[i%tenants].Add(-1)
			_ = l.Refund(0, name, 1)
		}
	})
	require.Zero(t, tooMany.Load())
	require.Positive(t, grants.Load())
	require.Positive(t, dropped.Load())
	l.Sweep(0)
	require.Zero(t, l.Len(), "all came back")
}
