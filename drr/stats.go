package drr

import "time"

// Stats are a consistent snapshot of a Gate or a Scheduler. Of all requests so
// far, each is in exactly one of Waiting, Running, Done, Cancelled and the
// refusals.
type Stats struct {
	// Slots is how many seats there are (for a Scheduler, 0), InUse how many of
	// them those running have.
	Slots, InUse int
	// Running and Waiting are how many requests do so now.
	Running, Waiting int
	// WaitingCost is the sum of the costs of those waiting, OldestWait how long
	// the oldest of them has waited.
	WaitingCost int64
	OldestWait  time.Duration
	// Tenants is how many tenants there is state for.
	Tenants int

	// Done have run, Cancelled were given up before they ran.
	Done, Cancelled uint64
	// How many were refused, by reason.
	TenantFull, Full, WaitedTooLong, NeverFits, Closed uint64

	// CostPerSecond and RequestsPerSecond are what was served in the last minute
	// while requests waited for seats: the capacity. 0 means not known, as until
	// they have waited for a second.
	CostPerSecond, RequestsPerSecond float64
}

// TenantStats are a snapshot of one tenant's part.
type TenantStats struct {
	// Running and Waiting are how many of its requests do so, Seats how many
	// seats the former have, WaitingCost what the latter cost.
	Running, Waiting, Seats int
	WaitingCost             int64
	// Balance is its credit, or below zero its debt. See Tenant.Balance.
	Balance int64
	// AtCap says that its first request waits for the tenant's own cap.
	AtCap bool
}

// An Estimate says what a new request would wait for.
type Estimate struct {
	// Position is its place among the tenant's own requests waiting, from 1, or
	// 0 if it would run at once.
	Position int
	// CostAhead is the cost of those of them ahead of it.
	CostAhead int64
	// Wait is how long it would take: the cost to be served before it, of its
	// tenant's and, in proportion to the weights, of others', at the capacity
	// measured in the last minute. It is 0, and Known false, while no capacity
	// was measured. It doesn't foresee how long a tenant will be at its cap.
	Wait  time.Duration
	Known bool
}

func (a *admission[T]) stats() Stats {
	now := a.now()
	a.rate.measure(now)
	s := Stats{
		InUse: a.inUse, Running: a.running.length, Waiting: a.waiting.length,
		WaitingCost: a.q.Cost(), Tenants: a.q.Tenants(),
		Done: a.counts.done, Cancelled: a.counts.cancelled,
		TenantFull: a.counts.rejected[TenantFull], Full: a.counts.rejected[Full],
		WaitedTooLong: a.counts.rejected[WaitedTooLong], NeverFits: a.counts.rejected[NeverFits],
		Closed:        a.counts.rejected[Closed],
		CostPerSecond: a.rate.cost, RequestsPerSecond: a.rate.items,
	}
	if e := a.waiting.head; e != nil {
		s.OldestWait = now - e.since
	}
	return s
}

func (a *admission[T]) tenantStats(tenant string) TenantStats {
	h := a.q.Tenant(tenant)
	s := TenantStats{Waiting: h.Len(), WaitingCost: h.Cost(), Balance: h.Balance()}
	if seating := a.seatings[tenant]; seating != nil {
		s.AtCap = seating.blocked && s.Waiting > 0
	}
	for e := a.running.head; e != nil; e = e.next {
		if e.tenant == tenant {
			s.Running++
			s.Seats += e.seats
		}
	}
	return s
}

// estimate is for a new request of one seat; free says whether there is one.
func (a *admission[T]) estimate(tenant string, cost int64, free bool) Estimate {
	if free && a.q.length == a.q.held && !(a.capped && a.overCap(&entry[T]{tenant: tenant, seats: 1})) {
		return Estimate{Known: true}
	}
	cost = min(max(cost, 1), MaxCost)
	a.rate.measure(a.now())
	h := a.q.Tenant(tenant)
	est := Estimate{Position: h.Len() + 1, CostAhead: h.Cost(), Known: a.rate.cost > 0}
	if est.Known {
		est.Wait = time.Duration(min(a.ahead(tenant, cost)/a.rate.cost, 1e9) * float64(time.Second))
	}
	return est
}

// Stats returns a snapshot.
func (g *Gate) Stats() Stats {
	g.a.mu.Lock()
	defer g.a.mu.Unlock()
	s := g.a.stats()
	s.Slots = g.a.slots
	return s
}

// TenantStats returns a snapshot of one tenant's part. It takes time in the
// number of requests running.
func (g *Gate) TenantStats(tenant string) TenantStats {
	g.a.mu.Lock()
	defer g.a.mu.Unlock()
	return g.a.tenantStats(tenant)
}

// Wait estimates, in constant time, how long a request of that cost (1 at
// least) and one seat would wait if it came now.
func (g *Gate) Wait(tenant string, cost int64) Estimate {
	g.a.mu.Lock()
	defer g.a.mu.Unlock()
	return g.a.estimate(tenant, cost, g.a.inUse < g.a.slots)
}
