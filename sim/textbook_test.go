package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A textbook is deficit round robin as Shreedhar and Varghese (1995) wrote it
// down: a ring that is walked round by round, each visit adding a quantum,
// whether that is enough for the head or not. A tenant leaves the ring when its
// queue empties. Its steps are runs of the loop in next: one for each request and
// one for each turn that ends without.
type textbook struct {
	quantum time.Duration
	depth   int
	queues  [][]request
	deficit []time.Duration
	ring    []int
	inTurn  bool
	count   int
	steps   uint64
}

func newTextbook(tenants int, p DRRParams) *textbook {
	return &textbook{
		quantum: p.Quantum, depth: p.TenantDepth,
		queues: make([][]request, tenants), deficit: make([]time.Duration, tenants),
	}
}

func (q *textbook) offer(_ time.Duration, r request) (outcome, error) {
	if len(q.queues[r.tenant]) >= q.depth {
		return refusedFull, nil
	}
	if len(q.queues[r.tenant]) == 0 {
		q.ring = append(q.ring, r.tenant)
	}
	q.queues[r.tenant] = append(q.queues[r.tenant], r)
	q.count++
	return admitted, nil
}

func (q *textbook) next() (request, bool) {
	if q.count == 0 {
		return request{}, false
	}
	for {
		q.steps++
		t := q.ring[0]
		if !q.inTurn {
			q.deficit[t] += q.quantum
			q.inTurn = true
		}
		if head := q.queues[t][0]; head.service <= q.deficit[t] {
			q.queues[t] = q.queues[t][1:]
			q.deficit[t] -= head.service
			q.count--
			if len(q.queues[t]) == 0 {
				q.deficit[t] = 0
				q.ring = q.ring[1:]
				q.inTurn = false
			}
			return head, true
		}
		q.ring = append(q.ring[1:], t)
		q.inTurn = false
	}
}

func (q *textbook) waiting() int  { return q.count }
func (q *textbook) turns() uint64 { return q.steps }

// runTextbook runs sc through the textbook's ring, as the policy drr or
// drr_quota.
func runTextbook(t testing.TB, sc *Scenario, name string, seed uint64) *Result {
	t.Helper()
	require.NoError(t, sc.Validate())
	tenants := expand(sc.Tenants)
	var p policy = newTextbook(len(tenants), *sc.Policies.DRR)
	if name == PolicyDRRQuota {
		var err error
		p, err = newGate(tenants, p)
		require.NoError(t, err)
	}
	e := newEngine(sc, tenants, p, seed)
	for e.step() {
	}
	require.NoError(t, e.err)
	r, err := e.record.result(sc, tenants)
	require.NoError(t, err)
	r.Turns = p.turns()
	return r
}

// Twenty tenants that all want twice their share: the textbook's ring takes 1 +
// E[cost]/quantum steps to find the next request, drr.Queue one turn whatever
// the quantum.
func TestStepsPerDequeue(t *testing.T) {
	long(t)
	sc := builtinScenario(t, "tiers")
	sc.Tenants = []Tenant{{Name: "tenant", Count: 20, Rate: 80, Weight: 1}}
	sc.Control = nil
	for _, quantum := range []time.Duration{time.Millisecond, 10 * time.Millisecond} {
		sc.Policies.DRR.Quantum = quantum
		ring := runTextbook(t, sc, PolicyDRR, 1)
		want := 1 + float64(sc.Service.Mean)/float64(quantum)
		require.InEpsilon(t, want, ring.StepsPerDequeue(), 0.02, "quantum %v", quantum)

		r, err := Run(sc, PolicyDRR, 1)
		require.NoError(t, err)
		require.Greater(t, r.StepsPerDequeue(), 0.5, "quantum %v", quantum)
		require.Less(t, r.StepsPerDequeue(), 1.02, "quantum %v", quantum)
		// Both serve the same tenants as well.
		require.GreaterOrEqual(t, ring.MinShare, 0.92)
		require.GreaterOrEqual(t, r.MinShare, 0.92)
	}
	ring := runTextbook(t, builtinScenario(t, "four-policies"), PolicyDRR, 1)
	require.InDelta(t, 1.79, ring.StepsPerDequeue(), 0.02, "the reference's mean, and half of its range")
}
