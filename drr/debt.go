package drr

// Charge corrects what a tenant was charged once the true cost of its work is
// known: delta is the actual cost less the one given to Push, -MaxCost to
// MaxCost, and may be given in parts while the work goes on. The sum of all
// that Pop charged and Charge corrected is what the queue is fair about.
//
// A positive delta can take the tenant into debt, which it waits out in rounds.
// The debt outlives an empty queue, since forgiving it there would serve
// whoever understates its costs and keeps one request outstanding; it shrinks
// by a quantum in each round that passes while the tenant is away, and counts
// no further than 2^50. A negative delta is a refund; it gives credit to a
// tenant with items waiting, and lessens the debt of an idle one, to zero at most.
//
// Charge returns a *ValueError if delta is out of range.
func (q *Queue[K, T]) Charge(tenant K, delta int64) error {
	return q.charge(q.tenants[tenant], tenant, delta)
}

func (q *Queue[K, T]) charge(t *tenant[K, T], key K, delta int64) error {
	if delta < -MaxCost || delta > MaxCost {
		return &ValueError{Package: "drr", Field: "delta", Value: delta, Want: "-2^40 to 2^40"}
	}
	if t == nil {
		if delta <= 0 {
			return nil // no credit for a tenant that is away
		}
		if key != key {
			return errName(key)
		}
		t = q.newTenant(key)
	}
	q.settle(t)
	t.deficit = min(max(t.deficit-delta, -maxBalance), maxBalance)
	if t.head == nil {
		t.deficit = min(t.deficit, 0)
	}
	q.replace(t)
	return nil
}

// ForgiveDebts cancels all debts. It is for the moment in which nothing has
// been waiting or running for a while: no round passes then, so that no debt
// is ever paid. It takes time in the number of tenants that have state.
func (q *Queue[K, T]) ForgiveDebts() {
	for _, t := range q.tenants { // any order: each tenant is moved by itself
		if t.deficit < 0 {
			q.settle(t)
			t.deficit = max(t.deficit, 0)
			q.replace(t)
		}
	}
}

// settle brings a tenant's deficit up to date before the deficit or the
// quantum is changed. replace must follow.
func (q *Queue[K, T]) settle(t *tenant[K, T]) {
	switch t.spot {
	case inDebt:
		q.payIdle(t)
	case inLine, inLater:
		q.catchUp(t)
	}
}

// replace puts a tenant where its new deficit or quantum belongs.
func (q *Queue[K, T]) replace(t *tenant[K, T]) {
	switch t.spot {
	case inDebt:
		q.unlink(t)
		q.retire(t)
	case outside:
		q.retire(t)
	default:
		q.rekey(t)
	}
}

// payIdle takes a quantum off an idle tenant's debt for each round that has
// gone by since it left.
func (q *Queue[K, T]) payIdle(t *tenant[K, T]) {
	rounds := q.round - t.credited
	if rounds >= (-t.deficit-1)/t.quantum+1 {
		t.deficit = 0
	} else {
		t.deficit += rounds * t.quantum
	}
	t.credited = q.round
}

// sweepDebts forgets a few idle tenants whose debts are paid. Each was put
// among the debtors once, so a few a turn keep up with them.
func (q *Queue[K, T]) sweepDebts() {
	for range 2 {
		if len(q.debtors.entries) == 0 || q.debtors.entries[0].due-q.round > 0 {
			return
		}
		t := q.debtors.entries[0].t
		q.unlink(t)
		t.deficit = 0
		q.retire(t)
	}
}
