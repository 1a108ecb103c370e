package sim

import "time"

// An event is something that happens at an instant: a request of a tenant
// arrives, or a worker finishes.
type event struct {
	at  time.Duration
	seq uint64 // the order of scheduling, which decides among equal instants
	who int32  // a tenant whose request arrives, or ^worker that finishes
}

func (e event) before(f event) bool {
	return e.at < f.at || e.at == f.at && e.seq < f.seq
}

// An eventHeap is a binary min-heap by (at, seq). It isn't container/heap,
// which would box every event.
type eventHeap []event

func (h *eventHeap) push(e event) {
	s := append(*h, e)
	i := len(s) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(s[parent]) {
			break
		}
		s[i] = s[parent]
		i = parent
	}
	s[i] = e
	*h = s
}

// pop takes out the first event. The heap must not be empty.
func (h *eventHeap) pop() event {
	s := *h
	first, last := s[0], s[len(s)-1]
	s = s[:len(s)-1]
	*h = s
	if len(s) == 0 {
		return first
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(s) {
			break
		}
		if right := child + 1; right < len(s) && s[right].before(s[child]) {
			child = right
		}
		if !s[child].before(last) {
			break
		}
		s[i] = s[child]
		i = child
	}
	s[i] = last
	return first
}
