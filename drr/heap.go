package drr

// A dueHeap orders tenants by due round, those of one round by place. It is a
// 4-ary heap with the keys beside the pointers: half the levels of a binary
// one, and no look at a tenant that isn't moved. Each tenant knows its index,
// so that one in the middle can be taken out.
type dueHeap[K comparable, T any] struct {
	entries []dueEntry[K, T]
}

type dueEntry[K comparable, T any] struct {
	due   int64
	place place
	t     *tenant[K, T]
}

// before compares rounds by difference, so that they may wrap around.
func (e *dueEntry[K, T]) before(o *dueEntry[K, T]) bool {
	if e.due != o.due {
		return e.due-o.due < 0
	}
	return e.place.before(o.place)
}

func (h *dueHeap[K, T]) push(t *tenant[K, T]) {
	h.entries = append(h.entries, dueEntry[K, T]{t.due, t.place, t})
	h.up(len(h.entries) - 1)
}

// remove takes t out; t must be in h.
func (h *dueHeap[K, T]) remove(t *tenant[K, T]) {
	i, last := t.index, len(h.entries)-1
	moved := h.entries[last]
	h.entries[last] = dueEntry[K, T]{}
	h.entries = h.entries[:last]
	if i < last {
		h.entries[i] = moved
		moved.t.index = i
		h.down(i)
		h.up(moved.t.index)
	}
	if c := cap(h.entries); c > 1024 && last < c/4 { // give a burst's memory back
		h.entries = append(make([]dueEntry[K, T], 0, c/2), h.entries...)
	}
}

func (h *dueHeap[K, T]) up(i int) {
	e := h.entries[i]
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&h.entries[parent]) {
			break
		}
		h.entries[i] = h.entries[parent]
		h.entries[i].t.index = i
		i = parent
	}
	h.entries[i] = e
	e.t.index = i
}

func (h *dueHeap[K, T]) down(i int) {
	e := h.entries[i]
	n := len(h.entries)
	for {
		first := 4*i + 1
		if first >= n {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, n); c++ {
			if h.entries[c].before(&h.entries[least]) {
				least = c
			}
		}
		if !h.entries[least].before(&e) {
			break
		}
		h.entries[i] = h.entries[least]
		h.entries[i].t.index = i
		i = least
	}
	h.entries[i] = e
	e.t.index = i
}
