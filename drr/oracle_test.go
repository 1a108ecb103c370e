package drr

import "slices"

// An oracle is the round-by-round ring, written to be plainly right: every
// tenant is visited in every round, whether it can send or not. Queue must
// agree with it item by item and deficit by deficit.
//
// flaw makes it wrong in one way, to show that the checks notice.
type oracle struct {
	quantum, maxDepth, maxTenantDepth int64
	flaw                              flaw

	ring    []*oracleTenant // in the order of turns
	pos     int             // how many of them this round has gone by
	joining []*oracleTenant // will be ahead of them in the next round
	known   map[string]*oracleTenant
	round   int64
	turn    *oracleTenant
	nextID  int
	weights map[string]float64
	depths  map[string]int
}

type oracleTenant struct {
	name    string
	items   []oracleItem
	deficit int64
	quantum int64
	inRing  bool // or joining
	blocked bool
	skip    int64 // freshPlace: a round in which it has no turn
}

type oracleItem struct {
	id   int
	cost int64
}

type flaw int

const (
	sound         flaw = iota
	joinThisRound      // a tenant joins at the end of the round that is under way
	unlinkAtOnce       // likewise, and an idle tenant leaves at once, to re-enter the round it had its turn in
	freshPlace         // likewise, but with its first turn in the next round
	bulkCredit         // a jump over rounds credits one round too many
	spendOne           // an item may go that costs one more than the deficit
	keepCredit         // an idle tenant keeps its credit
	forgiveDebt        // an idle tenant is forgiven its debt
	lastInFirst        // last in, first out within a tenant
	equalWeights       // weights are ignored
	endOfFlaws
)

func newOracle(c Config) *oracle {
	if c.Quantum == 0 {
		c.Quantum = DefaultQuantum
	}
	return &oracle{
		quantum: c.Quantum, maxDepth: int64(boundOf(c.MaxDepth)), maxTenantDepth: int64(boundOf(c.MaxTenantDepth)),
		known: map[string]*oracleTenant{}, weights: map[string]float64{}, depths: map[string]int{},
	}
}

func (o *oracle) quantumFor(name string) int64 {
	w, ok := o.weights[name]
	if !ok || o.flaw == equalWeights {
		w = 1
	}
	q, err := quantumOf(o.quantum, w)
	if err != nil {
		panic(err)
	}
	return q
}

func (o *oracle) tenant(name string) *oracleTenant {
	t := o.known[name]
	if t == nil {
		t = &oracleTenant{name: name, quantum: o.quantumFor(name), skip: -1}
		o.known[name] = t
	}
	return t
}

func (o *oracle) len() (n int) {
	for _, t := range o.known {
		n += len(t.items)
	}
	return n
}

// able is how many items wait whose tenants aren't blocked.
func (o *oracle) able() (n int64) {
	for _, t := range o.known {
		if !t.blocked {
			n += int64(len(t.items))
		}
	}
	return n
}

func (o *oracle) push(name string, cost int64) (id int, err error) {
	depth := o.maxTenantDepth
	if d, ok := o.depths[name]; ok {
		depth = int64(d)
	}
	if t := o.known[name]; t != nil && int64(len(t.items)) >= depth {
		return 0, ErrTenantFull
	}
	if t := o.known[name]; t != nil && t.blocked {
		if int64(len(t.items)) >= o.maxDepth {
			return 0, ErrTenantFull
		}
	} else if o.able() >= o.maxDepth {
		return 0, ErrFull
	}
	t := o.tenant(name)
	o.nextID++
	t.items = append(t.items, oracleItem{o.nextID, cost})
	if !t.inRing && !t.blocked {
		o.enter(t)
	}
	return o.nextID, nil
}

// enter puts t between this round and the next.
func (o *oracle) enter(t *oracleTenant) {
	t.inRing = true
	switch o.flaw {
	case joinThisRound, unlinkAtOnce:
		o.ring = append(o.ring, t)
	case freshPlace:
		o.ring = append(o.ring, t)
		t.skip = o.round
	default:
		o.joining = append(o.joining, t)
	}
}

// exit takes t, which is at i in the ring, out of it.
func (o *oracle) exit(i int) {
	t := o.ring[i]
	t.inRing = false
	o.ring = slices.Delete(o.ring, i, i+1)
	o.forget(t)
}

// forget drops a tenant of which there is nothing to remember.
func (o *oracle) forget(t *oracleTenant) {
	if !t.inRing && !t.blocked && len(t.items) == 0 && t.deficit == 0 && o.flaw == sound {
		delete(o.known, t.name)
	}
}

func (o *oracle) pop() (name string, id int, ok bool) {
	able := func(t *oracleTenant) bool { return len(t.items) > 0 && !t.blocked }
	if !slices.ContainsFunc(o.ring, able) && !slices.ContainsFunc(o.joining, able) {
		return "", 0, false
	}
	for {
		if t := o.turn; t != nil {
			i := 0
			if o.flaw == lastInFirst {
				i = len(t.items) - 1
			}
			it := t.items[i]
			t.items = slices.Delete(t.items, i, i+1)
			t.deficit -= it.cost
			o.endTurnIfOver()
			return t.name, it.id, true
		}
		o.visit()
	}
}

func (o *oracle) peek() (name string, id int, ok bool) {
	if o.len() == 0 || !slices.ContainsFunc(slices.Concat(o.joining, o.ring), func(t *oracleTenant) bool { return len(t.items) > 0 && !t.blocked }) {
		return "", 0, false
	}
	for o.turn == nil {
		o.visit()
	}
	return o.turn.name, o.turn.items[0].id, true
}

// visit goes on to the next in the ring, or to the next round.
func (o *oracle) visit() {
	if o.pos == len(o.ring) {
		o.newRound()
		return
	}
	t := o.ring[o.pos]
	if len(t.items) == 0 && !t.blocked {
		o.exit(o.pos)
		return
	}
	o.pos++
	if t.blocked || t.skip == o.round {
		return
	}
	if o.flaw != bulkCredit || t.items[0].cost > t.deficit {
		t.deficit += t.quantum
	}
	o.turn = t
	o.endTurnIfOver()
}

func (o *oracle) newRound() {
	o.round++
	o.pos = 0
	o.ring = append(o.joining, o.ring...)
	o.joining = nil
	o.ring = slices.DeleteFunc(o.ring, func(t *oracleTenant) bool {
		t.inRing = !t.blocked // a blocked tenant keeps its place for the round only
		return t.blocked
	})
	for _, t := range o.known {
		if !t.inRing && !t.blocked { // away: its debt shrinks
			t.deficit = min(0, t.deficit+t.quantum)
			o.forget(t)
		}
	}
	if o.flaw == bulkCredit {
		o.jump()
	}
}

// jump is the flaw of crediting all the rounds that the first tenant to send
// needs at once, with one more to come for those that are visited before it.
func (o *oracle) jump() {
	least := int64(0)
	for _, t := range o.ring {
		if len(t.items) > 0 {
			if m := (t.items[0].cost - t.deficit + t.quantum - 1) / t.quantum; least == 0 || m < least {
				least = m
			}
		}
	}
	for _, t := range o.ring {
		t.deficit += max(least, 0) * t.quantum
	}
}

// endTurnIfOver ends the turn if its tenant can't send.
func (o *oracle) endTurnIfOver() {
	t := o.turn
	slack := int64(0)
	if o.flaw == spendOne {
		slack = 1
	}
	if t != nil && (len(t.items) == 0 || t.items[0].cost > t.deficit+slack) {
		o.turn = nil
		o.settleIdle(t)
		if len(t.items) == 0 && (o.flaw == unlinkAtOnce || o.flaw == freshPlace) {
			o.pos--
			o.exit(o.pos)
		}
	}
}

// settleIdle takes the credit of a tenant that has nothing waiting.
func (o *oracle) settleIdle(t *oracleTenant) {
	if len(t.items) > 0 {
		return
	}
	if o.flaw != keepCredit {
		t.deficit = min(0, t.deficit)
	}
	if o.flaw == forgiveDebt {
		t.deficit = max(0, t.deficit)
	}
}

func (o *oracle) cancel(id int) bool {
	for _, t := range o.known {
		if i := slices.IndexFunc(t.items, func(it oracleItem) bool { return it.id == id }); i >= 0 {
			t.items = slices.Delete(t.items, i, i+1)
			o.settleIdle(t)
			if t == o.turn {
				o.endTurnIfOver()
			}
			return true
		}
	}
	return false
}

func (o *oracle) charge(name string, delta int64) {
	if o.known[name] == nil && delta <= 0 {
		return
	}
	t := o.tenant(name)
	t.deficit -= delta
	o.settleIdle(t)
	if t == o.turn {
		o.endTurnIfOver()
	}
	o.forget(t)
}

func (o *oracle) forgiveDebts() {
	for _, t := range o.known {
		t.deficit = max(0, t.deficit)
		o.forget(t)
	}
}

func (o *oracle) setWeight(name string, w float64) {
	o.weights[name] = w
	if t := o.known[name]; t != nil {
		t.quantum = o.quantumFor(name)
	}
}

func (o *oracle) setMaxDepth(name string, n int) { o.depths[name] = n }

func (o *oracle) block(name string) {
	t := o.tenant(name)
	if t.blocked {
		return
	}
	if t == o.turn {
		o.turn = nil
		t.deficit = min(t.deficit, t.items[0].cost-1)
	}
	t.blocked = true
}

func (o *oracle) unblock(name string) {
	t := o.known[name]
	if t == nil || !t.blocked {
		return
	}
	t.blocked = false
	if t.inRing {
		return // it kept its place
	}
	if len(t.items) > 0 {
		o.enter(t)
	}
	o.forget(t)
}
