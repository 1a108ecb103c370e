// Package peerbench sets Fairlane beside other systems, in one run on one
// machine. It has benchmarks and the tests of their adapters, and no API.
//
// It is a module of its own, and in no workspace, because it needs the
// dependencies of Kubernetes and Temporal, which take minutes to build the first
// time. In this folder:
//
//	GOWORK=off go test ./...
//	GOWORK=off go test -run '^$' -bench . -benchtime 200ms ./...
//
// # What one operation is
//
// In [BenchmarkPushPop] every tenant has one item waiting; an operation takes
// the next item out and puts one in for the same tenant. All tenants have weight
// 1 and all items cost 1. The systems do different work for that:
//
//   - fairlane, fairlane-byname: drr.Queue, through handles and by tenant name.
//     It has no lock. Every other system here may be used by several goroutines,
//     so fairlane-locked is by name behind a mutex, locked for the push and for
//     the pop.
//   - peertaskqueue: PushTasks, PopTasks and TasksDone of
//     github.com/ipfs/go-peertaskqueue. It locks, stamps each task with the time,
//     merges duplicates, and counts the work that each tenant has under way, which
//     takes the third call. That work decides who is next, so one task of each
//     tenant is under way.
//   - temporal: the interleaved weighted round robin scheduler of
//     go.temporal.io/server, common/tasks. A goroutine of its own hands tasks on to
//     another scheduler. That one is ours here, and submits the tenant's next task
//     at once, from that goroutine, so that none is woken and nobody contends.
//     It goes through the channels of all tenants, those that are empty too; here
//     none is, its best case. Its first task of a tenant, which sorts all tenants
//     again, isn't in the numbers.
//   - apf: the queue set of Kubernetes' API Priority and Fairness, k8s.io/apiserver,
//     with a queue for each tenant and one seat. It decides when a request may
//     run, and so an operation is the end of the request that runs, the dispatch
//     of the next, and the arrival of another. Each of these goes through all
//     queues. A server has a goroutine waiting for each request, and metrics; here
//     one goroutine does all, and the metrics are off.
//
// In [BenchmarkAllow] an operation is one decision on one token, by quota.Bucket
// or by the Limiter of golang.org/x/time/rate. The Bucket's says in addition how
// many tokens are left and, of a refusal, why and for how long; the Limiter's is
// a bool. The Limiter holds a mutex, the Bucket doesn't.
package peerbench
