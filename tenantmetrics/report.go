package tenantmetrics

import (
	"cmp"
	"math"
	"slices"
)

// A Report is what one period comes to.
type Report struct {
	// Series are the tenants that have one, those with the most requests first
	// and equals by name, and then Other if any requests are left for it: TopK+1
	// at most. They add up to Total.
	Series []Series

	// Total counts all requests of the period. It is exact.
	Total Counts

	// Refused lists the first Config.Samples tenants that were refused, in the
	// order of their first refusals.
	Refused []Refusal

	// Unnamed lists tenants that would have a series but for Config.MaxNames,
	// TopK at most: for a log, where a name costs nothing.
	Unnamed []string
}

// A Series is what was counted for one tenant, or for Other, in a period.
type Series struct {
	Tenant string // see Label
	Counts Counts

	// Missed is the most requests of the tenant that may be counted in Other
	// instead. If it is 0, Counts are exact. For Other it is 0.
	Missed int64
}

// A Refusal is a refused tenant, and the first reason there was.
type Refusal struct {
	Tenant  string // see Label
	Outcome Outcome
}

// Flush ends the period and reports on it. The next one begins with all counts
// at 0. It takes O(Counters log Counters); Add has to wait only while the
// counters are copied, not while they are sorted.
func (r *Reducer) Flush() Report {
	r.naming.Lock()
	defer r.naming.Unlock()
	report, candidates := r.endPeriod()
	chosen := r.choose(candidates, &report)
	for name := range r.named {
		r.named[name] = false
	}
	other := report.Total
	for _, c := range chosen {
		r.named[c.Tenant] = true
		other.sub(c.Counts)
		report.Series = append(report.Series, c.Series)
	}
	slices.SortFunc(report.Series, func(a, b Series) int {
		return cmp.Or(cmp.Compare(b.Counts.Requests(), a.Counts.Requests()), cmp.Compare(a.Tenant, b.Tenant))
	})
	if other != (Counts{}) {
		report.Series = append(report.Series, Series{Tenant: Other, Counts: other})
	}
	return report
}

// endPeriod takes what was counted and sets it to 0.
func (r *Reducer) endPeriod() (Report, []candidate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	report, candidates := Report{Total: r.total, Refused: r.samples}, r.candidates()
	r.total, r.requests, r.samples = Counts{}, 0, nil
	r.all.reset()
	r.refused.reset()
	r.period++
	r.exhumeOld()
	return report, candidates
}

// A candidate is a tenant that may have a series.
type candidate struct {
	Series
	held   bool // it had a series in the period before, and that counts
	chosen bool
}

// choose returns the tenants that have a series, and notes in report those that
// would have had one but for their names.
func (r *Reducer) choose(candidates []candidate, report *Report) []candidate {
	for i := range candidates {
		candidates[i].held = r.config.Hysteresis > 1 && r.named[candidates[i].Tenant]
	}
	names := len(r.named)
	left := r.config.TopK
	choose := func(most int, measure func(Counts) int64) {
		if most == 0 {
			return
		}
		r.rank(candidates, measure)
		for i := range candidates {
			c := &candidates[i]
			if most == 0 || measure(c.Counts) == 0 {
				return
			}
			if c.chosen {
				continue
			}
			if _, named := r.named[c.Tenant]; !named {
				if names >= r.config.MaxNames {
					if len(report.Unnamed) < r.config.TopK && !slices.Contains(report.Unnamed, c.Tenant) {
						report.Unnamed = append(report.Unnamed, c.Tenant)
					}
					continue
				}
				names++
			}
			c.chosen = true
			most--
			left--
		}
	}
	choose(r.config.TopK-r.config.TopRefused, Counts.Requests)
	choose(r.config.TopRefused, Counts.Refused)
	choose(left, Counts.Requests)
	return slices.DeleteFunc(candidates, func(c candidate) bool { return !c.chosen })
}

// candidates returns everybody that has a counter, with the best that the two
// sketches know of each.
func (r *Reducer) candidates() []candidate {
	candidates := make([]candidate, 0, len(r.all.heap))
	add := func(name string, counts Counts, upper int64) {
		candidates = append(candidates, candidate{
			Series: Series{Tenant: name, Counts: counts, Missed: upper - counts.Requests()},
		})
	}
	for _, s := range r.all.heap {
		c := s.c
		if c.estimate == 0 {
			continue
		}
		counts := c.counts
		// The counter for refusals may be the older one, and have seen more.
		if d := r.refused.counters[c.name]; d != nil && d.counts.Requests() > counts.Requests() {
			counts = d.counts
		}
		add(c.name, counts, c.estimate)
	}
	for _, s := range r.refused.heap {
		c := s.c
		if c.estimate > 0 && r.all.counters[c.name] == nil { // it lost the one there
			add(c.name, c.counts, r.all.floor)
		}
	}
	return candidates
}

// rank sorts by measure, which counts Hysteresis times for those that are held,
// and equals by name.
func (r *Reducer) rank(candidates []candidate, measure func(Counts) int64) {
	score := func(c candidate) int64 {
		m := measure(c.Counts)
		if !c.held {
			return m
		}
		h := int64(r.config.Hysteresis)
		if m > math.MaxInt64/h {
			return math.MaxInt64
		}
		return m * h
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		if order := cmp.Compare(score(b), score(a)); order != 0 {
			return order
		}
		if a.held != b.held { // to be displaced takes more, not as many
			if a.held {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Tenant, b.Tenant)
	})
}
