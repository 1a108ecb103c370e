package quota

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// nextNow draws the next reading of a clock that mostly runs, by steps of all
// sizes, sometimes stands, steps back, or jumps for centuries.
func nextNow(t *rapid.T, now int64) int64 {
	step := func(label string) int64 {
		return int64(1) << rapid.IntRange(0, 62).Draw(t, label) >> rapid.IntRange(0, 3).Draw(t, "part")
	}
	switch rapid.IntRange(0, 9).Draw(t, "clock") {
	case 0:
		return rapid.Int64().Draw(t, "anything")
	case 1:
		return saturate(now, -step("back"))
	case 2:
		return now
	case 3:
		return saturate(now, step("ahead"))
	}
	return saturate(now, rapid.Int64Range(0, 5e9).Draw(t, "tick"))
}

func saturate(a, b int64) int64 {
	if c := a + b; (c > a) == (b > 0) {
		return c
	}
	if b > 0 {
		return math.MaxInt64
	}
	return math.MinInt64
}

func anyCost(t *rapid.T, burst int64) int64 {
	return min(MaxCost, rapid.OneOf(
		rapid.Int64Range(1, 3),
		rapid.Int64Range(1, max(burst, 1)),
		rapid.Just(max(burst, 1)), rapid.Just(burst+1),
		rapid.Int64Range(1, MaxCost),
	).Draw(t, "cost"))
}

// A Bucket decides as the exact bucket does, to the last bit of the balance,
// whatever the clock does.
func TestBucketEqualsOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := anyLimit(t)
		b, err := NewBucket(limit)
		if err != nil {
			t.Skip(err)
		}
		o := newOracle(b.era.Load().terms, math.MinInt64)
		now := rapid.SampledFrom([]int64{0, 0, 0, 1e18, math.MinInt64, math.MaxInt64 - 1e10}).Draw(t, "start")
		t.Repeat(map[string]func(*rapid.T){
			"allow": func(t *rapid.T) {
				now = nextNow(t, now)
				cost := anyCost(t, o.burst)
				d := allow(t, b, time.Duration(now), cost)
				require.Equal(t, o.allow(now, cost), d)
				checkRetry(t, b, now, cost, d)
			},
			"retry": func(t *rapid.T) { // as told, to the nanosecond
				cost := anyCost(t, o.burst)
				d := allow(t, b, time.Duration(now), cost)
				require.Equal(t, o.allow(now, cost), d)
				if d.RetryAfter > 0 {
					now += int64(d.RetryAfter)
					d = allow(t, b, time.Duration(now), cost)
					require.Equal(t, o.allow(now, cost), d)
					require.True(t, d.OK)
				}
			},
			"charge": func(t *rapid.T) {
				now = nextNow(t, now)
				cost := anyCost(t, o.burst)
				require.NoError(t, b.Charge(time.Duration(now), cost))
				o.charge(now, cost)
			},
			"refund": func(t *rapid.T) {
				now = nextNow(t, now)
				cost := anyCost(t, o.burst)
				require.NoError(t, b.Refund(time.Duration(now), cost))
				o.refund(now, cost)
			},
			"limit": func(t *rapid.T) {
				now = nextNow(t, now)
				l := anyLimit(t)
				terms, err := compile(l, "Limit")
				require.Equal(t, err, b.SetLimit(time.Duration(now), l))
				if err == nil {
					o.setTerms(now, terms)
					require.Equal(t, l, b.Limit())
				}
			},
			"": func(t *rapid.T) {
				o.see(now)
				require.Equal(t, o.whole(), b.Balance(time.Duration(now)))
				require.Equal(t, o.full(), b.full(now))
				check(t, b, o)
			},
		})
	})
}

// In any span d, at most burst + rate*d tokens are admitted.
func TestBucketNeverExceedsTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		burst := rapid.Int64Range(1, 10).Draw(t, "burst")
		b := mustBucket(t, Limit{PerSecond(3), burst})
		type grant struct{ at, cost int64 }
		var grants []grant
		now := int64(0)
		for range 100 {
			now += rapid.Int64Range(0, 1e9).Draw(t, "step")
			cost := rapid.Int64Range(1, burst).Draw(t, "cost")
			if !allow(t, b, time.Duration(now), cost).OK {
				continue
			}
			grants = append(grants, grant{now, cost})
			sum := int64(0)
			for i := len(grants) - 1; i >= 0; i-- {
				sum += grants[i].cost
				require.LessOrEqual(t, sum*1e9, burst*1e9+3*(now-grants[i].at))
			}
		}
	})
}

// Three a second for a year in odd steps: an error of one part in 10^16 per
// grant would show.
func TestBucketDoesNotDrift(t *testing.T) {
	b := mustBucket(t, Limit{PerSecond(3), 1_000_000})
	require.True(t, allow(t, b, 0, 1_000_000).OK)
	admitted := int64(0)
	now := time.Duration(0)
	for now < year {
		now += 15_331*time.Second + 1
		want := int64(3*now/time.Second) - admitted
		d := allow(t, b, now, want)
		require.True(t, d.OK)
		require.Zero(t, d.Remaining)
		require.False(t, allow(t, b, now, 1).OK)
		admitted += want
	}
}

func TestBucketDebt(t *testing.T) {
	b := mustBucket(t, Limit{PerSecond(1), 10})
	require.True(t, allow(t, b, 0, 10).OK)
	require.NoError(t, b.Charge(0, 30)) // the true cost was 40
	require.EqualValues(t, -30, b.Balance(0))
	require.EqualValues(t, -30, b.Balance(999*time.Millisecond), "rounded down: 29.001 are owed")

	d := allow(t, b, 0, 1)
	require.Equal(t, Decision{Reason: RateLimited, Limit: 10, RetryAfter: 31 * time.Second}, d)
	require.False(t, allow(t, b, 31*time.Second-1, 1).OK)
	require.True(t, allow(t, b, 31*time.Second, 1).OK)

	require.NoError(t, b.Charge(31*time.Second, 5))
	require.NoError(t, b.Refund(31*time.Second, 7))
	require.EqualValues(t, 2, b.Balance(31*time.Second), "a refund pays the debt first")
	require.NoError(t, b.Refund(31*time.Second, MaxCost))
	require.EqualValues(t, 10, b.Balance(31*time.Second), "and never overfills")
}

func TestBucketDebtIsCapped(t *testing.T) {
	for _, l := range []Limit{{PerSecond(1), 10}, {Rate{}, MaxBurst}, {PerSecond(1e5 / 3.), 1}, {PerSecond(123456.789), 1e6}, {Per(1, 24*time.Hour), 10_000}} {
		t.Run(fmt.Sprint(l), func(t *testing.T) {
			b := mustBucket(t, l)
			last := int64(math.MaxInt64)
			for b.Balance(0) < last { // at most 2^21 times
				last = b.Balance(0)
				require.NoError(t, b.Charge(0, MaxCost))
			}
			require.LessOrEqual(t, last, -l.Burst, "at least the burst again")
			if l.Rate.Tokens > 0 {
				d := allow(t, b, 0, 1)
				require.Positive(t, d.RetryAfter)
				require.True(t, allow(t, b, d.RetryAfter, 1).OK)
			}
		})
	}
}

func TestBucketSetLimitKeepsTheBalance(t *testing.T) {
	b := mustBucket(t, Limit{PerSecond(1), 10})
	allow(t, b, 0, 6)
	set := func(now time.Duration, l Limit, want int64) {
		t.Helper()
		require.NoError(t, b.SetLimit(now, l))
		require.Equal(t, want, b.Balance(now))
		require.Equal(t, l, b.Limit())
	}
	set(0, Limit{PerSecond(1), 100}, 4)              // a larger burst hands nothing out
	set(2*time.Second, Limit{PerSecond(7), 100}, 6)  // two seconds at the old rate
	set(3*time.Second, Limit{Rate{}, 100}, 13)       // one at the new
	set(9*time.Second, Limit{PerSecond(7), 100}, 13) // none came
	set(9*time.Second, Limit{PerSecond(7), 5}, 5)    // capped
	set(9*time.Second, Limit{PerSecond(7), 100}, 5)  // for good
	require.NoError(t, b.Charge(9*time.Second, 25))
	set(9*time.Second, Limit{PerSecond(2.5), 100}, -20) // a debt remains
	set(9*time.Second, Limit{}, -20)
}

func TestZeroBucketAdmitsNothing(t *testing.T) {
	var b Bucket
	require.Equal(t, Limit{}, b.Limit())
	require.Equal(t, Decision{Reason: TooLarge, RetryAfter: Never}, allow(t, &b, 0, 1))
	require.Zero(t, b.Balance(0))
	require.NoError(t, new(Bucket).SetLimit(0, Limit{Burst: 1}))
}

func TestReasonString(t *testing.T) {
	seen := map[string]bool{}
	for r := NotRefused; r <= Overflow; r++ {
		require.NotContains(t, r.String(), "Reason(")
		seen[r.String()] = true
	}
	require.Len(t, seen, int(Overflow)+1)
	require.Equal(t, "Reason(99)", Reason(99).String())
}

func TestBucketDoesNotAllocate(t *testing.T) {
	b := mustBucket(t, Limit{PerSecond(3), 100})
	now := time.Duration(0)
	allow(t, b, now, 1)
	ok := 0
	require.Zero(t, testing.AllocsPerRun(10_000, func() {
		now += 200 * time.Millisecond
		if d, err := b.Allow(now, 1); err == nil && d.OK {
			ok++
		}
		b.Charge(now, 1)
		b.Refund(now, 1)
		b.Balance(now)
	}))
	require.InDelta(t, 6000, ok, 200, "both outcomes were met")
}
