package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The five findings of the comparison, policy by policy. TestNegativeControl
// shows that these assertions can fail.

// withinShare returns the tenants that F1 to F3 are about.
func withinShare(r *Result) []TenantResult {
	var ts []TenantResult
	for _, t := range r.Tenants {
		if t.WithinShare && t.Window.Submitted > 0 {
			ts = append(ts, t)
		}
	}
	return ts
}

func TestF1EveryTenantWithinItsShareGetsItsDemand(t *testing.T) {
	for _, policy := range []string{PolicyQuota, PolicyDRR, PolicyDRRQuota} {
		for _, seed := range seeds() {
			e := evaluate(t, policy, seed)
			require.Len(t, withinShare(e.Run), 24)
			for _, x := range withinShare(e.Run) {
				require.GreaterOrEqual(t, float64(x.Window.Completed), 0.97*float64(x.Window.Submitted), "%s seed %d: %s", policy, seed, x.Name)
			}
			require.True(t, *e.F1, "%s seed %d", policy, seed)
		}
	}
}

func TestF2TheirQueueingTimeStaysShort(t *testing.T) {
	for _, seed := range seeds() {
		for _, policy := range []string{PolicyDRR, PolicyDRRQuota} {
			e := evaluate(t, policy, seed)
			require.Less(t, e.Run.P99, 50*time.Millisecond, "%s seed %d", policy, seed)
			for _, x := range withinShare(e.Run) {
				require.Zero(t, x.Window.RefusedFull, "%s seed %d: %s", policy, seed, x.Name)
			}
			require.True(t, *e.F2, "%s seed %d", policy, seed)
		}
		require.False(t, *evaluate(t, PolicyQuota, seed).F2, "a quota limits the rate, not the wait")
	}
}

func TestF3RefusalsFallOnTenantsAboveTheirShare(t *testing.T) {
	for _, policy := range []string{PolicyQuota, PolicyDRR, PolicyDRRQuota} {
		for _, seed := range seeds() {
			e := evaluate(t, policy, seed)
			for _, x := range e.Run.Tenants {
				require.Equal(t, x.Name == "heavy", x.Window.Refused() > 0, "%s seed %d: %s", policy, seed, x.Name)
			}
			require.True(t, *e.F3, "%s seed %d", policy, seed)
		}
	}
}

func TestF4ALoneTenantUsesTheWholeCapacity(t *testing.T) {
	for _, seed := range seeds() {
		for _, policy := range []string{PolicyFIFO, PolicyDRR} {
			e := evaluate(t, policy, seed)
			require.GreaterOrEqual(t, e.Control.Tenants[0].Rate, 0.97*e.Control.Capacity, "%s seed %d", policy, seed)
			require.True(t, *e.F4, "%s seed %d", policy, seed)
		}
		e := evaluate(t, PolicyQuota, seed)
		require.Less(t, e.Control.Tenants[0].Rate, 0.6*e.Control.Capacity)
		require.False(t, *e.F4, "a quota leaves what the others don't use")
		e = evaluate(t, PolicyDRRQuota, seed)
		require.Nil(t, e.Control)
		require.Nil(t, e.F4, "the source has no control for it")
	}
}

func TestF5MetricsStayBoundedAndExact(t *testing.T) {
	for _, policy := range PolicyNames() {
		for _, seed := range seeds() {
			require.True(t, *evaluate(t, policy, seed).F5, "%s seed %d", policy, seed)
		}
	}
	sc := builtinScenario(t, "ten-thousand-tenants")
	e, err := Evaluate(sc, PolicyDRR, 1)
	require.NoError(t, err)
	require.True(t, *e.F5)
}

func TestNegativeControl(t *testing.T) {
	for _, seed := range seeds() {
		e := evaluate(t, PolicyFIFO, seed)
		require.False(t, *e.F1)
		require.False(t, *e.F2)
		require.False(t, *e.F3)
		require.Len(t, withinShare(e.Run), 24)
		for _, x := range withinShare(e.Run) {
			require.Less(t, float64(x.Window.Completed), 0.97*float64(x.Window.Submitted), "seed %d: %s", seed, x.Name)
			require.Positive(t, x.Window.RefusedFull, "seed %d: %s", seed, x.Name)
		}
		require.Greater(t, e.Run.P99, 50*time.Millisecond)
	}
}

// Judge on results made up for each bound.
func TestJudge(t *testing.T) {
	sc := small()
	good := func() *Result {
		return &Result{P99: 49 * time.Millisecond, Tenants: []TenantResult{
			{Name: "a", WithinShare: true, Window: Counts{Submitted: 100, Completed: 97}},
			{Name: "b", Window: Counts{Submitted: 100, RefusedFull: 50, RefusedQuota: 50}},
			{Name: "idle", WithinShare: true},
		}}
	}
	control := func(rate float64) *Result {
		return &Result{Capacity: 100, Tenants: []TenantResult{{Demand: 200, Rate: rate, Window: Counts{Submitted: 200}}}}
	}
	judge := func(change func(*Result), control *Result) Verdicts {
		r := good()
		change(r)
		v, err := sc.Judge(r, control)
		require.NoError(t, err)
		return v
	}
	ok := judge(func(*Result) {}, control(97))
	for _, v := range []*bool{ok.F1, ok.F2, ok.F3, ok.F4, ok.F5} {
		require.True(t, *v)
	}
	require.False(t, *judge(func(r *Result) { r.Tenants[0].Window.Completed-- }, nil).F1)
	require.False(t, *judge(func(r *Result) { r.P99 = 50 * time.Millisecond }, nil).F2)
	full := judge(func(r *Result) { r.RefusedFull = 1 }, nil)
	require.False(t, *full.F2)
	require.False(t, *full.F3)
	noToken := judge(func(r *Result) { r.RefusedQuota = 1 }, nil)
	require.True(t, *noToken.F2)
	require.False(t, *noToken.F3)
	require.False(t, *judge(func(*Result) {}, control(96.9)).F4)
	require.Nil(t, judge(func(*Result) {}, nil).F4)
	lazy := control(50)
	lazy.Tenants[0].Demand = 50
	require.True(t, *judge(func(*Result) {}, lazy).F4, "it wants no more")
	empty, err := sc.Judge(new(Result), new(Result))
	require.NoError(t, err)
	require.Nil(t, empty.F4)
	none := judge(func(r *Result) { r.Tenants = r.Tenants[1:] }, nil)
	require.Nil(t, none.F1)
	require.Nil(t, none.F2)
	require.Nil(t, none.F3)
}

// Weights decide where everybody wants more than the share. The bounds are those
// of a reference simulation.
func TestTiers(t *testing.T) {
	long(t)
	sc := builtinScenario(t, "tiers")
	for _, seed := range seeds() {
		r, err := Run(sc, PolicyDRR, seed)
		require.NoError(t, err)
		work := func(i int) float64 { return r.Tenants[i].Work.Seconds() }
		require.InDelta(t, 2, work(1)/work(0), 0.01, "silver's work in bronze's")
		require.InDelta(t, 4, work(2)/work(0), 0.02, "gold's work in bronze's")
		require.GreaterOrEqual(t, r.Jain, 0.9996)
		require.GreaterOrEqual(t, r.MinShare, 0.965)
		e, err := Evaluate(sc, PolicyFIFO, seed)
		require.NoError(t, err)
		require.Less(t, e.Run.Jain, 0.8, "fifo knows no weights")
		require.Nil(t, e.F1, "nobody is within the share")
		require.True(t, *e.F4)
	}
}

func TestTenThousandTenants(t *testing.T) {
	long(t)
	sc := builtinScenario(t, "ten-thousand-tenants")
	e, err := Evaluate(sc, PolicyDRR, 1)
	require.NoError(t, err)
	require.Len(t, e.Run.Tenants, 10_000)
	require.Equal(t, []bool{true, true, true, true}, []bool{*e.F1, *e.F2, *e.F3, *e.F4})
	f, err := Evaluate(sc, PolicyFIFO, 1)
	require.NoError(t, err)
	require.Equal(t, []bool{false, false, false}, []bool{*f.F1, *f.F2, *f.F3})
}
