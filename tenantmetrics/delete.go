package tenantmetrics

import (
	"slices"
	"strings"
)

// maxDeleted is how many deleted tenants are remembered at most.
const maxDeleted = 4096

// Delete removes the tenant of exactly this name: it has no series any more,
// and is in no list. What was counted for it stays in the totals and in Other,
// and so does what comes in late, from requests that were under way: until the
// end of the period that follows, and if very many are deleted, for as long as
// it is among the last 4096 of them. After that the name is a new tenant's. Let
// a period be no shorter than the longest request.
//
// The exporter should drop the tenant's series at the same time.
func (r *Reducer) Delete(tenant string) {
	name := Label(tenant)
	r.naming.Lock()
	defer r.naming.Unlock()
	delete(r.named, name)

	r.mu.Lock()
	defer r.mu.Unlock()
	r.all.remove(name)
	r.refused.remove(name)
	r.samples = slices.DeleteFunc(r.samples, func(s Refusal) bool { return s.Tenant == name })
	r.bury(strings.Clone(name))
}

// A grave is a deletion. The map buried has the period of each name's last one.
type grave struct {
	name   string
	period uint64
}

// exhumeOld forgets the deletions that came before the period that has ended.
// The new one has begun.
func (r *Reducer) exhumeOld() {
	for len(r.graves) > 0 && r.graves[0].period < r.period-1 {
		r.exhume()
	}
}

func (r *Reducer) bury(name string) {
	if r.buried[name] == r.period {
		return
	}
	if len(r.graves) == maxDeleted {
		r.exhume()
	}
	r.buried[name] = r.period
	r.graves = append(r.graves, grave{name, r.period})
}

// exhume forgets the oldest deletion, unless its tenant was deleted again.
func (r *Reducer) exhume() {
	g := r.graves[0]
	r.graves = r.graves[1:]
	if r.buried[g.name] == g.period {
		delete(r.buried, g.name)
	}
}
