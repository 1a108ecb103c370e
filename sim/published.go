package sim

import "time"

// A Published is a number that somebody else reported for a scenario, to
// compare with. What isn't known is nil.
type Published struct {
	// Policy is the name of the policy, Control whether the number is of the
	// control rather than the scenario itself.
	Policy  string
	Control bool
	// Metric is one of MetricNames.
	Metric string
	// Source is the number that the source itself reports.
	Source *float64
	// Mean, Min and Max are of a reference simulation's runs, over Runs seeds.
	Mean, Min, Max *float64
	Runs           int
	// AcceptMin and AcceptMax are the range that a correct simulation of the
	// scenario stays in, whatever the seed.
	AcceptMin, AcceptMax *float64
}

// The metrics, in the order in which they are shown.
var metrics = []struct {
	name  string
	value func(*Result) float64
}{
	{"jain", func(r *Result) float64 { return r.Jain }},
	{"min_share", func(r *Result) float64 { return r.MinShare }},
	{"p99_within_share_ms", func(r *Result) float64 { return milliseconds(r.P99) }},
	{"heavy_per_sec", func(r *Result) float64 { return r.heaviest().Rate }},
	{"heavy_fair_share_per_sec", func(r *Result) float64 { return r.heaviest().FairShare }},
	{"heavy_p99_ms", func(r *Result) float64 { return milliseconds(r.heaviest().P99) }},
	{"utilization", func(r *Result) float64 { return r.Utilization }},
	{"utilization_busy", func(r *Result) float64 { return r.BusyUtilization }},
	{"within_share_rejections", func(r *Result) float64 { return float64(r.RefusedQuota + r.RefusedFull) }},
	{"throughput_per_sec", func(r *Result) float64 { return r.Throughput }},
	{"capacity_per_sec", func(r *Result) float64 { return r.Capacity }},
	{"steps_per_dequeue", (*Result).StepsPerDequeue},
}

// MetricNames returns the names of the numbers that Result.Metric knows, in the
// order in which they are best shown. "heavy" in them is the tenant with the
// largest demand (Result.Heaviest); the unit is the end of the name.
func MetricNames() []string {
	names := make([]string, len(metrics))
	for i, m := range metrics {
		names[i] = m.name
	}
	return names
}

// Metric returns one of the result's numbers by its name, and false if there is
// none of that name.
func (r *Result) Metric(name string) (value float64, ok bool) {
	for _, m := range metrics {
		if m.name == name {
			return m.value(r), true
		}
	}
	return 0, false
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// published checks a number to compare with.
func (c *checker) published(field string, p Published, control bool) {
	c.that(isPolicy(p.Policy), field+".policy", p.Policy, "the name of a policy")
	_, ok := new(Result).Metric(p.Metric)
	c.that(ok, field+".metric", p.Metric, "the name of a metric")
	c.that(control || !p.Control, field+".control", p.Control, "false where the scenario has no control")
	c.that(p.Runs >= 0, field+".runs", p.Runs, "0 or more")
	for _, n := range []struct {
		name  string
		value *float64
	}{
		{".source", p.Source},
		{".mean", p.Mean},
		{".min", p.Min},
		{".max", p.Max},
		{".accept_min", p.AcceptMin},
		{".accept_max", p.AcceptMax},
	} {
		if n.value != nil {
			c.that(isFinite(*n.value), field+n.name, *n.value, "a finite number")
		}
	}
	c.order(field+".mean", p.Min, p.Mean, "at least min")
	c.order(field+".max", p.Mean, p.Max, "at least mean")
	if p.Mean == nil {
		c.order(field+".max", p.Min, p.Max, "at least min")
	}
	c.order(field+".accept_max", p.AcceptMin, p.AcceptMax, "at least accept_min")
}

func (c *checker) order(field string, low, high *float64, want string) {
	if low != nil && high != nil {
		c.that(!(*high < *low), field, *high, want)
	}
}
