package tenantmetrics

import (
	"slices"
	"strings"
)

// A sketch finds the names with the largest weights among any number of names
// with a bounded number of counters: Space-Saving (Metwally, Agrawal and El
// Abbadi, 2005), with weights. When all counters are taken, a new name takes
// over the one with the least estimate, the first given out among equals, and
// inherits the estimate. Of a name of true weight f, and N in all:
//
//	counted since it has its counter <= f <= estimate
//	a name without a counter has f <= floor <= N/limit
//
// Differences from the paper: each counter also counts, by outcome, only what
// was seen of its present name, which is what a report can show without
// inventing anything. And counters outlive a reset, at an estimate of 0, so that
// a name that is there in every period costs no allocation.
type sketch struct {
	limit    int
	counters map[string]*counter
	heap     []slot
	floor    int64  // the largest estimate that was taken over since the reset
	given    uint64 // counters given out since the reset
}

type counter struct {
	name     string
	counts   Counts // since the name has this counter, or since the reset
	estimate int64  // no less than the name's weight since the reset
	seq      uint64 // the order in which counters were given out
}

// A slot is a place in a min-heap by (estimate, seq) as they were when the slot
// was last looked at. Estimates only grow, so these are lower bounds, and they
// are put right only when a counter is wanted: counting touches no heap.
type slot struct {
	estimate int64
	seq      uint64
	c        *counter
}

func (s slot) before(t slot) bool {
	if s.estimate != t.estimate {
		return s.estimate < t.estimate
	}
	return s.seq < t.seq
}

func newSketch(limit int) sketch {
	return sketch{limit: limit, counters: make(map[string]*counter)}
}

// add adds a weight of n, 1 or more, to name and returns name's counter, whose
// counts are up to the caller. It takes O(1) for a name that has a counter and
// O(log limit) amortised for others.
func (s *sketch) add(name string, n int64) *counter {
	c := s.counters[name]
	if c == nil {
		c = s.admit(name)
	}
	if c.estimate == 0 { // new, or not seen since the reset
		s.given++
		c.seq = s.given
		c.estimate = s.floor
	}
	c.estimate += n
	return c
}

// admit gives name a counter with an estimate of 0.
func (s *sketch) admit(name string) *counter {
	var c *counter
	if len(s.heap) < s.limit {
		c = new(counter)
		s.heap = append(s.heap, slot{c: c})
		s.up(len(s.heap) - 1)
	} else {
		for s.heap[0].estimate != s.heap[0].c.estimate {
			top := &s.heap[0]
			top.estimate, top.seq = top.c.estimate, top.c.seq
			s.down(0)
		}
		top := &s.heap[0]
		c = top.c
		s.floor = c.estimate
		delete(s.counters, c.name)
		*c = counter{}
		// The slot keeps its place: the newcomer's estimate is no less.
	}
	// The caller's string may be part of a much larger one, such as a request.
	c.name = strings.Clone(name)
	s.counters[c.name] = c
	return c
}

// remove takes name's counter away. O(limit).
func (s *sketch) remove(name string) {
	c := s.counters[name]
	if c == nil {
		return
	}
	delete(s.counters, name)
	i := slices.IndexFunc(s.heap, func(t slot) bool { return t.c == c })
	s.heap = slices.Delete(s.heap, i, i+1)
	for i := len(s.heap)/2 - 1; i >= 0; i-- {
		s.down(i)
	}
}

// reset sets all weights to 0.
func (s *sketch) reset() {
	for i := range s.heap {
		t := &s.heap[i]
		t.estimate, t.seq = 0, 0
		*t.c = counter{name: t.c.name}
	}
	s.floor, s.given = 0, 0
}

func (s *sketch) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !s.heap[i].before(s.heap[parent]) {
			return
		}
		s.heap[i], s.heap[parent] = s.heap[parent], s.heap[i]
		i = parent
	}
}

func (s *sketch) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(s.heap); child++ {
			if s.heap[child].before(s.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		s.heap[i], s.heap[least] = s.heap[least], s.heap[i]
		i = least
	}
}
