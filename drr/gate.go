package drr

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// A Gate lets requests of many tenants through to a number of slots that run at
// once, in fair order: it is a semaphore whose waiters are served by deficit
// round robin. Callers Acquire before the work and Release after it.
//
// A Gate never grants more seats than it has, and while somebody waits lets no
// seat be free that the next request in order fits into. A request that takes
// several seats waits for them, and nobody overtakes it meanwhile.
//
// While nobody waits, requests go through uncharged, in whatever order they
// come; what Release settles counts all the same. All methods may be called by
// several goroutines at once. A Gate must be made by NewGate.
type Gate struct {
	a admission[struct{}]
}

// GateConfig describes a Gate.
type GateConfig struct {
	// Slots is how many seats there are: 1 or more.
	Slots int
	// Limits bound what waits, and for how long. Zero means not at all.
	Limits
}

// A Request says what to acquire.
type Request struct {
	// Tenant is whose request it is. Any string will do, "" included.
	Tenant string
	// Cost is what it is expected to cost, in the unit of the quantum: up to
	// MaxCost. Zero means 1.
	Cost int64
	// Seats is how many slots it takes. Zero means 1.
	Seats int
}

// NewGate returns a gate with all its seats free, or a *ValueError for each
// field of c that is out of range, joined.
func NewGate(c GateConfig) (*Gate, error) {
	err := c.Limits.check()
	if c.Slots < 1 {
		err = errors.Join(badSlots(c.Slots), err)
	}
	if err != nil {
		return nil, err
	}
	g := &Gate{}
	if err := g.a.init(c.Limits, c.Slots, g.expire); err != nil {
		return nil, err
	}
	return g, nil
}

func badSlots(n int) error {
	return &ValueError{Package: "drr", Field: "slots", Value: n, Want: "1 or more"}
}

// Acquire waits until the request's seats are granted, it is refused, or ctx is
// done. On success the caller owes one Release of the Grant. On failure it owes
// nothing, nothing of the request is left, and the error is
//
//   - a *RejectedError if the request was refused,
//   - ctx.Err(), joined with context.Cause(ctx) if that says more (so ask for
//     context.Canceled first where a cause may be another gate's refusal),
//   - a *ValueError if the request is out of range.
//
// It takes a few dozen nanoseconds, and allocates nothing, when the seats are
// free and nobody waits.
func (g *Gate) Acquire(ctx context.Context, r Request) (Grant, error) {
	if ctx.Err() != nil {
		g.a.mu.Lock()
		return Grant{}, g.cancelled(ctx, r.Tenant)
	}
	e, err := g.enter(&r)
	if err != nil {
		return Grant{}, err
	}
	a := &g.a
	since, queued := e.since, e.queued
	if e.state != running {
		if err := g.await(ctx, e); err != nil {
			return Grant{}, err
		}
	} else {
		a.mu.Unlock()
	}
	grant := Grant{g, e, e.gen}
	if a.limits.Hooks.Granted != nil {
		waited := time.Duration(0)
		if queued {
			waited = a.now() - since
		}
		grant.tell(r.Tenant, waited)
	}
	return grant, nil
}

// tell calls Hooks.Granted. If that panics, nobody has the grant: give it back.
func (gr Grant) tell(tenant string, waited time.Duration) {
	told := false
	defer func() {
		if !told {
			gr.Release()
		}
	}()
	gr.g.a.limits.Hooks.Granted(tenant, waited)
	told = true
}

// TryAcquire is Acquire for a caller that won't wait: it reports whether the
// seats were granted at once. Like Acquire it overtakes nobody. One that would
// have waited counts as cancelled.
func (g *Gate) TryAcquire(r Request) (Grant, bool) {
	e, err := g.enter(&r)
	if err != nil {
		return Grant{}, false
	}
	a := &g.a
	if e.state != running {
		if e.state == waiting {
			a.withdraw(e)
			a.counts.cancelled++
		} else { // refused: MaxWait has passed already
			<-e.ready
		}
		a.discard(e)
		a.mu.Unlock()
		return Grant{}, false
	}
	grant := Grant{g, e, e.gen}
	a.mu.Unlock()
	if a.limits.Hooks.Granted != nil {
		grant.tell(r.Tenant, 0)
	}
	return grant, true
}

// enter checks a request, fills in its defaults, and lets it run or wait. Unless
// it returns an error it returns with the lock held.
func (g *Gate) enter(r *Request) (*entry[struct{}], error) {
	if r.Cost == 0 {
		r.Cost = 1
	}
	if r.Seats == 0 {
		r.Seats = 1
	}
	if r.Cost < 1 || r.Cost > MaxCost {
		return nil, &ValueError{Package: "drr", Field: "Request.Cost", Value: r.Cost, Want: "1 to 2^40, or 0 for 1"}
	}
	if r.Seats < 1 {
		return nil, &ValueError{Package: "drr", Field: "Request.Seats", Value: r.Seats, Want: "1 or more, or 0 for 1"}
	}
	a := &g.a
	a.mu.Lock()
	if a.owing {
		a.forgive()
	}
	switch {
	case a.closing:
		return nil, g.refuse(*r, Closed)
	case r.Seats > a.slots || a.capped && r.Seats > a.capOf(r.Tenant):
		return nil, g.refuse(*r, NeverFits)
	}
	e := a.newEntry(r.Tenant, r.Cost, r.Seats)
	if a.q.length == 0 && r.Seats <= a.slots-a.inUse && !(a.capped && a.overCap(e)) {
		a.begin(e)
		return e, nil
	}
	if err := a.enqueue(e, a.now()); err != nil {
		a.discard(e)
		if err == ErrTenantFull {
			return nil, g.refuse(*r, TenantFull)
		}
		return nil, g.refuse(*r, Full)
	}
	if e.ready == nil {
		e.ready = make(chan struct{}, 1)
	}
	g.grant() // there may be seats, while those who wait are at their caps
	if e.state == running {
		<-e.ready
	}
	return e, nil
}

// await waits until e is running, or returns why it won't be. The lock is held
// when it is called, and not when it returns.
func (g *Gate) await(ctx context.Context, e *entry[struct{}]) error {
	a := &g.a
	a.mu.Unlock()
	select {
	case <-e.ready:
		if e.state == running {
			return nil
		}
		a.mu.Lock()
	case <-ctx.Done():
		a.mu.Lock()
		if e.state != waiting {
			<-e.ready // told in the same moment
		}
	}
	r := Request{Tenant: e.tenant, Cost: e.cost}
	switch e.state {
	case refused:
		reason := e.reason
		a.discard(e)
		return g.refused(r, reason)
	case waiting:
		a.withdraw(e)
		a.discard(e)
	default: // granted while its caller was giving up: hand it back
		a.end(e, 0, false)
	}
	g.grant() // who stood behind it may fit
	return g.cancelled(ctx, r.Tenant)
}

// cancelled counts a request that its caller gave up, unlocks, and tells.
func (g *Gate) cancelled(ctx context.Context, tenant string) error {
	g.a.counts.cancelled++
	g.a.mu.Unlock()
	if h := g.a.limits.Hooks.Cancelled; h != nil {
		h(tenant)
	}
	return ctxError(ctx)
}

// refuse counts a refusal, unlocks, tells, and returns it.
func (g *Gate) refuse(r Request, reason Reason) error {
	g.a.counts.rejected[reason]++
	return g.refused(r, reason)
}

// refused is refuse for one that is counted.
func (g *Gate) refused(r Request, reason Reason) error {
	err := g.a.reject(r.Tenant, r.Cost, reason)
	g.a.mu.Unlock()
	if h := g.a.limits.Hooks.Rejected; h != nil {
		h(err)
	}
	return err
}

// grant lets all run that may.
func (g *Gate) grant() {
	if g.a.overdue() { // the timer is late
		wake(g.a.expired())
	}
	for g.a.q.length > g.a.q.held {
		e := g.a.dequeue(g.a.slots - g.a.inUse)
		if e == nil {
			return
		}
		e.ready <- struct{}{}
	}
}

// wake tells the entries' callers that they are refused.
func wake[T any](refused []*entry[T]) {
	for _, e := range refused {
		e.ready <- struct{}{}
	}
}

func (g *Gate) expire() {
	g.a.mu.Lock()
	defer g.a.mu.Unlock()
	wake(g.a.expired())
	g.grant()
}

// SetSlots changes how many seats there are; n must be 1 or more, or it returns
// a *ValueError. If there are more, those who wait may run at once. If there are
// fewer, no running request is stopped: seats are free again when enough were
// released. A waiting request that needs more than n is refused as NeverFits.
func (g *Gate) SetSlots(n int) error {
	if n < 1 {
		return badSlots(n)
	}
	g.a.mu.Lock()
	defer g.a.mu.Unlock()
	fewer := n < g.a.slots
	if g.a.slots = n; fewer {
		wake(g.a.refuseWhere(NeverFits, func(e *entry[struct{}]) bool { return e.seats > n }))
	}
	g.grant()
	return nil
}

// SetWeight gives a tenant a share in proportion to w, see Tenant.SetWeight.
func (g *Gate) SetWeight(tenant string, w float64) error {
	g.a.mu.Lock()
	defer g.a.mu.Unlock()
	return g.a.q.SetWeight(tenant, w)
}

// SetTenantDepth gives a tenant a bound of its own on its requests waiting, see
// Tenant.SetMaxDepth. Those that wait already stay.
func (g *Gate) SetTenantDepth(tenant string, n int) error {
	g.a.mu.Lock()
	defer g.a.mu.Unlock()
	return g.a.q.Tenant(tenant).SetMaxDepth(n)
}

// SetTenantSeats gives a tenant a cap of its own on its seats in use, instead of
// Limits.MaxTenantSeats; n must be 1 or more, or it returns a *ValueError. No
// running request is stopped; a waiting one that needs more than n is refused.
func (g *Gate) SetTenantSeats(tenant string, n int) error {
	if n < 1 {
		return &ValueError{Package: "drr", Field: "tenant seats", Value: n, Want: "1 or more"}
	}
	g.a.mu.Lock()
	defer g.a.mu.Unlock()
	wake(g.a.setCap(tenant, n))
	g.grant()
	return nil
}

// Shutdown refuses new requests and waits until those that wait have run and
// all is released, or until ctx is done; then it returns ctx's error, and the
// gate goes on draining.
func (g *Gate) Shutdown(ctx context.Context) error {
	g.a.mu.Lock()
	g.a.close(false)
	g.a.mu.Unlock()
	return g.a.await(ctx)
}

// Close refuses new requests and those that wait, as Closed, and returns without
// waiting for those that run. Closing twice is harmless.
func (g *Gate) Close() {
	g.a.mu.Lock()
	defer g.a.mu.Unlock()
	wake(g.a.close(true))
}

// A Grant is the right to run, until it is released. It is a small value; all
// copies of it are the same grant, and several goroutines may use them. The zero
// Grant is of nothing, and harmless.
type Grant struct {
	g   *Gate
	e   *entry[struct{}]
	gen uint64
}

// Release gives the seats back. What was acquired, with what Charge added, was
// the true cost, or 0 if that is below 0. Releasing a second time does nothing.
func (gr Grant) Release() {
	gr.release(func(e *entry[struct{}]) int64 { return max(0, e.cost+e.more) })
}

// ReleaseCost gives the seats back, and settles: the tenant is charged actual in
// all, whatever was acquired and charged before. actual is 0 to MaxCost; out of
// that range ReleaseCost returns a *ValueError, and releases all the same as
// Release does. Releasing a second time does nothing.
func (gr Grant) ReleaseCost(actual int64) error {
	if actual < 0 || actual > MaxCost {
		gr.Release()
		return &ValueError{Package: "drr", Field: "actual cost", Value: actual, Want: "0 to 2^40"}
	}
	gr.release(func(*entry[struct{}]) int64 { return actual })
	return nil
}

func (gr Grant) release(cost func(*entry[struct{}]) int64) {
	if gr.g == nil {
		return
	}
	a := &gr.g.a
	a.mu.Lock()
	if gr.e.gen != gr.gen {
		a.mu.Unlock()
		return
	}
	tenant, actual := gr.e.tenant, cost(gr.e)
	a.end(gr.e, actual, true)
	gr.g.grant()
	a.mu.Unlock()
	if h := a.limits.Hooks.Done; h != nil {
		h(tenant, actual)
	}
}

// Charge corrects the tenant's books while the request runs, as when output is
// streamed: delta is -MaxCost to MaxCost, or Charge returns a *ValueError. After
// the release it does nothing.
func (gr Grant) Charge(delta int64) error {
	if delta < -MaxCost || delta > MaxCost {
		return &ValueError{Package: "drr", Field: "delta", Value: delta, Want: "-2^40 to 2^40"}
	}
	if gr.g == nil {
		return nil
	}
	a := &gr.g.a
	a.mu.Lock()
	defer a.mu.Unlock()
	if gr.e.gen == gr.gen {
		a.charge(gr.e.tenant, delta)
		gr.e.more = max(-math.MaxInt64/4, min(gr.e.more+delta, math.MaxInt64/4))
		gr.g.grant() // who is next may have changed
	}
	return nil
}

// ctxError is ctx.Err(), with the cause if it says more.
func ctxError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
