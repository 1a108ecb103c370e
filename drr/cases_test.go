package drr

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Tests named RCnn are faults that users of other systems met.

// RC01: an item that costs more than a round's quantum.
func TestRC01CostAboveQuantum(t *testing.T) {
	for _, aFirst := range []bool{true, false} {
		q := newQueue(t, Config{Quantum: 100})
		pushA := func() { q.Push("a", 1000, 0) }
		if aFirst {
			pushA()
		}
		for i := range 30 {
			q.Push("b", 100, 1+i)
		}
		if !aFirst {
			pushA()
		}
		at := -1
		for i := range 31 {
			name, _, ok := q.Pop()
			require.True(t, ok)
			if name == "a" {
				at = i
			}
		}
		require.Equal(t, map[bool]int{true: 9, false: 10}[aFirst], at)
		_, _, ok := q.Pop()
		require.False(t, ok)
	}

	q := newQueue(t, Config{Quantum: 100})
	q.Push("a", 1000, 7)
	_, v, ok := q.Pop()
	require.True(t, ok)
	require.Equal(t, 7, v)
	require.LessOrEqual(t, q.Turns(), uint64(1), "the pop went round and round")
}

// RC03: a tenant's bound lowered while its queue is full.
func TestRC03BoundLoweredWhileFull(t *testing.T) {
	q := newQueue(t, Config{MaxTenantDepth: 100})
	for i := range 100 {
		_, err := q.Push("a", 1, i)
		require.NoError(t, err)
	}
	require.NoError(t, q.Tenant("a").SetMaxDepth(10))
	_, err := q.Push("a", 1, 100)
	require.ErrorIs(t, err, ErrTenantFull)
	_, err = q.Push("b", 1, 1000)
	require.NoError(t, err)
	next, b := 0, 0
	for {
		name, v, ok := q.Pop()
		if !ok {
			break
		}
		if name == "b" {
			b++
			continue
		}
		require.Equal(t, next, v, "order within the tenant")
		next++
		room := q.Tenant("a").Len() < 10
		_, err := q.Push("a", 1, 5000)
		if room {
			require.NoError(t, err)
			break
		}
		require.ErrorIs(t, err, ErrTenantFull)
	}
	require.Equal(t, 91, next)
	require.Equal(t, 1, b)
}

// RC11: items equal in every sort key leave in the order they came in, and
// tenants in the order they joined, in every process.
func TestRC11TiesFallToTheOrderOfArrival(t *testing.T) {
	for range 20 {
		q := newQueue(t, Config{})
		for i := range 1000 {
			q.Push("a", 1, i)
		}
		for i := range 1000 {
			_, v, _ := q.Pop()
			require.Equal(t, i, v)
		}

		q = newQueue(t, Config{})
		for _, name := range []string{"C", "A", "B"} {
			for i := range 10 {
				q.Push(name, 1, i)
			}
		}
		for i := range 30 {
			name, _, _ := q.Pop()
			require.Equal(t, "CAB"[i%3:i%3+1], name)
		}
	}
}

// RC14, for deficits and rounds: sums near the limits of int64 neither wrap nor
// stall.
func TestRC14NumbersNearTheLimits(t *testing.T) {
	q := newQueue(t, Config{Quantum: 1})
	require.NoError(t, q.SetWeight("heavy", 1<<20))
	for range 50 {
		q.Push("heavy", MaxCost, 0)
		q.Push("light", MaxCost, 1)
	}
	for i := range 100 {
		name, _, ok := q.Pop()
		require.True(t, ok)
		require.NoError(t, check(q, true))
		if i < 50 {
			require.Equal(t, "heavy", name, "2^20 of its items go for one of light's")
		}
	}
	require.GreaterOrEqual(t, q.round, int64(MaxCost)*49)

	// Years later, the round number wraps around.
	q = newQueue(t, Config{Quantum: 1})
	q.round = math.MaxInt64 - MaxCost
	for range 10 {
		q.Push("a", MaxCost, 0)
		q.Push("b", MaxCost, 0)
		q.Push("c", MaxCost/2, 0)
	}
	require.NoError(t, q.Charge("d", MaxCost))
	served := map[string]int64{}
	for range 20 {
		name, _, ok := q.Pop()
		require.True(t, ok)
		require.NoError(t, check(q, false))
		served[name]++
	}
	require.Negative(t, q.round)
	require.InDelta(t, 5, served["a"], 1)
	require.InDelta(t, 5, served["b"], 1)
	require.InDelta(t, 10, served["c"], 1)
}

// RC30: a tenant that is served in full saves up no credit.
func TestRC30NoCreditWindUp(t *testing.T) {
	q := newQueue(t, Config{})
	served := map[string]int{}
	pull := func(n int) {
		for range n {
			if name, _, ok := q.Pop(); ok {
				served[name]++
			}
		}
	}
	for second := range 40 {
		q1, q2 := 2, 1
		if second >= 20 {
			q2 = 2
		}
		for range q1 {
			q.Push("Q1", 1, 0)
		}
		for range q2 {
			q.Push("Q2", 1, 0)
		}
		if second == 20 {
			clear(served)
		}
		pull(3)
	}
	require.InDelta(t, 30, served["Q1"], 2)
	require.InDelta(t, 30, served["Q2"], 2)

	q = newQueue(t, Config{})
	for range 20 {
		for range 4 {
			q.Push("Q1", 1, 0)
		}
		pull(3)
	}
	for range 60 {
		q.Push("Q2", 1, 0)
	}
	clear(served)
	for range 40 {
		pull(1)
		require.InDelta(t, served["Q1"], served["Q2"], 1)
	}
}

// Other systems' trouble with many tenants: joining one by one takes linear
// time, and one eligible tenant among very many that aren't is found at once.
func TestManyTenantsFewEligible(t *testing.T) {
	q := newQueue(t, Config{})
	for i := range 100_000 {
		h := q.Tenant(fmt.Sprint(i))
		h.Push(1, i)
		h.Block()
	}
	q.Push("free", 1, -1)
	before := q.Turns()
	_, v, ok := q.Pop()
	require.True(t, ok)
	require.Equal(t, -1, v)
	require.LessOrEqual(t, q.Turns()-before, uint64(1))
	_, _, ok = q.Pop()
	require.False(t, ok)
	require.LessOrEqual(t, q.Turns()-before, uint64(2))
}

// A new tenant for each request, as fast as requests are served: an old tenant
// keeps its turn in every round. Were new tenants let in at the end of the round
// under way, that round would never end.
func TestFreshNamesDontStarveAnOldTenant(t *testing.T) {
	served := func(s scheduler) (old int) {
		for range 1000 {
			s.push(0, 1)
		}
		for i := range 2000 {
			s.push(1+i, 1) // a new one
			if i%10 < 4 {
				s.push(10_000+i, 1) // and faster than they are served
			}
			if tenant, _, _ := s.pop(); tenant == 0 {
				old++
			}
		}
		return old
	}
	q := startQueue(nil)
	require.GreaterOrEqual(t, served(q), 10)
	require.Equal(t, 1, served(startOracle(joinThisRound)(nil)))

	// At a pace that can be kept up with, the old tenant has what is left.
	q, old := startQueue(nil), 0
	for range 1000 {
		q.push(0, 1)
	}
	for i := range 1000 {
		if i%2 == 0 {
			q.push(1+i, 1)
		}
		if tenant, _, _ := q.pop(); tenant == 0 {
			old++
		}
	}
	require.InDelta(t, 500, old, 10)
}

// The published examples of jumping over rounds in which nobody can send.
func TestJumpExamples(t *testing.T) {
	q := newQueue(t, Config{Quantum: 1})
	q.Push("0", 4, 4)
	q.Push("1", 3, 3)
	q.Push("0", 1, 1)
	q.Push("1", 1, 1)
	var order []string
	for q.Len() > 0 {
		name, v, _ := q.Pop()
		order = append(order, fmt.Sprint(name, ":", v))
	}
	require.Equal(t, []string{"1:3", "0:4", "1:1", "0:1"}, order, "a jump by one round too many sends 0 first")

	q = newQueue(t, Config{Quantum: 1000})
	require.NoError(t, q.SetWeight("second", 2))
	q.Push("first", 7000, 0)
	q.Push("second", 9000, 0)
	q.Push("second", 9000, 0)
	name, _, _ := q.Pop()
	require.Equal(t, "second", name)
	require.EqualValues(t, 5000, q.Tenant("first").Balance())
	require.EqualValues(t, 1000, q.Tenant("second").Balance())
	require.NoError(t, check(q, false))
}

// TestWorkIsFlatInTheQuantum: what a dispatch takes doesn't depend on how often
// a quantum must be added up to a cost.
func TestWorkIsFlatInTheQuantum(t *testing.T) {
	for _, cost := range []int64{1, 1000, 1_000_000_000} {
		q := newQueue(t, Config{Quantum: 1})
		for i := range 1000 {
			q.Push(fmt.Sprint(i), cost, 0)
			q.Push(fmt.Sprint(i), cost, 0)
		}
		for range 2000 {
			q.Pop()
		}
		require.LessOrEqual(t, q.Turns(), uint64(2000))
	}
}
