package drr

// This file is where memory comes from and goes back to. Both kinds of record
// are kept for reuse, but never more of them than are in use plus a constant:
// a burst's memory goes back to the garbage collector as the burst drains.

const (
	spareItems   = 1024
	spareTenants = 256
)

// An Item is an item that waits in a queue, so that Cancel can take it out. It
// is a small value, good for as long as the caller likes: once the item has
// left the queue, it stands for nothing.
type Item[K comparable, T any] struct {
	it  *item[K, T]
	gen uint64
}

type item[K comparable, T any] struct {
	value      T
	cost       int64
	gen        uint64 // how often this record has been given up
	prev, next *item[K, T]
	t          *tenant[K, T]
}

// dropItem leaves an item to the garbage collector, and a spare one with it:
// as the queue drains, so does the number of spare items it may keep.
func (q *Queue[K, T]) dropItem(it *item[K, T]) {
	it.prev, it.next, it.t = nil, nil, nil
	q.made--
	if q.free != nil {
		q.free = q.free.next
		q.made--
	}
}

// admit is what push does where there is more to it: it says why an item can't
// be taken, or makes a record for a tenant that has none.
func (q *Queue[K, T]) admit(t *tenant[K, T], key K, cost int64) (*tenant[K, T], error) {
	switch {
	case cost < 1 || cost > MaxCost:
		return nil, &ValueError{Package: "drr", Field: "cost", Value: cost, Want: "1 to 2^40"}
	case key != key:
		return nil, errName(key)
	case t != nil && t.depth >= t.maxDepth:
		return nil, ErrTenantFull
	case q.length >= q.maxDepth:
		return nil, ErrFull
	}
	return q.newTenant(key), nil
}

func errName(key any) error {
	return &ValueError{Package: "drr", Field: "tenant", Value: key, Want: "a name that equals itself"}
}

func (q *Queue[K, T]) newTenant(key K) *tenant[K, T] {
	t := q.vacant
	if t == nil {
		t = &tenant[K, T]{q: q}
	} else {
		q.vacant = t.vacant
		q.nvacant--
		t.vacant = nil
	}
	t.key, t.quantum, t.maxDepth = key, q.quantum, q.maxTenantDepth
	if len(q.custom) > 0 {
		if c, ok := q.custom[key]; ok {
			t.quantum, t.maxDepth = c.quantum, c.maxDepth
		}
	}
	t.credited = q.round
	q.tenants[key] = t
	q.crowd = max(q.crowd, len(q.tenants))
	return t
}

// retire is for a tenant outside the ring that is idle and not blocked: it is
// remembered for as long as it has a debt.
func (q *Queue[K, T]) retire(t *tenant[K, T]) {
	if t.deficit < 0 {
		t.due = t.credited + (-t.deficit-1)/t.quantum + 1
		t.spot = inDebt
		q.debtors.push(t)
		return
	}
	delete(q.tenants, t.key)
	if n := len(q.tenants); q.crowd > 1024 && n < q.crowd/8 { // maps don't shrink
		m := make(map[K]*tenant[K, T], n)
		for k, t := range q.tenants {
			m[k] = t
		}
		q.tenants, q.crowd = m, n
	}
	*t = tenant[K, T]{q: q, gen: t.gen + 1}
	if q.nvacant < max(spareTenants, len(q.tenants)) {
		t.vacant = q.vacant
		q.vacant = t
		q.nvacant++
	} else if q.nvacant > max(spareTenants, len(q.tenants)) {
		q.vacant = q.vacant.vacant
		q.nvacant--
	}
}
