package tenantmetrics

import (
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// add is Add, which must not fail. (require costs too much for a million calls.)
func add(t testing.TB, r *Reducer, tenant string, outcome Outcome, n int64) {
	if err := r.Add(tenant, outcome, n); err != nil {
		t.Fatal(err)
	}
}

func one(outcome Outcome) (c Counts) {
	c[outcome] = 1
	return c
}

// A thousand tenants and a million: K+1 series, exact sums, and the heavy
// tenants among them.
func TestNeverMoreThanTopKPlusOneSeries(t *testing.T) {
	for _, tenants := range []int{1_000, million} {
		config := Config{TopK: 20, TopRefused: 5}
		r := newReducer(t, config)
		truth := map[string]Counts{}
		for i := range tenants {
			add(t, r, strconv.Itoa(i), Outcome(i%4), 1)
			if i%100 == 0 { // ten heavy ones, all the time
				name := "heavy-" + strconv.Itoa(i/100%10)
				add(t, r, name, Completed, 50)
				truth[name] = Counts{Completed: truth[name][Completed] + 50}
			}
		}
		report := r.Flush()
		// The truth, with those light ones apart that the report names.
		quarter := int64(tenants) / 4
		rest := Counts{quarter, quarter, quarter, quarter}
		apart := func(name string) {
			if i, err := strconv.Atoi(name); err == nil && truth[name] == (Counts{}) {
				truth[name] = one(Outcome(i % 4))
				rest.sub(truth[name])
			}
		}
		for _, s := range report.Series {
			apart(s.Tenant)
		}
		for _, s := range report.Refused {
			apart(s.Tenant)
		}
		truth["rest"] = rest
		checkReport(t, config, truth, report)
		require.Len(t, report.Series, 21)
		for i := range 10 {
			s := report.Series[i]
			require.True(t, strings.HasPrefix(s.Tenant, "heavy-"))
			require.Equal(t, truth[s.Tenant], s.Counts)
		}
		if tenants <= DefaultCounters {
			for _, s := range report.Series {
				require.Zero(t, s.Missed)
			}
		}
	}
}

func TestMemoryIsFlatWhateverTheNumberOfTenants(t *testing.T) {
	r := newReducer(t, Config{Counters: 1000, TopRefused: 5})
	next := 0
	run := func(n int) uint64 {
		// Names that are part of something much larger, which must not be kept.
		for range n {
			next++
			request := strings.Repeat(strconv.Itoa(next%10), 2000) + strconv.Itoa(next)
			add(t, r, request[2000:], Outcome(next%4), 1)
			if next%5000 == 0 {
				r.Flush()
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	start := run(0)
	before := run(10_000)
	after := run(50_000)
	runtime.KeepAlive(r)
	require.Less(t, before, start+1_000_000, "two times 1,000 counters take %d bytes", int64(before)-int64(start))
	require.Less(t, after, before+300_000, "50,000 more tenants took %d more bytes", int64(after)-int64(before))
}

// Over 200 periods with 1,000 tenants of about the same size a top 10 without
// memory shows most of them at some time; the default shows few, and never more
// than MaxNames, and hardly changes from one period to the next.
func TestNamesAreBoundedOverTheLifeOfTheProcess(t *testing.T) {
	run := func(config Config) (names, changes int) {
		r := newReducer(t, config)
		rng := rand.New(rand.NewPCG(11, 200))
		ever, last := map[string]bool{}, map[string]bool{}
		for range 200 {
			for i := range 1000 {
				mean := 100 + float64(i%10)
				n := int64(mean + math.Sqrt(mean)*rng.NormFloat64())
				add(t, r, strconv.Itoa(i), Completed, max(n, 1))
			}
			report := r.Flush()
			require.Len(t, report.Series, 11)
			now := map[string]bool{}
			for _, s := range report.Series[:10] {
				ever[s.Tenant], now[s.Tenant] = true, true
				if !last[s.Tenant] {
					changes++
				}
			}
			last = now
		}
		return len(ever), changes - 10
	}
	names, changes := run(Config{Hysteresis: 1, MaxNames: math.MaxInt})
	require.Greater(t, names, 500, "the control: without bounds there is churn")
	require.Greater(t, changes, 1500)
	names, changes = run(Config{Hysteresis: 1})
	require.Equal(t, 100, names)
	require.Greater(t, changes, 1000, "names are bounded, but they flicker")
	names, changes = run(Config{})
	require.Less(t, names, 20)
	require.Less(t, changes, 20)
}

func TestHysteresisLetsARealChangeIn(t *testing.T) {
	r := newReducer(t, Config{TopK: 1})
	top := func(a, b int64) string {
		require.NoError(t, r.Add("a", Completed, a))
		require.NoError(t, r.Add("b", Completed, b))
		return r.Flush().Series[0].Tenant
	}
	require.Equal(t, "a", top(10, 9))
	require.Equal(t, "a", top(10, 20))
	require.Equal(t, "b", top(10, 21))
	require.Equal(t, "b", top(10, 5))
	require.Equal(t, "a", top(11, 5))
}

func TestDeleteGivesItsNameBack(t *testing.T) {
	r := newReducer(t, Config{TopK: 1, MaxNames: 1})
	require.NoError(t, r.Add("old", Completed, 1))
	require.Equal(t, "old", r.Flush().Series[0].Tenant)
	require.NoError(t, r.Add("new", Completed, 100))
	report := r.Flush()
	require.Equal(t, []Series{{Tenant: Other, Counts: Counts{100}}}, report.Series)
	require.Equal(t, []string{"new"}, report.Unnamed)
	r.Delete("old")
	require.NoError(t, r.Add("new", Completed, 100))
	require.Equal(t, "new", r.Flush().Series[0].Tenant)
}

// Names from outside can't crash, forge or merge series.
func TestLabel(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for _, name := range []string{"acme", "a", "_other__", "_", "other", "tenant 1\n\"\\", "日本-1", strings.Repeat("x", 128)} {
		require.Equal(t, name, Label(name))
	}
	require.Equal(t, "__e3b0c44298fc1c149afbf4c8996fb924_", Label(""))
	seen := map[string]string{Other: "the overflow"}
	for _, name := range []string{
		"", "\xff\xf4", "\xff\xf5", "?", Other, "__", "___other__", Label(Other), Label(Label(Other)), "other__",
		long + "1", long + "2", long[:129], long[:128], strings.Repeat("é", 65), "x" + strings.Repeat("é", 64),
	} {
		label := Label(name)
		require.NotContains(t, seen, label, "%q", name)
		seen[label] = name
		require.True(t, utf8.ValidString(label))
		require.LessOrEqual(t, len(label), maxLabel)
		require.NotEmpty(t, label)
	}
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.SliceOfN(rapid.Byte(), 0, 200)
		a, b := string(bytes.Draw(t, "a")), string(bytes.Draw(t, "b"))
		require.Equal(t, a == b, Label(a) == Label(b))
		for _, label := range []string{Label(a), Label(b)} {
			require.True(t, utf8.ValidString(label))
			require.LessOrEqual(t, len(label), maxLabel)
			require.NotEqual(t, Other, label)
		}
	})
}

func TestATenantNamedLikeTheOverflowSeriesIsNotMergedWithIt(t *testing.T) {
	r := newReducer(t, Config{TopK: 1, Hysteresis: 1})
	require.NoError(t, r.Add(Other, Completed, 5))
	require.NoError(t, r.Add("a", Completed, 2))
	require.Equal(t, []Series{
		{Tenant: Label(Other), Counts: Counts{5}},
		{Tenant: Other, Counts: Counts{2}},
	}, r.Flush().Series)
	require.NoError(t, r.Add(Other, Completed, 5))
	require.NoError(t, r.Add("a", Completed, 2))
	r.Delete(Other) // the tenant, that is
	require.Equal(t, []Series{
		{Tenant: "a", Counts: Counts{2}},
		{Tenant: Other, Counts: Counts{5}},
	}, r.Flush().Series)
}

func TestAddDoesNotAllocate(t *testing.T) {
	r := newReducer(t, Config{TopRefused: 5, Counters: 100})
	names := make([]string, 300)
	for i := range names {
		names[i] = "tenant-" + strconv.Itoa(i)
	}
	i := 0
	add := func(tenants int) func() {
		return func() {
			add(t, r, names[i%tenants], Outcome(i/tenants%4), 1)
			i++
		}
	}
	warm := add(100)
	for range 800 {
		warm()
	}
	r.Delete("somebody") // looking it up costs nothing either
	require.Zero(t, testing.AllocsPerRun(1000, add(100)))
	r.Flush()
	for range 400 {
		warm() // the samples of the new period
	}
	require.Zero(t, testing.AllocsPerRun(1000, add(100)), "and in the next period")
	// A tenant without a counter costs a copy of its name, in each sketch.
	require.LessOrEqual(t, testing.AllocsPerRun(3000, add(300)), 2.0)
}
