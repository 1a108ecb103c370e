package sim

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The simulator against closed formulas, before it judges anything.

// long skips a test of millions of events under the race detector, which has
// nothing to find in one goroutine and takes ten times as long.
func long(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("long")
	}
}

// mm returns a scenario of tenants that each send rate requests a second to
// workers with an exponential service time of 10 ms, measured from warm on.
func mm(workers, tenants, depth int, rate float64, warm, duration time.Duration) *Scenario {
	return &Scenario{
		Name: "markovian", Seeds: []uint64{1}, Duration: duration, Window: Window{warm, duration}, Workers: workers,
		Service:  Service{Distribution: Exponential, Mean: 10 * time.Millisecond},
		Tenants:  []Tenant{{Name: "tenant", Count: tenants, Rate: rate, Weight: 1}},
		Policies: Policies{FIFO: &FIFOParams{Depth: depth}},
		Criteria: DefaultCriteria(),
	}
}

// A chain is a birth-death process of requests in the system, n = 0, 1, …, with
// its stationary distribution.
type chain struct {
	birth []float64 // rate from n to n+1
	p     []float64
}

// newChain solves M/M/c with at most k in the system (Kleinrock, Queueing
// Systems I, 1975, chapter 3). A k at which p is negligible stands for none.
func newChain(lambda, mu float64, c, k int) chain {
	ch := chain{birth: make([]float64, k+1), p: make([]float64, k+1)}
	ch.p[0] = 1
	sum := 1.0
	for n := 1; n <= k; n++ {
		ch.birth[n-1] = lambda
		ch.p[n] = ch.p[n-1] * lambda / (mu * float64(min(n, c)))
		sum += ch.p[n]
	}
	for n := range ch.p {
		ch.p[n] /= sum
	}
	return ch
}

// mean returns the stationary mean of f(n), and the standard error of its
// average over a time T (Whitt, Planning queueing simulations, 1989): sigma^2 =
// 2 * sum over j of (sum over i<=j of (f(i)-mean)*p(i))^2 / (birth(j)*p(j)).
func (ch chain) mean(f func(n int) float64, T float64) (mean, se float64) {
	for n, p := range ch.p {
		mean += f(n) * p
	}
	var below, sigma2 float64
	for n := range len(ch.p) - 1 {
		below += (f(n) - mean) * ch.p[n]
		if ch.p[n] > 1e-18 { // beyond, below is nothing but rounding
			sigma2 += 2 * below * below / (ch.birth[n] * ch.p[n])
		}
	}
	return mean, math.Sqrt(sigma2 / T)
}

func inSystem(n int) float64 { return float64(n) }

func TestStandardErrorFormula(t *testing.T) {
	// M/M/1 has sigma^2 = 2*rho*(1+rho)/(1-rho)^4 for the number in the system.
	_, se := newChain(0.95, 1, 1, 3000).mean(inSystem, 1)
	require.InEpsilon(t, 592_800, se*se, 1e-6)
}

// integrate runs e to its end and returns the integral over time of how many
// requests are in the system, until the last has gone.
func integrate(t testing.TB, e *engine) (area time.Duration) {
	t.Helper()
	for {
		n, last := e.policy.waiting()+len(e.running)-len(e.idle), e.now
		if !e.step() {
			require.NoError(t, e.err)
			require.Zero(t, n)
			return area
		}
		area += time.Duration(n) * (e.now - last)
	}
}

// near requires what was measured to be within 4 standard errors.
func near(t testing.TB, want, se, got float64, what string) {
	t.Helper()
	require.Positive(t, se)
	require.InDelta(t, want, got, 4*se, "%s: %+.1f standard errors", what, (got-want)/se)
	t.Logf("%s: want %.6g, got %.6g, %+.1f standard errors", what, want, got, (got-want)/se)
}

func TestMM1(t *testing.T) {
	long(t)
	const lambda, mu, T = 80.0, 100.0, 10_000.0 // 10^6 mean service times
	sc := mm(1, 1, maxDepth, lambda, 0, T*time.Second)
	p, err := newPolicy(sc, PolicyFIFO, expand(sc.Tenants))
	require.NoError(t, err)
	e := newEngine(sc, expand(sc.Tenants), p, 1)
	area := integrate(t, e)
	require.Zero(t, e.record.run[0].Refused())
	ch := newChain(lambda, mu, 1, 1000)
	want, se := ch.mean(inSystem, T)
	require.InEpsilon(t, 0.8/(1-0.8), want, 1e-9)
	near(t, want, se, area.Seconds()/T, "L")
	// A sojourn lasts 1/(mu-lambda) = 50 ms in the mean: Little's law carries the
	// standard error over.
	near(t, 1/(mu-lambda), se/lambda, area.Seconds()/float64(e.record.run[0].Completed), "W")
	want, se = ch.mean(func(n int) float64 { return float64(min(n, 1)) }, T)
	near(t, want, se, e.record.busy.Seconds()/T, "utilization")
}

func TestMM1K(t *testing.T) {
	long(t)
	const lambda, mu, T = 95.0, 100.0, 10_000.0
	for _, test := range []struct {
		depth, k             int
		block, throughput, w float64 // as published, in mean service times
	}{
		{depth: 4, k: 5, block: 0.146047, throughput: 0.811255, w: 2.897530},
		{depth: 9, k: 10, block: 0.069427, throughput: 0.884045, w: 5.078693},
		// The bound of a queue leaves out the request in service. With 5
		// waiting places the system holds 6.
		{depth: 5, k: 6, block: 0.121840, throughput: 0.834252, w: 3.350637},
	} {
		sc := mm(1, 1, test.depth, lambda, 0, T*time.Second)
		p, err := newPolicy(sc, PolicyFIFO, expand(sc.Tenants))
		require.NoError(t, err)
		e := newEngine(sc, expand(sc.Tenants), p, 1)
		area := integrate(t, e)
		n := e.record.run[0]

		ch := newChain(lambda, mu, 1, test.k)
		full, seFull := ch.mean(func(n int) float64 {
			if n == test.k {
				return 1
			}
			return 0
		}, T)
		require.InDelta(t, test.block, full, 1e-6)
		// Refusals are Poisson while the system is full.
		seBlock := math.Sqrt(full/(lambda*T) + seFull*seFull)
		near(t, full, seBlock, float64(n.RefusedFull)/float64(n.Submitted), "refused")
		busy, seBusy := ch.mean(func(n int) float64 { return float64(min(n, 1)) }, T)
		require.InDelta(t, test.throughput, busy, 1e-6)
		near(t, busy*mu, math.Sqrt(busy*mu/T+mu*mu*seBusy*seBusy), float64(n.Completed)/T, "throughput")
		l, seL := ch.mean(inSystem, T)
		near(t, l, seL, area.Seconds()/T, "L")
		w := l / (busy * mu)
		require.InDelta(t, test.w, w*mu, 1e-5)
		require.InEpsilon(t, w, area.Seconds()/float64(n.Completed), 0.02, "W")
	}
}

func TestMM8(t *testing.T) {
	long(t)
	const lambda, mu, c = 740.0, 100.0, 8
	const T = 2_000_000 / lambda
	warm := 27 * time.Second // 20,000 arrivals
	sc := mm(c, 1, maxDepth, lambda, warm, warm+time.Duration(math.Round(T*1e9)))
	r, err := Run(sc, PolicyFIFO, 1)
	require.NoError(t, err)
	waits := r.Tenants[0].Queueing
	require.InEpsilon(t, 2e6, float64(len(waits)), 0.01)
	above := func(limit time.Duration) float64 {
		n := 0
		for _, w := range waits {
			if w > limit {
				n++
			}
		}
		return float64(n) / float64(len(waits))
	}
	sum := time.Duration(0)
	for _, w := range waits {
		sum += w
	}
	ch := newChain(lambda, mu, c, 2000)
	queued, seQueued := ch.mean(func(n int) float64 { return float64(max(n-c, 0)) }, T)
	near(t, queued/lambda*1e3, seQueued/lambda*1e3, milliseconds(sum)/float64(len(waits)), "mean wait, ms")
	busy, seBusy := ch.mean(func(n int) float64 {
		if n >= c {
			return 1
		}
		return 0
	}, T)
	require.InDelta(t, 0.771170, busy, 1e-6, "Erlang's C")
	near(t, busy, seBusy, above(0), "P(wait)")
	// P(wait > t) = C*exp(-theta*t). The standard errors are those seen over ten
	// runs of this length.
	tail := func(t time.Duration) float64 { return busy * math.Exp(-(c*mu-lambda)*t.Seconds()) }
	near(t, tail(34_045_634), 0.00331, above(34_045_634), "P(wait > 34 ms)")
	near(t, tail(72_422_052), 0.00113, above(72_422_052), "P(wait > 72 ms)")
	require.InEpsilon(t, 72.42, milliseconds(percentile(waits, 99)), 0.18, "p99")
	require.InEpsilon(t, 45.60, milliseconds(percentile(waits, 95)), 0.09, "p95")
	require.InEpsilon(t, 7.222, milliseconds(percentile(waits, 50)), 0.06, "median")
}

// A priority serves the tenants in order of their index.
type priority struct{ classes []*fifo }

func (p *priority) offer(now time.Duration, r request) (outcome, error) {
	return p.classes[r.tenant].offer(now, r)
}

func (p *priority) next() (request, bool) {
	for _, c := range p.classes {
		if r, ok := c.next(); ok {
			return r, true
		}
	}
	return request{}, false
}

func (p *priority) waiting() (n int) {
	for _, c := range p.classes {
		n += c.waiting()
	}
	return n
}

func (p *priority) turns() uint64 { return 0 }

// Two classes without preemption on M/M/8 (Cobham 1954; Kella and Yechiali
// 1985): W1 = w0/(1-s1), W2 = w0/((1-s1)(1-s1-s2)), where w0 = C/(c*mu).
func TestCobham(t *testing.T) {
	long(t)
	const lambda, mu, c = 370.0, 100.0, 8
	warm := 27 * time.Second
	sc := mm(c, 2, maxDepth, lambda, warm, warm+1352*time.Second) // 10^6 arrivals
	require.NoError(t, sc.Validate())
	tenants := expand(sc.Tenants)
	queue := func() *fifo { return newFIFO(*sc.Policies.FIFO) }
	e := newEngine(sc, tenants, &priority{[]*fifo{queue(), queue()}}, 1)
	for e.step() {
	}
	require.NoError(t, e.err)
	var mean [2]float64
	for i, waits := range e.record.sortedWaits(2) {
		for _, w := range waits {
			mean[i] += milliseconds(w) / float64(len(waits))
		}
	}
	wait, _ := newChain(2*lambda, mu, c, 2000).mean(func(n int) float64 {
		if n >= c {
			return 1
		}
		return 0
	}, 1)
	w0, s := wait/(c*mu)*1e3, lambda/(c*mu)
	w1, w2 := w0/(1-s), w0/((1-s)*(1-2*s))
	require.InDelta(t, 1.7934, w1, 1e-4)
	require.InDelta(t, 23.9122, w2, 1e-3)
	// Runs of 10^6 arrivals spread over 1.77..1.81 and 22.97..24.40, which is
	// four standard errors of 1 % and 3 %.
	near(t, w1, 0.01*w1, mean[0], "mean wait of the first class, ms")
	near(t, w2, 0.03*w2, mean[1], "mean wait of the second class, ms")
}
