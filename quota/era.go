package quota

import (
	"math"
	"sync/atomic"
)

// An era is a stretch of a bucket's life under one limit and one base time. Its
// word is the theoretical arrival time, the instant at which the bucket will be
// full, in units since base, shifted left by one; the lowest bit says that the
// era is over.
//
// A word of 64 bits can't hold 292 years in fractions of a nanosecond, and
// reads differently under another rate. So when time runs past the span of the
// terms, or the limit changes, the bucket moves to a new era, without a lock:
//
//  1. The word is marked as over. From then on nobody can change it, and all
//     agree on what was used.
//  2. A new era is made from it and takes the old one's place in the bucket, if
//     the old one is still there.
//
// Whoever meets a marked word doesn't wait for the one who marked it but does
// step 2 with the terms unchanged; the other finds its era gone and tries again
// on the new one. A goroutine that stalls between the steps holds up nobody.
type era struct {
	*terms
	base int64 // ns; no operation of this era is at an earlier time
	word atomic.Int64
}

// over is the mark in a word.
const over = 1

// newEra returns an era that begins at base with used units taken.
func newEra(t *terms, base, used int64) *era {
	e := &era{terms: t, base: base}
	e.word.Store(used << 1)
	return e
}

// used returns how many units are taken at now, which may lie any time after
// the base, if the arrival time is tat.
func (e *era) used(tat, now int64) int64 {
	d := sub(now, e.base)
	if e.p > 0 && d > math.MaxInt64/uint64(e.p) {
		return 0 // more came in than a word holds
	}
	return max(tat-int64(d)*e.p, 0)
}

// sub returns a-b for a >= b, which an int64 may not hold.
func sub(a, b int64) uint64 { return uint64(a) - uint64(b) }

// load returns the bucket's era with its word, and the time now for operations
// on it: in ns, at least the time of every operation that led to the word, and
// in units since the base.
func (b *Bucket) load() (e *era, word, now, units int64) {
	for {
		e = b.era.Load()
		if e == nil { // a zero Bucket
			b.era.CompareAndSwap(nil, newEra(nothing, math.MinInt64, 0))
			continue
		}
		word = e.word.Load()
		now = b.seen.Load() // after the word, or it could be older than that
		d := sub(now, e.base)
		if word&over != 0 || d > e.span {
			b.follow(e, e.terms)
			continue
		}
		return e, word, now, int64(d) * e.p
	}
}

// follow moves the bucket from e to an era of terms t with the same balance,
// and says whether it did: if not, somebody else has moved it on.
func (b *Bucket) follow(e *era, t *terms) bool {
	tat := e.word.Or(over) >> 1
	now := b.seen.Load() // all that changed the word did so at this time or before
	return b.era.CompareAndSwap(e, newEra(t, now, t.carry(e.terms, e.used(tat, now))))
}

// see makes now the latest time seen, unless a later one was.
func (b *Bucket) see(now int64) {
	for {
		seen := b.seen.Load()
		if now <= seen || b.seen.CompareAndSwap(seen, now) {
			return
		}
	}
}
