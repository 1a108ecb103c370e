// Package quota limits how much a tenant may use: token buckets, alone or one
// per tenant, in any unit a caller counts in (requests, bytes, model tokens).
//
// A [Bucket] is the generic cell rate algorithm, GCRA (ITU-T I.371, 2004, annex
// A.1), the form of the token bucket that stores no balance but the instant at
// which the bucket will be full, the "theoretical arrival time". That instant
// and the limit give the balance at any other, so refilling needs no timer, and a
// refusal leaves the instant alone: asking more often changes nothing. A
// [Limiter] holds a bucket for each tenant.
//
// # Contract
//
// Between two limit changes a bucket of rate r and burst B admits at most
// B + r*d tokens in any span d, charges and refunds apart, and admits a request
// if and only if an exact bucket would: arithmetic is in integers, and nothing
// drifts however long the bucket runs. A refusal says how long to wait; the
// same request made then is admitted, if nobody else took, and made a
// nanosecond earlier it is not.
//
// # Time
//
// Nothing here reads a clock: each call takes now, the time since an instant of
// the caller's choosing, the same in all calls. A service takes
// time.Since(start), which follows the monotonic clock and so isn't moved when
// the wall clock is set; a simulator takes its own time. It is a time.Duration
// rather than a time.Time because it must fit in one atomic word, and because a
// time.Time is two clocks, of which a comparison picks one. Any value will do,
// negative ones included. A now before the latest that the bucket has seen
// counts as that latest: a clock that steps back neither takes tokens away nor,
// when it comes forward again, gives them a second time.
//
// # Differences from the literature
//
//  1. Increments are exact. Textbook GCRA adds a rounded emission interval for
//     each cell; ours measures time in 1/p ns, where the rate is p tokens in q
//     ns, so that both a nanosecond and a token are whole numbers of units.
//  2. Requests cost any number of tokens, can be refunded, and may be charged
//     beyond what is there (a debt).
//  3. A second word holds the latest time seen. The arrival time alone can't
//     tell a drained bucket from a clock that was set back.
//
// # Limits
//
// Costs and bursts go to 2^40 tokens ([MaxCost], [MaxBurst]), rates to
// [MaxRate]; a burst must refill within 36 years. A rate that is p tokens in q
// ns, p at most 1,024, is kept exactly if the burst refills within 2^50/p ns (13
// days for p = 1; three tokens a second have p = 3, 600 a minute p = 1). Other
// rates become a near fraction: within one part in 10^9 for rates up to 10^6/s
// and bursts up to 10^9, and in 10^6 at worst. [Rate] says more.
//
// A bucket is local to the process, and it is a brake, not a count of what
// runs at once: 100 tokens refilled over a minute hold 100 ms calls far below
// 100 at a time and let ten-minute calls pile up far above.
package quota
