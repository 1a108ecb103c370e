package drr

// This file is the ring: who has its turn next.
//
// The ring is gone through in rounds. Each tenant in it has a place, by which
// tenants have their turns in every round, and a due round, the next one in
// which its place brings it a turn that isn't idle. Whoever joins does so
// between this round and the next: behind all who have their turns in this
// one, ahead of all in the next. (To let it in at the end of this round comes
// to the same for it. But then a stream of new tenants would keep the round
// from ending, and those that have had their turn in it from having another.)
//
// A tenant in the ring is in exactly one of these spots:
//
//	inTurn   has its turn now: its head costs no more than its deficit
//	inLine   due in this round with its place still to come, or due in the
//	         next round with its place gone by in this one
//	inLater  all others, in a heap by (due, place)
//
// There are two lines for each of those two rounds, sorted by place: one of the
// tenants that joined in the round before, whose places come first, and one of
// the others. They make the common case O(1): whoever ends a turn and is due in
// the next round has a larger place than all that did so before it in this
// round, and whoever joins has a larger place than all that joined before it in
// this round, so that lines stay sorted by appending. A tenant that would break
// the order goes to the heap, where every due round is at home.

// A spot says where a tenant is.
type spot uint8

const (
	outside spot = iota // not in the ring, on its way in or out
	inTurn              // q.turn
	inLine              // q.lines[due&1].old or young
	inLater             // q.later
	inDebt              // idle, outside the ring, in q.debtors
	blocked             // outside the ring, with or without items
)

// A tenant is what the queue knows of one tenant while it has items, a place
// in the ring, a debt, or is blocked.
type tenant[K comparable, T any] struct {
	head, tail *item[K, T] // its items, first in first out

	deficit  int64 // what it may spend in its turn; below zero is debt
	quantum  int64 // its credit in each round
	credited int64 // the round up to which the deficit has its credits
	due      int64 // in the ring: see above; in debt: the round that pays it
	place    place // its place in the ring

	index int // in a line or a heap
	spot  spot

	depth    int // items waiting
	maxDepth int
	cost     int64 // their costs

	gen uint64 // how often this record has been given up
	key K
	q   *Queue[K, T]
	// The next spare record, while this is one.
	vacant *tenant[K, T]
}

// rounds is how many more rounds of credit t needs before its head can go.
func (t *tenant[K, T]) rounds() int64 {
	if t.head == nil {
		return 1 // its next visit takes it out of the ring
	}
	lack := t.head.cost - t.deficit
	if lack <= t.quantum {
		return 1
	}
	return (lack-1)/t.quantum + 1
}

// A place orders the tenants within a round: those that joined in a later
// round come first, those that joined in one round in the order they did.
// Both numbers are compared by difference, so that they may wrap around.
type place struct {
	era int64 // the round in which the tenant joined
	seq int64
}

func (p place) before(o place) bool {
	if p.era != o.era {
		return p.era-o.era > 0
	}
	return p.seq-o.seq < 0
}

// passed is the last round that has gone by t's place.
func (q *Queue[K, T]) passed(t *tenant[K, T]) int64 {
	if q.cursor.before(t.place) {
		return q.round - 1
	}
	return q.round
}

// startTurn goes on to the next tenant that can send, and returns it with its
// credit. Some tenant in the ring must have an item. Every step of the loop starts a turn, takes an idle
// tenant out of the ring, or moves to the next round in which somebody is due.
func (q *Queue[K, T]) startTurn() *tenant[K, T] {
	if len(q.debtors.entries) > 0 {
		q.sweepDebts()
	}
	for {
		l := &q.lines[q.round&1].young
		if l.empty() {
			l = &q.lines[q.round&1].old
		}
		var t *tenant[K, T]
		if !l.empty() {
			t = l.first()
		}
		if len(q.later.entries) > 0 && q.later.entries[0].due == q.round &&
			(t == nil || q.later.entries[0].place.before(t.place)) {
			t = q.later.entries[0].t
			q.later.remove(t)
		} else if t != nil {
			l.shift()
		} else {
			q.nextRound()
			continue
		}
		q.cursor = t.place
		q.turns++
		if t.head != nil {
			t.deficit += t.quantum * (q.round - t.credited)
			t.credited = q.round
			return t
		}
		t.spot = outside // idle since its last turn
		t.credited = q.round
		q.retire(t)
	}
}

// nextRound moves to the next round in which somebody is due.
func (q *Queue[K, T]) nextRound() {
	l := &q.lines[q.round&1]
	l.young.trim(len(q.tenants))
	l.old.trim(len(q.tenants))
	if next := &q.lines[(q.round+1)&1]; next.young.empty() && next.old.empty() {
		q.round = q.later.entries[0].due
	} else {
		q.round++
	}
}

// endTurn puts the tenant whose turn it was where it is due next. The credit
// that an idle tenant has left is forfeited; a debt stays.
func (q *Queue[K, T]) endTurn(t *tenant[K, T]) {
	if q.turn != nil {
		q.turn = nil
	}
	t.due = q.round + 1
	if t.head == nil {
		t.deficit = min(t.deficit, 0)
	} else if t.head.cost-t.deficit > t.quantum {
		t.due = q.round + t.rounds()
		t.spot = inLater
		q.later.push(t)
		return
	}
	t.spot = inLine
	// Its place is the largest of those that have gone by.
	l := &q.lines[t.due&1].old
	if l.tail-l.head == len(l.slots) {
		l.grow()
	}
	l.slots[l.tail&(len(l.slots)-1)] = t // as line.append, which would be a call
	t.index = l.tail
	l.tail++
}

// join gives t, which has an item and isn't in the ring, a place in it: behind
// those that joined in this round before.
func (q *Queue[K, T]) join(t *tenant[K, T]) {
	q.seq++
	t.place = place{q.round, q.seq}
	t.credited = q.round
	t.due = q.round + t.rounds()
	q.link(t)
}

// rekey is called when the head, the deficit or the quantum of a tenant in the
// ring has changed: it may be due in another round now, though never in one
// that has gone by its place. A caller that changes the deficit or the quantum
// has given t its credits up to passed before (catchUp).
func (q *Queue[K, T]) rekey(t *tenant[K, T]) {
	switch t.spot {
	case inTurn:
		if t.head == nil || t.head.cost > t.deficit {
			q.endTurn(t)
		}
	case inLine, inLater:
		q.catchUp(t)
		if t.head == nil {
			t.deficit = min(t.deficit, 0)
		}
		if due := t.credited + t.rounds(); due != t.due {
			q.unlink(t)
			t.due = due
			q.link(t)
		}
	}
}

// catchUp gives a tenant in the ring the credits of the rounds that have gone
// by its place. It wasn't due in any of them, so they don't add up to more
// than its head costs.
func (q *Queue[K, T]) catchUp(t *tenant[K, T]) {
	if p := q.passed(t); t.spot != inTurn && p != t.credited {
		t.deficit += t.quantum * (p - t.credited)
		t.credited = p
	}
}

// link puts t, which is outside, where its due round and place belong.
func (q *Queue[K, T]) link(t *tenant[K, T]) {
	l := q.line(t)
	if t.due == q.passed(t)+1 && l.sorts(t) {
		t.spot = inLine
		l.append(t)
	} else {
		t.spot = inLater
		q.later.push(t)
	}
}

// line returns the line that t belongs in if it belongs in any.
func (q *Queue[K, T]) line(t *tenant[K, T]) *line[K, T] {
	if t.place.era == t.due-1 {
		return &q.lines[t.due&1].young
	}
	return &q.lines[t.due&1].old
}

// unlink takes t out of its list or heap. Its due round must not have changed.
func (q *Queue[K, T]) unlink(t *tenant[K, T]) {
	switch t.spot {
	case inLine:
		q.line(t).remove(t)
	case inLater:
		q.later.remove(t)
	case inDebt:
		q.debtors.remove(t)
	}
	t.spot = outside
}
