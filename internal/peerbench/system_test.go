package peerbench

import "fmt"

// An item is the seq-th that was put in, counting from 0, for a tenant.
type item struct{ tenant, seq int }

// A system is a queue under test with one item of each tenant waiting: the
// items 0, 1, 2 and so on, in the order of the tenants.
type system struct {
	// cycle takes n items out, one after the other, and after each puts the
	// next in for the same tenant.
	cycle func(n int)
	// drain takes out what waits.
	drain func()
	// stop ends the system's goroutines. It may be nil.
	stop func()
}

// A subject is a system that can be started.
type subject struct {
	name  string
	start func(tenants []string, took tookFunc) system
}

// A tookFunc is called with each item that is taken out and the name of the
// tenant that the system has it from. It may be nil.
type tookFunc func(name string, it item)

var subjects = []subject{
	{"fairlane", startFairlane},
	{"fairlane-byname", startFairlaneByName},
	{"fairlane-locked", startFairlaneLocked},
	{"peertaskqueue", startPeerTaskQueue},
	{"temporal", startTemporal},
	{"apf", startAPF},
}

func names(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("tenant-%07d", i)
	}
	return names
}

// must stops a benchmark whose numbers would mean nothing.
func must(ok bool, what string) {
	if !ok {
		panic(what)
	}
}
