package quota

import (
	"errors"
	"hash/maphash"
	"math"
	"strings"
	"sync"
	"time"
)

const (
	// DefaultMaxTenants is how many tenants a Limiter tracks if its
	// configuration doesn't say.
	DefaultMaxTenants = 100_000
	// MaxNameLen is the longest name a tenant may have, in bytes. Names are
	// kept, and they may be a stranger's choice.
	MaxNameLen = 256
)

// A LimiterConfig describes a Limiter.
type LimiterConfig struct {
	// Default is the limit of each tenant that has none of its own. The zero
	// Limit admits nothing: only tenants that were given a limit get in.
	Default Limit
	// MaxTenants is how many tenants under the default limit are tracked, at
	// most: 0 or more. Zero means DefaultMaxTenants.
	MaxTenants int
}

func (c LimiterConfig) compile() (*terms, error) {
	t, err := compile(c.Default, "LimiterConfig.Default")
	if c.MaxTenants < 0 {
		err = errors.Join(err, &ValueError{Package: "quota", Field: "LimiterConfig.MaxTenants", Value: c.MaxTenants, Want: "0 (100,000) or more"})
	}
	return t, err
}

// A Limiter holds a Bucket for each tenant. A tenant is under the default limit
// until it is given one of its own. Any string of up to MaxNameLen bytes names a
// tenant; "" is a name as good as any, for instance that of all who didn't give
// one. Names should be ones that a caller can't choose at will: who can, has a
// new allowance with each.
//
// A tenant under the default limit is tracked only while its bucket isn't full,
// as a full bucket equals a new one: one that is dropped too early would hand
// out a fresh allowance, and isn't. Each newcomer looks at two tenants, in turn,
// and drops those that are full again, so that at most about twice as many are
// tracked as need be; Sweep drops all of those at once.
//
// At MaxTenants, all who aren't tracked share one bucket of the default limit,
// and what it refuses is refused for Overflow. Tenants with a limit of their own
// aren't counted, are never dropped, and never share: give one to those who
// should be safe from a flood of strange names.
//
// Any number of goroutines may use a Limiter at once. A call for a tenant that is
// tracked doesn't allocate, takes O(1) time (and a cache miss or two where there
// are many), and never waits for another such call, only for a newcomer in one of
// 64 shards. Tracking takes about 150 bytes a tenant, a short name included.
//
// Make one with NewLimiter. A Limiter must not be copied.
type Limiter struct {
	seed   maphash.Seed
	shards [64]shard

	// mu guards the rest, and that tenants come and go; it is taken before a
	// shard's. Who holds it may read the shards' maps without their locks.
	mu       sync.Mutex
	terms    *terms // of Default
	max      int
	ring     []*tenant // all tenants under the default limit
	hand     int       // the one to look at next
	mark     int64     // the latest time that a dropped bucket had seen
	overflow Bucket
}

// A shard holds the tenants whose names' hashes are alike, so that cores that
// serve different tenants don't contend for one lock.
type shard struct {
	mu      sync.RWMutex // held for writing to change the map, and for reading to use a bucket in it
	tenants map[string]*tenant
	_       [128 - 24 - 8]byte // no two shards in a cache line, nor in a pair of them
}

type tenant struct {
	name   string
	bucket Bucket
	place  int // in the ring; own if the tenant has its own limit
}

const own = -1

// NewLimiter returns a Limiter that tracks nobody yet, or a *ValueError for each
// field of c that is out of range, joined.
func NewLimiter(c LimiterConfig) (*Limiter, error) {
	t, err := c.compile()
	if err != nil {
		return nil, err
	}
	l := &Limiter{seed: maphash.MakeSeed(), terms: t, max: c.MaxTenants, mark: math.MinInt64}
	if l.max == 0 {
		l.max = DefaultMaxTenants
	}
	for i := range l.shards {
		l.shards[i].tenants = make(map[string]*tenant)
	}
	l.overflow.init(t, math.MinInt64)
	return l, nil
}

// Allow asks for cost tokens, 1 to MaxCost, on behalf of tenant, see
// [Bucket.Allow]. The error is a *ValueError for the cost or the name's length,
// and then nothing has changed.
func (l *Limiter) Allow(now time.Duration, tenant string, cost int64) (d Decision, err error) {
	if err = checkName(tenant); err != nil {
		return
	}
	s := l.shard(tenant)
	s.mu.RLock()
	if t := s.tenants[tenant]; t != nil {
		d, err = t.bucket.Allow(now, cost)
		s.mu.RUnlock()
		return
	}
	s.mu.RUnlock()
	return l.allowNew(now, tenant, cost)
}

func (l *Limiter) allowNew(now time.Duration, tenant string, cost int64) (Decision, error) {
	if err := checkCost(cost); err != nil {
		return Decision{}, err // before a newcomer's sweeping shows others the time
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b, fresh := l.bucketLocked(int64(now), tenant)
	d, _ := b.Allow(now, cost) // the cost is in range
	if b == &l.overflow && (d.Reason == RateLimited || d.Reason == Exhausted) {
		d.Reason = Overflow
	}
	l.trackLocked(fresh, int64(now))
	return d, nil
}

// Charge takes cost tokens, 1 to MaxCost, from tenant whether they are there or
// not, see [Bucket.Charge]. The error is a *ValueError for the cost or the
// name's length, and then nothing has changed.
func (l *Limiter) Charge(now time.Duration, tenant string, cost int64) error {
	if err := errors.Join(checkName(tenant), checkCost(cost)); err != nil {
		return err
	}
	s := l.shard(tenant)
	s.mu.RLock()
	if t := s.tenants[tenant]; t != nil {
		t.bucket.charge(int64(now), cost)
		s.mu.RUnlock()
		return nil
	}
	s.mu.RUnlock()

	l.mu.Lock()
	defer l.mu.Unlock()
	b, fresh := l.bucketLocked(int64(now), tenant)
	b.charge(int64(now), cost)
	l.trackLocked(fresh, int64(now))
	return nil
}

// Refund puts cost tokens back, 1 to MaxCost, into tenant's bucket, see
// [Bucket.Refund]. A tenant that isn't tracked has a full one, or shares the
// overflow bucket; nothing is put back then, as what was taken from the one
// must not come back into the other. The error is a *ValueError for the cost or
// the name's length, and then nothing has changed.
func (l *Limiter) Refund(now time.Duration, tenant string, cost int64) error {
	if err := errors.Join(checkName(tenant), checkCost(cost)); err != nil {
		return err
	}
	s := l.shard(tenant)
	s.mu.RLock()
	if t := s.tenants[tenant]; t != nil {
		t.bucket.refund(int64(now), cost)
	}
	s.mu.RUnlock()
	return nil
}

// Len returns how many tenants are tracked, those with their own limit included.
func (l *Limiter) Len() int {
	n := 0
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.RLock()
		n += len(s.tenants)
		s.mu.RUnlock()
	}
	return n
}

func (l *Limiter) shard(tenant string) *shard {
	return &l.shards[maphash.String(l.seed, tenant)%uint64(len(l.shards))]
}

// bucketLocked returns the bucket that decides for a tenant that wasn't tracked
// a moment ago: with a record to track it by if it isn't now and may be.
func (l *Limiter) bucketLocked(now int64, name string) (b *Bucket, fresh *tenant) {
	if t := l.shard(name).tenants[name]; t != nil {
		return &t.bucket, nil // another call was faster
	}
	for range 2 {
		l.lookLocked(now)
	}
	if len(l.ring) >= l.max {
		return &l.overflow, nil
	}
	t := new(tenant)
	t.name = name
	t.bucket.init(l.terms, max(now, l.mark))
	return &t.bucket, t
}

// trackLocked tracks t, if it isn't nil, from now on: after its first call has
// been decided, since only then is there something to remember, if at all.
func (l *Limiter) trackLocked(t *tenant, now int64) {
	if t == nil || t.bucket.full(now) {
		return
	}
	t.name = strings.Clone(t.name) // the caller's may be a piece of a whole request
	l.addLocked(t)
	l.joinLocked(t)
}

// addLocked puts t in its shard.
func (l *Limiter) addLocked(t *tenant) {
	s := l.shard(t.name)
	s.mu.Lock()
	s.tenants[t.name] = t
	s.mu.Unlock()
}

func checkName(tenant string) error {
	if len(tenant) > MaxNameLen {
		return &ValueError{Package: "quota", Field: "len(tenant)", Value: len(tenant), Want: "0 to 256"}
	}
	return nil
}
