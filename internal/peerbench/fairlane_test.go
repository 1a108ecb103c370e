package peerbench

import (
	"sync"

	"github.com/fairlane-go/fairlane/drr"
)

func startFairlane(tenants []string, took tookFunc) system {
	q := newFairlane()
	handles := make([]*drr.Tenant[string, item], len(tenants))
	seq := 0
	push := func(tenant int) {
		_, err := handles[tenant].Push(1, item{tenant, seq})
		must(err == nil, "fairlane refused an item")
		seq++
	}
	for i, name := range tenants {
		handles[i] = q.Tenant(name)
		push(i)
	}
	return system{
		cycle: func(n int) {
			for range n {
				name, it, ok := q.Pop()
				must(ok, "fairlane has lost an item")
				if took != nil {
					took(name, it)
				}
				push(it.tenant)
			}
		},
		drain: func() { drainFairlane(q, took) },
	}
}

func startFairlaneByName(tenants []string, took tookFunc) system {
	q := newFairlane()
	seq := 0
	push := func(name string, tenant int) {
		_, err := q.Push(name, 1, item{tenant, seq})
		must(err == nil, "fairlane refused an item")
		seq++
	}
	for i, name := range tenants {
		push(name, i)
	}
	return system{
		cycle: func(n int) {
			for range n {
				name, it, ok := q.Pop()
				must(ok, "fairlane has lost an item")
				if took != nil {
					took(name, it)
				}
				push(name, it.tenant)
			}
		},
		drain: func() { drainFairlane(q, took) },
	}
}

func startFairlaneLocked(tenants []string, took tookFunc) system {
	q := newFairlane()
	var mu sync.Mutex
	seq := 0
	push := func(name string, tenant int) {
		mu.Lock()
		_, err := q.Push(name, 1, item{tenant, seq})
		mu.Unlock()
		must(err == nil, "fairlane refused an item")
		seq++
	}
	for i, name := range tenants {
		push(name, i)
	}
	return system{
		cycle: func(n int) {
			for range n {
				mu.Lock()
				name, it, ok := q.Pop()
				mu.Unlock()
				must(ok, "fairlane has lost an item")
				if took != nil {
					took(name, it)
				}
				push(name, it.tenant)
			}
		},
		drain: func() { drainFairlane(q, took) },
	}
}

func newFairlane() *drr.Queue[string, item] {
	q, err := drr.New[string, item](drr.Config{Quantum: 1})
	must(err == nil, "fairlane refused its configuration")
	return q
}

func drainFairlane(q *drr.Queue[string, item], took tookFunc) {
	for name, it, ok := q.Pop(); ok; name, it, ok = q.Pop() {
		if took != nil {
			took(name, it)
		}
	}
}
