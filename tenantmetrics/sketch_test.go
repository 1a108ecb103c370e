package tenantmetrics

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// checkSketch checks the structure:
//
//	K1  the counters of the map and of the heap are the same, limit at most
//	K2  no slot is after its counter, or before its parent
//	K3  a counter that was used since the reset has an estimate of floor or more
func checkSketch(t require.TestingT, s *sketch) {
	require.Len(t, s.counters, len(s.heap), "K1")
	require.LessOrEqual(t, len(s.heap), s.limit, "K1")
	for i, at := range s.heap {
		require.Same(t, at.c, s.counters[at.c.name], "K1")
		require.False(t, slot{at.c.estimate, at.c.seq, at.c}.before(at), "K2")
		require.False(t, i > 0 && at.before(s.heap[(i-1)/2]), "K2")
		require.True(t, at.c.estimate == 0 || at.c.estimate >= s.floor, "K3")
	}
}

func count(s *sketch, name string, n int64) {
	s.add(name, n).counts[Completed] += n
}

// SS-1, the example of the paper's algorithm; of equals the first goes.
func TestSpaceSavingExample(t *testing.T) {
	s := newSketch(4)
	for _, x := range "abacdeadfad" {
		count(&s, string(x), 1)
		checkSketch(t, &s)
	}
	got := ""
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		if c := s.counters[name]; c != nil {
			got += fmt.Sprintf("%s %d(%d) ", name, c.estimate, c.estimate-c.counts.Requests())
		}
	}
	require.Equal(t, "a 4(0) d 3(0) e 2(1) f 2(1) ", got)
}

// saving is the oracle: Space-Saving as it is written down, with a plain list.
type saving struct {
	limit int
	list  []savingEntry
	seq   int
}

type savingEntry struct {
	name     string
	estimate int64
	missed   int64
	seq      int
}

func (o *saving) add(name string, n int64) {
	for i := range o.list {
		if o.list[i].name == name {
			o.list[i].estimate += n
			return
		}
	}
	o.seq++
	if len(o.list) < o.limit {
		o.list = append(o.list, savingEntry{name, n, 0, o.seq})
		return
	}
	least := 0
	for i, e := range o.list {
		if b := o.list[least]; e.estimate < b.estimate || e.estimate == b.estimate && e.seq < b.seq {
			least = i
		}
	}
	e := o.list[least]
	o.list[least] = savingEntry{name, e.estimate + n, e.estimate, o.seq}
}

// SS-2. The sketch is Space-Saving, counter by counter, and has its guarantees.
// Period after period: what a reset leaves changes nothing.
func TestSketchIsSpaceSaving(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 8).Draw(t, "limit")
		s := newSketch(limit)
		for range rapid.IntRange(1, 3).Draw(t, "periods") {
			oracle := saving{limit: limit}
			truth, total := map[string]int64{}, int64(0)
			for range rapid.IntRange(0, 60).Draw(t, "events") {
				name := strconv.Itoa(rapid.IntRange(0, 15).Draw(t, "name"))
				n := rapid.Int64Range(1, 4).Draw(t, "n")
				count(&s, name, n)
				oracle.add(name, n)
				truth[name] += n
				total += n

				checkSketch(t, &s)
				sum, live := int64(0), 0
				for _, e := range oracle.list {
					c := s.counters[e.name]
					require.NotNil(t, c, e.name)
					require.Equal(t, e.estimate, c.estimate)
					require.Equal(t, e.missed, c.estimate-c.counts.Requests())
				}
				for _, c := range s.counters {
					if c.estimate > 0 {
						live++
						sum += c.estimate
					}
				}
				require.Len(t, oracle.list, live)
				require.Equal(t, total, sum)
				require.LessOrEqual(t, s.floor, total/int64(limit))
				for name, f := range truth {
					c := s.counters[name]
					if c == nil || c.estimate == 0 {
						require.LessOrEqual(t, f, s.floor)
						require.LessOrEqual(t, f, total/int64(limit), "%q is heavy and has no counter", name)
						continue
					}
					require.LessOrEqual(t, c.counts.Requests(), f)
					require.GreaterOrEqual(t, c.estimate, f)
				}
			}
			s.reset()
			checkSketch(t, &s)
		}
	})
}

// With removals the estimates no longer add up, but they are still bounds.
func TestSketchBoundsSurviveRemovals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSketch(rapid.IntRange(1, 8).Draw(t, "limit"))
		truth := map[string]int64{}
		for range rapid.IntRange(0, 80).Draw(t, "events") {
			name := strconv.Itoa(rapid.IntRange(0, 15).Draw(t, "name"))
			if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
				s.remove(name)
				delete(truth, name) // from now on it is another's
			} else {
				n := rapid.Int64Range(1, 4).Draw(t, "n")
				count(&s, name, n)
				truth[name] += n
			}
			checkSketch(t, &s)
			for name, f := range truth {
				if c := s.counters[name]; c == nil {
					require.LessOrEqual(t, f, s.floor)
				} else {
					require.LessOrEqual(t, c.counts.Requests(), f)
					require.GreaterOrEqual(t, c.estimate, f)
				}
			}
		}
	})
}
