package quota

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// checkLimiter reports the first broken invariant of l, which nobody uses now.
//
//	I1  each tenant is in the shard of its name, under its name
//	I2  the ring holds those under the default limit, each in its place
//	I3  those are under the default's terms
func checkLimiter(t require.TestingT, l *Limiter) {
	defaults := 0
	for i := range l.shards {
		for name, tn := range l.shards[i].tenants {
			require.Equal(t, name, tn.name, "I1")
			require.Same(t, &l.shards[i], l.shard(name), "I1")
			if tn.place != own {
				require.Same(t, tn, l.ring[tn.place], "I2")
				require.Same(t, l.terms, tn.bucket.era.Load().terms, "I3")
				defaults++
			}
		}
	}
	require.Len(t, l.ring, defaults, "I2")
}

// A model is an oracle for each tenant that a Limiter tracks, and one for the
// overflow. It follows which tenants are dropped, and insists that they are full.
type model struct {
	l        *Limiter
	terms    *terms
	tenants  map[string]*oracle
	own      map[string]bool
	overflow *oracle
}

func newModel(l *Limiter) *model {
	return &model{l, l.terms, map[string]*oracle{}, map[string]bool{}, newOracle(l.terms, math.MinInt64)}
}

// followDrops forgets who is no longer tracked after a call at now.
func (m *model) followDrops(t require.TestingT, now int64) {
	for name, o := range m.tenants {
		if tn := m.l.shard(name).tenants[name]; tn != nil {
			o.see(tn.bucket.seen.Load()) // it may have been looked at
			continue
		}
		o.see(now)
		require.True(t, o.full(), "%q was dropped with %v of %v", name, o.balance, o.burst)
		require.False(t, m.own[name], "%q was dropped with its own limit", name)
		require.GreaterOrEqual(t, m.l.mark, o.latest)
		delete(m.tenants, name)
	}
}

// decider returns whose oracle stands for name in a call at now whose drops have
// been followed.
func (m *model) decider(now int64, name string) *oracle {
	if o := m.tenants[name]; o != nil {
		return o
	}
	if len(m.tenants)-len(m.own) >= m.l.max {
		return m.overflow
	}
	return newOracle(m.terms, max(now, m.l.mark))
}

func (m *model) allow(t require.TestingT, now int64, name string, cost int64) Decision {
	got := ask(t, m.l, time.Duration(now), name, cost)
	m.followDrops(t, now)
	o := m.decider(now, name)
	want := o.allow(now, cost)
	if o == m.overflow && (want.Reason == RateLimited || want.Reason == Exhausted) {
		want.Reason = Overflow
	}
	require.Equal(t, want, got)
	m.track(name, o)
	return got
}

func (m *model) charge(t require.TestingT, now int64, name string, cost int64) {
	require.NoError(t, m.l.Charge(time.Duration(now), name, cost))
	m.followDrops(t, now)
	o := m.decider(now, name)
	o.charge(now, cost)
	m.track(name, o)
}

func (m *model) track(name string, o *oracle) {
	if o != m.overflow && !o.full() {
		m.tenants[name] = o
	}
}

func (m *model) refund(t require.TestingT, now int64, name string, cost int64) {
	require.NoError(t, m.l.Refund(time.Duration(now), name, cost))
	if o := m.tenants[name]; o != nil {
		o.refund(now, cost)
	}
}

func (m *model) sweep(t require.TestingT, now int64) {
	before := len(m.tenants)
	n := m.l.Sweep(time.Duration(now))
	m.followDrops(t, now)
	require.Equal(t, before-len(m.tenants), n)
	for name, o := range m.tenants {
		require.True(t, m.own[name] || !o.full(), "%q wasn't dropped", name)
	}
}

// adopt is a change of terms that leaves a full bucket full.
func (o *oracle) adopt(now int64, t *terms) {
	o.see(now)
	full := o.full()
	o.setTerms(now, t)
	if full {
		o.balance = rat(t.burst)
	}
}

func (m *model) setDefault(t require.TestingT, now int64, l Limit) {
	require.NoError(t, m.l.SetDefault(time.Duration(now), l))
	m.terms = m.l.terms
	m.followDrops(t, now)
	m.overflow.adopt(now, m.terms)
	for name, o := range m.tenants {
		if !m.own[name] {
			require.False(t, o.full(), "%q wasn't dropped", name)
			o.setTerms(now, m.terms)
		}
	}
}

func (m *model) setLimit(t require.TestingT, now int64, name string, l Limit) {
	require.NoError(t, m.l.SetLimit(time.Duration(now), name, l))
	terms, err := compile(l, "Limit")
	require.NoError(t, err)
	if o := m.tenants[name]; o != nil {
		o.adopt(now, terms)
	} else {
		m.tenants[name] = newOracle(terms, max(now, m.l.mark))
	}
	m.own[name] = true
}

func (m *model) clearLimit(t require.TestingT, now int64, name string) {
	m.l.ClearLimit(time.Duration(now), name)
	if !m.own[name] {
		return
	}
	delete(m.own, name)
	m.followDrops(t, now)
	if o := m.tenants[name]; o != nil {
		require.False(t, o.full(), "%q wasn't dropped", name)
		o.setTerms(now, m.terms)
	}
}

func (m *model) check(t require.TestingT) {
	checkLimiter(t, m.l)
	require.Equal(t, len(m.tenants), m.l.Len())
	for name, o := range m.tenants {
		check(t, &m.l.shard(name).tenants[name].bucket, o)
	}
	check(t, &m.l.overflow, m.overflow)
}

// A Limiter decides as a map of exact buckets does that never forgets anyone who
// isn't full, whatever the clock does, and as one more for whom there is no room.
func TestLimiterEqualsOracles(t *testing.T) {
	names := rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e", "f"})
	limits := rapid.Custom(func(t *rapid.T) Limit {
		per := rapid.SampledFrom([]time.Duration{time.Second, time.Hour}).Draw(t, "per")
		return Limit{Per(float64(rapid.IntRange(0, 9).Draw(t, "tokens")), per), rapid.Int64Range(0, 9).Draw(t, "burst")}
	})
	costs := rapid.Int64Range(1, 12)
	overflows, dropped := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		l, err := NewLimiter(LimiterConfig{Default: limits.Draw(t, "default"), MaxTenants: rapid.IntRange(1, 8).Draw(t, "max")})
		require.NoError(t, err)
		m := newModel(l)
		now := int64(0)
		t.Repeat(map[string]func(*rapid.T){
			"allow": func(t *rapid.T) {
				now = nextNow(t, now)
				if m.allow(t, now, names.Draw(t, "name"), costs.Draw(t, "cost")).Reason == Overflow {
					overflows++
				}
			},
			"charge": func(t *rapid.T) {
				now = nextNow(t, now)
				m.charge(t, now, names.Draw(t, "name"), costs.Draw(t, "cost"))
			},
			"refund": func(t *rapid.T) {
				now = nextNow(t, now)
				m.refund(t, now, names.Draw(t, "name"), costs.Draw(t, "cost"))
			},
			"sweep": func(t *rapid.T) {
				now = nextNow(t, now)
				before := len(m.tenants)
				m.sweep(t, now)
				dropped += before - len(m.tenants)
			},
			"default": func(t *rapid.T) {
				now = nextNow(t, now)
				m.setDefault(t, now, limits.Draw(t, "limit"))
			},
			"limit": func(t *rapid.T) {
				now = nextNow(t, now)
				m.setLimit(t, now, names.Draw(t, "name"), limits.Draw(t, "limit"))
			},
			"clear": func(t *rapid.T) {
				now = nextNow(t, now)
				m.clearLimit(t, now, names.Draw(t, "name"))
			},
			"": func(t *rapid.T) { m.check(t) },
		})
	})
	if !testing.Short() { // few traces then, and chance may have left these out
		require.Positive(t, overflows)
		require.Positive(t, dropped)
	}
}

// Tenants with a limit of their own aren't counted, dropped, or made to share.
func TestLimiterOwnLimitsAreSafeFromACrowd(t *testing.T) {
	l := mustLimiter(t, LimiterConfig{Default: Limit{Rate{}, 1}, MaxTenants: 2})
	require.NoError(t, l.SetLimit(0, "known", Limit{Rate{}, 3}))
	for i := range 10 {
		d := ask(t, l, 0, fmt.Sprint(i), 1)
		require.Equal(t, i < 3, d.OK, "two with a bucket, and the first of the rest")
		if !d.OK {
			require.Equal(t, Decision{Reason: Overflow, Limit: 1, RetryAfter: Never}, d)
		}
	}
	require.Equal(t, 3, l.Len())
	d := ask(t, l, 0, "known", 2)
	require.Equal(t, Decision{OK: true, Limit: 3, Remaining: 1}, d)

	// Back among the others, it is counted but not dropped: it isn't full.
	l.ClearLimit(0, "known")
	l.ClearLimit(0, "nobody")
	require.Equal(t, 3, l.Len())
	d = ask(t, l, 0, "known", 1)
	require.Equal(t, Decision{OK: true, Limit: 1, Remaining: 0}, d, "its balance of 1 was kept")
}

func TestLimiterTooLargeIsNotOverflow(t *testing.T) {
	l := mustLimiter(t, LimiterConfig{Default: Limit{PerSecond(1), 2}, MaxTenants: 1})
	ask(t, l, 0, "a", 1)
	require.Equal(t, TooLarge, ask(t, l, 0, "b", 3).Reason)
	require.Equal(t, 1, l.Len())
}

// A call that finds no bucket, and then finds that another call has just made
// one, uses that.
func TestLimiterNewcomerMeetsItself(t *testing.T) {
	l := mustLimiter(t, LimiterConfig{Default: Limit{PerSecond(1), 2}, MaxTenants: 1})
	ask(t, l, 0, "a", 1)
	for _, want := range []Decision{
		{OK: true, Limit: 2},
		{Reason: RateLimited, Limit: 2, RetryAfter: time.Second},
	} {
		d, err := l.allowNew(0, "a", 1)
		require.NoError(t, err)
		require.Equal(t, want, d)
	}
	require.Equal(t, 1, l.Len())
}

func TestLimiterLongNames(t *testing.T) {
	l := mustLimiter(t, LimiterConfig{Default: Limit{PerSecond(1), 2}})
	ask(t, l, 0, strings.Repeat("x", MaxNameLen), 1)
	long := strings.Repeat("x", MaxNameLen+1)
	_, err := l.Allow(0, long, 1)
	for _, err := range []error{err, l.Charge(0, long, 1), l.Refund(0, long, 1), l.SetLimit(0, long, Limit{})} {
		var v *ValueError
		require.ErrorAs(t, err, &v)
		require.EqualError(t, err, "quota: len(tenant) is 257, want 0 to 256")
	}
	err = l.SetLimit(0, long, Limit{Burst: -1})
	require.EqualError(t, err, "quota: len(tenant) is 257, want 0 to 256\nquota: Limit.Burst is -1, want 0 to 2^40")
	require.Equal(t, 1, l.Len())
}

// With newcomers coming and going at an even pace, what is tracked stays within
// about twice those who aren't full, without a call of Sweep.
func TestLimiterSweepsAsItGoes(t *testing.T) {
	l := mustLimiter(t, LimiterConfig{Default: Limit{PerSecond(1), 1}})
	most := 0
	for i := range 100_000 { // 1,000 a second, each full again after a second
		require.True(t, ask(t, l, time.Duration(i)*time.Millisecond, fmt.Sprint(i), 1).OK)
		most = max(most, len(l.ring))
	}
	require.GreaterOrEqual(t, most, 1000)
	require.LessOrEqual(t, most, 2100)
}

func TestLimiterDoesNotAllocate(t *testing.T) {
	l := mustLimiter(t, LimiterConfig{Default: Limit{PerSecond(3), 100}})
	now := time.Duration(0)
	names := []string{"a", "b", "c"}
	for _, name := range names {
		ask(t, l, now, name, 50)
	}
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		now += time.Millisecond
		for _, name := range names {
			l.Allow(now, name, 1)
			l.Charge(now, name, 1)
			l.Refund(now, name, 1)
		}
	}))

	// Nor do strangers at the bound, who come in crowds.
	l = mustLimiter(t, LimiterConfig{Default: Limit{Rate{}, 100}, MaxTenants: 1})
	ask(t, l, 0, "a", 1)
	require.Zero(t, testing.AllocsPerRun(1000, func() { l.Allow(now, "b", 1) }))
}
