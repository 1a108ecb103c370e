package tenantmetrics

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// plain is the oracle: it remembers everything about everybody, and picks the
// tenants for a report one after the other, by looking at all of them.
type plain struct {
	config  Config
	period  int
	truth   map[string]Counts // of this period, by label, deleted tenants too
	visible map[string]Counts // the same without what a Delete took away
	sampled []Refusal
	total   Counts
	named   map[string]bool
	held    map[string]bool
	deleted map[string]int // the period of the last Delete
}

func newPlain(config Config) *plain {
	return &plain{
		config: config.withDefaults(), truth: map[string]Counts{}, visible: map[string]Counts{},
		named: map[string]bool{}, held: map[string]bool{}, deleted: map[string]int{},
	}
}

func (p *plain) add(tenant string, o Outcome, n int64) {
	name := Label(tenant)
	p.total[o] += n
	c := p.truth[name]
	c[o] += n
	p.truth[name] = c
	if period, ok := p.deleted[name]; ok && period >= p.period-1 {
		return
	}
	c = p.visible[name]
	c[o] += n
	p.visible[name] = c
	known := slices.ContainsFunc(p.sampled, func(r Refusal) bool { return r.Tenant == name })
	if o != Completed && !known && len(p.sampled) < p.config.Samples {
		p.sampled = append(p.sampled, Refusal{name, o})
	}
}

func (p *plain) delete(tenant string) {
	name := Label(tenant)
	p.deleted[name] = p.period
	delete(p.visible, name)
	delete(p.named, name)
	delete(p.held, name)
	p.sampled = slices.DeleteFunc(p.sampled, func(r Refusal) bool { return r.Tenant == name })
}

// beats reports whether tenant a goes before b.
func (p *plain) beats(a, b string, measure func(Counts) int64) bool {
	h := int64(p.config.Hysteresis)
	x, y := measure(p.visible[a]), measure(p.visible[b])
	switch heldA, heldB := p.held[a] && h > 1, p.held[b] && h > 1; {
	case heldA && !heldB:
		return y <= h*x
	case heldB && !heldA:
		return x > h*y
	case x != y:
		return x > y
	}
	return a < b
}

func (p *plain) flush() Report {
	report := Report{Total: p.total, Refused: p.sampled}
	series := map[string]bool{}
	choose := func(places int, measure func(Counts) int64) {
		passed := map[string]bool{}
		for places > 0 {
			best := ""
			for name, c := range p.visible {
				if measure(c) > 0 && !series[name] && !passed[name] && (best == "" || p.beats(name, best, measure)) {
					best = name
				}
			}
			if best == "" {
				return
			}
			if !p.named[best] && len(p.named) >= p.config.MaxNames {
				passed[best] = true
				if len(report.Unnamed) < p.config.TopK && !slices.Contains(report.Unnamed, best) {
					report.Unnamed = append(report.Unnamed, best)
				}
				continue
			}
			p.named[best] = true
			series[best] = true
			places--
		}
	}
	choose(p.config.TopK-p.config.TopRefused, Counts.Requests)
	choose(p.config.TopRefused, Counts.Refused)
	choose(p.config.TopK-len(series), Counts.Requests)

	other := p.total
	for name := range series {
		report.Series = append(report.Series, Series{Tenant: name, Counts: p.visible[name]})
		other.sub(p.visible[name])
	}
	slices.SortFunc(report.Series, func(a, b Series) int {
		x, y := a.Counts.Requests(), b.Counts.Requests()
		if x > y || x == y && a.Tenant < b.Tenant {
			return -1
		}
		return 1
	})
	if other.Requests() > 0 {
		report.Series = append(report.Series, Series{Tenant: Other, Counts: other})
	}
	p.period++
	p.held = series
	p.total, p.sampled = Counts{}, nil
	p.truth, p.visible = map[string]Counts{}, map[string]Counts{}
	return report
}

// checkReport checks what holds of every report, exact or not, given the truth:
//
//	R1  at most TopK series and Other, which is last; no name twice
//	R2  the series add up to the total, which is the truth, for each outcome
//	R3  no count is negative, or above the truth
//	R4  a tenant's requests are no more than its count and Missed
//	R5  the samples are distinct tenants that were refused for that reason
func checkReport(t require.TestingT, config Config, truth map[string]Counts, report Report) {
	config = config.withDefaults()
	var total, sum Counts
	for _, c := range truth {
		total.add(c)
	}
	require.Equal(t, total, report.Total, "R2")
	require.LessOrEqual(t, len(report.Series), config.TopK+1, "R1")
	seen := map[string]bool{}
	for i, s := range report.Series {
		require.False(t, seen[s.Tenant], "R1: %q twice", s.Tenant)
		seen[s.Tenant] = true
		sum.add(s.Counts)
		for o, n := range s.Counts {
			require.GreaterOrEqual(t, n, int64(0), "R3")
			if s.Tenant != Other {
				require.LessOrEqual(t, n, truth[s.Tenant][o], "R3: %q %v", s.Tenant, Outcome(o))
			}
		}
		if s.Tenant == Other {
			require.Equal(t, len(report.Series)-1, i, "R1")
			require.Zero(t, s.Missed)
			continue
		}
		require.Less(t, i, config.TopK, "R1")
		require.GreaterOrEqual(t, s.Missed, int64(0), "R4")
		require.LessOrEqual(t, truth[s.Tenant].Requests(), s.Counts.Requests()+s.Missed, "R4: %q", s.Tenant)
	}
	require.Equal(t, total, sum, "R2")
	require.LessOrEqual(t, len(report.Refused), config.Samples, "R5")
	sampled := map[string]bool{}
	for _, r := range report.Refused {
		require.False(t, sampled[r.Tenant], "R5: %q twice", r.Tenant)
		sampled[r.Tenant] = true
		require.NotEqual(t, Completed, r.Outcome, "R5")
		require.Positive(t, truth[r.Tenant][r.Outcome], "R5")
	}
	require.LessOrEqual(t, len(report.Unnamed), config.TopK)
}

func newReducer(t require.TestingT, config Config) *Reducer {
	r, err := New(config)
	require.NoError(t, err)
	return r
}

func TestOracleOnPaper(t *testing.T) {
	p := newPlain(Config{TopK: 2, MaxNames: 3})
	for tenant, n := range map[string]int64{"a": 5, "b": 5, "c": 5, "d": 1} {
		p.add(tenant, Completed, n)
	}
	require.Equal(t, []Series{
		{"a", Counts{5}, 0}, {"b", Counts{5}, 0}, {Other, Counts{6}, 0},
	}, p.flush().Series)
	p.add("a", QueueFull, 5)
	p.add("b", Completed, 4)
	p.add("c", Completed, 9) // more than twice b
	p.add("d", Completed, 10)
	report := p.flush()
	require.Equal(t, []Series{
		{"d", Counts{10}, 0}, {"a", Counts{QueueFull: 5}, 0}, {Other, Counts{13}, 0},
	}, report.Series)
	require.Empty(t, report.Unnamed)
	p.add("c", Completed, 100)
	p.add("d", Completed, 1)
	report = p.flush()
	require.Equal(t, []Series{{"d", Counts{1}, 0}, {Other, Counts{100}, 0}}, report.Series)
	require.Equal(t, []string{"c"}, report.Unnamed)
}
