package sim

import (
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/fairlane-go/fairlane/drr"
)

// What a tenant's random streams are for.
const (
	arrivalStream = iota
	serviceStream
)

// stream returns the random source of one tenant for one purpose. Tests hold
// neighbouring streams against each other.
func stream(seed uint64, tenant, purpose int) rand.Source {
	return rand.NewPCG(seed, uint64(tenant)<<1+uint64(purpose))
}

// An arrivals is a Poisson process whose rate is constant between the edges of
// its tenant's bursts.
type arrivals struct {
	src    rand.Source
	rate   float64 // per second, outside bursts
	bursts []Burst // in order, apart from each other
	end    time.Duration
}

// next returns the first arrival after now, or false if there is none before
// the end. Where the rate changes the wait is drawn anew: exponential waits have
// no memory.
func (a *arrivals) next(now time.Duration) (time.Duration, bool) {
	for now < a.end {
		rate, until := a.rate, a.end
		for len(a.bursts) > 0 && now >= a.bursts[0].To {
			a.bursts = a.bursts[1:]
		}
		if len(a.bursts) > 0 {
			if b := a.bursts[0]; now < b.From {
				until = b.From
			} else {
				rate, until = rate*b.Factor, b.To
			}
		}
		if rate > 0 {
			wait := distuv.Exponential{Rate: rate / float64(time.Second), Src: a.src}.Rand()
			if wait = math.Round(wait); wait < float64(until-now) {
				return now + time.Duration(wait), true
			}
		}
		now = until
	}
	return 0, false
}

// A service draws service times, each 1 ns at least and drr.MaxCost at most.
type service struct {
	src  rand.Source
	mean time.Duration
	same bool // all take the mean
}

func (s *service) next() time.Duration {
	if s.same {
		return s.mean
	}
	t := distuv.Exponential{Rate: 1 / float64(s.mean), Src: s.src}.Rand()
	return time.Duration(min(max(math.Round(t), 1), drr.MaxCost))
}
