package drr

import (
	"context"
	"math"
	"sync"
	"time"
)

// An entry is a request, from when it is taken until it has ended. Entries are
// reused; gen tells one use from the next.
type entry[T any] struct {
	value  T
	tenant string
	cost   int64 // stated, until the request has ended
	queued bool  // has waited, and so was charged the stated cost
	more   int64 // charged beyond it so far
	seats  int
	item   Item[string, *entry[T]]
	since  time.Duration // when it began to wait
	state  state
	reason Reason // if refused
	gen    uint64

	prev, next *entry[T]     // in admission.waiting or .running
	ready      chan struct{} // a Gate's: told once when it is running or refused
}

type state uint8

const (
	spare state = iota
	waiting
	running
	refused
)

// An entryList is a list of entries, the oldest first.
type entryList[T any] struct {
	head, tail *entry[T]
	length     int
}

func (l *entryList[T]) append(e *entry[T]) {
	e.prev, e.next = l.tail, nil
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
	l.length++
}

func (l *entryList[T]) remove(e *entry[T]) {
	if e.prev == nil {
		l.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
	l.length--
}

// A seating is how many seats a tenant has in use, kept only while there are
// caps and it has any.
type seating struct {
	inUse   int
	blocked bool // at its cap, and so out of the ring
}

// An admission is what a Gate and a Scheduler share: the queue behind a lock,
// tenants' caps, the time limit on waiting, counts and measurements, and coming
// to an end. Its methods need the lock, unless they say otherwise.
type admission[T any] struct {
	mu     sync.Mutex
	q      *Queue[string, *entry[T]]
	slots  int // a Gate's
	limits Limits
	epoch  time.Time

	waiting entryList[T] // by age
	running entryList[T]
	inUse   int // seats of those running

	capped   bool // there are caps: seatings are kept
	caps     map[string]int
	seatings map[string]*seating
	crowd    int // the most there were since the map was made

	timer *time.Timer // for the oldest, if there is a MaxWait
	armed bool

	rate    rate
	counts  counts
	owing   bool          // there may be debts
	active  bool          // something has waited or run since idle
	idle    time.Duration // since when nothing does, if owing
	telling int           // goroutines that tell about dropped jobs
	closing bool          // nothing new is taken
	drained chan struct{} // closed when closing and nothing waits or runs

	free  *entry[T]
	nfree int
}

// counts are numbers of requests since the start.
type counts struct {
	done, cancelled uint64
	rejected        [len(reasons)]uint64
}

// init gets an admission ready. expire is what the timer calls.
func (a *admission[T]) init(l Limits, slots int, expire func()) error {
	q, err := New[string, *entry[T]](l.Config)
	if err != nil {
		return err
	}
	if l.DebtIdle == 0 {
		l.DebtIdle = defaultDebtIdle
	}
	a.q, a.slots, a.limits, a.epoch = q, slots, l, time.Now()
	a.capped = l.MaxTenantSeats > 0
	a.caps = make(map[string]int)
	a.seatings = make(map[string]*seating)
	a.drained = make(chan struct{})
	if l.MaxWait > 0 {
		a.timer = time.AfterFunc(time.Hour, expire)
		a.timer.Stop()
	}
	return nil
}

func (a *admission[T]) now() time.Duration { return time.Since(a.epoch) }

// newEntry returns an entry for a request that isn't waiting yet.
func (a *admission[T]) newEntry(tenant string, cost int64, seats int) *entry[T] {
	e := a.free
	if e == nil {
		e = &entry[T]{}
	} else {
		a.free = e.next
		a.nfree--
		e.next = nil
	}
	e.tenant, e.cost, e.more, e.seats, e.queued = tenant, cost, 0, seats, false
	return e
}

// discard makes an entry that is in no list spare.
func (a *admission[T]) discard(e *entry[T]) {
	var zero T
	e.gen++
	e.value, e.tenant, e.state, e.item = zero, "", spare, Item[string, *entry[T]]{}
	if a.nfree < spareItems {
		e.next = a.free
		a.free = e
		a.nfree++
	}
}

// enqueue lets e wait, or says why it can't.
func (a *admission[T]) enqueue(e *entry[T], now time.Duration) error {
	if a.limits.TolerableWait > 0 {
		a.rate.measure(now)
		least := a.limits.MinDepth
		if least == 0 {
			least = max(defaultMinDepth, 2*min(a.slots, math.MaxInt/2))
		}
		depth := min(a.rate.items*a.limits.TolerableWait.Seconds(), math.MaxInt32)
		a.q.maxDepth = min(max(int(depth), least), boundOf(a.limits.MaxDepth))
	}
	item, err := a.q.Push(e.tenant, e.cost, e)
	if err != nil {
		return err
	}
	e.item, e.since, e.state, e.queued = item, now, waiting, true
	a.waiting.append(e)
	a.active = true
	a.rate.at(now)
	a.sense()
	if a.timer != nil && !a.armed {
		a.armed = true
		a.timer.Reset(a.limits.MaxWait)
	}
	return nil
}

// dequeue takes the next entry that may run, with free seats to do so, and lets
// it run. It returns nil if there is none, or if the next one needs more seats:
// nobody overtakes it.
//
// It doesn't look who is next before there is a seat: to look is to decide, and
// a tenant that keeps one request outstanding may have its next one here by then.
func (a *admission[T]) dequeue(free int) *entry[T] {
	for free > 0 {
		_, e, ok := a.q.Peek()
		if !ok {
			return nil
		}
		if a.capped && a.overCap(e) {
			a.seating(e.tenant).blocked = true
			a.q.Tenant(e.tenant).Block()
			a.sense()
			continue
		}
		if e.seats > free {
			return nil
		}
		a.q.Pop()
		a.leave(e)
		a.begin(e)
		return e
	}
	return nil
}

// leave takes e, which the queue has let go, off the list of those waiting.
func (a *admission[T]) leave(e *entry[T]) {
	a.waiting.remove(e)
	a.sense()
}

// sense tells the rate when requests begin or cease to wait for seats. Those of
// tenants at their caps wait for something else.
func (a *admission[T]) sense() {
	if busy := a.q.length > a.q.held; busy != a.rate.busy {
		a.rate.waiting(a.now(), busy)
	}
}

// begin counts e as running.
func (a *admission[T]) begin(e *entry[T]) {
	e.state = running
	a.running.append(e)
	a.inUse += e.seats
	a.active = true
	if a.capped {
		a.seating(e.tenant).inUse += e.seats
	}
}

// end is the end of a running entry, which has cost actual; ran is false if it
// was never started after all, and costs nothing.
func (a *admission[T]) end(e *entry[T], actual int64, ran bool) {
	delta := actual - e.cost - e.more
	if !e.queued {
		delta = max(delta, -max(e.more, 0)) // its stated cost was never charged
	}
	a.charge(e.tenant, delta)
	if ran && a.rate.busy && a.rate.ended(actual) {
		a.rate.at(a.now())
	}
	a.running.remove(e)
	a.inUse -= e.seats
	if ran {
		a.counts.done++
	}
	if a.capped {
		s := a.seating(e.tenant)
		s.inUse -= e.seats
		a.reseat(e.tenant)
	}
	a.discard(e)
	a.settleIdle()
}

// charge books a difference of any size.
func (a *admission[T]) charge(tenant string, delta int64) {
	if delta == 0 {
		return
	}
	if delta > 0 {
		a.owing = true
	}
	for delta != 0 {
		part := max(-MaxCost, min(delta, MaxCost))
		if a.q.Charge(tenant, part) != nil {
			return // not with a part in range
		}
		if delta -= part; delta > maxBalance || delta < -maxBalance {
			delta = max(-maxBalance, min(delta, maxBalance))
		}
	}
}

// withdraw takes a waiting entry out of the queue.
func (a *admission[T]) withdraw(e *entry[T]) {
	a.q.Cancel(e.item)
	a.leave(e)
	if a.capped {
		a.reseat(e.tenant) // its next request may need fewer seats
	}
	a.settleIdle()
}

// settleIdle notes when nothing is left waiting or running.
func (a *admission[T]) settleIdle() {
	if a.waiting.length > 0 || a.running.length > 0 {
		return
	}
	if a.owing && a.active {
		a.idle = a.now()
	}
	a.active = false
	if a.closing && a.telling == 0 {
		select {
		case <-a.drained:
		default:
			close(a.drained)
		}
	}
}

// forgive cancels debts if nothing was waiting or running for DebtIdle. It is
// called before a request is taken.
func (a *admission[T]) forgive() {
	if a.owing && a.waiting.length == 0 && a.running.length == 0 && a.now()-a.idle >= a.limits.DebtIdle {
		a.q.ForgiveDebts()
		a.owing = false
	}
}

// seating returns the tenant's, making it if it has none.
func (a *admission[T]) seating(tenant string) *seating {
	s := a.seatings[tenant]
	if s == nil {
		s = &seating{}
		a.seatings[tenant] = s
		a.crowd = max(a.crowd, len(a.seatings))
	}
	return s
}

// capOf is how many seats the tenant may have in use.
func (a *admission[T]) capOf(tenant string) int {
	if n, ok := a.caps[tenant]; ok {
		return n
	}
	return boundOf(a.limits.MaxTenantSeats)
}

// overCap reports whether e would take its tenant above its cap.
func (a *admission[T]) overCap(e *entry[T]) bool {
	s := a.seatings[e.tenant]
	return s != nil && s.inUse+e.seats > a.capOf(e.tenant)
}

// reseat lets a tenant back into the ring if its first request fits under its
// cap now, and forgets it if it has no seats in use.
func (a *admission[T]) reseat(tenant string) {
	s := a.seatings[tenant]
	if s == nil {
		return
	}
	if s.blocked {
		h := a.q.Tenant(tenant)
		if e, ok := h.Peek(); !ok || !a.overCap(e) {
			h.Unblock()
			s.blocked = false
		}
	}
	if s.inUse == 0 && !s.blocked {
		delete(a.seatings, tenant)
		if len(a.seatings) == 0 && a.crowd > 1024 { // maps don't shrink
			a.seatings, a.crowd = make(map[string]*seating), 0
		}
	}
	a.sense()
}

// setCap changes a tenant's cap and returns the entries that it rules out.
func (a *admission[T]) setCap(tenant string, n int) []*entry[T] {
	if !a.capped {
		a.capped = true
		for e := a.running.head; e != nil; e = e.next {
			a.seating(e.tenant).inUse += e.seats
		}
	}
	if a.caps[tenant] = n; n == a.limits.MaxTenantSeats {
		delete(a.caps, tenant)
	}
	out := a.refuseWhere(NeverFits, func(e *entry[T]) bool { return e.tenant == tenant && e.seats > n })
	a.reseat(tenant)
	return out
}

// refuseWhere takes the waiting entries that match out of the queue and marks
// them refused.
func (a *admission[T]) refuseWhere(r Reason, match func(*entry[T]) bool) []*entry[T] {
	var out []*entry[T]
	for e := a.waiting.head; e != nil; {
		next := e.next
		if match(e) {
			a.withdraw(e)
			a.mark(e, r)
			out = append(out, e)
		}
		e = next
	}
	return out
}

// mark counts a waiting entry that was withdrawn as refused.
func (a *admission[T]) mark(e *entry[T], r Reason) {
	e.state, e.reason = refused, r
	a.counts.rejected[r]++
}

// overdue reports whether the oldest has waited for MaxWait already.
func (a *admission[T]) overdue() bool {
	return a.timer != nil && a.waiting.length > 0 && a.now()-a.waiting.head.since >= a.limits.MaxWait
}

// expired takes out those that have waited for MaxWait and sets the timer for
// the next.
func (a *admission[T]) expired() []*entry[T] {
	now := a.now()
	var out []*entry[T]
	for e := a.waiting.head; e != nil && now-e.since >= a.limits.MaxWait; e = a.waiting.head {
		a.withdraw(e)
		a.mark(e, WaitedTooLong)
		out = append(out, e)
	}
	if a.armed = a.waiting.length > 0; a.armed {
		a.timer.Reset(a.waiting.head.since + a.limits.MaxWait - now)
	}
	return out
}

// close stops taking requests, and refuses those waiting if now is true.
func (a *admission[T]) close(now bool) []*entry[T] {
	a.closing = true
	var out []*entry[T]
	if now {
		out = a.refuseWhere(Closed, func(*entry[T]) bool { return true })
		if a.timer != nil {
			a.timer.Stop()
		}
	}
	a.settleIdle()
	return out
}

// await waits until nothing waits or runs, or ctx is done. It doesn't need the
// lock.
func (a *admission[T]) await(ctx context.Context) error {
	select {
	case <-a.drained: // even if ctx is done as well
		return nil
	default:
	}
	select {
	case <-a.drained:
		return nil
	case <-ctx.Done():
		return ctxError(ctx)
	}
}

// reject describes a refusal.
func (a *admission[T]) reject(tenant string, cost int64, r Reason) *RejectedError {
	e := &RejectedError{Tenant: tenant, Reason: r, RetryAfter: Never}
	if r == NeverFits || r == Closed {
		return e
	}
	a.rate.measure(a.now())
	e.RetryAfter = time.Second
	if a.rate.cost > 0 {
		ahead := 0.0
		switch r {
		case TenantFull: // until one of the tenant's own is served
			ahead = a.ahead(tenant, cost) / float64(max(1, a.q.Tenant(tenant).Len()))
		case Full: // until somebody's is
			ahead = float64(a.q.cost) / float64(max(1, a.q.length))
		default:
			ahead = a.ahead(tenant, cost)
		}
		wait := ahead / a.rate.cost * float64(time.Second)
		e.RetryAfter = time.Duration(min(max(wait, float64(time.Millisecond)), float64(time.Minute)))
	}
	return e
}

// ahead estimates the cost to be served before a new request of the tenant
// starts: its own that wait, which takes so many rounds, and in each round what
// the others may spend in it, or have waiting if that is less. They are taken
// to have as much waiting in later rounds: new requests come as old ones go.
func (a *admission[T]) ahead(tenant string, cost int64) float64 {
	own, quantum, rivals := 0.0, a.q.quantum, float64(a.q.rivals)
	if c, ok := a.q.custom[tenant]; ok {
		quantum = c.quantum
	}
	if t := a.q.tenants[tenant]; t != nil && t.head != nil {
		own = float64(t.cost)
		rivals -= float64(t.quantum)
	}
	// It has its turn somewhere within a round, in the mean in the middle.
	rounds := math.Ceil((own+float64(cost))/float64(quantum)) - 0.5
	return own + rounds*min(rivals, float64(a.q.cost)-own)
}
