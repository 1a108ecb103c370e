package drr_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlane-go/fairlane/drr"
)

// A tenant with a long backlog does not delay the others.
func ExampleQueue() {
	q, err := drr.New[string, string](drr.Config{})
	if err != nil {
		panic(err)
	}
	for i := range 3 {
		q.Push("noisy", 1, fmt.Sprint("n", i))
	}
	q.Push("quiet", 1, "q0")

	for {
		tenant, job, ok := q.Pop()
		if !ok {
			break
		}
		fmt.Println(tenant, job)
	}
	// Output:
	// noisy n0
	// quiet q0
	// noisy n1
	// noisy n2
}

// Costs count, not items: while both have work, each gets half of it.
func ExampleQueue_Push() {
	q, _ := drr.New[string, string](drr.Config{})
	for range 2 {
		q.Push("reports", 300, "large")
	}
	for range 6 {
		q.Push("lookups", 100, "small")
	}
	for q.Len() > 0 {
		tenant, _, _ := q.Pop()
		fmt.Print(tenant, " ")
	}
	// Output: lookups lookups reports lookups lookups lookups reports lookups
}

// Bounds keep one tenant's burst from filling the queue for all.
func ExampleConfig() {
	q, _ := drr.New[string, int](drr.Config{MaxDepth: 1000, MaxTenantDepth: 2})
	for i := range 3 {
		if _, err := q.Push("a", 1, i); err != nil {
			fmt.Println(err)
		}
	}
	_, err := q.Push("b", 1, 0)
	fmt.Println(err)

	_, err = drr.New[string, int](drr.Config{Quantum: -1})
	fmt.Println(err)
	// Output:
	// drr: the tenant's queue is full
	// <nil>
	// drr: Config.Quantum is -1, want 1 to 2^40, or 0 for the default
}

// A tenant that says 10 and uses 100 waits out the difference.
func ExampleQueue_Charge() {
	q, _ := drr.New[string, int](drr.Config{Quantum: 10})
	for i := range 3 {
		q.Push("understates", 10, i)
	}
	for i := range 12 {
		q.Push("honest", 10, i)
	}
	for q.Len() > 0 {
		tenant, _, _ := q.Pop()
		fmt.Print(tenant[:1], " ")
		if tenant == "understates" {
			q.Charge(tenant, 100-10)
		}
	}
	// Output: u h h h h h h h h h h u h h u
}

// A weight is a share, in proportion to the others'.
func ExampleTenant_SetWeight() {
	q, _ := drr.New[string, int](drr.Config{})
	gold, plain := q.Tenant("gold"), q.Tenant("plain")
	gold.SetWeight(3)
	for i := range 6 {
		gold.Push(1, i)
		plain.Push(1, i)
	}
	for range 8 {
		tenant, _, _ := q.Pop()
		fmt.Print(tenant, " ")
	}
	// Output: gold gold gold plain gold gold gold plain
}

// A caller that has given up takes its item out; its place is free at once.
func ExampleQueue_Cancel() {
	q, _ := drr.New[string, string](drr.Config{MaxTenantDepth: 1})
	item, _ := q.Push("a", 1, "given up")
	fmt.Println(q.Cancel(item), q.Len())
	_, err := q.Push("a", 1, "next")
	fmt.Println(err)
	fmt.Println(q.Cancel(item), q.Len())
	// Output:
	// true 0
	// <nil>
	// false 1
}

// A tenant at a limit of its own steps aside, and the others go on.
func ExampleTenant_Block() {
	q, _ := drr.New[string, string](drr.Config{})
	a := q.Tenant("a")
	a.Push(1, "a0")
	a.Push(1, "a1")
	q.Push("b", 1, "b0")

	_, job, _ := q.Pop()
	fmt.Println(job)
	a.Block() // it may have one job running
	_, job, _ = q.Pop()
	fmt.Println(job)
	_, _, ok := q.Pop()
	fmt.Println(ok)
	a.Unblock() // the job is done
	_, job, _ = q.Pop()
	fmt.Println(job)
	// Output:
	// a0
	// b0
	// false
	// a1
}

// Three lines in front of any work: who may run next is decided fairly.
func ExampleGate() {
	gate, err := drr.NewGate(drr.GateConfig{Slots: 8, Limits: drr.Limits{MaxWait: 2 * time.Second}})
	if err != nil {
		panic(err)
	}
	work := func(ctx context.Context, tenant string) error {
		grant, err := gate.Acquire(ctx, drr.Request{Tenant: tenant})
		if err != nil {
			return err
		}
		defer grant.Release()
		return nil // the work itself
	}
	fmt.Println(work(context.Background(), "a"))

	gate.Close()
	err = work(context.Background(), "a")
	fmt.Println(errors.Is(err, drr.ErrClosed), err)
	// Output:
	// <nil>
	// true drr: tenant "a" rejected: closed; retrying won't help
}

// A pool of workers that pull. What a job cost in truth is settled when it is
// done.
func ExampleScheduler() {
	s, err := drr.NewScheduler(drr.SchedulerConfig[string]{})
	if err != nil {
		panic(err)
	}
	for _, job := range []string{"big", "bigger", "biggest"} {
		s.Submit("batch", 1, job)
	}
	s.Submit("web", 1, "page")

	worker := func() {
		for {
			job, err := s.Next(context.Background())
			if err != nil {
				return // drr.ErrClosed
			}
			fmt.Println(job.Tenant, job.Value)
			job.Done(1)
		}
	}
	go worker()
	s.Shutdown(context.Background())
	// Output:
	// batch big
	// web page
	// batch bigger
	// batch biggest
}
