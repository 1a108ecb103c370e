// Package sim is a deterministic discrete-event simulator that sends one
// workload through several ways of sharing a pool of workers, so that they can
// be compared, and their parameters chosen, before they are used. It drives the
// packages a service would import, [drr] and [quota], not models of them.
//
// # What it simulates
//
// A [Scenario] has tenants, each a Poisson stream of requests whose rate may
// change in bursts, and a number of equal workers. A request waits in the
// queue that a policy gives it, then keeps one worker for its service time.
// Nothing is preempted or withdrawn, and refused requests do not come back. When
// the run's duration is over no more requests arrive, and those admitted are
// served to the end.
//
// The policies are:
//
//   - fifo: one first-in first-out queue, bounded over all tenants.
//   - quota: a [quota.Bucket] for each tenant, one token a request, in front of
//     such a queue. A request that finds the queue full gets its token back.
//   - drr: a [drr.Queue]; the cost of a request is its service time in
//     nanoseconds, known when it arrives; the queue is bounded for each tenant.
//   - drr_quota: the buckets in front of the [drr.Queue].
//
// # Same seed, same result
//
// Time is a time.Duration since the start. Events run in order of time, those
// of one instant in the order they were scheduled, in one goroutine; no map is
// ranged over on the way. Each tenant draws its arrivals and its service times
// from two PCG streams of its own (math/rand/v2), both derived from the seed and
// the tenant's index. So a seed gives the same [Result] to the last bit on every
// platform, all policies see the same requests with the same service times
// (common random numbers), and a tenant added at the end changes nobody else's.
//
// # How it counts
//
// Demand and refusals are those of the requests that arrive in the measurement
// window, [from, to). Throughput counts those that finish in it, whenever they
// arrived. A tenant's fair share is its weighted max-min share ([fairness.MaxMin])
// of the window's demand, where the capacity is the number of workers over the
// mean service time of the requests that arrive in the window, refused ones
// included. A tenant is within its share if its demand is no more than that.
// The queueing time of a request is from its arrival to the start of its
// service. A percentile is the nearest rank: the smallest value that at least
// that part of the values does not exceed.
//
// # Limits
//
// Workers are equal, service times are independent of the load and known to
// the scheduler in advance, and clients neither retry nor give up. Tests hold the
// simulator against M/M/1, M/M/1/K, M/M/8 and Cobham's priority formulas, and
// against Little's law in whole nanoseconds. Within those limits what it says
// about a policy is what the code does; what it says about a system is as good as
// the scenario.
package sim
