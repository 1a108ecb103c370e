package drr

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func newQueue(t testing.TB, c Config) *Queue[string, int] {
	t.Helper()
	q, err := New[string, int](c)
	require.NoError(t, err)
	return q
}

func TestConfigErrorsNameFieldAndValue(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   []string
	}{
		{Config{}, nil},
		{Config{Quantum: MaxCost, MaxDepth: 1, MaxTenantDepth: math.MaxInt}, nil},
		{Config{Quantum: -1}, []string{"drr: Config.Quantum is -1, want 1 to 2^40, or 0 for the default"}},
		{Config{Quantum: MaxCost + 1, MaxDepth: -2, MaxTenantDepth: -3}, []string{
			"Config.Quantum is 1099511627777", "Config.MaxDepth is -2", "Config.MaxTenantDepth is -3",
		}},
	} {
		q, err := New[string, int](c.config)
		if c.want == nil {
			require.NoError(t, err)
			continue
		}
		require.Nil(t, q)
		var bad *ValueError
		require.ErrorAs(t, err, &bad)
		for _, part := range c.want {
			require.ErrorContains(t, err, part)
		}
	}
}

// TestRC19BadValuesChangeNothing: every number out of range is refused with its
// name and value, and leaves the queue as it was.
func TestRC19BadValuesChangeNothing(t *testing.T) {
	q := newQueue(t, Config{Quantum: 1 << 20})
	a := q.Tenant("a")
	_, err := a.Push(5, 1)
	require.NoError(t, err)
	require.NoError(t, a.SetWeight(2))

	for name, c := range map[string]struct {
		call func() error
		want string
	}{
		"cost 0":         {func() error { _, err := a.Push(0, 9); return err }, "drr: cost is 0, want 1 to 2^40"},
		"cost -5":        {func() error { _, err := q.Push("new", -5, 9); return err }, "drr: cost is -5, want 1 to 2^40"},
		"cost 2^40+1":    {func() error { _, err := q.Push("a", MaxCost+1, 9); return err }, "cost is 1099511627777"},
		"cost min":       {func() error { _, err := q.Push("a", math.MinInt64, 9); return err }, "cost is -9223372036854775808"},
		"delta too high": {func() error { return a.Charge(MaxCost + 1) }, "delta is 1099511627777"},
		"delta min":      {func() error { return q.Charge("new", math.MinInt64) }, "delta is -9223372036854775808"},
		"weight 0":       {func() error { return a.SetWeight(0) }, "drr: weight is 0, want a finite number above 0"},
		"weight -1":      {func() error { return q.SetWeight("new", -1) }, "weight is -1"},
		"weight NaN":     {func() error { return a.SetWeight(math.NaN()) }, "weight is NaN"},
		"weight +Inf":    {func() error { return a.SetWeight(math.Inf(1)) }, "weight is +Inf"},
		"weight -Inf":    {func() error { return a.SetWeight(math.Inf(-1)) }, "weight is -Inf"},
		"weight 2^31":    {func() error { return a.SetWeight(1 << 31) }, "weight is 2.147483648e+09, want a weight with Quantum*weight at most 2^50"},
		"depth 0":        {func() error { return a.SetMaxDepth(0) }, "drr: max depth is 0, want 1 or more"},
		"total depth -1": {func() error { return q.SetMaxDepth(-1) }, "max depth is -1"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.call()
			var bad *ValueError
			require.ErrorAs(t, err, &bad)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, 1, q.Len())
			require.Equal(t, 1, q.Tenants())
			require.EqualValues(t, 5, a.Cost())
			require.Zero(t, a.Balance())
			require.EqualValues(t, 2<<20, q.tenants["a"].quantum)
			require.NoError(t, check(q, false))
		})
	}

	f, err := New[float64, int](Config{})
	require.NoError(t, err)
	_, err = f.Push(math.NaN(), 1, 1)
	require.ErrorContains(t, err, "drr: tenant is NaN")
	require.ErrorContains(t, f.Charge(math.NaN(), 1), "drr: tenant is NaN")
	f.Tenant(math.NaN()).Block()
	require.Zero(t, f.Tenants())
}

func TestTinyWeightStillGetsTurns(t *testing.T) {
	q := newQueue(t, Config{Quantum: 10})
	require.NoError(t, q.SetWeight("tiny", 1e-300))
	q.Push("tiny", 1000, 1)
	for range 50 {
		q.Push("big", 100, 2)
	}
	for range 51 {
		_, _, ok := q.Pop()
		require.True(t, ok)
	}
	require.Zero(t, q.Len())
}

func TestBounds(t *testing.T) {
	q := newQueue(t, Config{MaxDepth: 5, MaxTenantDepth: 3})
	push := func(tenant string) error { _, err := q.Push(tenant, 1, 0); return err }
	for range 3 {
		require.NoError(t, push("a"))
	}
	require.ErrorIs(t, push("a"), ErrTenantFull)
	require.NoError(t, push("b"))
	require.NoError(t, push("b"))
	require.ErrorIs(t, push("b"), ErrFull)
	require.ErrorIs(t, push("c"), ErrFull)
	require.Equal(t, 2, q.Tenants(), "a refused tenant left a record")

	b := q.Tenant("b")
	require.NoError(t, b.SetMaxDepth(2))
	require.ErrorIs(t, push("b"), ErrTenantFull, "its own bound comes first")
	require.NoError(t, q.SetMaxDepth(6))
	require.ErrorIs(t, push("b"), ErrTenantFull)
	require.NoError(t, push("c"))
	q.Pop()
	q.Pop()
	require.NoError(t, push("b"))

	for q.Len() > 0 {
		q.Pop()
	}
	require.NoError(t, push("b"))
	require.NoError(t, push("b"))
	require.ErrorIs(t, push("b"), ErrTenantFull, "the bound was forgotten while idle")
	require.NoError(t, b.SetMaxDepth(3))
	require.Empty(t, q.custom, "a bound that equals the default is still kept")
}

func TestWeightOutlivesIdleness(t *testing.T) {
	q := newQueue(t, Config{})
	require.NoError(t, q.SetWeight("gold", 3))
	for round := range 3 {
		for range 40 {
			q.Push("gold", 1, 0)
			q.Push("plain", 1, 0)
		}
		gold := 0
		for range 40 {
			if name, _, _ := q.Pop(); name == "gold" {
				gold++
			}
		}
		require.InDelta(t, 30, gold, 2, "round %d", round)
		for q.Len() > 0 {
			q.Pop()
		}
		for range 3 { // let gold's place go by
			q.Push("x", 1, 0)
			q.Pop()
		}
		require.NotContains(t, q.tenants, "gold")
	}
	require.NoError(t, q.SetWeight("gold", 1))
	require.Empty(t, q.custom)
}

// TestWeightActsOnBacklog: a weight changed with ten thousand items queued
// holds from the next round on.
func TestWeightActsOnBacklog(t *testing.T) {
	q := newQueue(t, Config{})
	for range 10_000 {
		q.Push("a", 1, 0)
		q.Push("b", 1, 0)
	}
	share := func(n int) (a int) {
		for range n {
			if name, _, _ := q.Pop(); name == "a" {
				a++
			}
		}
		return a
	}
	require.Equal(t, 50, share(100))
	require.NoError(t, q.SetWeight("a", 4))
	require.InDelta(t, 80, share(100), 4)
	require.NoError(t, q.SetWeight("b", 4))
	require.InDelta(t, 50, share(100), 4)
}

func TestCancel(t *testing.T) {
	q := newQueue(t, Config{Quantum: 2})
	a1, _ := q.Push("a", 2, 1)
	a2, _ := q.Push("a", 2, 2)
	b1, _ := q.Push("b", 2, 3)

	require.True(t, q.Cancel(a1))
	require.False(t, q.Cancel(a1), "twice")
	require.False(t, q.Cancel(Item[string, int]{}), "the zero Item")
	other := newQueue(t, Config{})
	o1, _ := other.Push("a", 2, 1)
	require.False(t, q.Cancel(o1), "another queue's")
	require.Equal(t, 1, other.Len())

	_, v, _ := q.Pop()
	require.Equal(t, 2, v)
	require.False(t, q.Cancel(a2), "after its pop")
	q.Push("a", 2, 4) // reuses a2's memory
	require.False(t, q.Cancel(a2), "after its memory has another item")
	require.True(t, q.Cancel(b1))
	require.Equal(t, 1, q.Len())
	_, v, _ = q.Pop()
	require.Equal(t, 4, v)
	_, _, ok := q.Pop()
	require.False(t, ok)
	require.NoError(t, check(q, false))
}

// TestCancelTenThousand: each cancel frees its place at once, and nothing that
// was cancelled is served.
func TestCancelTenThousand(t *testing.T) {
	q := newQueue(t, Config{Quantum: 7, MaxDepth: 20_000})
	var items []Item[string, int]
	for i := range 20_000 {
		it, err := q.Push(fmt.Sprint(i%300), int64(1+i%50), i)
		require.NoError(t, err)
		items = append(items, it)
	}
	for i := 0; i < len(items); i += 2 {
		_, err := q.Push("late", 1, -1)
		require.ErrorIs(t, err, ErrFull)
		require.True(t, q.Cancel(items[i]))
		it, err := q.Push("late", 1, -1)
		require.NoError(t, err)
		require.True(t, q.Cancel(it))
		_, err = q.Push("late", 1, -2)
		require.NoError(t, err)
	}
	require.NoError(t, check(q, false))
	for range 20_000 {
		_, v, ok := q.Pop()
		require.True(t, ok)
		require.True(t, v == -2 || v%2 == 1, "item %d was cancelled", v)
	}
	require.Zero(t, q.Len())
}

func TestBlockStepsAside(t *testing.T) {
	q := newQueue(t, Config{})
	a := q.Tenant("a")
	for i := range 3 {
		a.Push(1, i)
	}
	a.Block()
	a.Block()
	_, _, ok := q.Pop()
	require.False(t, ok, "only blocked tenants have items")
	q.Push("b", 1, 10)
	_, v, _ := q.Pop()
	require.Equal(t, 10, v)
	a.Push(1, 3)
	require.Equal(t, 4, q.Len())
	a.Unblock()
	a.Unblock()
	for want := range 4 {
		_, v, ok := q.Pop()
		require.True(t, ok)
		require.Equal(t, want, v)
	}
	a.Block() // idle
	require.NoError(t, check(q, false))
	a.Unblock()
	q.Push("b", 1, 0)
	q.Pop()
	q.Push("b", 1, 0)
	q.Pop()
	require.LessOrEqual(t, q.Tenants(), 1)
}

// TestBlockingWindsUpNoCredit: a tenant that is blocked in each of its turns
// doesn't save up what it could not spend.
func TestBlockingWindsUpNoCredit(t *testing.T) {
	q := newQueue(t, Config{Quantum: 100})
	a, b := q.Tenant("a"), q.Tenant("b")
	fill := func() {
		for a.Len() < 300 {
			a.Push(1, 0)
		}
		for b.Len() < 300 {
			b.Push(1, 0)
		}
	}
	for range 1000 {
		fill()
		for {
			if name, _, _ := q.Pop(); name == "a" {
				break
			}
		}
		a.Block()
		q.Pop()
		a.Unblock()
	}
	fill()
	run := 0
	for name := ""; name != "b"; run++ {
		name, _, _ = q.Pop()
	}
	require.LessOrEqual(t, run, 102)
}

// TestHandleOutlivesItsTenant: a handle keeps working when its tenant's record
// has gone, and when the record serves another tenant.
func TestHandleOutlivesItsTenant(t *testing.T) {
	q := newQueue(t, Config{})
	a := q.Tenant("a")
	require.Equal(t, "a", a.Name())
	a.Push(1, 1)
	q.Pop()
	for range 3 {
		q.Push("x", 1, 0)
		q.Pop()
	}
	require.NotContains(t, q.tenants, "a")
	q.Push("y", 1, 5) // may take over a's record
	q.Push("z", 1, 6)
	require.Zero(t, a.Len())
	require.Zero(t, a.Cost())
	require.Zero(t, a.Balance())
	a.Push(7, 2)
	q.Push("a", 8, 3)
	require.Equal(t, 2, a.Len())
	require.EqualValues(t, 15, a.Cost())
	require.NoError(t, check(q, true))
}

// TestChurnKeepsMemoryFlat: ten million tenants come and go, a few hundred at a
// time, by name; memory after them is what it was after the first hundred thousand.
func TestChurnKeepsMemoryFlat(t *testing.T) {
	names := 10_000_000
	if testing.Short() || raceEnabled {
		names = 1_000_000
	}
	q, err := New[int, int](Config{Quantum: 2})
	require.NoError(t, err)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var before uint64
	for i := range names {
		q.Push(i, 1+int64(i%5), i)
		if q.Len() > 300 {
			_, v, ok := q.Pop()
			require.True(t, ok)
			if v%10 == 0 { // debts come and go as well
				q.Charge(v, 3)
			}
		}
		if i == 100_000 {
			before = heap()
		}
	}
	require.LessOrEqual(t, q.Tenants(), 2_000)
	after := heap()
	require.InDelta(t, before, after, 512<<10, "heap %d before, %d after", before, after)
	runtime.KeepAlive(q)
}

// TestBurstMemoryComesBack: an idle tenant keeps nothing, and neither does a
// queue that has drained after a million tenants waited at once.
func TestBurstMemoryComesBack(t *testing.T) {
	n := 1_000_000
	if testing.Short() || raceEnabled {
		n = 100_000
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	q, err := New[int, int](Config{Quantum: 10})
	require.NoError(t, err)
	for i := range n {
		q.Push(i, 1+int64(i%30), i) // in line and in the heap
	}
	full := heap()
	for q.Len() > 0 {
		q.Pop()
	}
	for range 10 { // rounds, in which the last idle ones leave
		q.Push(-1, 1, 0)
		q.Pop()
	}
	drained := heap()
	t.Logf("%d tenants with an item each: %d bytes a tenant; after the drain %d bytes in all", n, (full-before)/uint64(n), drained-before)
	require.LessOrEqual(t, drained-before, uint64(256<<10))
	require.NoError(t, check(q, true))
}

// BenchmarkMemory reports the bytes that an item, an active tenant and an idle
// one take.
func BenchmarkMemory(b *testing.B) {
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	const n = 200_000
	for range b.N {
		base := heap()
		q, _ := New[int, int](Config{})
		for i := range n {
			q.Push(i, 1, 0)
		}
		oneEach := heap()
		for i := range n {
			q.Push(i, 1, 0)
		}
		twoEach := heap()
		for q.Len() > 0 {
			q.Pop()
		}
		q.Push(-1, 1, 0)
		q.Pop()
		idle := heap()
		b.ReportMetric((twoEach-oneEach)/n, "B/item")
		b.ReportMetric((oneEach-base-(twoEach-oneEach))/n, "B/active-tenant")
		b.ReportMetric((idle-base)/n, "B/idle-tenant")
		runtime.KeepAlive(q)
	}
}

// TestSteadyStateAllocatesNothing covers the calls that the benchmarks at the
// root of the module don't.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	q := newQueue(t, Config{Quantum: 3, MaxTenantDepth: 50})
	handles := make([]*Tenant[string, int], 100)
	for i := range handles {
		handles[i] = q.Tenant(fmt.Sprint(i))
		handles[i].Push(int64(1+i), i)
		handles[i].Push(int64(1+i), i)
	}
	i := 0
	step := func() {
		i++
		_, v, _ := q.Pop()
		h := handles[v]
		h.Push(int64(1+i%90), v)
		h.Charge(int64(i%7) - 3)
		it, _ := h.Push(5, v)
		q.Cancel(it)
		handles[i%100].Block()
		handles[i%100].Unblock()
		q.Charge("passer-by", int64(i%2)) // comes and goes with its debt
	}
	for range 10_000 {
		step()
	}
	require.Zero(t, testing.AllocsPerRun(20_000, step))
	_, err := handles[0].Push(1, 0)
	for err == nil {
		_, err = handles[0].Push(1, 0)
	}
	require.Zero(t, testing.AllocsPerRun(1000, func() { handles[0].Push(1, 0) }), "refusals")
}
