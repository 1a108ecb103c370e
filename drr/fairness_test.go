package drr

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A scheduler is what the bounds are checked on: the queue, or the oracle with
// one of its flaws.
type scheduler interface {
	push(tenant int, cost int64)
	pop() (tenant int, cost int64, ok bool)
}

type queueScheduler struct{ q *Queue[int, int64] }

func (s queueScheduler) push(tenant int, cost int64) {
	if _, err := s.q.Push(tenant, cost, cost); err != nil {
		panic(err)
	}
}

func (s queueScheduler) pop() (int, int64, bool) { return s.q.Pop() }

type oracleScheduler struct {
	o     *oracle
	costs map[int]int64
}

func (s oracleScheduler) push(tenant int, cost int64) {
	id, err := s.o.push(fmt.Sprint(tenant), cost)
	if err != nil {
		panic(err)
	}
	s.costs[id] = cost
}

func (s oracleScheduler) pop() (tenant int, cost int64, ok bool) {
	name, id, ok := s.o.pop()
	fmt.Sscan(name, &tenant)
	return tenant, s.costs[id], ok
}

// A meter follows a scheduler and keeps, as shares of what the theorems allow,
// the worst that was seen of
//
//	spread   of W_i/Q_i - W_j/Q_j over an interval in which i and j both stay
//	         backlogged, against 1 + L_i/Q_i + L_j/Q_j
//	lag      of W_i behind Q_i/F of all service since i became backlogged, against
//	         (Q_i*sum of the others' L + (F-Q_i)(Q_i+L_i)) / F
//	first    of the others' service before the first item of a tenant that was
//	         idle, against the sum over the others of ceil(c/Q_i)*Q_j + L_j
//
// where W is served cost, Q quantum, L largest cost, F the sum of quanta.
type meter struct {
	s       scheduler
	quantum []int64
	depth   []int
	served  []int64 // W
	largest []int64 // L
	total   int64
	since   []int64 // total when the tenant became backlogged
	base    []int64 // its W then
	head    []int64 // the cost of its first item, until that is served; else 0
	low     [][]int64
	high    [][]int64
	spread  float64
	lag     float64
	first   float64
}

func newMeter(s scheduler, quantum []int64, largest []int64) *meter {
	n := len(quantum)
	m := &meter{
		s: s, quantum: quantum, largest: largest, depth: make([]int, n), served: make([]int64, n),
		since: make([]int64, n), base: make([]int64, n), head: make([]int64, n),
	}
	for range n {
		m.low = append(m.low, make([]int64, n))
		m.high = append(m.high, make([]int64, n))
	}
	return m
}

// gap is W_i/Q_i - W_j/Q_j in units of 1/(Q_i*Q_j).
func (m *meter) gap(i, j int) int64 {
	return m.served[i]*m.quantum[j] - m.served[j]*m.quantum[i]
}

func (m *meter) push(i int, cost int64) {
	m.s.push(i, cost)
	m.depth[i]++
	if m.depth[i] > 1 {
		return
	}
	m.since[i], m.base[i], m.head[i] = m.total, m.served[i], cost
	for j := range m.quantum {
		m.low[i][j], m.high[i][j] = m.gap(i, j), m.gap(i, j)
		m.low[j][i], m.high[j][i] = m.gap(j, i), m.gap(j, i)
	}
}

func (m *meter) pop() (int, bool) {
	i, cost, ok := m.s.pop()
	if !ok {
		return 0, false
	}
	if m.head[i] > 0 {
		var allowed int64
		for j, q := range m.quantum {
			if j != i {
				allowed += (m.head[i]+m.quantum[i]-1)/m.quantum[i]*q + m.largest[j]
			}
		}
		if allowed > 0 {
			m.first = max(m.first, float64(m.total-m.since[i])/float64(allowed))
		}
		m.head[i] = 0
	}
	m.served[i] += cost
	m.total += cost
	// The item that empties a queue still belongs to the interval.
	var sumQ, sumL int64
	for j := range m.quantum {
		sumQ += m.quantum[j]
		sumL += m.largest[j]
	}
	for j := range m.quantum {
		if m.depth[j] == 0 {
			continue
		}
		if j != i && m.depth[i] > 0 {
			g := m.gap(i, j)
			m.low[i][j], m.high[i][j] = min(m.low[i][j], g), max(m.high[i][j], g)
			m.low[j][i], m.high[j][i] = min(m.low[j][i], -g), max(m.high[j][i], -g)
			allowed := m.quantum[i]*m.quantum[j] + m.largest[i]*m.quantum[j] + m.largest[j]*m.quantum[i]
			m.spread = max(m.spread, float64(m.high[i][j]-m.low[i][j])/float64(allowed))
		}
		if len(m.quantum) > 1 {
			q, l := m.quantum[j], m.largest[j]
			behind := q*(m.total-m.since[j]) - sumQ*(m.served[j]-m.base[j])
			m.lag = max(m.lag, float64(behind)/float64(q*(sumL-l)+(sumQ-q)*(q+l)))
		}
	}
	m.depth[i]--
	return i, true
}

// worst is what a number of random traces came to at most.
type worst struct{ spread, lag, first float64 }

// measure runs random traces through schedulers made by start: two to five
// tenants that come and go, quanta of 1 to 50, costs of 1 to 40. Some tenants
// are closed loops that keep one item outstanding, as a client with one
// connection does.
func measure(traces int, start func(quanta []int64) scheduler) (w worst) {
	for seed := range uint64(traces) {
		r := rand.New(rand.NewPCG(seed, 7))
		n := 2 + r.IntN(4)
		quanta, largest := make([]int64, n), make([]int64, n)
		closed := make([]bool, n)
		for i := range quanta {
			quanta[i] = []int64{1, 3, 10, 50}[r.IntN(4)]
			largest[i] = []int64{1, 5, 40}[r.IntN(3)]
			closed[i] = r.IntN(4) == 0
		}
		m := newMeter(start(quanta), quanta, largest)
		cost := func(i int) int64 {
			if r.IntN(3) == 0 {
				return largest[i]
			}
			return 1 + r.Int64N(largest[i])
		}
		push := 1 + r.IntN(8) // of 10
		for range 200 {
			if i := r.IntN(n); r.IntN(10) < push && !(closed[i] && m.depth[i] > 0) {
				m.push(i, cost(i))
				continue
			}
			i, ok := m.pop()
			if ok && closed[i] && m.depth[i] == 0 && r.IntN(8) > 0 {
				m.push(i, cost(i))
			}
			if over := 3.0; m.spread > over && m.lag > over { // broken for certain
				break
			}
		}
		w = worst{max(w.spread, m.spread), max(w.lag, m.lag), max(w.first, m.first)}
	}
	return w
}

func startQueue(quanta []int64) scheduler {
	q, err := New[int, int64](Config{Quantum: 1})
	if err != nil {
		panic(err)
	}
	for i, quantum := range quanta {
		if err := q.SetWeight(i, float64(quantum)); err != nil {
			panic(err)
		}
	}
	return queueScheduler{q}
}

func startOracle(f flaw) func([]int64) scheduler {
	return func(quanta []int64) scheduler {
		o := newOracle(Config{Quantum: 1})
		o.flaw = f
		for i, quantum := range quanta {
			o.setWeight(fmt.Sprint(i), float64(quantum))
		}
		return oracleScheduler{o, map[int]int64{}}
	}
}

// TestFairnessBounds: no random trace may reach any of the three bounds, and
// the traces must come near them, or they would prove nothing.
func TestFairnessBounds(t *testing.T) {
	w := measure(6000, startQueue)
	t.Logf("worst seen, as shares of the bounds: %+v", w)
	require.Less(t, w.spread, 1.0, "spread of two backlogged tenants")
	require.LessOrEqual(t, w.lag, 1.0, "lag behind the service curve")
	require.LessOrEqual(t, w.first, 1.0, "service of others before the first item")
	require.Greater(t, w.spread, 0.9, "the traces are too tame for the bound on the spread")
	require.Greater(t, w.lag, 0.9, "the traces are too tame for the service curve")
	require.Greater(t, w.first, 0.9, "the traces are too tame for the first item's bound")
}

// TestFairnessBoundsCatchFlaws: the same measurement finds the two variants
// that look harmless and aren't (an idle tenant is unlinked at once), and every
// other flaw that touches who is served how much.
func TestFairnessBoundsCatchFlaws(t *testing.T) {
	sane := measure(800, startOracle(sound))
	require.Less(t, sane.spread, 1.0, "the oracle itself")
	for name, f := range map[string]flaw{
		"idle tenant re-enters the round that visited it": unlinkAtOnce,
		"idle tenant gets a fresh place":                  freshPlace,
		"jump credits a round too many":                   bulkCredit,
		"credit kept while idle":                          keepCredit,
		"weights ignored":                                 equalWeights,
	} {
		t.Run(name, func(t *testing.T) {
			w := measure(800, startOracle(f))
			t.Logf("worst: %+v", w)
			require.Greater(t, max(w.spread, w.lag, w.first), 1.2, "the bounds don't notice")
		})
	}
}

// TestComparisonCatchesFlaws: each flaw makes the oracle differ from the queue.
func TestComparisonCatchesFlaws(t *testing.T) {
	for f := joinThisRound; f < endOfFlaws; f++ {
		caught := false
		for seed := uint64(0); seed < 400 && !caught; seed++ {
			r := rand.New(rand.NewPCG(seed, 3))
			p, err := newPair(Config{Quantum: 5}, f)
			require.NoError(t, err)
			for step := 0; step < 100 && !caught; step++ {
				name := string(rune('a' + r.IntN(3)))
				var err error
				switch r.IntN(10) {
				case 0:
					err = p.charge(name, r.Int64N(60)-20, false)
				case 1:
					err = p.setWeight(name, float64(1+r.IntN(3)))
				case 2, 3, 4:
					err = p.push(name, 1+r.Int64N(20), false)
				default:
					err = p.pop()
				}
				caught = err != nil
			}
		}
		require.True(t, caught, "flaw %d goes unnoticed", f)
	}
}

// TestUnlinkAtOnceStarves shows why an idle tenant keeps its place until its
// next visit: without, two clients that keep one request outstanding each
// re-enter the current round for ever, and whoever waits for the next starves.
func TestUnlinkAtOnceStarves(t *testing.T) {
	served := func(s scheduler) int64 {
		s.push(0, 10)
		s.push(0, 10) // 0 has had its turn after the first, and waits for the next round
		s.push(1, 1)
		s.push(2, 1)
		var got int64
		for range 1000 {
			i, cost, _ := s.pop()
			if i == 0 {
				got += cost
				s.push(0, 10)
			} else {
				s.push(i, 1)
			}
		}
		return got
	}
	require.EqualValues(t, 10, served(startOracle(unlinkAtOnce)([]int64{10, 10, 10})))
	require.Greater(t, served(startQueue([]int64{10, 10, 10})), int64(3000))
}

// TestSharesOfBackloggedTenants: saturated tenants get their weights' shares of
// cost exactly over whole rounds, whatever their costs and the quantum are.
func TestSharesOfBackloggedTenants(t *testing.T) {
	for _, c := range []struct {
		name           string
		weights        []float64
		costs          []int64
		quantum, turns int64
		want           []int64 // served cost
	}{
		{"1:2:4, unit costs", []float64{1, 2, 4}, []int64{1, 1, 1}, 1, 1000, []int64{1000, 2000, 4000}},
		{"10:1, unit costs", []float64{10, 1}, []int64{1, 1}, 1, 100, []int64{1000, 100}},
		{"costs 4 and 3", []float64{1, 1}, []int64{4, 3}, 1, 12_000, []int64{12_000, 12_000}},
		{"costs 100 times the quantum", []float64{1, 3}, []int64{100, 100}, 1, 100_000, []int64{100_000, 300_000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, err := New[int, int64](Config{Quantum: c.quantum})
			require.NoError(t, err)
			var total int64
			for i, w := range c.weights {
				require.NoError(t, q.SetWeight(i, w))
				total += c.want[i]
				for range 3 {
					q.Push(i, c.costs[i], c.costs[i])
				}
			}
			served := make([]int64, len(c.weights))
			for sum := int64(0); sum < total; {
				i, cost, _ := q.Pop()
				q.Push(i, cost, cost)
				served[i] += cost
				sum += cost
			}
			for i := range served {
				require.InDelta(t, c.want[i], served[i], float64(c.costs[i]), "tenant %d", i)
			}
		})
	}
}

// TestTinyQuantumIsSelfClocked: with costs far above the quantum the order is
// that of self-clocked fair queueing (Golestani 1994) with exact tags.
func TestTinyQuantumIsSelfClocked(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 9))
		n := 2 + r.IntN(4)
		quanta := make([]int64, n)
		for i := range quanta {
			quanta[i] = 1 + r.Int64N(5)
		}
		q := startQueue(quanta).(queueScheduler)
		queues := make([][]int64, n)
		finish := make([]*big.Rat, n) // of the head
		v := new(big.Rat)             // the tag of the item served last
		tag := func(i int, from *big.Rat) {
			finish[i] = new(big.Rat).Add(from, big.NewRat(queues[i][0], quanta[i]))
		}
		for range 200 {
			if i := r.IntN(n); r.IntN(2) == 0 {
				cost := 1 + r.Int64N(1e9)
				q.push(i, cost)
				queues[i] = append(queues[i], cost)
				if len(queues[i]) == 1 {
					start := v
					if f := finish[i]; f != nil && f.Cmp(v) > 0 {
						start = f
					}
					tag(i, start)
				}
				continue
			}
			want := -1
			for i := range queues {
				if len(queues[i]) > 0 && (want < 0 || finish[i].Cmp(finish[want]) < 0) {
					want = i
				}
			}
			i, cost, ok := q.pop()
			require.Equal(t, want >= 0, ok)
			if !ok {
				continue
			}
			require.Equal(t, want, i, "seed %d", seed)
			require.Equal(t, queues[i][0], cost)
			v = finish[i]
			if queues[i] = queues[i][1:]; len(queues[i]) > 0 {
				tag(i, v)
			}
		}
	}
}

// TestNoCreditWhileIdle: a tenant that was away, or asked for little, for a
// million rounds has no more than a turn's worth in its first turn.
func TestNoCreditWhileIdle(t *testing.T) {
	q, err := New[string, int](Config{Quantum: 3})
	require.NoError(t, err)
	q.Push("a", 1, 0)
	q.Pop()
	for range 1_000_000 {
		q.Push("b", 3, 0)
		q.Pop()
	}
	for range 10 {
		q.Push("a", 1, 0)
		q.Push("b", 1, 0)
	}
	run, longest := 0, 0
	for range 20 {
		if name, _, _ := q.Pop(); name == "a" {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	require.LessOrEqual(t, longest, 3)
}
