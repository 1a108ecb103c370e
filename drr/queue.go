package drr

// A Queue holds items of type T for tenants of type K and serves them by
// deficit round robin, see the package's documentation. While two tenants both
// have items waiting, the costs served to them, each divided by the tenant's
// quantum, differ by less than
//
//	1 + L1/quantum1 + L2/quantum2
//
// where L is the largest cost of each, whatever the quantum. Items of one
// tenant leave in the order they came in.
//
// A tenant exists by having items, and again costs nothing once it has none
// and owes nothing. Any K will do as a name, "" included, that equals itself
// (a floating-point NaN does not).
//
// Push, Pop and Cancel are O(1) where no cost exceeds its tenant's quantum and
// O(log tenants) at most, amortised, whatever cost/quantum is. They allocate
// nothing in the steady state.
//
// A Queue is a data structure: it has no clock, lock or goroutine, the same
// calls give the same order everywhere, and it must not be used by several
// goroutines at once.
type Queue[K comparable, T any] struct {
	quantum        int64
	maxDepth       int
	maxTenantDepth int
	custom         map[K]custom // what was set for a tenant, for as long as it differs

	tenants map[K]*tenant[K, T]
	crowd   int // the most there were since the map was made

	length int   // items waiting
	held   int   // those of them whose tenants are blocked
	cost   int64 // the costs of all
	rivals int64 // the quanta of all tenants with items waiting

	// The ring, see ring.go.
	round  int64 // the round that is under way
	cursor place // the place that had the last turn: it and all before it have gone by
	seq    int64 // of the last place given
	turn   *tenant[K, T]
	lines  [2]struct{ young, old line[K, T] } // for even and for odd rounds
	later  dueHeap[K, T]
	turns  uint64

	debtors dueHeap[K, T] // idle tenants in debt, by the round that pays it

	free    *item[K, T]   // items for the next pushes
	made    int           // items in use and free
	vacant  *tenant[K, T] // records for the next tenants
	nvacant int
}

// custom is what was set for one tenant by name.
type custom struct {
	quantum  int64
	maxDepth int
	weight   float64
}

// New returns an empty queue, or a *ValueError for each field of c that is out
// of range, joined.
func New[K comparable, T any](c Config) (*Queue[K, T], error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if c.Quantum == 0 {
		c.Quantum = DefaultQuantum
	}
	return &Queue[K, T]{
		quantum:        c.Quantum,
		maxDepth:       boundOf(c.MaxDepth),
		maxTenantDepth: boundOf(c.MaxTenantDepth),
		tenants:        make(map[K]*tenant[K, T]),
		cursor:         place{era: -1}, // the places of those who join now come before
	}, nil
}

// Push queues v, which costs cost, behind the tenant's other items. The cost is
// in whatever unit the caller has chosen (bytes, tokens, nanoseconds of work)
// and may be an estimate that Charge corrects later: 1 to MaxCost.
//
// The Item returned can take v out again (Cancel); it may be ignored. The
// error is ErrTenantFull, ErrFull or a *ValueError, and then nothing has changed.
//
// Push looks the tenant up by name. Where that shows in a profile, keep the
// tenant's handle (Tenant) and push to it.
func (q *Queue[K, T]) Push(tenant K, cost int64, v T) (Item[K, T], error) {
	t := q.tenants[tenant]
	if t == nil {
		return q.pushNew(tenant, cost, v)
	}
	return q.push(t, cost, v)
}

func (q *Queue[K, T]) push(t *tenant[K, T], cost int64, v T) (Item[K, T], error) {
	if uint64(cost-1) >= MaxCost || t.depth >= t.maxDepth || q.length-q.held >= q.maxDepth || t.depth >= q.maxDepth {
		if err := q.refuse(t, cost); err != nil {
			return Item[K, T]{}, err
		}
	}
	it := q.free
	if it == nil {
		it = new(item[K, T])
		q.made++
	}
	q.free = it.next
	last := t.tail
	it.value, it.cost, it.t = v, cost, t
	it.prev, it.next = last, nil
	t.tail = it
	t.depth++
	t.cost += cost
	q.length++
	q.cost += cost
	if last != nil {
		last.next = it
		if t.spot == blocked {
			q.held++
		}
	} else {
		t.head = it
		q.rivals += t.quantum
		// A tenant that is idle since its last turn stays where it is if the
		// next one will do.
		if t.spot != inLine || cost-t.deficit > t.quantum {
			q.activate(t)
		}
	}
	return Item[K, T]{it, it.gen}, nil
}

// Pop takes out the next item in fair order and returns it with its tenant.
// It returns false if there is none: if nothing is waiting, or only items of
// blocked tenants. The whole cost given to Push is charged to the tenant.
func (q *Queue[K, T]) Pop() (tenant K, v T, ok bool) {
	t := q.turn
	if t == nil {
		if q.length == q.held {
			return tenant, v, false
		}
		t = q.startTurn()
	}
	it := t.head
	next := it.next
	tenant, v = t.key, it.value
	t.head = next
	t.deficit -= it.cost
	q.release(t, it)
	if next == nil {
		t.tail = nil
	} else {
		next.prev = nil
		if next.cost <= t.deficit { // it is still t's turn
			if q.turn != t {
				q.turn, t.spot = t, inTurn
			}
			return tenant, v, true
		}
	}
	q.endTurn(t)
	return tenant, v, true
}

// Peek returns what Pop would return next, and leaves it where it is: its
// tenant's turn begins. It stays next, whoever joins, until it is popped or
// cancelled, or its tenant is blocked or charged.
func (q *Queue[K, T]) Peek() (tenant K, v T, ok bool) {
	t := q.turn
	if t == nil {
		if q.length == q.held {
			return tenant, v, false
		}
		t = q.startTurn()
		q.turn, t.spot = t, inTurn
	}
	return t.key, t.head.value, true
}

// Cancel takes an item out wherever it stands in the queue, and reports
// whether it was still waiting there. Its place counts as free at once, and
// its tenant is charged nothing. An Item that was popped or cancelled before,
// the zero Item and one of another queue do no harm.
func (q *Queue[K, T]) Cancel(i Item[K, T]) bool {
	it := i.it
	if it == nil || it.gen != i.gen || it.t.q != q {
		return false
	}
	t := it.t
	if it.next != nil {
		it.next.prev = it.prev
	} else {
		t.tail = it.prev
	}
	first := it.prev == nil
	if first {
		t.head = it.next
	} else {
		it.prev.next = it.next
	}
	q.release(t, it)
	switch {
	case t.spot == blocked:
		q.held--
		if t.head == nil {
			t.deficit = min(t.deficit, 0)
		}
	case first:
		q.rekey(t)
	}
	return true
}

// SetMaxDepth changes the bound on the items waiting over all tenants; those
// that wait already stay. It returns a *ValueError if n is below 1.
func (q *Queue[K, T]) SetMaxDepth(n int) error {
	if err := checkBound(n); err != nil {
		return err
	}
	q.maxDepth = n
	return nil
}

// Len returns the number of items waiting, those of blocked tenants included.
func (q *Queue[K, T]) Len() int { return q.length }

// Cost returns the sum of the costs of the items waiting.
func (q *Queue[K, T]) Cost() int64 { return q.cost }

// Tenants returns how many tenants the queue keeps state for: those with items
// waiting, in debt, blocked, or idle since their last turn.
func (q *Queue[K, T]) Tenants() int { return len(q.tenants) }

// Turns returns how many turns there have been, counting those in which an
// idle tenant left. Turns divided by pops is the work of a dispatch: it is at
// most 1 plus the tenants that came and went, whatever the quantum, where a
// plain round robin needs 1 + cost/quantum.
func (q *Queue[K, T]) Turns() uint64 { return q.turns }

// activate finds a place for a tenant that was idle and has an item now.
func (q *Queue[K, T]) activate(t *tenant[K, T]) {
	switch t.spot {
	case blocked:
		q.held++
	case inDebt:
		q.payIdle(t)
		q.unlink(t)
		q.join(t)
	case outside:
		q.join(t)
	default: // still in the ring since its last turn
		q.rekey(t)
	}
}

// release forgets an item that its tenant's list has let go.
func (q *Queue[K, T]) release(t *tenant[K, T], it *item[K, T]) {
	var zero T
	it.value = zero
	it.gen++
	t.depth--
	t.cost -= it.cost
	q.length--
	q.cost -= it.cost
	if t.head == nil {
		q.rivals -= t.quantum
	}
	it.next, q.free = q.free, it
	if q.made > spareItems && q.made > 2*q.length {
		q.dropItems()
	}
}
