package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/fairlane-go/fairlane/fairness"
)

// BinsPerRun is into how many bins of time Result.Bin and TenantResult.Bins cut
// a run.
const BinsPerRun = 120

// Counts says what became of requests. Submitted is the sum of the others.
type Counts struct {
	Submitted    int `json:"submitted"`
	Completed    int `json:"completed"`     // served to the end, at any time
	RefusedQuota int `json:"refused_quota"` // no token
	RefusedFull  int `json:"refused_full"`  // no place in the queue
}

// Refused returns how many requests were refused, for whatever reason.
func (c Counts) Refused() int { return c.RefusedQuota + c.RefusedFull }

// A TenantResult is what a run measured of one tenant. See the package's
// documentation for what counts as demand, throughput and share.
type TenantResult struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
	// Run counts all requests, Window those that arrived in the window.
	Run    Counts `json:"run"`
	Window Counts `json:"window"`
	// Demand, FairShare and Rate are in requests per second of the window: how
	// many arrived, how many could be served in a fair division, and how many
	// finished.
	Demand    float64 `json:"demand_per_sec"`
	FairShare float64 `json:"fair_share_per_sec"`
	Rate      float64 `json:"rate_per_sec"`
	// WithinShare says that the demand is no more than the fair share.
	WithinShare bool `json:"within_share"`
	// Share is Rate/FairShare, or 0 where there was no demand.
	Share float64 `json:"share"`
	// Work is the service time of the requests that finished in the window.
	Work time.Duration `json:"work_ns"`
	// P99 is the 99th percentile of the queueing times of the requests that
	// arrived in the window and were served, or 0 if there were none.
	P99 time.Duration `json:"p99_ns"`
	// Queueing has those queueing times, in ascending order.
	Queueing []time.Duration `json:"-"`
	// Bins is how many requests finished in each bin of the run.
	Bins []int32 `json:"-"`
}

// A Result is what a run measured.
type Result struct {
	Scenario string `json:"scenario"`
	Policy   string `json:"policy"`
	Seed     uint64 `json:"seed"`
	// Capacity is in requests per second: workers over the mean service time
	// of the requests that arrived in the window. Like Jain and MinShare it is 0
	// if none did.
	Capacity float64 `json:"capacity_per_sec"`
	// Throughput is in requests per second of the window.
	Throughput float64 `json:"throughput_per_sec"`
	// Jain is Jain's index of the tenants' Share, MinShare the smallest of them;
	// both over the tenants with demand.
	Jain     float64 `json:"jain"`
	MinShare float64 `json:"min_share"`
	// P99 is the 99th percentile of Queueing, the queueing times of the requests
	// that tenants within their share sent in the window, in ascending order.
	P99      time.Duration   `json:"p99_within_share_ns"`
	Queueing []time.Duration `json:"-"`
	// RefusedQuota and RefusedFull are how many of those tenants' requests in
	// the window were refused.
	RefusedQuota int `json:"within_share_refused_quota"`
	RefusedFull  int `json:"within_share_refused_full"`
	// Utilization is all work, that after the run's duration included, over
	// workers*duration: it can be above 1. BusyUtilization counts the work done
	// within the duration.
	Utilization     float64 `json:"utilization"`
	BusyUtilization float64 `json:"utilization_busy"`
	// Turns is how many steps the scheduler took for Dequeues requests started;
	// 0 if the policy doesn't count them.
	Turns    uint64 `json:"turns"`
	Dequeues uint64 `json:"dequeues"`
	// End is when the last request finished.
	End time.Duration `json:"end_ns"`
	// Bin is how long a bin of time is.
	Bin time.Duration `json:"bin_ns"`
	// Heaviest is the index of the tenant with the largest demand, the first of
	// several.
	Heaviest int            `json:"heaviest"`
	Tenants  []TenantResult `json:"tenants"`
}

// StepsPerDequeue returns Turns/Dequeues, the work of a scheduling decision, or
// 0 if the policy doesn't count it.
func (r *Result) StepsPerDequeue() float64 {
	if r.Dequeues == 0 {
		return 0
	}
	return float64(r.Turns) / float64(r.Dequeues)
}

// heaviest returns the result of the tenant with the largest demand, or of
// nobody where a caller has made up a Result without tenants.
func (r *Result) heaviest() *TenantResult {
	if r.Heaviest < 0 || r.Heaviest >= len(r.Tenants) {
		return new(TenantResult)
	}
	return &r.Tenants[r.Heaviest]
}

// Run sends the workload of sc through a policy and returns what it measured.
// The error is a *ValueError, or several joined, if sc isn't valid or has no
// parameters for the policy. A run of a million requests takes about a
// second.
func Run(sc *Scenario, policy string, seed uint64) (*Result, error) {
	if err := sc.Validate(); err != nil {
		return nil, err
	}
	return run(sc, sc.Tenants, policy, seed)
}

// RunControl runs the control of sc as Run runs sc itself. It returns nil and no
// error if the scenario has no control, or has none for that policy.
func RunControl(sc *Scenario, policy string, seed uint64) (*Result, error) {
	if err := sc.Validate(); err != nil {
		return nil, err
	}
	ctl := sc.Control
	if ctl == nil || len(ctl.Policies) > 0 && !slices.Contains(ctl.Policies, policy) {
		return nil, nil
	}
	return run(sc, ctl.Tenants, policy, seed)
}

func run(sc *Scenario, groups []Tenant, name string, seed uint64) (*Result, error) {
	tenants := expand(groups)
	p, err := newPolicy(sc, name, tenants)
	if err != nil {
		return nil, err
	}
	e := newEngine(sc, tenants, p, seed)
	for e.step() {
	}
	if e.err != nil {
		return nil, e.err
	}
	r, err := e.record.result(sc, tenants)
	if err != nil {
		return nil, err
	}
	r.Policy, r.Seed, r.End = name, seed, e.now
	r.Turns = p.turns()
	return r, nil
}

// A recorder takes down what happens in a run.
type recorder struct {
	window   Window
	duration time.Duration
	bin      time.Duration

	run      []Counts
	inWindow []Counts
	finishes []int           // in the window
	work     []time.Duration // of those
	bins     []int32         // by tenant and bin
	waits    []wait          // of requests that arrived in the window

	offered    time.Duration // service time of the requests that arrived in the window
	busy       time.Duration
	busyInside time.Duration
	dequeues   uint64
}

type wait struct {
	tenant int
	time   time.Duration
}

func newRecorder(sc *Scenario, tenants []Tenant) recorder {
	return recorder{
		window:   sc.Window,
		duration: sc.Duration,
		bin:      (sc.Duration + BinsPerRun - 1) / BinsPerRun,
		run:      make([]Counts, len(tenants)),
		inWindow: make([]Counts, len(tenants)),
		finishes: make([]int, len(tenants)),
		work:     make([]time.Duration, len(tenants)),
		bins:     make([]int32, len(tenants)*BinsPerRun),
	}
}

func (c *Counts) add(out outcome) {
	c.Submitted++
	switch out {
	case refusedQuota:
		c.RefusedQuota++
	case refusedFull:
		c.RefusedFull++
	}
}

func (rec *recorder) arrived(r request, out outcome) {
	rec.run[r.tenant].add(out)
	if rec.window.contains(r.arrived) {
		rec.inWindow[r.tenant].add(out)
		rec.offered += r.service
	}
}

func (rec *recorder) started(now time.Duration, r request) {
	rec.dequeues++
	if rec.window.contains(r.arrived) {
		rec.waits = append(rec.waits, wait{r.tenant, now - r.arrived})
	}
}

func (rec *recorder) finished(now time.Duration, r running) {
	rec.run[r.tenant].Completed++
	if rec.window.contains(r.arrived) {
		rec.inWindow[r.tenant].Completed++
	}
	if rec.window.contains(now) {
		rec.finishes[r.tenant]++
		rec.work[r.tenant] += r.service
	}
	if now < rec.duration {
		rec.bins[r.tenant*BinsPerRun+int(now/rec.bin)]++
	}
	rec.busy += r.service
	rec.busyInside += max(0, min(now, rec.duration)-r.started)
}

// result computes the measures. It errs only if fairness refuses the numbers.
func (rec *recorder) result(sc *Scenario, tenants []Tenant) (*Result, error) {
	r := &Result{
		Scenario: sc.Name,
		Bin:      rec.bin,
		Dequeues: rec.dequeues,
		Tenants:  make([]TenantResult, len(tenants)),
	}
	seconds := (rec.window.To - rec.window.From).Seconds()
	available := float64(sc.Workers) * float64(rec.duration)
	r.Utilization = float64(rec.busy) / available
	r.BusyUtilization = float64(rec.busyInside) / available
	demands := make([]float64, len(tenants))
	weights := make([]float64, len(tenants))
	rates := make([]float64, len(tenants))
	arrived, finished := 0, 0
	for i, t := range tenants {
		arrived += rec.inWindow[i].Submitted
		finished += rec.finishes[i]
		demands[i] = float64(rec.inWindow[i].Submitted) / seconds
		rates[i] = float64(rec.finishes[i]) / seconds
		weights[i] = t.Weight
		if demands[i] > demands[r.Heaviest] {
			r.Heaviest = i
		}
	}
	r.Throughput = float64(finished) / seconds
	shares := make([]float64, len(tenants))
	if arrived > 0 {
		r.Capacity = float64(sc.Workers) * float64(arrived) / rec.offered.Seconds()
		var err error
		if shares, err = fairness.MaxMin(demands, r.Capacity, weights); err != nil {
			return nil, err
		}
		if r.Jain, err = fairness.WeightedJain(rates, shares); err != nil {
			return nil, err
		}
		if r.MinShare, err = fairness.MinShare(rates, shares); err != nil {
			return nil, err
		}
	}
	queueing := rec.sortedWaits(len(tenants))
	for i, t := range tenants {
		tr := TenantResult{
			Name: t.Name, Weight: t.Weight,
			Run: rec.run[i], Window: rec.inWindow[i],
			Demand: demands[i], FairShare: shares[i], Rate: rates[i],
			WithinShare: demands[i] <= shares[i],
			Work:        rec.work[i],
			P99:         percentile(queueing[i], 99),
			Queueing:    queueing[i],
			Bins:        rec.bins[i*BinsPerRun : (i+1)*BinsPerRun : (i+1)*BinsPerRun],
		}
		if tr.FairShare > 0 {
			tr.Share = tr.Rate / tr.FairShare
		}
		if tr.WithinShare {
			r.Queueing = append(r.Queueing, tr.Queueing...)
			r.RefusedQuota += tr.Window.RefusedQuota
			r.RefusedFull += tr.Window.RefusedFull
		}
		r.Tenants[i] = tr
	}
	slices.Sort(r.Queueing)
	r.P99 = percentile(r.Queueing, 99)
	return r, nil
}

// sortedWaits returns the queueing times of each tenant, sorted.
func (rec *recorder) sortedWaits(tenants int) [][]time.Duration {
	slices.SortFunc(rec.waits, func(a, b wait) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.time, b.time))
	})
	times := make([]time.Duration, len(rec.waits))
	sorted := make([][]time.Duration, tenants)
	first := 0
	for i, w := range rec.waits {
		times[i] = w.time
		if i+1 == len(rec.waits) || rec.waits[i+1].tenant != w.tenant {
			sorted[w.tenant] = times[first : i+1 : i+1]
			first = i + 1
		}
	}
	return sorted
}

// percentile returns the nearest-rank p-th percentile of sorted values, the
// ceil(p*n/100)-th of them, or 0 if there are none.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(int64(len(sorted))*int64(p)+99)/100-1]
}
