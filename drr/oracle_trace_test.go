package drr

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A pair drives a queue and an oracle with the same calls and compares them
// after each. Its methods return the first difference.
type pair struct {
	q     *Queue[string, int]
	o     *oracle
	items map[int]Item[string, int] // every item ever pushed, by id
	ids   []int                     // their ids, in order
	hands map[string]*Tenant[string, int]
	clean bool
	log   []string
}

func newPair(c Config, f flaw) (*pair, error) {
	q, err := New[string, int](c)
	if err != nil {
		return nil, err
	}
	p := &pair{q: q, o: newOracle(c), items: map[int]Item[string, int]{}, hands: map[string]*Tenant[string, int]{}, clean: true}
	p.o.flaw = f
	return p, nil
}

func (p *pair) hand(name string) *Tenant[string, int] {
	if p.hands[name] == nil {
		p.hands[name] = p.q.Tenant(name)
	}
	return p.hands[name]
}

func (p *pair) done(format string, args ...any) error {
	p.log = append(p.log, fmt.Sprintf(format, args...))
	if err := p.compare(); err != nil {
		return fmt.Errorf("%w\nafter %v", err, p.log)
	}
	return nil
}

func (p *pair) push(name string, cost int64, byName bool) error {
	id, want := p.o.push(name, cost)
	next := len(p.ids) + 1
	if want == nil {
		next = id
	}
	var it Item[string, int]
	var err error
	if byName {
		it, err = p.q.Push(name, cost, next)
	} else {
		it, err = p.hand(name).Push(cost, next)
	}
	if err != want {
		return fmt.Errorf("push(%s, %d): %v, want %v\nafter %v", name, cost, err, want, p.log)
	}
	if err == nil {
		p.items[id] = it
		p.ids = append(p.ids, id)
	}
	return p.done("push(%s,%d)=%d", name, cost, id)
}

func (p *pair) pop() error {
	name, id, ok := p.q.Pop()
	wantName, wantID, wantOK := p.o.pop()
	if name != wantName || id != wantID || ok != wantOK {
		return fmt.Errorf("pop: %s's %d, %v, want %s's %d, %v\nafter %v", name, id, ok, wantName, wantID, wantOK, p.log)
	}
	return p.done("pop=%d", id)
}

func (p *pair) peek() error {
	name, id, ok := p.q.Peek()
	wantName, wantID, wantOK := p.o.peek()
	if name != wantName || id != wantID || ok != wantOK {
		return fmt.Errorf("peek: %s's %d, %v, want %s's %d, %v\nafter %v", name, id, ok, wantName, wantID, wantOK, p.log)
	}
	return p.done("peek=%d", id)
}

func (p *pair) cancel(id int) error {
	p.clean = false
	got, want := p.q.Cancel(p.items[id]), p.o.cancel(id)
	if got != want {
		return fmt.Errorf("cancel(%d): %v, want %v\nafter %v", id, got, want, p.log)
	}
	return p.done("cancel(%d)", id)
}

func (p *pair) charge(name string, delta int64, byName bool) error {
	p.clean = false
	p.o.charge(name, delta)
	var err error
	if byName {
		err = p.q.Charge(name, delta)
	} else {
		err = p.hand(name).Charge(delta)
	}
	if err != nil {
		return err
	}
	return p.done("charge(%s,%d)", name, delta)
}

func (p *pair) setWeight(name string, w float64) error {
	p.clean = false
	p.o.setWeight(name, w)
	if err := p.hand(name).SetWeight(w); err != nil {
		return err
	}
	return p.done("weight(%s,%g)", name, w)
}

func (p *pair) setMaxDepth(name string, n int) error {
	p.o.setMaxDepth(name, n)
	if err := p.hand(name).SetMaxDepth(n); err != nil {
		return err
	}
	return p.done("depth(%s,%d)", name, n)
}

func (p *pair) block(name string) error {
	p.clean = false
	p.o.block(name)
	p.hand(name).Block()
	return p.done("block(%s)", name)
}

func (p *pair) unblock(name string) error {
	p.o.unblock(name)
	p.hand(name).Unblock()
	return p.done("unblock(%s)", name)
}

func (p *pair) forgive() error {
	p.clean = false
	p.o.forgiveDebts()
	p.q.ForgiveDebts()
	return p.done("forgive")
}

// compare checks q's invariants and that it equals the oracle in every tenant.
func (p *pair) compare() error {
	if err := check(p.q, p.clean); err != nil {
		return err
	}
	if p.q.Len() != p.o.len() {
		return fmt.Errorf("%d items, want %d", p.q.Len(), p.o.len())
	}
	for name, t := range p.q.tenants {
		if p.o.known[name] == nil && (t.spot != inDebt || currentDeficit(p.q, t) != 0) { // paid debts are swept later
			return fmt.Errorf("tenant %s is known, and shouldn't be", name)
		}
	}
	for name, want := range p.o.known {
		t := p.q.tenants[name]
		if t == nil {
			return fmt.Errorf("tenant %s isn't known", name)
		}
		if d := currentDeficit(p.q, t); d != want.deficit {
			return fmt.Errorf("tenant %s: deficit %d, want %d", name, d, want.deficit)
		}
		if h := p.hand(name); h.Len() != len(want.items) {
			return fmt.Errorf("tenant %s: %d items, want %d", name, h.Len(), len(want.items))
		}
	}
	return nil
}

// TestQueueMatchesRing compares Queue with the round-by-round ring, item by
// item and deficit by deficit, over random calls of every kind.
func TestQueueMatchesRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Cost and quantum range over 1..10^6 each, log-uniformly, with the
		// oracle's work (cost/quantum rounds) bounded for most traces.
		quantum := logUniform(t, 1_000_000, "quantum")
		maxCost := min(1_000_000, quantum*rapid.SampledFrom([]int64{1, 2, 10, 100, 1000}).Draw(t, "ratio"))
		p, err := newPair(Config{
			Quantum:        quantum,
			MaxDepth:       rapid.SampledFrom([]int{0, 0, 12}).Draw(t, "maxDepth"),
			MaxTenantDepth: rapid.SampledFrom([]int{0, 0, 4}).Draw(t, "maxTenantDepth"),
		}, sound)
		require.NoError(t, err)
		names := []string{"", "a", "b", "c", "d", "e"}[:rapid.IntRange(1, 6).Draw(t, "tenants")]
		name := func() string { return rapid.SampledFrom(names).Draw(t, "name") }
		cost := func() int64 { return logUniform(t, maxCost, "cost") }
		steps := rapid.IntRange(1, 120).Draw(t, "steps")
		for range steps {
			var err error
			switch op := rapid.IntRange(0, 99).Draw(t, "op"); {
			case op < 38:
				err = p.push(name(), cost(), rapid.Bool().Draw(t, "byName"))
			case op < 66:
				err = p.pop()
			case op < 70:
				err = p.peek()
			case op < 78:
				if len(p.ids) > 0 {
					err = p.cancel(rapid.SampledFrom(p.ids).Draw(t, "id"))
				}
			case op < 86:
				delta := cost()
				if rapid.Bool().Draw(t, "refund") {
					delta = -delta
				}
				err = p.charge(name(), delta, rapid.Bool().Draw(t, "byName"))
			case op < 90:
				err = p.setWeight(name(), rapid.SampledFrom([]float64{0.01, 0.5, 1, 1, 2, 3.7}).Draw(t, "w"))
			case op < 94:
				err = p.block(name())
			case op < 98:
				err = p.unblock(name())
			case op < 99:
				err = p.setMaxDepth(name(), rapid.IntRange(1, 5).Draw(t, "depth"))
			default:
				err = p.forgive()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range names { // nothing is left behind
			require.NoError(t, p.unblock(n))
		}
		for p.q.Len() > 0 {
			require.NoError(t, p.pop())
		}
	})
}

// logUniform draws from 1 to m, small numbers as often as large ones.
func logUniform(t *rapid.T, m int64, label string) int64 {
	scale := rapid.SampledFrom([]int64{1, 10, 100, 1_000, 10_000, 100_000, 1_000_000}).Draw(t, label+"Scale")
	return rapid.Int64Range(1, min(m, scale)).Draw(t, label)
}

// TestQueueMatchesRingAtLength does the same with long traces from a fast
// random source, most of them without settling or blocking, and rounds that
// wrap around int64. DRR_TRACES sets how many.
func TestQueueMatchesRingAtLength(t *testing.T) {
	traces := 300
	if s := os.Getenv("DRR_TRACES"); s != "" {
		_, err := fmt.Sscan(s, &traces)
		require.NoError(t, err)
	}
	for seed := range uint64(traces) {
		require.NoError(t, randomTrace(seed, 300), "seed %d", seed)
	}
}

func randomTrace(seed uint64, steps int) error {
	r := rand.New(rand.NewPCG(seed, 1))
	quantum := int64(1) << r.IntN(20)
	p, err := newPair(Config{Quantum: quantum}, sound)
	if err != nil {
		return err
	}
	p.q.round = int64(^uint64(0)>>1) - int64(r.IntN(100)) // about to wrap around
	p.q.cursor.era = p.q.round - 1
	p.q.seq = p.q.round
	names := slices.Clone([]string{"a", "b", "c", "d", "e", "f", "g"})[:1+r.IntN(7)]
	name := func() string { return names[r.IntN(len(names))] }
	costs := []int64{1, quantum/2 + 1, quantum, 3 * quantum, 50 * quantum}
	cost := func() int64 { return 1 + r.Int64N(min(MaxCost, costs[r.IntN(len(costs))])) }
	wild := r.IntN(3) == 0
	for range steps {
		var err error
		op := r.IntN(20)
		switch {
		case op < 9:
			err = p.push(name(), cost(), r.IntN(2) == 0)
		case op < 16 || !wild:
			if err = p.pop(); err == nil && op == 9 {
				err = p.peek()
			}
		case op == 16 && len(p.ids) > 0:
			err = p.cancel(p.ids[max(0, len(p.ids)-1-r.IntN(10))])
		case op == 17:
			more, less := cost(), cost()
			err = p.charge(name(), more-less, true)
		case op == 18:
			err = p.setWeight(name(), []float64{0.3, 1, 1, 2, 7}[r.IntN(5)])
		case r.IntN(2) == 0:
			err = p.block(name())
		default:
			err = p.unblock(name())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
