package sim

import "time"

// An engine runs one workload through one policy, event by event.
type engine struct {
	policy policy
	now    time.Duration
	events eventHeap
	seq    uint64
	err    error

	arrivals []arrivals
	services []service
	running  []running // by worker
	idle     []int32   // workers with nothing to do

	record recorder
}

// running is what a worker does.
type running struct {
	request
	started time.Duration
}

// newEngine prepares a run of sc, which must be valid, with its tenants
// expanded.
func newEngine(sc *Scenario, tenants []Tenant, p policy, seed uint64) *engine {
	e := &engine{
		policy:   p,
		events:   make(eventHeap, 0, len(tenants)+sc.Workers),
		arrivals: make([]arrivals, len(tenants)),
		services: make([]service, len(tenants)),
		running:  make([]running, sc.Workers),
		idle:     make([]int32, sc.Workers),
		record:   newRecorder(sc, tenants),
	}
	for w := range e.idle {
		e.idle[w] = int32(sc.Workers - 1 - w)
	}
	for i, t := range tenants {
		e.arrivals[i] = arrivals{src: stream(seed, i, arrivalStream), rate: t.Rate, bursts: t.Bursts, end: sc.Duration}
		e.services[i] = service{
			src:  stream(seed, i, serviceStream),
			mean: sc.Service.Mean,
			same: sc.Service.Distribution == Constant,
		}
		e.scheduleArrival(i)
	}
	return e
}

// step runs the next event and reports whether there was one.
func (e *engine) step() bool {
	if len(e.events) == 0 || e.err != nil {
		return false
	}
	ev := e.events.pop()
	e.now = ev.at
	if ev.who >= 0 {
		e.arrive(int(ev.who))
	} else {
		e.finish(^ev.who)
	}
	return true
}

func (e *engine) schedule(at time.Duration, who int32) {
	e.seq++
	e.events.push(event{at: at, seq: e.seq, who: who})
}

func (e *engine) scheduleArrival(tenant int) {
	if at, ok := e.arrivals[tenant].next(e.now); ok {
		e.schedule(at, int32(tenant))
	}
}

func (e *engine) arrive(tenant int) {
	// The service time is drawn for refused requests as well, so that the next
	// request has the same under every policy.
	r := request{tenant: tenant, arrived: e.now, service: e.services[tenant].next()}
	e.scheduleArrival(tenant)
	out, err := e.policy.offer(e.now, r)
	if err != nil {
		e.err = err
		return
	}
	e.record.arrived(r, out)
	if out == admitted && len(e.idle) > 0 {
		e.start()
	}
}

func (e *engine) finish(worker int32) {
	e.record.finished(e.now, e.running[worker])
	e.running[worker] = running{}
	e.idle = append(e.idle, worker)
	e.start()
}

// start gives the next request to an idle worker. There must be one.
func (e *engine) start() {
	r, ok := e.policy.next()
	if !ok {
		return
	}
	last := len(e.idle) - 1
	worker := e.idle[last]
	e.idle = e.idle[:last]
	e.running[worker] = running{request: r, started: e.now}
	e.record.started(e.now, r)
	e.schedule(e.now+r.service, ^worker)
}
