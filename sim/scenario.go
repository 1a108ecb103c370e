package sim

import (
	"fmt"
	"strconv"
	"time"

	"github.com/fairlane-go/fairlane/internal/invalid"
	"github.com/fairlane-go/fairlane/quota"
)

// A ValueError reports an argument, or a field of a scenario, that is out of
// range, with its value. The fields of a scenario are named by their path in
// the file: "tenants[2].bursts[0].factor". Several can come joined; errors.As
// finds the first.
type ValueError = invalid.ValueError

// The largest scenario that can be run.
const (
	// MaxTenants bounds the tenants, counting each of a group.
	MaxTenants = 100_000
	// MaxWorkers bounds the workers.
	MaxWorkers = 100_000
	// MaxArrivals bounds the requests expected in a run, and so its time (some
	// seconds) and memory.
	MaxArrivals = 20_000_000

	maxDuration = 1000 * time.Hour
	maxService  = 10 * time.Second
	maxQuantum  = time.Second
	maxWeight   = 1e6
	maxDepth    = 1_000_000_000
)

// A Scenario is a workload, the policies' parameters, and what to measure. Load
// reads one from a file; a program that makes one itself can check it with
// Validate, as Run does. Nothing in this package changes a Scenario, so several
// goroutines may use one at once.
type Scenario struct {
	// Name is what the scenario is called. It can't be empty.
	Name string
	// About says what it is for. It may be empty.
	About string
	// Choices says why its parameters are what they are, in particular where a
	// source left them open. It may be empty.
	Choices []Choice
	// Seeds are the seeds to run it with if nobody asks for others, one at least.
	Seeds []uint64
	// Duration is for how long requests arrive: 1 ms to 1000 h.
	Duration time.Duration
	// Window is when results are measured.
	Window Window
	// Workers is how many requests are served at once: 1 to MaxWorkers.
	Workers int
	// Service is how long requests take.
	Service Service
	// Tenants are the tenants or groups of tenants, one at least.
	Tenants []Tenant
	// Policies has the parameters of the policies that can be run.
	Policies Policies
	// Control is the experiment for F4 (see Verdicts), or nil.
	Control *Control
	// Criteria are the bounds for F1 to F5.
	Criteria Criteria
	// Published are results of others to compare with. It may be empty, and no
	// run looks at it.
	Published []Published
}

// A Choice is a parameter, or a way of counting, with the reason for it.
type Choice struct {
	What, Why string
}

// A Window is the time from From to To, that instant excluded.
type Window struct {
	From, To time.Duration
}

func (w Window) contains(t time.Duration) bool { return w.From <= t && t < w.To }

// The distributions of service times.
const (
	Exponential = "exponential"
	Constant    = "constant"
)

// A Service is the distribution of service times, the same for all tenants.
type Service struct {
	// Distribution is Exponential or Constant.
	Distribution string
	// Mean is 1 ns to 10 s. Times are whole nanoseconds, 1 at least.
	Mean time.Duration
}

// A Tenant is a tenant, or a group of tenants that differ in nothing but name.
type Tenant struct {
	// Name is 1 to 200 bytes long. The tenants of a group are called Name-1, Name-2, …,
	// with zeros in front so that all have the same length.
	Name string
	// Count is how many tenants the group has; 1 is a tenant called Name.
	Count int
	// Rate is how many requests each of them sends per second, above 0, outside
	// bursts.
	Rate float64
	// Weight is its share of the workers in proportion to that of others, for
	// drr and for the fair shares: above 0, at most 10^6.
	Weight float64
	// Bursts are the times with another rate, in order, apart from each other,
	// within the run. It may be empty.
	Bursts []Burst
	// Quota is the limit of its token bucket in quota and drr_quota. Nil is no
	// limit.
	Quota *Limit
}

// A Burst multiplies a tenant's rate by Factor, 0 or more, from From to To, that
// instant excluded.
type Burst struct {
	From, To time.Duration
	Factor   float64
}

// A Limit is a token bucket's, where a request takes one token. The bucket is
// full at the start.
type Limit struct {
	// Rate is in tokens per second, above 0.
	Rate float64
	// Burst is the most tokens the bucket holds, 1 at least.
	Burst int64
}

func (l Limit) limit() quota.Limit {
	return quota.Limit{Rate: quota.PerSecond(l.Rate), Burst: l.Burst}
}

// Policies has the parameters of each policy. A policy without any can't be
// run; one at least must have some.
type Policies struct {
	FIFO     *FIFOParams
	Quota    *FIFOParams
	DRR      *DRRParams
	DRRQuota *DRRParams
}

// FIFOParams are the parameters of a first-in first-out queue.
type FIFOParams struct {
	// Depth is the most requests that may wait at once, not counting those in
	// service: 1 to 10^9.
	Depth int
}

// DRRParams are the parameters of a drr.Queue.
type DRRParams struct {
	// Quantum is the service time that a tenant of weight 1 may spend per
	// round: 1 ns to 1 s. For the lightest tenant it must be 1 ns at least.
	Quantum time.Duration
	// TenantDepth is the most requests of one tenant that may wait at once: 1
	// to 10^9.
	TenantDepth int
	// Depth bounds those of all tenants. Zero means no bound.
	Depth int
}

// A Control is a run with other tenants, everything else being the same, that
// shows whether a lone tenant can use the whole capacity.
type Control struct {
	// Tenants are the tenants of the control.
	Tenants []Tenant
	// Policies are the names of the policies that it judges. Empty means all.
	Policies []string
}

// Criteria are the bounds that Judge applies, see Verdicts.
type Criteria struct {
	// Completed is the part of its demand that a tenant within its share must
	// get completed (F1): above 0, at most 1.
	Completed float64
	// QueueingP99 is what the 99th percentile of the queueing time of those
	// tenants' requests must stay below (F2): above 0.
	QueueingP99 time.Duration
	// Lone is the part of the capacity that a lone tenant must get (F4): above
	// 0, at most 1.
	Lone float64
	// Series is how many tenants a metric may name (F5): 1 to 10000.
	Series int
}

// DefaultCriteria are those of a file that leaves them out: 97 % of demand,
// 50 ms, 97 % of the capacity, and 10 series.
func DefaultCriteria() Criteria {
	return Criteria{Completed: 0.97, QueueingP99: 50 * time.Millisecond, Lone: 0.97, Series: 10}
}

// name returns the name of tenant k, from 0, of the group.
func (t Tenant) name(k int) string {
	if t.Count == 1 {
		return t.Name
	}
	width := len(strconv.Itoa(t.Count))
	return fmt.Sprintf("%s-%0*d", t.Name, width, k+1)
}

// expand returns each tenant of the groups, by itself.
func expand(groups []Tenant) []Tenant {
	var tenants []Tenant
	for _, g := range groups {
		for k := range g.Count {
			t := g
			t.Name, t.Count = g.name(k), 1
			tenants = append(tenants, t)
		}
	}
	return tenants
}

// PolicyNames returns the names of the policies that the scenario has
// parameters for, in the order of the package's PolicyNames.
func (sc *Scenario) PolicyNames() []string {
	var names []string
	for _, p := range PolicyNames() {
		switch {
		case p == PolicyFIFO && sc.Policies.FIFO != nil,
			p == PolicyQuota && sc.Policies.Quota != nil,
			p == PolicyDRR && sc.Policies.DRR != nil,
			p == PolicyDRRQuota && sc.Policies.DRRQuota != nil:
			names = append(names, p)
		}
	}
	return names
}
