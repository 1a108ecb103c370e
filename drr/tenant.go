package drr

// A Tenant is a handle on one tenant of a queue. Through it, calls skip the
// look-up by name, and a tenant gets its weight and bounds. Any number of
// handles may stand for one tenant. A handle is good for the life of its queue,
// however often its tenant goes idle, and holds nothing there: it needs no
// closing. Like its queue, it must not be used by several goroutines at once.
type Tenant[K comparable, T any] struct {
	q   *Queue[K, T]
	key K
	t   *tenant[K, T] // a guess: right while it is of generation gen
	gen uint64
}

// Tenant returns a handle on the tenant of that name, whether the queue knows
// one or not.
func (q *Queue[K, T]) Tenant(name K) *Tenant[K, T] {
	return &Tenant[K, T]{q: q, key: name}
}

// find returns the tenant's record, or nil if it has none.
func (h *Tenant[K, T]) find() *tenant[K, T] {
	if h.t == nil || h.t.gen != h.gen {
		if h.t = h.q.tenants[h.key]; h.t != nil {
			h.gen = h.t.gen
		}
	}
	return h.t
}

// Name returns the tenant's name.
func (h *Tenant[K, T]) Name() K { return h.key }

// Push is Queue.Push for this tenant.
func (h *Tenant[K, T]) Push(cost int64, v T) (Item[K, T], error) {
	t := h.find()
	if t == nil {
		return h.q.pushNew(h.key, cost, v)
	}
	return h.q.push(t, cost, v)
}

// Charge is Queue.Charge for this tenant.
func (h *Tenant[K, T]) Charge(delta int64) error {
	return h.q.charge(h.find(), h.key, delta)
}

// Len returns the number of the tenant's items waiting.
func (h *Tenant[K, T]) Len() int {
	if t := h.find(); t != nil {
		return t.depth
	}
	return 0
}

// Cost returns the sum of the costs of the tenant's items waiting.
func (h *Tenant[K, T]) Cost() int64 {
	if t := h.find(); t != nil {
		return t.cost
	}
	return 0
}

// Peek returns the first of the tenant's items waiting, which may not be the
// next one of the queue.
func (h *Tenant[K, T]) Peek() (v T, ok bool) {
	if t := h.find(); t != nil && t.head != nil {
		return t.head.value, true
	}
	return v, false
}

// Balance returns what the tenant may spend before it needs the credit of
// another round, in units of cost. Below zero it is the tenant's debt.
func (h *Tenant[K, T]) Balance() int64 {
	t := h.find()
	if t == nil {
		return 0
	}
	h.q.settle(t) // no change of anything but the moment of crediting
	if t.spot == inDebt {
		h.q.replace(t)
	}
	return t.deficit
}

// SetWeight gives the tenant a share in proportion to w: its quantum becomes
// Config.Quantum*w, rounded to a whole unit of cost, 1 at least. It holds from
// the tenant's next round on, for items that wait already as well, and takes
// back nothing. The queue remembers it, unless it is 1, while the tenant is
// idle. It returns a *ValueError if w is not a finite number above 0, or
// Quantum*w is above 2^50.
func (h *Tenant[K, T]) SetWeight(w float64) error {
	quantum, err := quantumOf(h.q.quantum, w)
	if err != nil {
		return err
	}
	h.customize(func(c *custom) { c.weight, c.quantum = w, quantum })
	if t := h.find(); t != nil {
		h.q.settle(t)
		if t.head != nil {
			h.q.rivals += quantum - t.quantum
		}
		t.quantum = quantum
		h.q.replace(t)
	}
	return nil
}

// SetWeight is Tenant.SetWeight by name.
func (q *Queue[K, T]) SetWeight(tenant K, w float64) error {
	return q.Tenant(tenant).SetWeight(w)
}

// SetMaxDepth gives the tenant a bound of its own on its items waiting, instead
// of Config.MaxTenantDepth; those that wait already stay. The queue remembers
// it while the tenant is idle. It returns a *ValueError if n is below 1.
func (h *Tenant[K, T]) SetMaxDepth(n int) error {
	if err := checkBound(n); err != nil {
		return err
	}
	h.customize(func(c *custom) { c.maxDepth = n })
	if t := h.find(); t != nil {
		t.maxDepth = n
	}
	return nil
}

// customize changes what is set for the tenant, and forgets it when it equals
// the defaults.
func (h *Tenant[K, T]) customize(change func(*custom)) {
	q := h.q
	c, ok := q.custom[h.key]
	if !ok {
		c = custom{weight: 1, quantum: q.quantum, maxDepth: q.maxTenantDepth}
	}
	change(&c)
	if c.weight == 1 && c.maxDepth == q.maxTenantDepth {
		delete(q.custom, h.key)
		return
	}
	if q.custom == nil {
		q.custom = make(map[K]custom)
	}
	q.custom[h.key] = c
}

// Block takes the tenant out of the ring: Pop passes its items by until
// Unblock. Meanwhile it neither earns credit nor holds up the others, and its
// balance stays as it is, except that what was left of a turn is forfeited,
// down to less than its next item costs. Items can still be pushed to it. It is
// how a tenant at a cap of its own steps aside. Blocking twice is as good as once.
func (h *Tenant[K, T]) Block() {
	q, t := h.q, h.find()
	if t == nil {
		if h.key != h.key {
			return
		}
		t = q.newTenant(h.key)
	}
	if t.spot == blocked {
		return
	}
	q.settle(t)
	if t.spot == inTurn {
		q.turn = nil
		t.deficit = min(t.deficit, t.head.cost-1)
	}
	inRing := t.spot == inTurn || t.spot == inLine || t.spot == inLater
	q.unlink(t)
	t.spot = blocked
	// For Unblock: the round in which it has kept its place.
	if t.due = q.round; !inRing {
		t.due--
	}
	q.held += t.depth
}

// Unblock lets a blocked tenant have its turns again: in its old place if the
// round in which it was blocked is still under way, else as one that joins anew.
func (h *Tenant[K, T]) Unblock() {
	q, t := h.q, h.find()
	if t == nil || t.spot != blocked {
		return
	}
	t.spot = outside
	q.held -= t.depth
	switch {
	case t.due == q.round: // where a joiner would go, it could have two turns while others have none
		t.credited = q.passed(t)
		t.due = t.credited + t.rounds()
		q.link(t)
	case t.head != nil:
		q.join(t)
	default:
		t.credited = q.round
		q.retire(t)
	}
}
