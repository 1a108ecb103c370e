package quota

import (
	"errors"
	"strings"
	"time"
)

// SetDefault puts limit in force, from now on, for all tenants that have none
// of their own. Each keeps its balance, see [Bucket.SetLimit], except that a
// bucket that is full stays full, at the new burst: it might as well have been
// dropped already, and no decision depends on whether it was.
//
// It takes time in proportion to the number of tenants tracked. Calls for other
// tenants go on meanwhile; they see the change one after the other. The error
// has a *ValueError for each field that is out of range, joined, and then
// nothing has changed.
func (l *Limiter) SetDefault(now time.Duration, limit Limit) error {
	terms, err := compile(limit, "Limit")
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.terms = terms
	l.overflow.adopt(int64(now), terms)
	l.settleAllLocked(int64(now))
	return nil
}

// SetLimit gives tenant a limit of its own, from now on, in place of the default
// one or of the one it had. It keeps its balance, or its full bucket, as with
// SetDefault. The error has a *ValueError for the name's length and for each
// field that is out of range, joined, and then nothing has changed.
func (l *Limiter) SetLimit(now time.Duration, tenant string, limit Limit) error {
	terms, err := compile(limit, "Limit")
	if err = errors.Join(checkName(tenant), err); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.shard(tenant).tenants[tenant]
	if t == nil {
		t = newOwn(tenant)
		t.bucket.init(terms, max(int64(now), l.mark))
		l.addLocked(t)
		return nil
	}
	s := l.shard(tenant)
	s.mu.Lock()
	t.bucket.adopt(int64(now), terms)
	s.mu.Unlock()
	if t.place != own {
		l.leaveLocked(t)
	}
	return nil
}

// ClearLimit puts tenant back under the default limit, from now on. It keeps its
// balance, or its full bucket, as with SetDefault. Until it is full again it is
// counted among those tracked even above MaxTenants. Without a limit of its own
// nothing changes.
func (l *Limiter) ClearLimit(now time.Duration, tenant string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.shard(tenant).tenants[tenant]
	if t == nil || t.place != own {
		return
	}
	l.joinLocked(t)
	l.settleLocked(t, int64(now))
}

// Sweep drops all tenants under the default limit whose buckets are full at now,
// and returns how many. It never has to be called, as newcomers sweep a little
// each. It frees at once what was kept for tenants of a busier hour, in time
// proportional to the number tracked, in which newcomers wait.
func (l *Limiter) Sweep(now time.Duration) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.ring)
	l.settleAllLocked(int64(now))
	return before - len(l.ring)
}

func (l *Limiter) settleAllLocked(now int64) {
	for i := 0; i < len(l.ring); {
		if !l.settleLocked(l.ring[i], now) {
			i++ // otherwise another has come in its place
		}
	}
}

// lookLocked settles the tenant under the hand, and moves on if it stays.
func (l *Limiter) lookLocked(now int64) {
	if len(l.ring) == 0 {
		return
	}
	if l.hand >= len(l.ring) {
		l.hand = 0
	}
	if !l.settleLocked(l.ring[l.hand], now) {
		l.hand++
	}
}

// settleLocked drops t, which is in the ring, if its bucket is full at now, and
// says if it did. Otherwise it sees to it that t is under the default limit.
func (l *Limiter) settleLocked(t *tenant, now int64) (dropped bool) {
	s := l.shard(t.name)
	s.mu.Lock() // no call for t is under way
	defer s.mu.Unlock()
	if t.bucket.full(now) {
		// Its next bucket must not live through a time that this one has seen.
		l.mark = max(l.mark, t.bucket.seen.Load())
		delete(s.tenants, t.name)
		l.leaveLocked(t)
		return true
	}
	if t.bucket.era.Load().terms != l.terms {
		t.bucket.setTerms(now, l.terms)
	}
	return false
}

// joinLocked puts t into the ring.
func (l *Limiter) joinLocked(t *tenant) {
	t.place = len(l.ring)
	l.ring = append(l.ring, t)
}

// leaveLocked takes t out of the ring; the last takes its place.
func (l *Limiter) leaveLocked(t *tenant) {
	last := len(l.ring) - 1
	l.ring[t.place] = l.ring[last]
	l.ring[t.place].place = t.place
	l.ring[last] = nil
	l.ring = l.ring[:last]
	t.place = own
}

func newOwn(name string) *tenant { return &tenant{name: strings.Clone(name), place: own} }

// adopt puts terms in force from now on, keeping the balance of a bucket that
// isn't full, and filling one that is. Nobody else may use b meanwhile.
func (b *Bucket) adopt(now int64, t *terms) {
	if b.full(now) {
		b.init(t, b.seen.Load())
	} else {
		b.setTerms(now, t)
	}
}
