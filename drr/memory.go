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

// dropItems leaves two spare items to the garbage collector: one for the item
// that has just become spare, one because fewer may be spare now.
func (q *Queue[K, T]) dropItems() {
	for range 2 {
		if it := q.free; it != nil {
			q.free = it.next
			q.made--
			it.prev, it.next, it.t = nil, nil, nil // Cancel still looks at gen
		}
	}
}

// refuse says why an item can't be queued for t, if it can't.
func (q *Queue[K, T]) refuse(t *tenant[K, T], cost int64) error {
	switch {
	case cost < 1 || cost > MaxCost:
		return &ValueError{Package: "drr", Field: "cost", Value: cost, Want: "1 to 2^40"}
	case t != nil && (t.depth >= t.maxDepth || t.spot == blocked && t.depth >= q.maxDepth):
		return ErrTenantFull
	case (t == nil || t.spot != blocked) && q.length-q.held >= q.maxDepth:
		return ErrFull
	}
	return nil
}

// pushNew is push for a tenant without a record.
func (q *Queue[K, T]) pushNew(key K, cost int64, v T) (Item[K, T], error) {
	if err := q.refuse(nil, cost); err != nil {
		return Item[K, T]{}, err
	}
	if key != key {
		return Item[K, T]{}, errName(key)
	}
	return q.push(q.newTenant(key), cost, v)
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
