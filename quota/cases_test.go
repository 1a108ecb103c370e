package quota

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const year = 365 * 24 * time.Hour

func seconds(s float64) time.Duration { return time.Duration(s * 1e9) }

// RC13: the clock steps back and forth. It may neither destroy nor mint tokens.
func TestRC13ClockStepsBackAndForth(t *testing.T) {
	b := mustBucket(t, Limit{Rate: PerSecond(1), Burst: 5})
	for i, c := range []struct {
		at   float64
		ok   bool
		wait time.Duration
	}{
		{100, true, 0},
		{100, true, 0},
		{100, true, 0},
		{89, true, 0},
		{100.5, true, 0},
		{100.5, false, 500 * time.Millisecond}, // half a token is there
	} {
		d := allow(t, b, seconds(c.at), 1)
		require.Equal(t, c.ok, d.OK, "take %d", i)
		require.Equal(t, c.wait, d.RetryAfter, "take %d", i)
		require.GreaterOrEqual(t, d.Remaining, int64(0))
	}

	b = mustBucket(t, Limit{Rate: PerSecond(1), Burst: 5})
	require.True(t, allow(t, b, seconds(100), 5).OK)
	require.EqualValues(t, 5, b.Balance(seconds(3700)), "an hour's jump fills it, not more")
}

// RC13: the same for a limiter that has dropped the full bucket meanwhile.
func TestRC13DroppedBucketIsNotRefilledTwice(t *testing.T) {
	l := mustLimiter(t, LimiterConfig{Default: Limit{Rate: PerSecond(1), Burst: 5}})
	require.True(t, ask(t, l, seconds(100), "x", 5).OK)
	require.Equal(t, 1, l.Sweep(seconds(105)))
	require.True(t, ask(t, l, seconds(100), "x", 5).OK, "it was full")
	d := ask(t, l, seconds(105), "x", 1)
	require.False(t, d.OK, "the five seconds had already been counted")
	require.Equal(t, time.Second, d.RetryAfter)
}

// RC14: no overflow after a long idle time.
func TestRC14RefillAfterLongIdle(t *testing.T) {
	const burst = 1_000_000
	b := mustBucket(t, Limit{Rate: PerSecond(1_000_000), Burst: burst})
	take := func(at time.Duration, cost, left int64) {
		t.Helper()
		d := allow(t, b, at, cost)
		require.True(t, d.OK)
		require.Equal(t, left, d.Remaining)
	}
	take(0, burst, 0)
	take(12*time.Hour, 1, burst-1)
	take(12*time.Hour, burst-1, 0)
	take(12*time.Hour+10*year, burst, 0)
	take(math.MaxInt64-1, burst, 0) // 292 years
	require.False(t, allow(t, b, math.MaxInt64-1, 1).OK)

	// The other way round: from the first instant there is to the last.
	b = mustBucket(t, Limit{Rate: PerSecond(1_000_000), Burst: burst})
	take(math.MinInt64, burst, 0)
	take(math.MaxInt64, burst, 0)
}

// RC15: polling more often than tokens come loses no fraction of one.
func TestRC15FrequentPolling(t *testing.T) {
	for _, c := range []struct {
		name       string
		rate       Rate
		burst      int64
		poll       time.Duration
		last       time.Duration
		want       int
		longestGap time.Duration
	}{
		{"1/s polled every 10 ms for 60 s", PerSecond(1), 1, 10 * time.Millisecond, 60 * time.Second, 61, time.Second},
		{"3/s polled every 1 ms for 60 s", PerSecond(3), 1, time.Millisecond, 60 * time.Second, 180, 334 * time.Millisecond},
		// A bucket that rounds the third of a second, or each grant's time, to
		// the nanosecond is late or early here. (The burst is 2, as with 1 it
		// would be full by a fraction of a ns before each grant, and lose that.)
		{"3/s polled every ns around each third of a second", PerSecond(3), 2, 0, 1000 * time.Second, 3002, 333333334},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := mustBucket(t, Limit{Rate: c.rate, Burst: c.burst})
			grants, last := 0, time.Duration(0)
			poll := func(at time.Duration) {
				if allow(t, b, at, 1).OK {
					require.LessOrEqual(t, at-last, c.longestGap)
					grants, last = grants+1, at
				}
			}
			if c.poll > 0 {
				for at := time.Duration(0); at <= c.last; at += c.poll {
					poll(at)
				}
			} else {
				poll(0)
				poll(0)
				for k := int64(1); k <= 3000; k++ {
					third := time.Duration((k*1e9 + 2) / 3) // the first ns at which k tokens have come
					poll(third - 1)
					before := grants
					poll(third)
					require.Equal(t, before+1, grants, "the token comes exactly then: %v", third)
				}
			}
			require.Equal(t, c.want, grants)
		})
	}
}

// RC19: rates, bursts and costs of zero, negative, NaN, infinite.
func TestRC19RateZero(t *testing.T) {
	b := mustBucket(t, Limit{}) // (a)
	for _, at := range []time.Duration{0, time.Hour, 10 * year} {
		d := allow(t, b, at, 1)
		require.Equal(t, Decision{Reason: TooLarge, RetryAfter: Never}, d)
	}

	b = mustBucket(t, Limit{Burst: 3}) // (b)
	for range 3 {
		require.True(t, allow(t, b, 0, 1).OK)
	}
	for _, at := range []time.Duration{0, 10 * year, math.MaxInt64} {
		d := allow(t, b, at, 1)
		require.Equal(t, Decision{Reason: Exhausted, Limit: 3, RetryAfter: Never}, d)
		_, ok := d.RetryAfterSeconds()
		require.False(t, ok, "no header tells a client to come back")
	}
	require.NoError(t, b.Refund(10*year, 1))
	require.True(t, allow(t, b, 10*year, 1).OK, "but a refund counts")
}

func TestRC19BadLimits(t *testing.T) {
	for _, c := range []struct {
		limit Limit
		want  []string
	}{
		{Limit{Rate: PerSecond(-1)}, []string{"quota: Limit.Rate.Tokens is -1, want 0 or more, finite"}},
		{Limit{Rate: PerSecond(math.NaN())}, []string{"quota: Limit.Rate.Tokens is NaN, want 0 or more, finite"}},
		{Limit{Rate: PerSecond(math.Inf(1))}, []string{"quota: Limit.Rate.Tokens is +Inf, want 0 or more, finite"}},
		{Limit{Rate: PerSecond(math.Inf(-1))}, []string{"quota: Limit.Rate.Tokens is -Inf, want 0 or more, finite"}},
		{Limit{Rate: Per(1, -time.Minute)}, []string{"quota: Limit.Rate.Per is -1m0s, want 0 (a second) or more"}},
		{Limit{Burst: -1}, []string{"quota: Limit.Burst is -1, want 0 to 2^40"}},
		{Limit{Burst: MaxBurst + 1}, []string{"quota: Limit.Burst is 1099511627777, want 0 to 2^40"}},
		{Limit{Rate: PerSecond(1.1e15)}, []string{"quota: Limit.Rate is 1.1e+15 per 1s, want at most 1e15 per second"}},
		{Limit{Rate: Per(math.MaxFloat64, 1)}, []string{"quota: Limit.Rate is 1.7976931348623157e+308 per 1ns, want at most 1e15 per second"}},
		{
			Limit{Rate: Per(1, 24*time.Hour), Burst: 20_000},
			[]string{"quota: Limit.Rate is 1 per 24h0m0s, want 0, or enough to fill Burst within 36 years"},
		},
		{
			Limit{Rate: PerSecond(math.SmallestNonzeroFloat64), Burst: 1},
			[]string{"quota: Limit.Rate is 5e-324 per 1s, want 0, or enough to fill Burst within 36 years"},
		},
		{
			Limit{Rate: Per(math.NaN(), -1), Burst: -5},
			[]string{
				"quota: Limit.Rate.Tokens is NaN, want 0 or more, finite",
				"quota: Limit.Rate.Per is -1ns, want 0 (a second) or more",
				"quota: Limit.Burst is -5, want 0 to 2^40",
			},
		},
	} {
		t.Run(fmt.Sprint(c.limit), func(t *testing.T) {
			check := func(err error, from, to string) {
				t.Helper()
				var v *ValueError
				require.ErrorAs(t, err, &v)
				var want error
				for _, s := range c.want {
					want = errors.Join(want, errors.New(s))
				}
				require.Equal(t, want.Error(), strings.ReplaceAll(err.Error(), from, to))
			}
			_, err := NewBucket(c.limit)
			check(err, "Limit.", "Limit.")

			b := mustBucket(t, Limit{Rate: PerSecond(1), Burst: 5})
			allow(t, b, 0, 3)
			check(b.SetLimit(time.Second, c.limit), "Limit.", "Limit.")
			require.EqualValues(t, 2, b.Balance(0), "nothing changed, not even the clock")

			_, err = NewLimiter(LimiterConfig{Default: c.limit})
			check(err, "LimiterConfig.Default.", "Limit.")
			l := mustLimiter(t, LimiterConfig{Default: Limit{Burst: 5}})
			check(l.SetDefault(0, c.limit), "Limit.", "Limit.")
			check(l.SetLimit(0, "x", c.limit), "Limit.", "Limit.")
			require.Zero(t, l.Len())
			require.EqualValues(t, 5, ask(t, l, 0, "x", 1).Limit)
		})
	}

	_, err := NewLimiter(LimiterConfig{Default: Limit{Burst: -1}, MaxTenants: -1})
	require.EqualError(t, err, "quota: LimiterConfig.Default.Burst is -1, want 0 to 2^40\n"+
		"quota: LimiterConfig.MaxTenants is -1, want 0 (100,000) or more")
}

// RC19 (d). A cost is an integer, so the compiler refuses NaN and +Inf.
func TestRC19BadCosts(t *testing.T) {
	b := mustBucket(t, Limit{Rate: PerSecond(1), Burst: 5})
	allow(t, b, 0, 3)
	l := mustLimiter(t, LimiterConfig{Default: Limit{Rate: PerSecond(1), Burst: 5}})
	ask(t, l, 0, "x", 3)
	for _, cost := range []int64{0, -5, MaxCost + 1, math.MinInt64, math.MaxInt64} {
		want := fmt.Sprintf("quota: cost is %d, want 1 to 2^40", cost)
		refused := func(err error) {
			t.Helper()
			var v *ValueError
			require.ErrorAs(t, err, &v)
			require.EqualError(t, err, want)
		}
		d, err := b.Allow(time.Second, cost)
		refused(err)
		require.Zero(t, d)
		refused(b.Charge(time.Second, cost))
		refused(b.Refund(time.Second, cost))
		require.EqualValues(t, 2, b.Balance(0), "nothing changed, not even the clock")

		for _, tenant := range []string{"x", "newcomer"} {
			d, err = l.Allow(time.Second, tenant, cost)
			refused(err)
			require.Zero(t, d)
			refused(l.Charge(time.Second, tenant, cost))
			refused(l.Refund(time.Second, tenant, cost))
		}
		require.Equal(t, 1, l.Len())
	}
	require.EqualValues(t, 1, ask(t, l, 0, "x", 1).Remaining)
}

// RC26: a client that obeys Retry-After isn't refused again, and is never told
// to wait 0 s or less.
func TestRC26RetryAfter(t *testing.T) {
	limit := Limit{Rate: Per(5, 10*time.Second), Burst: 5}
	start := seconds(0.1)
	used := mustBucket(t, limit)
	require.True(t, allow(t, used, start, 5).OK)
	denied := 0
	for at := start + time.Millisecond; at < start+10*time.Second; at += time.Millisecond {
		for _, cost := range []int64{1, 5} {
			b := clone(used)
			d := allow(t, b, at, cost)
			h, ok := d.RetryAfterSeconds()
			require.Equal(t, !d.OK, ok)
			if d.OK {
				require.Zero(t, d.RetryAfter)
				continue
			}
			denied++
			require.GreaterOrEqual(t, h, int64(1))
			wait := time.Duration(h) * time.Second
			require.Less(t, wait-d.RetryAfter, time.Second, "rounded up by less than a second")
			require.True(t, allow(t, b, at+wait, cost).OK, "obeyed at %v, waited %v", at, wait)
		}
	}
	require.Equal(t, 1999+9999, denied, "until 2 s for one token, until 10 s for all")

	for _, c := range []struct {
		wait time.Duration
		want int64
	}{
		{1, 1},
		{time.Second - 1, 1},
		{time.Second, 1},
		{time.Second + 1, 2},
		{math.MaxInt64, 9223372037},
	} {
		h, ok := Decision{RetryAfter: c.wait}.RetryAfterSeconds()
		require.True(t, ok)
		require.Equal(t, c.want, h, "%v", c.wait)
	}
	_, ok := Decision{OK: true}.RetryAfterSeconds()
	require.False(t, ok)
	_, ok = Decision{}.RetryAfterSeconds()
	require.False(t, ok)
}

var manyNames = 1_000_000 // fewer under the race detector

// RC40 (b): a million names leave at most MaxTenants behind, and then none.
func TestRC40ManyNamesLeaveNothingBehind(t *testing.T) {
	const most = 10_000
	l := mustLimiter(t, LimiterConfig{Default: Limit{Rate: Per(1, 5*time.Minute), Burst: 1}, MaxTenants: most})
	admitted, overflow := 0, 0
	var now time.Duration
	for i := range manyNames {
		now += 10 * time.Microsecond // all within 10 s
		switch d, err := l.Allow(now, strconv.Itoa(i), 1); {
		case err != nil:
			t.Fatal(err)
		case d.OK:
			admitted++
		case d.Reason == Overflow:
			overflow++
		}
		if len(l.ring) > most {
			t.Fatalf("%d tenants tracked", len(l.ring))
		}
	}
	require.Equal(t, most, l.Len())
	require.Equal(t, most+1, admitted, "one each, and one from the shared bucket")
	require.Equal(t, manyNames-most-1, overflow)

	now += 5 * time.Minute
	require.Equal(t, most, l.Sweep(now))
	require.Zero(t, l.Len())
	require.True(t, ask(t, l, now, "0", 1).OK)
	require.Equal(t, 1, l.Len())
}

// RC40 (c): being pushed out by a crowd is no way to a new allowance.
func TestRC40CrowdDoesNotRefill(t *testing.T) {
	l := mustLimiter(t, LimiterConfig{Default: Limit{Rate: Per(5, time.Hour), Burst: 5}, MaxTenants: 10_000})
	for range 5 {
		require.True(t, ask(t, l, 0, "x", 1).OK)
	}
	for i := range 20_000 {
		ask(t, l, time.Duration(i)*time.Millisecond, fmt.Sprintf("name-%d", i), 1)
	}
	d := ask(t, l, time.Minute, "x", 1)
	require.False(t, d.OK)
	require.Equal(t, RateLimited, d.Reason, "by its own bucket")
	require.Equal(t, 11*time.Minute, d.RetryAfter)
}
