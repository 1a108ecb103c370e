package peerbench

import (
	"go.temporal.io/server/common/backoff"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/tasks"
)

// startTemporal closes the loop inside of the dispatcher's goroutine: the task
// it hands on submits the tenant's next one, in place of a worker. Between runs
// the dispatcher is held while it hands on a task. A task that got lost would
// show as a run that never ends, and be stopped by the timeout of go test.
//
// A task that is submitted while no other is on its way goes past the queues to
// the next scheduler, in the submitter's goroutine. So that the first tenant's
// doesn't, a task of nobody goes ahead, and while it is on its way submits theirs.
func startTemporal(tenants []string, took tookFunc) system {
	l := &temporalLoop{took: took, runs: make(chan temporalRun), done: make(chan struct{}, 1)}
	l.scheduler = tasks.NewInterleavedWeightedRoundRobinScheduler(
		tasks.InterleavedWeightedRoundRobinSchedulerOptions[*temporalTask, string]{
			TaskChannelKeyFn: func(t *temporalTask) string { return t.name },
			ChannelWeightFn:  func(string) int { return 1 },
		},
		tasks.Scheduler[*temporalTask](l),
		log.NewNoopLogger(),
	)
	l.scheduler.Start()
	l.tenants = tenants
	l.scheduler.Submit(nil)
	run := func(r temporalRun) {
		if r.n > 0 {
			l.runs <- r
			<-l.done
		}
	}
	return system{
		cycle: func(n int) { run(temporalRun{n: n, refill: true}) },
		drain: func() { run(temporalRun{n: len(tenants)}) },
		stop: func() {
			close(l.runs)
			l.scheduler.Stop()
		},
	}
}

// A temporalRun lets n tasks through, each of which submits the next of its
// tenant if refill is set.
type temporalRun struct {
	n      int
	refill bool
}

// A temporalLoop is the scheduler that Temporal's hands its tasks to. But for
// the task of nobody, it is called by one goroutine only, the dispatcher's.
type temporalLoop struct {
	scheduler tasks.Scheduler[*temporalTask]
	tenants   []string
	took      tookFunc
	run       temporalRun
	runs      chan temporalRun
	done      chan struct{} // of one place, as the last task may be the very last
	seq       int
}

func (l *temporalLoop) Submit(t *temporalTask) {
	if t == nil {
		for i, name := range l.tenants {
			l.submit(name, i)
		}
		return
	}
	if l.run.n == 0 {
		r, ok := <-l.runs
		if !ok {
			return // stopped
		}
		l.run = r
	}
	if l.took != nil {
		l.took(t.name, t.item)
	}
	if l.run.refill {
		l.submit(t.name, t.tenant)
	}
	if l.run.n--; l.run.n == 0 {
		l.done <- struct{}{}
	}
}

func (l *temporalLoop) submit(name string, tenant int) {
	t := &temporalTask{item: item{tenant, l.seq}, name: name}
	l.seq++
	l.scheduler.Submit(t)
}

func (l *temporalLoop) TrySubmit(t *temporalTask) bool {
	l.Submit(t)
	return true
}

func (l *temporalLoop) Start() {}
func (l *temporalLoop) Stop()  {}

// A temporalTask is an item as Temporal wants it. Its methods are those of
// tasks.Task; only Abort is called, when the scheduler stops.
type temporalTask struct {
	item
	name string
}

func (*temporalTask) Execute() error                   { return nil }
func (*temporalTask) HandleErr(err error) error        { return err }
func (*temporalTask) IsRetryableError(error) bool      { return false }
func (*temporalTask) RetryPolicy() backoff.RetryPolicy { return backoff.DisabledRetryPolicy }
func (*temporalTask) Abort()                           {}
func (*temporalTask) Cancel()                          {}
func (*temporalTask) Ack()                             {}
func (*temporalTask) Nack(error)                       {}
func (*temporalTask) Reschedule()                      {}
func (*temporalTask) State() tasks.State               { return tasks.TaskStatePending }
