package tenantmetrics

import (
	"math"
	"sync"
)

// A Reducer counts requests by tenant and outcome and reduces each period to a
// bounded Report, see the package's documentation. The period's length is the
// caller's: it ends when Flush is called.
//
// A Reducer may be used by several goroutines at once. Add holds a lock for a
// few look-ups in maps, and allocates nothing for a tenant that has a counter.
// The same calls in the same order give the same reports: nothing is random.
type Reducer struct {
	config Config

	naming sync.Mutex      // held by Flush and Delete; comes before mu
	named  map[string]bool // everybody who ever had a series; true: in the last period

	mu       sync.Mutex
	total    Counts
	requests int64 // total.Requests()
	all      sketch
	refused  sketch // by refusals, if TopRefused is not 0
	samples  []Refusal

	period uint64 // the number of this one
	buried map[string]uint64
	graves []grave
}

// New returns an empty Reducer, or a *ValueError for each field of config that
// is out of range, joined.
func New(config Config) (*Reducer, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}
	return &Reducer{
		config:  config,
		all:     newSketch(config.Counters),
		refused: newSketch(config.Counters),
		named:   make(map[string]bool),
		period:  1,
		buried:  make(map[string]uint64),
	}, nil
}

// Add counts n requests of tenant that ended as outcome. Any name will do, see
// Label. Call it when a request's outcome is known, so that each is counted once.
//
// Add returns a *ValueError, and counts nothing, if there is no such outcome,
// if n is 0 or less, or if the period's total would exceed an int64.
func (r *Reducer) Add(tenant string, outcome Outcome, n int64) error {
	if outcome >= outcomes {
		return &ValueError{Package: "tenantmetrics", Field: "outcome", Value: int(outcome), Want: "Completed, OverQuota, QueueFull or TimedOut"}
	}
	if n <= 0 {
		return &ValueError{Package: "tenantmetrics", Field: "n", Value: n, Want: "1 or more"}
	}
	name := Label(tenant)
	r.mu.Lock()
	defer r.mu.Unlock()
	if n > math.MaxInt64-r.requests {
		return &ValueError{Package: "tenantmetrics", Field: "n", Value: n, Want: "a total of no more than 2^63-1 in a period"}
	}
	r.requests += n
	r.total[outcome] += n
	if _, ok := r.buried[name]; ok {
		return nil // what no counter has is part of Other
	}
	c := r.all.add(name, n)
	c.counts[outcome] += n
	if outcome != Completed {
		r.sample(c.name, outcome)
	}
	if r.config.TopRefused == 0 {
		return nil
	}
	if outcome != Completed {
		r.refused.add(name, n).counts[outcome] += n
	} else if c := r.refused.counters[name]; c != nil {
		c.counts[outcome] += n
	}
	return nil
}

// sample notes the first refusal of a tenant, while there is room.
func (r *Reducer) sample(name string, outcome Outcome) {
	if len(r.samples) == r.config.Samples {
		return
	}
	for i := range r.samples {
		if r.samples[i].Tenant == name {
			return
		}
	}
	r.samples = append(r.samples, Refusal{Tenant: name, Outcome: outcome})
}
