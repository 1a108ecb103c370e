package peerbench

import (
	"github.com/ipfs/go-peertaskqueue"
	"github.com/ipfs/go-peertaskqueue/peertask"
	"github.com/libp2p/go-libp2p/core/peer"
)

// startPeerTaskQueue keeps one task of each tenant under way: the oldest of them
// is done whenever one is taken. The queue prefers tenants with less work under
// way, which is how they take turns. With none under way all would be even, and
// the few that the heap happens to bring up would be served over and over.
//
// A task's topic must differ from those of the same tenant that wait or run, or
// it is merged with them, so it is the item's number.
func startPeerTaskQueue(tenants []string, took tookFunc) system {
	type started struct {
		peer.ID
		*peertask.Task
	}
	q := peertaskqueue.New()
	pop := func() (s started, ok bool) {
		from, popped, _ := q.PopTasks(1)
		if len(popped) == 0 {
			return started{}, false
		}
		must(len(popped) == 1, "peertaskqueue gave two tasks for one's work")
		return started{from, popped[0]}, true
	}
	seq := -len(tenants) // those below 0 are under way at first
	push := func(to peer.ID, tenant int) {
		q.PushTasks(to, peertask.Task{Topic: seq, Work: 1, Data: tenant})
		seq++
	}

	underWay, oldest := make([]started, len(tenants)), 0
	for i, name := range tenants {
		push(peer.ID(name), i)
	}
	for i := range underWay {
		s, ok := pop()
		must(ok, "peertaskqueue has lost a task")
		underWay[i] = s
	}
	for i, name := range tenants {
		push(peer.ID(name), i)
	}

	take := func() (s started, ok bool) {
		if s, ok = pop(); ok && took != nil {
			took(string(s.ID), item{s.Data.(int), s.Topic.(int)})
		}
		return s, ok
	}
	return system{
		cycle: func(n int) {
			for range n {
				s, ok := take()
				must(ok, "peertaskqueue has lost an item")
				q.TasksDone(underWay[oldest].ID, underWay[oldest].Task)
				underWay[oldest] = s
				if oldest++; oldest == len(underWay) {
					oldest = 0
				}
				push(s.ID, s.Data.(int))
			}
		},
		drain: func() {
			for {
				if _, ok := take(); !ok { // one with nothing waiting comes last
					return
				}
			}
		},
	}
}
