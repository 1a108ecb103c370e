package quota

import (
	"math"
	"math/big"
	"time"

	"github.com/stretchr/testify/require"
)

// An oracle is a token bucket as one would explain it: a balance that is an
// exact fraction, refilled at each call for the time since the latest one. It
// takes the rate from the terms (TestTerms shows that it is the one asked for)
// and two rules from the documentation: a change of limit rounds the balance
// down to 1/q token, and a debt is capped.
type oracle struct {
	*terms
	balance *big.Rat
	latest  int64
}

func newOracle(t *terms, latest int64) *oracle {
	return &oracle{terms: t, balance: rat(t.burst), latest: latest}
}

func rat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func (o *oracle) rate() *big.Rat { return big.NewRat(o.p, o.q) }

func (o *oracle) see(now int64) {
	if now <= o.latest {
		return
	}
	elapsed := new(big.Int).Sub(big.NewInt(now), big.NewInt(o.latest))
	gain := new(big.Rat).SetInt(elapsed)
	o.latest = now
	o.set(gain.Mul(gain, o.rate()).Add(gain, o.balance))
}

// set makes b the balance, within bounds.
func (o *oracle) set(b *big.Rat) {
	if b.Cmp(rat(o.burst)) > 0 {
		b = rat(o.burst)
	}
	floor := new(big.Rat).Sub(rat(o.burst), big.NewRat(maxUsed, o.q))
	if b.Cmp(floor) < 0 {
		b = floor
	}
	o.balance = b
}

func (o *oracle) allow(now, cost int64) Decision {
	o.see(now)
	d := Decision{Limit: o.burst}
	switch {
	case cost > o.burst:
		d.Reason, d.RetryAfter = TooLarge, Never
	case o.balance.Cmp(rat(cost)) >= 0:
		d.OK = true
		o.set(new(big.Rat).Sub(o.balance, rat(cost)))
	case o.p == 0:
		d.Reason, d.RetryAfter = Exhausted, Never
	default:
		d.Reason, d.RetryAfter = RateLimited, o.wait(now, cost)
	}
	d.Remaining = max(0, o.whole())
	return d
}

// wait is the first instant at which cost is there, less now.
func (o *oracle) wait(now, cost int64) time.Duration {
	w := new(big.Rat).Sub(rat(cost), o.balance)
	w.Quo(w, o.rate())
	at := new(big.Int).Add(big.NewInt(o.latest), ceil(w))
	wait := new(big.Int).Sub(at, big.NewInt(now))
	if !at.IsInt64() || !wait.IsInt64() {
		return Never
	}
	return time.Duration(wait.Int64())
}

func (o *oracle) charge(now, cost int64) {
	o.see(now)
	o.set(new(big.Rat).Sub(o.balance, rat(cost)))
}

func (o *oracle) refund(now, cost int64) {
	o.see(now)
	o.set(new(big.Rat).Add(o.balance, rat(cost)))
}

func (o *oracle) setTerms(now int64, t *terms) {
	o.see(now)
	o.terms = t
	units := new(big.Rat).Mul(o.balance, rat(t.q))
	o.set(new(big.Rat).SetFrac(floor(units), big.NewInt(t.q)))
}

func (o *oracle) full() bool { return o.balance.Cmp(rat(o.burst)) == 0 }

// whole is the balance rounded down, also below 0.
func (o *oracle) whole() int64 { return floor(o.balance).Int64() }

// Div rounds towards minus infinity for a positive divisor, unlike Quo.
func floor(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) }

func ceil(r *big.Rat) *big.Int {
	return floor(new(big.Rat).Neg(r)).Neg(floor(new(big.Rat).Neg(r)))
}

// check reports the first broken invariant of b, which nobody else uses now.
//
//	I1  the era isn't over, and no time before its base was seen
//	I2  the arrival time fits: what is used is at most maxUsed
//	I3  the terms fit: the capacity, and the most tokens that are counted at once
//	I4  the balance is the oracle's, to the unit
func check(t require.TestingT, b *Bucket, o *oracle) {
	e := b.era.Load()
	word, seen := e.word.Load(), b.seen.Load()
	require.Zero(t, word&over, "I1: over")
	require.GreaterOrEqual(t, seen, e.base, "I1: seen, base")
	used := e.used(word>>1, seen)
	require.LessOrEqual(t, used, int64(maxUsed), "I2")
	require.LessOrEqual(t, word>>1, int64(maxTime+maxUsed), "I2")
	require.LessOrEqual(t, e.capacity, int64(maxCapacity), "I3")
	require.GreaterOrEqual(t, e.most, e.burst, "I3")
	require.Equal(t, o.latest, seen, "I4: latest time")
	want := new(big.Rat).Mul(o.balance, rat(o.q))
	require.Equal(t, want.RatString(), rat(e.capacity-used).RatString(), "I4: balance in units")
}

// clone returns a bucket in the same state as b, which nobody else uses now.
func clone(b *Bucket) *Bucket {
	c := new(Bucket)
	e := b.era.Load()
	c.seen.Store(b.seen.Load())
	c.era.Store(newEra(e.terms, e.base, 0))
	c.era.Load().word.Store(e.word.Load())
	return c
}

// checkRetry verifies, on copies, what a decision for cost at now promises.
func checkRetry(t require.TestingT, b *Bucket, now, cost int64, d Decision) {
	if d.OK {
		require.Equal(t, NotRefused, d.Reason)
		require.Zero(t, d.RetryAfter)
		return
	}
	require.NotEqual(t, NotRefused, d.Reason)
	if d.RetryAfter == Never {
		again, err := clone(b).Allow(math.MaxInt64, cost)
		require.NoError(t, err)
		// Admitted at the end of time, it must be a wait that no Duration holds.
		require.True(t, !again.OK || now < 0, "never, but admitted in the end: %+v", again)
		return
	}
	require.Positive(t, d.RetryAfter)
	again, err := clone(b).Allow(time.Duration(now)+d.RetryAfter, cost)
	require.NoError(t, err)
	require.True(t, again.OK, "refused after the wait of %+v: %+v", d, again)
	again, err = clone(b).Allow(time.Duration(now)+d.RetryAfter-1, cost)
	require.NoError(t, err)
	require.False(t, again.OK, "admitted 1 ns before the wait of %+v is over", d)
	require.Equal(t, time.Duration(1), again.RetryAfter)
	seconds, ok := d.RetryAfterSeconds()
	require.True(t, ok)
	require.GreaterOrEqual(t, seconds, int64(1))
	require.GreaterOrEqual(t, new(big.Int).Mul(big.NewInt(seconds), big.NewInt(1e9)).Cmp(big.NewInt(int64(d.RetryAfter))), 0)
}

func mustBucket(t require.TestingT, l Limit) *Bucket {
	b, err := NewBucket(l)
	require.NoError(t, err)
	return b
}

func mustLimiter(t require.TestingT, c LimiterConfig) *Limiter {
	l, err := NewLimiter(c)
	require.NoError(t, err)
	return l
}

// allow is Allow for arguments that are in range.
func allow(t require.TestingT, b *Bucket, now time.Duration, cost int64) Decision {
	d, err := b.Allow(now, cost)
	require.NoError(t, err)
	return d
}

func ask(t require.TestingT, l *Limiter, now time.Duration, tenant string, cost int64) Decision {
	d, err := l.Allow(now, tenant, cost)
	require.NoError(t, err)
	return d
}
