package sim

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// prepare returns an engine for a policy of sc.
func prepare(t testing.TB, sc *Scenario, name string, seed uint64) *engine {
	t.Helper()
	require.NoError(t, sc.Validate())
	tenants := expand(sc.Tenants)
	p, err := newPolicy(sc, name, tenants)
	require.NoError(t, err)
	return newEngine(sc, tenants, p, seed)
}

// check reports the first broken invariant of e:
//
//	I1  submitted = refused + completed + waiting + running
//	I2  every worker is idle or runs something
//	I3  nobody waits while a worker is idle
//	I4  time doesn't run backwards, and what is to come is not past
func check(e *engine, last time.Duration) error {
	n := Counts{}
	for _, c := range e.record.run {
		n.Submitted += c.Submitted
		n.Completed += c.Completed
		n.RefusedQuota += c.RefusedQuota
		n.RefusedFull += c.RefusedFull
	}
	busy := 0
	for _, r := range e.running {
		if r.service > 0 {
			busy++
		}
	}
	waiting := e.policy.waiting()
	switch {
	case n.Submitted != n.Refused()+n.Completed+waiting+busy:
		return fmt.Errorf("I1: %+v, %d waiting, %d running", n, waiting, busy)
	case busy+len(e.idle) != len(e.running):
		return fmt.Errorf("I2: %d run and %d idle of %d", busy, len(e.idle), len(e.running))
	case waiting > 0 && len(e.idle) > 0:
		return fmt.Errorf("I3: %d wait while %d workers are idle", waiting, len(e.idle))
	case e.now < last || len(e.events) > 0 && e.events[0].at < e.now:
		return fmt.Errorf("I4: now %v, before %v, next %v", e.now, last, e.events)
	}
	return nil
}

// small returns a short overload of three tenants that reaches every bound.
func small() *Scenario {
	sc := mm(2, 1, 20, 100, 200*time.Millisecond, time.Second)
	sc.Window.To = 800 * time.Millisecond
	sc.Tenants = []Tenant{
		{Name: "noisy", Count: 1, Rate: 100, Weight: 1, Bursts: []Burst{{100 * time.Millisecond, 700 * time.Millisecond, 6}}, Quota: &Limit{150, 30}},
		{Name: "quiet", Count: 2, Rate: 30, Weight: 2.5, Quota: &Limit{40, 4}},
	}
	fair := DRRParams{Quantum: 3 * time.Millisecond, TenantDepth: 12, Depth: 15}
	sc.Policies = Policies{FIFO: &FIFOParams{20}, Quota: &FIFOParams{15}, DRR: &fair, DRRQuota: &fair}
	return sc
}

func TestBookkeepingAtEveryInstant(t *testing.T) {
	for _, name := range PolicyNames() {
		for seed := range uint64(20) {
			e := prepare(t, small(), name, seed)
			last, steps := time.Duration(-1), 0
			for ; e.step(); steps++ {
				if err := check(e, last); err != nil {
					t.Fatalf("%s, seed %d, step %d: %v", name, seed, steps, err)
				}
				last = e.now
			}
			require.NoError(t, e.err)
			require.Greater(t, steps, 200)
			require.Zero(t, e.policy.waiting())
			require.Len(t, e.idle, len(e.running))
		}
	}
}

func TestBookkeepingCheckCanFail(t *testing.T) {
	for want, damage := range map[string]func(*engine){
		"I1": func(e *engine) { e.record.run[1].Completed++ },
		"I2": func(e *engine) { e.idle = append(e.idle, 0) },
		"I3": func(e *engine) { e.policy.(*fifo).count, e.record.run[0].Submitted = 3, e.record.run[0].Submitted+3 },
		"I4": func(e *engine) { e.now = e.events[0].at + 1 },
	} {
		e := prepare(t, small(), PolicyFIFO, 1)
		require.NoError(t, check(e, 0))
		damage(e)
		require.ErrorContains(t, check(e, 0), want)
	}
}

// Little's law holds in whole nanoseconds, for all requests, for those waiting
// and for those in service: the time integral of their number is the sum of
// their times.
func TestLittlesLaw(t *testing.T) {
	for _, name := range PolicyNames() {
		e := prepare(t, builtinScenario(t, "four-policies"), name, 1)
		var waiting, running, waits, services time.Duration
		for len(e.events) > 0 {
			next := e.events[0]
			waiting += time.Duration(e.policy.waiting()) * (next.at - e.now)
			running += time.Duration(len(e.running)-len(e.idle)) * (next.at - e.now)
			if next.who < 0 {
				r := e.running[^next.who]
				waits += r.started - r.arrived
				services += next.at - r.started
			}
			require.True(t, e.step())
		}
		require.NoError(t, e.err)
		require.Positive(t, waiting)
		require.Equal(t, waits, waiting, name)
		require.Equal(t, services, running, name)
		require.Equal(t, services, e.record.busy, name)
	}
}

// A logged policy writes down what another answers.
type logged struct {
	policy
	log []entry
}

type entry struct {
	request
	outcome  outcome
	started  time.Duration
	finished time.Duration
}

func (l *logged) offer(now time.Duration, r request) (outcome, error) {
	out, err := l.policy.offer(now, r)
	l.log = append(l.log, entry{request: r, outcome: out})
	return out, err
}

// runLogged returns what happened to every request, in order of arrival.
func runLogged(t testing.TB, sc *Scenario, name string, seed uint64) ([]entry, *Result) {
	t.Helper()
	e := prepare(t, sc, name, seed)
	l := &logged{policy: e.policy}
	e.policy = l
	for len(e.events) > 0 {
		next := e.events[0]
		if next.who < 0 {
			r := e.running[^next.who]
			i := slices.IndexFunc(l.log, func(x entry) bool { return x.request == r.request })
			l.log[i].started, l.log[i].finished = r.started, next.at
		}
		require.True(t, e.step())
	}
	require.NoError(t, e.err)
	r, err := e.record.result(sc, expand(sc.Tenants))
	require.NoError(t, err)
	return l.log, r
}

// For one seed every policy sees the same requests with the same service times,
// and a tenant added at the end changes none of them.
func TestCommonRandomNumbers(t *testing.T) {
	byTenant := func(log []entry, below int) []request {
		var rs []request
		for _, x := range log {
			if x.tenant < below {
				rs = append(rs, x.request)
			}
		}
		slices.SortStableFunc(rs, func(a, b request) int { return cmp.Compare(a.tenant, b.tenant) })
		return rs
	}
	fifo, _ := runLogged(t, small(), PolicyFIFO, 7)
	want := byTenant(fifo, 3)
	require.Greater(t, len(want), 100)
	more := small()
	more.Tenants = append(more.Tenants, Tenant{Name: "late", Count: 5, Rate: 50, Weight: 1})
	for _, name := range PolicyNames() {
		log, _ := runLogged(t, small(), name, 7)
		require.Equal(t, want, byTenant(log, 3), name)
		log, _ = runLogged(t, more, name, 7)
		require.Equal(t, want, byTenant(log, 3), name)
		require.Greater(t, len(byTenant(log, 8)), len(want)+100)
	}
	other, _ := runLogged(t, small(), PolicyFIFO, 8)
	require.NotEqual(t, want, byTenant(other, 3))
}

func TestEventHeapAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var heap eventHeap
		var plain []event
		seq := uint64(0)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				seq++
				e := event{at: time.Duration(rapid.IntRange(0, 5).Draw(t, "at")), seq: seq, who: int32(seq)}
				heap.push(e)
				plain = append(plain, e)
			},
			"pop": func(t *rapid.T) {
				if len(plain) == 0 {
					t.Skip("empty")
				}
				slices.SortFunc(plain, func(a, b event) int {
					return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
				})
				require.Equal(t, plain[0], heap.pop())
				plain = plain[1:]
			},
			"": func(t *rapid.T) { require.Len(t, heap, len(plain)) },
		})
	})
}

// A queue that shrinks gives some of its memory back, and takes it again when it
// grows; apart from that no event allocates.
func TestNothingIsAllocatedInSteadyState(t *testing.T) {
	for _, name := range PolicyNames() {
		sc := builtinScenario(t, "four-policies")
		sc.Window = Window{0, time.Second} // nothing is taken down after it
		e := prepare(t, sc, name, 1)
		for e.now < 25*time.Second && e.step() {
		}
		const steps = 2000
		allocs := testing.AllocsPerRun(5, func() {
			for range steps {
				e.step()
			}
		})
		if name == PolicyFIFO || name == PolicyQuota {
			require.Zero(t, allocs, name)
		}
		require.Less(t, allocs, 0.01*steps, name)
		require.Less(t, e.now, sc.Duration, "there was work to the end")
	}
}

func BenchmarkRun(b *testing.B) {
	for _, scenario := range Names() {
		sc := builtinScenario(b, scenario)
		for _, policy := range sc.PolicyNames() {
			b.Run("scenario="+scenario+"/policy="+policy, func(b *testing.B) {
				requests := 0
				for b.Loop() {
					r, err := Run(sc, policy, 1)
					require.NoError(b, err)
					requests = 0
					for _, t := range r.Tenants {
						requests += t.Run.Submitted
					}
				}
				b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(requests), "ns/request")
			})
		}
	}
}
