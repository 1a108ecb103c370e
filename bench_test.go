package fairlane_test

import (
	"container/list"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fairlane-go/fairlane/drr"
)

// BenchmarkPushPop measures the steady state of a queue in which every tenant
// has one item waiting: pop the next item in order and push one for the same
// tenant. One operation is one push and one pop.
//
//	fairlane         drr.Queue through tenants' handles
//	fairlane-byname  drr.Queue by tenant name
//	ring             a bare ring buffer: no tenants, no fairness
//	mutexring        the same behind a mutex, locked for the push and for the pop
//	channel          a buffered channel
//	textbook         deficit round robin as people write it: a map, a container/list
//	                 for the round and one for each tenant's items
//
// cost is cost/quantum. The textbook's work grows with it, so it runs at 10^6
// with ten tenants only.
func BenchmarkPushPop(b *testing.B) {
	for _, tenants := range []int{1, 10, 1_000, 100_000, 1_000_000} {
		for _, cost := range []int64{1, 100, 1_000_000} {
			for _, s := range subjects {
				if cost > 1 && s.blind || cost == 1_000_000 && s.name == "textbook" && tenants != 10 {
					continue
				}
				b.Run(fmt.Sprintf("impl=%s/tenants=%d/cost=%d", s.name, tenants, cost), func(b *testing.B) {
					cycle := s.start(names(tenants), cost, nil)
					b.ReportAllocs()
					b.ResetTimer()
					cycle(b.N)
				})
			}
		}
	}
}

// BenchmarkPushPopWeighted is BenchmarkPushPop with weights 1, 2, 3, 4 in turn
// and costs that differ between tenants.
func BenchmarkPushPopWeighted(b *testing.B) {
	for _, tenants := range []int{10, 1_000, 100_000} {
		for _, cost := range []int64{1, 100} {
			for _, s := range subjects {
				if s.blind {
					continue
				}
				b.Run(fmt.Sprintf("impl=%s/tenants=%d/cost=%d", s.name, tenants, cost), func(b *testing.B) {
					weight := func(i int) int { return 1 + i%4 }
					cycle := s.start(names(tenants), cost, weight)
					b.ReportAllocs()
					b.ResetTimer()
					cycle(b.N)
				})
			}
		}
	}
}

// A subject starts with one item a tenant and returns what runs n push+pop.
type subject struct {
	name  string
	blind bool // to tenants, so that their number is only the length of the queue
	start func(tenants []string, cost int64, weight func(int) int) (cycle func(n int))
}

var subjects = []subject{
	{"fairlane", false, func(tenants []string, cost int64, weight func(int) int) func(int) {
		q, handles := filled(tenants, cost, weight)
		return func(n int) {
			for range n {
				_, i, _ := q.Pop()
				handles[i].Push(cost, i)
			}
		}
	}},
	{"fairlane-byname", false, func(tenants []string, cost int64, weight func(int) int) func(int) {
		q, _ := filled(tenants, cost, weight)
		return func(n int) {
			for range n {
				tenant, i, _ := q.Pop()
				q.Push(tenant, cost, i)
			}
		}
	}},
	{"ring", true, func(tenants []string, cost int64, _ func(int) int) func(int) {
		r := newRing(len(tenants))
		return func(n int) {
			for range n {
				r.push(r.pop())
			}
		}
	}},
	{"mutexring", true, func(tenants []string, cost int64, _ func(int) int) func(int) {
		var mu sync.Mutex
		r := newRing(len(tenants))
		return func(n int) {
			for range n {
				mu.Lock()
				e := r.pop()
				mu.Unlock()
				mu.Lock()
				r.push(e)
				mu.Unlock()
			}
		}
	}},
	{"channel", true, func(tenants []string, cost int64, _ func(int) int) func(int) {
		c := make(chan int, len(tenants))
		for i := range tenants {
			c <- i
		}
		return func(n int) {
			for range n {
				c <- <-c
			}
		}
	}},
	{"textbook", false, func(tenants []string, cost int64, weight func(int) int) func(int) {
		q := newTextbook()
		for i, name := range tenants {
			if weight != nil {
				q.weights[name] = int64(weight(i))
			}
			q.push(name, cost, i)
		}
		return func(n int) {
			for range n {
				tenant, i := q.pop()
				q.push(tenant, cost, i)
			}
		}
	}},
}

func filled(tenants []string, cost int64, weight func(int) int) (*drr.Queue[string, int], []*drr.Tenant[string, int]) {
	q, err := drr.New[string, int](drr.Config{Quantum: 1})
	if err != nil {
		panic(err)
	}
	handles := make([]*drr.Tenant[string, int], len(tenants))
	for i, name := range tenants {
		handles[i] = q.Tenant(name)
		if weight != nil {
			handles[i].SetWeight(float64(weight(i)))
		}
		handles[i].Push(cost, i)
	}
	return q, handles
}

// TestSteadyStateAllocatesNothing is the benchmark's claim of 0 allocs/op.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, s := range subjects[:2] {
		for _, cost := range []int64{1, 100, 1_000_000} {
			cycle := s.start(names(1000), cost, func(i int) int { return 1 + i%4 })
			cycle(10_000)
			require.Zero(t, testing.AllocsPerRun(10_000, func() { cycle(1) }), "%s, cost %d", s.name, cost)
		}
	}
}

func names(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("tenant-%07d", i)
	}
	return names
}

// ring is a ring buffer of a fixed size that is always full but for one place.
type ring struct {
	buf        []int
	head, tail int
}

func newRing(n int) *ring {
	r := &ring{buf: make([]int, n+1)}
	for i := range n {
		r.push(i)
	}
	return r
}

func (r *ring) push(v int) {
	r.buf[r.tail] = v
	if r.tail++; r.tail == len(r.buf) {
		r.tail = 0
	}
}

func (r *ring) pop() int {
	v := r.buf[r.head]
	if r.head++; r.head == len(r.buf) {
		r.head = 0
	}
	return v
}

// textbook is deficit round robin with a quantum of 1 as it is usually written.
type textbook struct {
	queues  map[string]*textbookTenant
	weights map[string]int64
	active  *list.List // of *textbookTenant
	fresh   bool       // the front hasn't had its quantum yet
}

type textbookTenant struct {
	name    string
	items   *list.List // of textbookItem
	deficit int64
}

type textbookItem struct {
	cost int64
	v    int
}

func newTextbook() *textbook {
	return &textbook{queues: make(map[string]*textbookTenant), weights: make(map[string]int64), active: list.New(), fresh: true}
}

func (q *textbook) push(name string, cost int64, v int) {
	t, ok := q.queues[name]
	if !ok {
		t = &textbookTenant{name: name, items: list.New()}
		q.queues[name] = t
	}
	if t.items.Len() == 0 {
		t.deficit = 0
		q.active.PushBack(t)
	}
	t.items.PushBack(textbookItem{cost, v})
}

func (q *textbook) pop() (string, int) {
	for {
		front := q.active.Front()
		t := front.Value.(*textbookTenant)
		if q.fresh {
			t.deficit += max(1, q.weights[t.name])
			q.fresh = false
		}
		head := t.items.Front()
		it := head.Value.(textbookItem)
		if it.cost > t.deficit {
			q.active.MoveToBack(front)
			q.fresh = true
			continue
		}
		t.items.Remove(head)
		t.deficit -= it.cost
		if t.items.Len() == 0 {
			q.active.Remove(front)
			q.fresh = true
		}
		return t.name, it.v
	}
}
