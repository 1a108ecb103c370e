// Package drr shares one pool of workers among many tenants by deficit round
// robin: no tenant's backlog delays another that stays within its share, and
// nothing idles while anybody waits.
//
// A [Queue] holds what waits. Push says whose it is and what it costs, in any
// unit: requests, bytes, tokens, nanoseconds of work. Pop returns the next item
// in fair order. Where the cost isn't known before the work is done, Push takes
// an estimate and Charge corrects it afterwards; it is the corrected costs that
// are shared fairly. A tenant's weight scales its share.
//
// A [Gate] puts a queue in front of work that its callers do themselves: they
// Acquire before it and Release after it, as with a semaphore. A [Scheduler] puts
// one in front of a pool of workers: Submit on one side, Next on the other. Both
// are the queue behind a lock, with bounds, time limits, caps for each tenant and
// refusals that say why and when to come back; neither has a policy of its own.
//
// # What is promised
//
// A tenant's quantum is Config.Quantum times its weight; W is the cost served to
// a tenant over some interval, Q its quantum and L its largest cost.
//
//   - Of two tenants that both stay backlogged, |W1/Q1 - W2/Q2| < 1 + L1/Q1 + L2/Q2,
//     over every interval, whatever the quantum.
//   - A tenant that stays backlogged while S is served to all gets at least
//     (Q/F)*S - (Q*sum of the others' L + (F-Q)*(Q+L))/F, F being the sum of all quanta.
//   - Before the first item, of cost c, of a tenant that was idle, the others
//     get at most the sum of ceil(c/Q)*Qj + Lj over them.
//   - With estimates of at most e that are exceeded by at most u and undercut by
//     at most d, and I items of a tenant in work at once, L becomes e + I*(u+d) in
//     the first of these, for true costs.
//
// # Sources, and what is different here
//
// The algorithm is that of M. Shreedhar and G. Varghese, Efficient Fair Queuing
// Using Deficit Round Robin, SIGCOMM 1995. Here
//
//  1. rounds in which nobody can send are skipped by arithmetic. The textbook
//     goes round cost/quantum times for each item where its quantum is small;
//     this takes one turn, in the same order, so that the quantum can be chosen
//     for fairness and latency alone.
//  2. a deficit may be negative. It then is a debt, which settling brings about,
//     which is waited out in rounds, and which outlives an empty queue.
//  3. an idle tenant keeps its place until its next turn would come, and gives it
//     up then. To unlink it at once would let it have two turns in a round, or
//     let another have two before its next.
//  4. a tenant that joins does so between this round and the next, so that a
//     stream of new ones can't starve those that have had their turn.
//
// What it is not: there is no priority between tenants here, only shares, and
// nothing is preempted. A Queue has no clock, no lock and no goroutine. Service is counted when it is handed out; work that
// runs longer than its cost says is seen once it is charged.
package drr
