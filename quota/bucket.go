package quota

import (
	"math"
	"sync/atomic"
	"time"
)

// A Bucket is a token bucket: it holds up to a burst of tokens, gains them at a
// rate, and admits a request if its cost is there. See the package's
// documentation for what it promises and what now means.
//
// Any number of goroutines may use a Bucket at once. Its methods are lock-free:
// the balance is one atomic word. None allocates, save one era record of 24
// bytes on first use, at a change of the limit, and each time the clock has
// moved by 36/p years (p as in the package's documentation, 1 for most rates).
//
// Make one with NewBucket. The zero Bucket has the zero Limit and admits
// nothing. A Bucket must not be copied after first use.
type Bucket struct {
	era  atomic.Pointer[era]
	seen atomic.Int64 // the latest now
}

// NewBucket returns a full bucket, or a *ValueError for each field of l that is
// out of range, joined.
func NewBucket(l Limit) (*Bucket, error) {
	t, err := compile(l, "Limit")
	if err != nil {
		return nil, err
	}
	b := new(Bucket)
	b.init(t, math.MinInt64)
	return b, nil
}

// init makes b a full bucket that has seen the time now.
func (b *Bucket) init(t *terms, now int64) {
	b.seen.Store(now)
	b.era.Store(newEra(t, now, 0))
}

// Limit returns the limit in force.
func (b *Bucket) Limit() Limit {
	if e := b.era.Load(); e != nil {
		return e.limit
	}
	return Limit{}
}

// Allow takes cost tokens, 1 to MaxCost, if they are there at now, and says so;
// otherwise it takes none and says when they will be. A cost above the burst is
// refused as TooLarge at once.
//
// The error is a *ValueError, and then nothing has changed.
func (b *Bucket) Allow(now time.Duration, cost int64) (d Decision, err error) {
	// d is filled field by field: the compiler copies a struct of five fields
	// through memory, which here costs as much as the decision itself.
	if err = checkCost(cost); err != nil {
		return
	}
	b.see(int64(now))
	for {
		e, word, clock, units := b.load()
		used := max(word>>1-units, 0)
		d.Limit = e.burst
		if cost > e.burst {
			d.Reason = TooLarge
			d.Remaining = max(e.whole(used), 0)
			d.RetryAfter = Never
			return
		}
		after := used + cost*e.q
		if after > e.capacity {
			d.Reason = RateLimited
			if e.p == 0 {
				d.Reason = Exhausted
			}
			d.Remaining = max(e.whole(used), 0)
			d.RetryAfter = e.wait(after-e.capacity, int64(now), clock)
			return
		}
		if e.word.CompareAndSwap(word, (units+after)<<1) {
			d.OK = true
			d.Remaining = (e.capacity - after) / e.q
			return
		}
	}
}

// wait returns how long after now, which counts as clock, the missing units
// will have come.
func (t *terms) wait(missing, now, clock int64) time.Duration {
	if t.p == 0 {
		return Never
	}
	wait := uint64((missing-1)/t.p + 1) // rounded up: then it's all there, and 1 ns before it isn't
	back := sub(clock, now)             // a clock that stepped back must first come forward again
	if wait > sub(math.MaxInt64, clock) || back > math.MaxInt64-wait {
		return Never // the clock, or a Duration, doesn't go that far
	}
	return time.Duration(back + wait)
}

// Charge takes cost tokens, 1 to MaxCost, whether they are there or not: it
// books what has been used in any case, such as a true cost above the estimate
// that Allow was asked for. The balance may fall below zero; that debt is paid
// by refilling, and nothing is admitted until it is.
//
// A debt stops growing when 2^61 units (see the package's documentation; 73/p
// years of refilling) are used, which is at least the burst again, and 2^40
// tokens at rate 0. The error is a *ValueError, and then nothing has changed.
func (b *Bucket) Charge(now time.Duration, cost int64) error {
	if err := checkCost(cost); err != nil {
		return err
	}
	b.charge(int64(now), cost)
	return nil
}

func (b *Bucket) charge(now, cost int64) {
	b.see(now)
	for {
		e, word, _, units := b.load()
		used := max(word>>1-units, 0)
		after := int64(maxUsed)
		if cost <= e.most {
			after = min(used+cost*e.q, maxUsed)
		}
		if e.word.CompareAndSwap(word, (units+after)<<1) {
			return
		}
	}
}

// Refund puts cost tokens back, 1 to MaxCost: all that Allow took for a request
// that wasn't served, or the part of an estimate that wasn't used. It pays a
// debt first, and never fills the bucket above its burst. Who took the tokens
// isn't recorded: refunding once is up to the caller.
//
// The error is a *ValueError, and then nothing has changed.
func (b *Bucket) Refund(now time.Duration, cost int64) error {
	if err := checkCost(cost); err != nil {
		return err
	}
	b.refund(int64(now), cost)
	return nil
}

func (b *Bucket) refund(now, cost int64) {
	b.see(now)
	for {
		e, word, _, units := b.load()
		used := max(word>>1-units, 0)
		after := int64(0)
		if cost <= e.most {
			after = max(used-cost*e.q, 0)
		}
		if e.word.CompareAndSwap(word, (units+after)<<1) {
			return
		}
	}
}

// Balance returns how many whole tokens are there at now, rounded down: the
// largest cost that Allow would admit. It is negative in debt.
func (b *Bucket) Balance(now time.Duration) int64 {
	b.see(int64(now))
	e, word, _, units := b.load()
	return e.whole(max(word>>1-units, 0))
}

// SetLimit puts l in force from now on. What was gained until now was gained at
// the old rate, and the balance stays what it is, in tokens, capped at the new
// burst: a larger burst is filled by refilling, and debts remain. The balance
// is rounded down by less than what the new rate brings in 1 ns or, at a rate of
// 0, by less than a millionth of a token.
//
// The error has a *ValueError for each field that is out of range, joined, and
// then nothing has changed.
func (b *Bucket) SetLimit(now time.Duration, l Limit) error {
	t, err := compile(l, "Limit")
	if err != nil {
		return err
	}
	b.setTerms(int64(now), t)
	return nil
}

func (b *Bucket) setTerms(now int64, t *terms) {
	b.see(now)
	for {
		e, _, _, _ := b.load()
		if b.follow(e, t) {
			return
		}
	}
}

// full says whether the bucket is full at now: then a new one would do as well.
func (b *Bucket) full(now int64) bool {
	b.see(now)
	_, word, _, units := b.load()
	return word>>1 <= units
}
