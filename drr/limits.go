package drr

import (
	"errors"
	"time"
)

// Limits are what a Gate and a Scheduler have in common. The zero value is
// valid: no bounds, no cap, no time limit.
type Limits struct {
	// Config is the queue's: the quantum and the bounds on what waits.
	Config

	// MaxTenantSeats is how many seats one tenant may have in use at once
	// (for a Scheduler, how many jobs in work), unless SetTenantSeats gives it
	// a cap of its own. A tenant at its cap steps aside, others go on. Zero
	// means no cap.
	MaxTenantSeats int

	// MaxWait is the longest that a request waits: then it is refused as
	// WaitedTooLong, even if nothing else happens. It is no limit on how long
	// the request runs. Zero means no limit.
	MaxWait time.Duration

	// TolerableWait bounds the queue by time instead of by a count: MaxDepth
	// becomes the number of requests that were served per second in the last
	// minute, times TolerableWait (Little's law), but at least MinDepth and at most
	// MaxDepth. Zero means that MaxDepth stays as it is.
	TolerableWait time.Duration

	// MinDepth is the least that TolerableWait makes of the bound, since the rate
	// may be low or unknown, as after a start. Zero means 16, or twice the Slots
	// if that is more.
	MinDepth int

	// DebtIdle is how long nothing must have been waiting or running for all
	// debts (see Queue.Charge) to be forgiven. Zero means a second.
	DebtIdle time.Duration

	// Hooks are told what happens.
	Hooks Hooks
}

// Hooks are functions to call, any of them nil, when something happens. They
// are called by the goroutine that brought it about or waited for it, outside
// all locks, so that a slow one delays nobody else.
type Hooks struct {
	// Granted: a request starts, having waited for that long.
	Granted func(tenant string, waited time.Duration)
	// Done: it has ended, having cost that much.
	Done func(tenant string, cost int64)
	// Rejected: a request was refused.
	Rejected func(*RejectedError)
	// Cancelled: its caller's context was done before it started.
	Cancelled func(tenant string)
}

const (
	defaultDebtIdle = time.Second
	defaultMinDepth = 16
)

// check reports every field that is out of range.
func (l Limits) check() error {
	errs := []error{l.Config.validate()}
	atLeast := func(ok bool, field string, value any) {
		if !ok {
			errs = append(errs, &ValueError{Package: "drr", Field: "Limits." + field, Value: value, Want: "0 or more"})
		}
	}
	atLeast(l.MaxTenantSeats >= 0, "MaxTenantSeats", l.MaxTenantSeats)
	atLeast(l.MaxWait >= 0, "MaxWait", l.MaxWait)
	atLeast(l.TolerableWait >= 0, "TolerableWait", l.TolerableWait)
	atLeast(l.MinDepth >= 0, "MinDepth", l.MinDepth)
	atLeast(l.DebtIdle >= 0, "DebtIdle", l.DebtIdle)
	if l.MaxDepth > 0 && l.MinDepth > l.MaxDepth {
		errs = append(errs, &ValueError{Package: "drr", Field: "Limits.MinDepth", Value: l.MinDepth, Want: "at most MaxDepth"})
	}
	return errors.Join(errs...)
}
