package tenantmetrics

import (
	"fmt"
	"math"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// play runs random calls on a Reducer and on the oracle, with names tenants
// that are drawn so that some are much more frequent than others.
func play(t *rapid.T, config Config, names int, check func(p *plain, got, want Report)) {
	r, p := newReducer(t, config), newPlain(config)
	name := rapid.Custom(func(t *rapid.T) string {
		i := rapid.IntRange(0, names-1).Draw(t, "i")
		return strconv.Itoa(rapid.IntRange(0, i).Draw(t, "tenant"))
	})
	flush := func(t *rapid.T) {
		truth := p.truth
		got := r.Flush()
		want := p.flush()
		checkReport(t, config, truth, got)
		require.LessOrEqual(t, len(r.named), p.config.MaxNames)
		check(p, got, want)
	}
	t.Repeat(map[string]func(*rapid.T){
		"add": func(t *rapid.T) {
			for range rapid.IntRange(1, 20).Draw(t, "events") {
				tenant := name.Draw(t, "name")
				outcome := Outcome(rapid.IntRange(0, int(outcomes)-1).Draw(t, "outcome"))
				n := rapid.Int64Range(1, 3).Draw(t, "n")
				require.NoError(t, r.Add(tenant, outcome, n))
				p.add(tenant, outcome, n)
			}
		},
		"delete": func(t *rapid.T) {
			tenant := name.Draw(t, "name")
			r.Delete(tenant)
			p.delete(tenant)
		},
		"bad": func(t *rapid.T) {
			require.Error(t, r.Add(name.Draw(t, "name"), Completed, rapid.Int64Range(-3, 0).Draw(t, "n")))
		},
		"flush": flush,
		"": func(t *rapid.T) {
			checkSketch(t, &r.all)
			checkSketch(t, &r.refused)
			require.LessOrEqual(t, len(r.buried), len(r.graves))
		},
	})
	flush(t)
}

func genConfig(t *rapid.T, counters int) Config {
	k := rapid.IntRange(1, 5).Draw(t, "TopK")
	return Config{
		TopK:       k,
		TopRefused: rapid.IntRange(0, k).Draw(t, "TopRefused"),
		Counters:   max(counters, k),
		MaxNames:   rapid.SampledFrom([]int{0, k, k + 2, math.MaxInt}).Draw(t, "MaxNames"),
		Hysteresis: rapid.IntRange(0, 3).Draw(t, "Hysteresis"),
		Samples:    rapid.IntRange(0, 3).Draw(t, "Samples"),
	}
}

// While there are counters for all tenants a report is what one would make of
// a map of everything, to the last field.
func TestReducerAgreesWithAMapOfEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		play(t, genConfig(t, 12), 12, func(_ *plain, got, want Report) {
			require.Equal(t, want.Total, got.Total)
			require.Equal(t, want.Series, got.Series)
			require.Equal(t, want.Unnamed, got.Unnamed)
			require.Equal(t, append([]Refusal{}, want.Refused...), append([]Refusal{}, got.Refused...))
		})
	})
}

// With too few counters the totals, the bounds and the samples are still right
// (checkReport), and what is wrong is within what Missed admits.
func TestReducerWithFewCountersIsHonest(t *testing.T) {
	wrong := false
	rapid.Check(t, func(t *rapid.T) {
		play(t, genConfig(t, 6), 40, func(_ *plain, got, want Report) {
			for _, s := range got.Series {
				wrong = wrong || s.Missed > 0
			}
			require.Equal(t, append([]Refusal{}, want.Refused...), append([]Refusal{}, got.Refused...))
		})
	})
	if !testing.Short() { // few traces then
		require.True(t, wrong, "no counter was ever taken over: nothing was tested")
	}
}

// Late events of a deleted tenant don't bring its series back, and a delete
// matches the whole name: the published failure let both happen.
func TestRC31LateEventsDoNotBringADeletedTenantBack(t *testing.T) {
	r := newReducer(t, Config{})
	for range 5 {
		require.NoError(t, r.Add("tenant-1", Completed, 1))
		require.NoError(t, r.Add("tenant-10", Completed, 1))
	}
	r.Delete("tenant-1")
	require.NoError(t, r.Add("tenant-1", TimedOut, 1)) // a call that began before the delete
	report := r.Flush()
	require.Equal(t, []Series{
		{Tenant: "tenant-10", Counts: Counts{Completed: 5}},
		{Tenant: Other, Counts: Counts{Completed: 5, TimedOut: 1}},
	}, report.Series)
	require.Equal(t, Counts{Completed: 10, TimedOut: 1}, report.Total)
	require.Empty(t, report.Refused)

	// The same in the period after the delete, and never in later ones: then the
	// name is a new tenant's.
	require.NoError(t, r.Add("tenant-1", QueueFull, 2))
	report = r.Flush()
	require.Equal(t, []Series{{Tenant: Other, Counts: Counts{QueueFull: 2}}}, report.Series)
	require.Empty(t, report.Refused)
	require.NoError(t, r.Add("tenant-1", QueueFull, 2))
	report = r.Flush()
	require.Equal(t, []Series{{Tenant: "tenant-1", Counts: Counts{QueueFull: 2}}}, report.Series)
	require.Equal(t, []Refusal{{"tenant-1", QueueFull}}, report.Refused)
	require.Empty(t, r.buried)
}

// A cap of 100 tracked tenants and a million different ids, one event each.
func TestRC31AMillionTenantsLoseNoCount(t *testing.T) {
	r := newReducer(t, Config{TopK: 100, Counters: 100})
	for i := range million {
		add(t, r, "tenant-"+strconv.Itoa(i), Completed, 1)
	}
	report := r.Flush()
	require.LessOrEqual(t, len(report.Series), 101)
	sum := int64(0)
	for _, s := range report.Series {
		sum += s.Counts.Requests()
	}
	require.Equal(t, int64(million), sum)
	require.Equal(t, int64(million), report.Total.Requests())
	require.Equal(t, int64(million/100-1), report.Series[0].Missed, "honest about what it can't know")
}

func TestDeletedAgain(t *testing.T) {
	r := newReducer(t, Config{})
	r.Delete("a")
	r.Delete("a")
	require.Len(t, r.graves, 1)
	r.Flush()
	r.Delete("a") // counts from now on
	r.Flush()
	require.NoError(t, r.Add("a", Completed, 1))
	require.Equal(t, Other, r.Flush().Series[0].Tenant)
	require.NoError(t, r.Add("a", Completed, 1))
	require.Equal(t, "a", r.Flush().Series[0].Tenant)
}

func TestAsManyDeletionsAsOneLikesTakeBoundedMemory(t *testing.T) {
	r := newReducer(t, Config{})
	for i := range 10 * maxDeleted {
		r.Delete(strconv.Itoa(i))
		if len(r.buried) > maxDeleted || len(r.graves) != len(r.buried) {
			t.Fatalf("%d buried, %d graves", len(r.buried), len(r.graves))
		}
	}
	require.LessOrEqual(t, cap(r.graves), 4*maxDeleted)
	for i, want := range map[int]string{9 * maxDeleted: Other, 9*maxDeleted - 1: strconv.Itoa(9*maxDeleted - 1)} {
		require.NoError(t, r.Add(strconv.Itoa(i), Completed, 1))
		require.Equal(t, want, r.Flush().Series[0].Tenant)
		r = newReducer(t, Config{})
		for i := range 10 * maxDeleted {
			r.Delete(strconv.Itoa(i))
		}
	}
}

// A small tenant that is refused at every call is not buried among the others.
func TestTopRefusedShowsTheSmallTenantThatIsRefused(t *testing.T) {
	for _, topRefused := range []int{0, 1} {
		r := newReducer(t, Config{TopK: 3, TopRefused: topRefused})
		for i := range 20 {
			require.NoError(t, r.Add(fmt.Sprintf("big-%02d", i), Completed, 1000))
			require.NoError(t, r.Add(fmt.Sprintf("big-%02d", i), OverQuota, 1))
		}
		require.NoError(t, r.Add("small", OverQuota, 5))
		names := []string{}
		for _, s := range r.Flush().Series {
			names = append(names, s.Tenant)
		}
		require.Equal(t, [][]string{
			{"big-00", "big-01", "big-02", Other},
			{"big-00", "big-01", "small", Other},
		}[topRefused], names)
	}
}

// A refused tenant that lost its counter among all tenants still has the one
// among the refused, and what that one saw.
func TestRefusedTenantIsCountedByEitherCounter(t *testing.T) {
	r := newReducer(t, Config{TopK: 2, TopRefused: 1, Counters: 2, Hysteresis: 1})
	calls := func(names string, outcome Outcome) {
		for _, name := range names {
			require.NoError(t, r.Add(string(name), outcome, 1))
		}
	}
	calls("s", OverQuota)
	calls("saaabbb", Completed) // a has the second counter, b takes over that of s
	require.Equal(t, []Series{
		{"a", Counts{3}, 0},
		{"s", Counts{Completed: 1, OverQuota: 1}, 0},
		{Other, Counts{3}, 0},
	}, r.Flush().Series)

	calls("s", OverQuota)
	calls("saaabbbs", Completed) // and s takes over that of a: four at most, three at least
	require.Equal(t, []Series{
		{"b", Counts{3}, 2},
		{"s", Counts{Completed: 2, OverQuota: 1}, 1},
		{Other, Counts{3}, 0},
	}, r.Flush().Series)
}

func TestConcurrentUse(t *testing.T) {
	r := newReducer(t, Config{TopK: 3, TopRefused: 1, Counters: 20})
	var mu sync.Mutex
	var total Counts
	count := func(report Report) {
		mu.Lock()
		defer mu.Unlock()
		var sum Counts
		for _, s := range report.Series {
			sum.add(s.Counts)
		}
		if sum != report.Total {
			t.Errorf("series add up to %v, total %v", sum, report.Total)
		}
		total.add(sum)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				if err := r.Add(strconv.Itoa(i*g%50), Outcome(i%4), 1); err != nil {
					t.Error(err)
				}
				if i%97 == g {
					r.Delete(strconv.Itoa(i % 50))
				}
				if i%500 == g {
					count(r.Flush())
				}
			}
		})
	}
	wg.Wait()
	count(r.Flush())
	require.Equal(t, Counts{4000, 4000, 4000, 4000}, total)
}

func TestConfigReportsEveryProblem(t *testing.T) {
	_, err := New(Config{TopK: -1, TopRefused: -2, Counters: -3, MaxNames: -4, Hysteresis: -5, Samples: -6})
	require.EqualError(t, err, "tenantmetrics: Config.TopK is -1, want 1 to 2^24, or 0 for the default\n"+
		"tenantmetrics: Config.TopRefused is -2, want 0 to TopK\n"+
		"tenantmetrics: Config.Counters is -3, want TopK to 2^24, or 0 for the default\n"+
		"tenantmetrics: Config.MaxNames is -4, want TopK or more, or 0 for the default\n"+
		"tenantmetrics: Config.Hysteresis is -5, want 1 to 100, or 0 for the default\n"+
		"tenantmetrics: Config.Samples is -6, want 1 to 1000, or 0 for the default")
	var e *ValueError
	require.ErrorAs(t, err, &e)
	for _, c := range []Config{
		{TopK: maxCounters + 1},
		{TopK: math.MaxInt},
		{TopRefused: 11},
		{TopK: 5, Counters: 4},
		{Counters: maxCounters + 1},
		{TopK: 5, MaxNames: 4},
		{Hysteresis: 101},
		{Samples: 1001},
	} {
		r, err := New(c)
		require.ErrorAs(t, err, &e, "%+v", c)
		require.Nil(t, r)
	}
	require.Equal(t, Config{TopK: 10, Counters: 4096, MaxNames: 100, Hysteresis: 2, Samples: 10}, newReducer(t, Config{}).config)
	require.Equal(t, 5000, newReducer(t, Config{TopK: 5000}).config.Counters)
}

func TestAddReportsBadArguments(t *testing.T) {
	r := newReducer(t, Config{TopRefused: 1})
	require.EqualError(t, r.Add("a", Outcome(4), 1), "tenantmetrics: outcome is 4, want Completed, OverQuota, QueueFull or TimedOut")
	require.EqualError(t, r.Add("a", TimedOut, 0), "tenantmetrics: n is 0, want 1 or more")
	require.EqualError(t, r.Add("a", TimedOut, math.MinInt64), "tenantmetrics: n is -9223372036854775808, want 1 or more")
	require.Equal(t, Report{}, r.Flush())

	require.NoError(t, r.Add("a", TimedOut, math.MaxInt64-1))
	require.EqualError(t, r.Add("b", Completed, 2), "tenantmetrics: n is 2, want a total of no more than 2^63-1 in a period")
	require.NoError(t, r.Add("b", Completed, 1))
	require.Equal(t, []Series{
		{Tenant: "a", Counts: Counts{TimedOut: math.MaxInt64 - 1}},
		{Tenant: "b", Counts: Counts{Completed: 1}},
	}, r.Flush().Series)

	// The huge one keeps its place: twice as much is no overflow.
	r = newReducer(t, Config{TopK: 1})
	for range 2 {
		require.NoError(t, r.Add("a", TimedOut, math.MaxInt64-1))
		require.NoError(t, r.Add("b", Completed, 1))
		require.Equal(t, "a", r.Flush().Series[0].Tenant)
	}
}

func TestOutcomes(t *testing.T) {
	names := map[string]bool{}
	for o := range outcomes {
		names[o.String()] = true
	}
	require.Equal(t, map[string]bool{"completed": true, "over quota": true, "queue full": true, "timed out": true}, names)
	require.Equal(t, "outcome 9", Outcome(9).String())
	c := Counts{Completed: 1, OverQuota: 10, QueueFull: 100, TimedOut: 1000}
	require.Equal(t, int64(1111), c.Requests())
	require.Equal(t, int64(1110), c.Refused())
}
