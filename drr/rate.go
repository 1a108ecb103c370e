package drr

import "time"

// A rate measures the capacity of what is behind a queue: how much was served
// per second of the last minute, counting only the time in which requests
// waited. Without a queue the throughput says what was asked for, not what
// could be served.
type rate struct {
	seconds [60]struct {
		at    int64 // the second, since the epoch, that this is of
		cost  int64
		items int64
		busy  time.Duration
	}
	busySince time.Duration
	busy      bool

	endedCost, endedItems int64 // not booked yet
	looked                bool  // at the clock, since a request ended

	// The result, as of the second asOf.
	asOf        int64
	cost, items float64 // per second; 0 if nothing was measured
}

// ended counts a request that has ended while others waited, and reports
// whether at should be called for it now. Mostly it shouldn't: to read the clock
// would be half of the cost, and the next request to come does so anyway.
func (r *rate) ended(cost int64) (look bool) {
	r.endedCost += cost
	r.endedItems++
	look, r.looked = !r.looked, false
	return look
}

// at books what has passed and ended since the time was known last.
func (r *rate) at(now time.Duration) {
	r.looked = true
	if r.busy {
		r.pass(now)
	}
	if r.endedItems > 0 {
		s := &r.seconds[r.second(now)]
		s.cost += r.endedCost
		s.items += r.endedItems
		r.endedCost, r.endedItems = 0, 0
	}
}

// waiting says whether requests wait from now on.
func (r *rate) waiting(now time.Duration, busy bool) {
	r.at(now)
	r.busy, r.busySince = busy, now
}

// pass books the time since busySince, second by second.
func (r *rate) pass(now time.Duration) {
	// Of a long stretch only the last minute will be looked at.
	r.busySince = max(r.busySince, now.Truncate(time.Second)-59*time.Second)
	for r.busySince < now {
		end := min(now, r.busySince.Truncate(time.Second)+time.Second)
		r.seconds[r.second(r.busySince)].busy += end - r.busySince
		r.busySince = end
	}
}

// second returns the index of now's second, emptied if it was an older one's.
func (r *rate) second(now time.Duration) int {
	at := int64(now / time.Second)
	i := int(at % int64(len(r.seconds)))
	if s := &r.seconds[i]; s.at != at {
		s.at, s.cost, s.items, s.busy = at, 0, 0, 0
	}
	return i
}

// measure brings cost and items up to date, once in each second at most. They
// are 0 until there was a second's worth of waiting to measure in.
func (r *rate) measure(now time.Duration) {
	second := int64(now/time.Second) + 1 // so that 0 is none
	if second == r.asOf {
		return
	}
	r.asOf = second
	r.at(now)
	var cost, items, busy float64
	for i := range r.seconds {
		if s := &r.seconds[i]; second-1-s.at < int64(len(r.seconds)) {
			cost += float64(s.cost)
			items += float64(s.items)
			busy += s.busy.Seconds()
		}
	}
	r.cost, r.items = 0, 0
	if busy >= 1 {
		r.cost, r.items = cost/busy, items/busy
	}
}
