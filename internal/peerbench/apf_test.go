package peerbench

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	"k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// startAPF has one seat, and the request that has it is the item to be taken
// next. Taking it ends the request, upon which the queue set gives the
// seat to another and says so by that one's queueNoteFn.
//
// There is no seat until all are queued: time in the seat is what the queue set
// shares out, and the first request would have been in it all the while.
func startAPF(tenants []string, took tookFunc) system {
	s := newAPF(tenants, took)
	return system{
		cycle: func(n int) {
			for range n {
				tenant := s.pop()
				must(tenant >= 0, "apf has lost an item")
				s.push(tenant)
			}
		},
		drain: func() {
			for s.pop() >= 0 {
			}
		},
	}
}

// apf is a queue set and the requests that it has.
type apf struct {
	set     fq.QueueSet
	tenants []string
	took    tookFunc
	queued  []apfRequest     // by tenant: the one that waits or has the seat
	notes   []fq.QueueNoteFn // by tenant
	seated  int              // the tenant whose request has the seat, or -1
	seq     int
}

type apfRequest struct {
	fq.Request
	seq int
}

func newAPF(tenants []string, took tookFunc) *apf {
	s := &apf{tenants: tenants, took: took, queued: make([]apfRequest, len(tenants)), notes: make([]fq.QueueNoteFn, len(tenants)), seated: -1}
	queuing := fq.QueuingConfig{
		Name:             "peerbench",
		DesiredNumQueues: len(tenants),
		QueueLengthLimit: 50,
		HandSize:         1, // so that the queue is the hash modulo their number
	}
	off := noGauge{}
	c, err := queueset.NewQueueSetFactory(eventclock.Real{}).BeginConstruction(queuing, metrics.RatioedGaugePair{RequestsWaiting: off, RequestsExecuting: off}, off, off)
	must(err == nil, "apf refused its configuration")
	s.set = c.Complete(fq.DispatchingConfig{ConcurrencyLimit: 0, ConcurrencyDenominator: 1})
	for i := range tenants {
		s.notes[i] = func(inQueue bool) {
			if !inQueue {
				s.seated = i
			}
		}
		s.push(i)
	}
	c, err = s.set.BeginConfigChange(queuing)
	must(err == nil, "apf refused its configuration")
	c.Complete(fq.DispatchingConfig{ConcurrencyLimit: 1, ConcurrencyDenominator: 1})
	return s
}

func (s *apf) push(tenant int) {
	r, _ := s.set.StartRequest(context.Background(), &request.WorkEstimate{InitialSeats: 1}, uint64(tenant), s.tenants[tenant], "peerbench", nil, nil, s.notes[tenant])
	must(r != nil, "apf refused an item")
	s.queued[tenant] = apfRequest{r, s.seq}
	s.seq++
}

// pop takes out the item that has the seat and returns its tenant, or -1 if
// there is none.
func (s *apf) pop() int {
	tenant := s.seated
	if tenant < 0 {
		return -1
	}
	r := s.queued[tenant]
	if s.took != nil {
		s.took(s.tenants[tenant], item{tenant, r.seq})
	}
	s.seated = -1
	idle := r.Finish(func() {})
	must(idle == (s.seated < 0), "apf keeps an item from the seat")
	return tenant
}

// noGauge is a gauge that nobody reads.
type noGauge struct{}

func (noGauge) Set(float64)            {}
func (noGauge) Inc()                   {}
func (noGauge) Dec()                   {}
func (noGauge) Add(float64)            {}
func (noGauge) SetToCurrentTime()      {}
func (noGauge) SetDenominator(float64) {}

// TestAPFQueues looks for a queue that tenants share.
func TestAPFQueues(t *testing.T) {
	tenants := names(100)
	s := newAPF(tenants, nil)
	for range 3 {
		queues := s.set.Dump(false).Queues
		require.Len(t, queues, len(tenants))
		for i, q := range queues {
			requests := slices.Concat(q.Requests, q.RequestsExecuting)
			require.Len(t, requests, 1, "queue %d", i)
			require.Equal(t, tenants[i], requests[0].FlowDistinguisher)
		}
		for range 2*len(tenants) + 1 {
			s.push(s.pop())
		}
	}
}
