package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/fairlane-go/fairlane/drr"
	"github.com/fairlane-go/fairlane/quota"
)

// The names of the policies, for Run.
const (
	PolicyFIFO     = "fifo"
	PolicyQuota    = "quota"
	PolicyDRR      = "drr"
	PolicyDRRQuota = "drr_quota"
)

// PolicyNames returns the names of all policies, in the order of the
// comparison: fifo, quota, drr, drr_quota.
func PolicyNames() []string { return []string{PolicyFIFO, PolicyQuota, PolicyDRR, PolicyDRRQuota} }

// A request is one piece of a tenant's work.
type request struct {
	tenant  int
	arrived time.Duration
	service time.Duration
}

// An outcome is what a policy answers to a request.
type outcome int

const (
	admitted outcome = iota
	refusedQuota
	refusedFull
)

// A policy decides which requests may wait and which is next.
type policy interface {
	// offer asks for a place to wait. An error is a fault of the simulator.
	offer(now time.Duration, r request) (outcome, error)
	// next takes out the request to serve next, or returns false if none waits.
	next() (request, bool)
	// waiting is the number of requests admitted and not yet taken out.
	waiting() int
	// turns is how many steps all calls of next took, 0 if that isn't counted.
	turns() uint64
}

// newPolicy builds a policy for a scenario that is valid.
func newPolicy(sc *Scenario, name string, tenants []Tenant) (policy, error) {
	missing := func(given bool) error {
		if given {
			return nil
		}
		return &ValueError{Package: "sim", Field: "policy", Value: name, Want: "a policy that the scenario has parameters for"}
	}
	switch name {
	case PolicyFIFO:
		if err := missing(sc.Policies.FIFO != nil); err != nil {
			return nil, err
		}
		return newFIFO(*sc.Policies.FIFO), nil
	case PolicyQuota:
		if err := missing(sc.Policies.Quota != nil); err != nil {
			return nil, err
		}
		return newGate(tenants, newFIFO(*sc.Policies.Quota))
	case PolicyDRR, PolicyDRRQuota:
		params := sc.Policies.DRR
		if name == PolicyDRRQuota {
			params = sc.Policies.DRRQuota
		}
		if err := missing(params != nil); err != nil {
			return nil, err
		}
		p, err := newFair(tenants, *params)
		if err != nil || name == PolicyDRR {
			return p, err
		}
		return newGate(tenants, p)
	}
	return nil, &ValueError{Package: "sim", Field: "policy", Value: name, Want: fmt.Sprintf("one of %v", PolicyNames())}
}

// A fifo is one bounded queue in order of arrival: a ring buffer that grows up
// to its bound.
type fifo struct {
	ring  []request
	head  int
	count int
	depth int
}

func newFIFO(p FIFOParams) *fifo { return &fifo{depth: p.Depth} }

func (q *fifo) offer(_ time.Duration, r request) (outcome, error) {
	if q.count >= q.depth {
		return refusedFull, nil
	}
	if q.count == len(q.ring) {
		ring := make([]request, max(16, 2*len(q.ring)))
		n := copy(ring, q.ring[q.head:])
		copy(ring[n:], q.ring[:q.head])
		q.ring, q.head = ring, 0
	}
	at := q.head + q.count
	if at >= len(q.ring) {
		at -= len(q.ring)
	}
	q.ring[at] = r
	q.count++
	return admitted, nil
}

func (q *fifo) next() (request, bool) {
	if q.count == 0 {
		return request{}, false
	}
	r := q.ring[q.head]
	q.count--
	if q.head++; q.head == len(q.ring) {
		q.head = 0
	}
	return r, true
}

func (q *fifo) waiting() int  { return q.count }
func (q *fifo) turns() uint64 { return 0 }

// A fair is a drr.Queue in which a request costs its service time in
// nanoseconds.
type fair struct {
	queue   *drr.Queue[int, request]
	handles []*drr.Tenant[int, request]
}

func newFair(tenants []Tenant, p DRRParams) (*fair, error) {
	q, err := drr.New[int, request](drr.Config{
		Quantum:        int64(p.Quantum),
		MaxDepth:       p.Depth,
		MaxTenantDepth: p.TenantDepth,
	})
	if err != nil {
		return nil, err
	}
	f := &fair{queue: q, handles: make([]*drr.Tenant[int, request], len(tenants))}
	for i, t := range tenants {
		f.handles[i] = q.Tenant(i)
		if err := f.handles[i].SetWeight(t.Weight); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *fair) offer(_ time.Duration, r request) (outcome, error) {
	_, err := f.handles[r.tenant].Push(int64(r.service), r)
	switch {
	case err == nil:
		return admitted, nil
	case errors.Is(err, drr.ErrTenantFull), errors.Is(err, drr.ErrFull):
		return refusedFull, nil
	}
	return refusedFull, err
}

func (f *fair) next() (request, bool) {
	_, r, ok := f.queue.Pop()
	return r, ok
}

func (f *fair) waiting() int  { return f.queue.Len() }
func (f *fair) turns() uint64 { return f.queue.Turns() }

// A gate is a policy behind a token bucket for each tenant that has a quota.
type gate struct {
	policy
	buckets []*quota.Bucket // nil: no quota
}

func newGate(tenants []Tenant, p policy) (*gate, error) {
	g := &gate{policy: p, buckets: make([]*quota.Bucket, len(tenants))}
	for i, t := range tenants {
		if t.Quota == nil {
			continue
		}
		b, err := quota.NewBucket(t.Quota.limit())
		if err != nil {
			return nil, err
		}
		g.buckets[i] = b
	}
	return g, nil
}

func (g *gate) offer(now time.Duration, r request) (outcome, error) {
	b := g.buckets[r.tenant]
	if b == nil {
		return g.policy.offer(now, r)
	}
	d, err := b.Allow(now, 1)
	if err != nil || !d.OK {
		return refusedQuota, err
	}
	out, err := g.policy.offer(now, r)
	if out != admitted {
		err = errors.Join(err, b.Refund(now, 1))
	}
	return out, err
}
