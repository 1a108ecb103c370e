package drr

import (
	"context"
	"errors"
	"slices"
)

// A Scheduler hands jobs of many tenants to a pool of workers in fair order: a
// channel whose items come out by deficit round robin. Submit never blocks;
// each worker calls Next, works, and calls Done.
//
// All methods may be called by several goroutines at once. A Scheduler must be
// made by NewScheduler.
type Scheduler[T any] struct {
	a       admission[T]
	dropped func(T, *RejectedError)
	idle    []*puller[T] // workers in Next, the one that came last at the end
	pullers *puller[T]   // spare ones
}

// SchedulerConfig describes a Scheduler. Its zero value is valid.
type SchedulerConfig[T any] struct {
	// Limits bound what waits, and for how long. Zero means not at all. A job in
	// work counts as one seat.
	Limits
	// Dropped is called for each job that was taken and will not be run, because
	// it waited for MaxWait or the scheduler was closed, outside all locks.
	// Shutdown waits for it, so it must not wait for Shutdown. Nil means that
	// nobody is told but Hooks.Rejected.
	Dropped func(v T, why *RejectedError)
}

// NewScheduler returns an empty scheduler, or a *ValueError for each field of c
// that is out of range, joined.
func NewScheduler[T any](c SchedulerConfig[T]) (*Scheduler[T], error) {
	if err := c.Limits.check(); err != nil {
		return nil, err
	}
	s := &Scheduler[T]{dropped: c.Dropped}
	if err := s.a.init(c.Limits, 0, s.expire); err != nil {
		return nil, err
	}
	return s, nil
}

// A puller is a worker that waits in Next.
type puller[T any] struct {
	ready chan struct{} // told once when e is set or there will be no more
	e     *entry[T]
	next  *puller[T]
}

// A Job is one to work on. Done must be called once for each. It is a small
// value; all copies are the same job.
type Job[T any] struct {
	Tenant string
	Cost   int64 // as it was submitted
	Value  T
	s      *Scheduler[T]
	e      *entry[T]
	gen    uint64
}

// Submit queues a job of a tenant, with the cost it is expected to have, 1 to
// MaxCost. It never blocks. The error is a *RejectedError if the job was refused
// and a *ValueError if the cost is out of range; then nothing of it is left.
func (s *Scheduler[T]) Submit(tenant string, cost int64, v T) error {
	a := &s.a
	a.mu.Lock()
	if a.owing {
		a.forgive()
	}
	if a.closing {
		return s.refuse(tenant, cost, Closed)
	}
	e := a.newEntry(tenant, cost, 1)
	e.value = v
	if err := a.enqueue(e, a.now()); err != nil {
		a.discard(e)
		switch {
		case errors.Is(err, ErrTenantFull):
			return s.refuse(tenant, cost, TenantFull)
		case errors.Is(err, ErrFull):
			return s.refuse(tenant, cost, Full)
		}
		a.mu.Unlock()
		return err
	}
	s.hand()
	a.mu.Unlock()
	return nil
}

func (s *Scheduler[T]) refuse(tenant string, cost int64, r Reason) error {
	s.a.counts.rejected[r]++
	err := s.a.reject(tenant, cost, r)
	s.a.mu.Unlock()
	if h := s.a.limits.Hooks.Rejected; h != nil {
		h(err)
	}
	return err
}

// hand gives jobs to the workers that wait for one.
func (s *Scheduler[T]) hand() {
	for len(s.idle) > 0 {
		e := s.a.dequeue(1)
		if e == nil {
			break
		}
		last := len(s.idle) - 1
		p := s.idle[last]
		s.idle[last] = nil
		s.idle = s.idle[:last]
		p.e = e
		p.ready <- struct{}{}
	}
	if s.a.closing && s.a.waiting.length == 0 {
		for i, p := range s.idle {
			s.idle[i] = nil
			p.ready <- struct{}{}
		}
		s.idle = s.idle[:0]
	}
}

// Next waits for a job and returns it. The error is ErrClosed if there will be
// none any more, and ctx.Err(), joined with context.Cause(ctx) if that says
// more, if ctx was done before there was one. No job is lost: one that is handed
// over in the moment in which ctx is done is returned.
func (s *Scheduler[T]) Next(ctx context.Context) (Job[T], error) {
	a := &s.a
	if ctx.Err() != nil {
		return Job[T]{}, ctxError(ctx)
	}
	a.mu.Lock()
	if a.overdue() { // the timer is late
		a.telling++
		s.drop(a.expired())
		a.mu.Lock()
	}
	if e := a.dequeue(1); e != nil {
		a.mu.Unlock()
		return s.job(e), nil
	}
	if a.closing && a.waiting.length == 0 {
		a.mu.Unlock()
		return Job[T]{}, ErrClosed
	}
	p := s.pullers
	if p == nil {
		p = &puller[T]{ready: make(chan struct{}, 1)}
	} else {
		s.pullers, p.next = p.next, nil
	}
	s.idle = append(s.idle, p)
	a.mu.Unlock()

	select {
	case <-p.ready:
		a.mu.Lock()
	case <-ctx.Done():
		a.mu.Lock()
		if !s.unlist(p) {
			<-p.ready // told in the same moment
		}
	}
	e := p.e
	p.e, p.next = nil, s.pullers
	s.pullers = p
	closed := a.closing
	a.mu.Unlock()
	switch {
	case e != nil:
		return s.job(e), nil
	case closed && ctx.Err() == nil:
		return Job[T]{}, ErrClosed
	}
	return Job[T]{}, ctxError(ctx)
}

// unlist takes p off the idle workers, and reports whether it was among them.
func (s *Scheduler[T]) unlist(p *puller[T]) bool {
	for i, q := range s.idle {
		if q == p {
			s.idle = slices.Delete(s.idle, i, i+1)
			return true
		}
	}
	return false
}

func (s *Scheduler[T]) job(e *entry[T]) Job[T] {
	j := Job[T]{e.tenant, e.cost, e.value, s, e, e.gen}
	if h := s.a.limits.Hooks.Granted; h != nil {
		told := false
		defer func() {
			if !told { // it panics, and nobody has the job
				j.Done(j.Cost)
			}
		}()
		h(e.tenant, s.a.now()-e.since)
		told = true
	}
	return j
}

// Done says that the job has ended, and settles: its tenant is charged actual
// instead of what was submitted. actual is 0 to MaxCost; out of that range Done
// returns a *ValueError, and the job has ended at the cost it was submitted
// with. Calling it a second time does nothing, nor does it on the zero Job.
func (j Job[T]) Done(actual int64) error {
	if j.s == nil {
		return nil
	}
	var err error
	if actual < 0 || actual > MaxCost {
		err = &ValueError{Package: "drr", Field: "actual cost", Value: actual, Want: "0 to 2^40"}
		actual = j.Cost
	}
	a := &j.s.a
	a.mu.Lock()
	if j.e.gen != j.gen {
		a.mu.Unlock()
		return err
	}
	a.end(j.e, actual, true)
	j.s.hand() // its tenant may be below its cap now
	a.mu.Unlock()
	if h := a.limits.Hooks.Done; h != nil {
		h(j.Tenant, actual)
	}
	return err
}

func (s *Scheduler[T]) expire() {
	s.a.mu.Lock()
	s.a.telling++
	s.drop(s.a.expired())
}

// drop hands on, counts the entries that were refused, unlocks, and tells. It
// ends what telling++ began, which Shutdown waits for.
func (s *Scheduler[T]) drop(refused []*entry[T]) {
	type loss struct {
		value T
		why   *RejectedError
	}
	losses := make([]loss, 0, len(refused))
	for _, e := range refused {
		losses = append(losses, loss{e.value, s.a.reject(e.tenant, e.cost, e.reason)})
		s.a.discard(e)
	}
	s.hand()
	s.a.mu.Unlock()
	defer func() { // even if one of the functions panics
		s.a.mu.Lock()
		s.a.telling--
		s.a.settleIdle()
		s.a.mu.Unlock()
	}()
	for _, l := range losses {
		if h := s.a.limits.Hooks.Rejected; h != nil {
			h(l.why)
		}
		if s.dropped != nil {
			s.dropped(l.value, l.why)
		}
	}
}

// SetWeight gives a tenant a share in proportion to w, see Tenant.SetWeight.
func (s *Scheduler[T]) SetWeight(tenant string, w float64) error {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	return s.a.q.SetWeight(tenant, w)
}

// SetTenantDepth gives a tenant a bound of its own on its jobs waiting, see
// Tenant.SetMaxDepth. Those that wait already stay.
func (s *Scheduler[T]) SetTenantDepth(tenant string, n int) error {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	return s.a.q.Tenant(tenant).SetMaxDepth(n)
}

// SetTenantSeats gives a tenant a cap of its own on its jobs in work, instead of
// Limits.MaxTenantSeats; n must be 1 or more, or it returns a *ValueError.
func (s *Scheduler[T]) SetTenantSeats(tenant string, n int) error {
	if n < 1 {
		return &ValueError{Package: "drr", Field: "tenant seats", Value: n, Want: "1 or more"}
	}
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	s.a.setCap(tenant, n) // rules nobody out: each takes one seat
	s.hand()
	return nil
}

// Stats returns a snapshot.
func (s *Scheduler[T]) Stats() Stats {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	return s.a.stats()
}

// TenantStats returns a snapshot of one tenant's part. It takes time in the
// number of jobs in work.
func (s *Scheduler[T]) TenantStats(tenant string) TenantStats {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	return s.a.tenantStats(tenant)
}

// Wait estimates, in constant time, how long a job of that cost would wait if
// it were submitted now.
func (s *Scheduler[T]) Wait(tenant string, cost int64) Estimate {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	return s.a.estimate(tenant, cost, len(s.idle) > 0)
}

// Shutdown refuses new jobs and waits until those taken are done, or until ctx
// is done; then it returns ctx's error, and the workers go on. Next returns
// ErrClosed when nothing waits any more.
func (s *Scheduler[T]) Shutdown(ctx context.Context) error {
	s.a.mu.Lock()
	s.a.close(false)
	s.hand()
	s.a.mu.Unlock()
	return s.a.await(ctx)
}

// Close refuses new jobs, drops those that wait (SchedulerConfig.Dropped), lets
// all calls of Next return, and doesn't wait for the jobs in work. Closing twice
// is harmless.
func (s *Scheduler[T]) Close() {
	s.a.mu.Lock()
	s.a.telling++
	s.drop(s.a.close(true))
}
