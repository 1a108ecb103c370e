package drr

import (
	"fmt"
)

// check reports the first broken invariant of q. Tests call it after every
// operation; clean says that nothing was charged, cancelled, re-weighted or
// blocked so far.
//
//	I1  a tenant is known if and only if it is in the ring, in debt or blocked,
//	    and it is in exactly the one spot that it says it is in
//	I2  lines are sorted by place, have no gaps at the ends, and hold those due
//	    in this round with their place to come, or due in the next with it gone,
//	    those that joined in the round before apart
//	I3  heaps are heaps, with each tenant's index and keys right
//	I4  a tenant in the ring is due in the round its deficit says, never in a past one
//	I5  the tenant whose turn it is can send, and its place went by last
//	I6  out of turn 0 <= deficit < cost of the head, while clean; idle tenants
//	    have no credit
//	I7  lengths and costs add up, and items are linked both ways
//	I8  no more is kept for reuse than is in use, plus a constant
func check[K comparable, T any](q *Queue[K, T], clean bool) error {
	seen := map[*tenant[K, T]]spot{}
	meet := func(t *tenant[K, T], s spot) error {
		if t.spot != s {
			return fmt.Errorf("I1: tenant %v is in spot %d but says %d", t.key, s, t.spot)
		}
		if was, twice := seen[t]; twice {
			return fmt.Errorf("I1: tenant %v is in spots %d and %d", t.key, was, s)
		}
		if q.tenants[t.key] != t {
			return fmt.Errorf("I1: tenant %v is in spot %d but not known", t.key, s)
		}
		seen[t] = s
		return nil
	}

	if t := q.turn; t != nil {
		if err := meet(t, inTurn); err != nil {
			return err
		}
		if t.head == nil || t.head.cost > t.deficit || t.place != q.cursor || t.credited != q.round {
			return fmt.Errorf("I5: tenant %v has its turn: deficit %d, head %+v, place %v of %v, credited %d in round %d",
				t.key, t.deficit, t.head, t.place, q.cursor, t.credited, q.round)
		}
	}
	for parity := range q.lines {
		for _, l := range []*line[K, T]{&q.lines[parity].young, &q.lines[parity].old} {
			var last *tenant[K, T]
			for p := l.head; p != l.tail; p++ {
				t := l.slots[p&(len(l.slots)-1)]
				if t == nil {
					if p == l.head || p == l.tail-1 {
						return fmt.Errorf("I2: line %d has a gap at an end", parity)
					}
					continue
				}
				if err := meet(t, inLine); err != nil {
					return err
				}
				if t.index != p || last != nil && !last.place.before(t.place) || int(t.due&1) != parity || t.due != q.passed(t)+1 ||
					(l == &q.lines[parity].young) != (t.place.era == t.due-1) {
					return fmt.Errorf("I2: tenant %v in line %d at %d: index %d, place %v, due %d in round %d, cursor %v",
						t.key, parity, p, t.index, t.place, t.due, q.round, q.cursor)
				}
				last = t
			}
		}
	}
	for name, h := range map[spot]*dueHeap[K, T]{inLater: &q.later, inDebt: &q.debtors} {
		for i := range h.entries {
			e := &h.entries[i]
			if err := meet(e.t, name); err != nil {
				return err
			}
			if e.t.index != i || e.due != e.t.due || e.place != e.t.place || i > 0 && e.before(&h.entries[(i-1)/4]) {
				return fmt.Errorf("I3: entry %d of heap %d is out of order: %+v", i, name, e)
			}
		}
	}

	length, held, sum, rivals := 0, 0, int64(0), int64(0)
	for key, t := range q.tenants {
		if t.spot == blocked {
			seen[t] = blocked
			held += t.depth
		}
		if _, ok := seen[t]; !ok || t.key != key || t.q != q {
			return fmt.Errorf("I1: tenant %v is known but in no spot (says %d)", key, t.spot)
		}
		depth, cost := 0, int64(0)
		var prev *item[K, T]
		for it := t.head; it != nil; it = it.next {
			if it.prev != prev || it.t != t {
				return fmt.Errorf("I7: tenant %v: item %d is linked wrongly", key, depth)
			}
			depth++
			cost += it.cost
			prev = it
		}
		if prev != t.tail || depth != t.depth || cost != t.cost {
			return fmt.Errorf("I7: tenant %v: %d items of cost %d, counted %d and %d", key, depth, cost, t.depth, t.cost)
		}
		length += depth
		sum += cost
		if depth > 0 {
			rivals += t.quantum
		}
		if depth == 0 && t.deficit > 0 {
			return fmt.Errorf("I6: idle tenant %v has credit %d", key, t.deficit)
		}
		if t.spot == inLine || t.spot == inLater {
			if t.due != t.credited+t.rounds() || t.due-q.passed(t) <= 0 {
				return fmt.Errorf("I4: tenant %v is due in round %d: deficit %d, quantum %d, credited %d, head %+v, round %d, passed %d",
					key, t.due, t.deficit, t.quantum, t.credited, t.head, q.round, q.passed(t))
			}
			if d := currentDeficit(q, t); clean && depth > 0 && (d < 0 || d >= t.head.cost) {
				return fmt.Errorf("I6: tenant %v: deficit %d, head costs %d", key, d, t.head.cost)
			}
		}
		if t.spot == inDebt && (depth > 0 || t.deficit >= 0) {
			return fmt.Errorf("I1: tenant %v is away with %d items and deficit %d", key, depth, t.deficit)
		}
	}
	if len(seen) != len(q.tenants) {
		return fmt.Errorf("I1: %d tenants known, %d met", len(q.tenants), len(seen))
	}
	if length != q.length || held != q.held || sum != q.cost || rivals != q.rivals {
		return fmt.Errorf("I7: %d items of cost %d, %d held, quanta %d; counted %d, %d, %d and %d",
			length, sum, held, rivals, q.length, q.cost, q.held, q.rivals)
	}

	free, vacant := 0, 0
	for it := q.free; it != nil; it = it.next {
		free++
	}
	for t := q.vacant; t != nil; t = t.vacant {
		vacant++
	}
	if free != q.made-length || free > max(spareItems, length)+2 {
		return fmt.Errorf("I8: %d spare items, made %d, %d in use", free, q.made, length)
	}
	if vacant != q.nvacant || vacant > max(spareTenants, q.crowd) {
		return fmt.Errorf("I8: %d vacant records, counted %d, %d in use", vacant, q.nvacant, len(q.tenants))
	}
	return nil
}

// currentDeficit is t's deficit with the credits of all rounds that have gone
// by its place, which the queue itself adds only when they matter.
func currentDeficit[K comparable, T any](q *Queue[K, T], t *tenant[K, T]) int64 {
	switch t.spot {
	case inLine, inLater:
		return t.deficit + t.quantum*(q.passed(t)-t.credited)
	case inDebt:
		return min(0, t.deficit+t.quantum*(q.round-t.credited))
	}
	return t.deficit
}
