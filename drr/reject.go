package drr

import (
	"errors"
	"fmt"
	"time"
)

// A Reason says why a request was refused before it ran. Each has an error that
// matches it with errors.Is.
type Reason uint8

const (
	// TenantFull: the tenant has as many requests waiting as it may. Others'
	// requests are still taken; its own client should slow down. ErrTenantFull.
	TenantFull Reason = 1 + iota
	// Full: as many requests wait as may over all tenants. ErrFull.
	Full
	// WaitedTooLong: the request waited for MaxWait and was not started. The
	// caller should do without rather than retry at once. ErrWaitedTooLong.
	WaitedTooLong
	// NeverFits: the request takes more seats than there are, or than its tenant
	// may have. ErrNeverFits.
	NeverFits
	// Closed: Shutdown or Close was called. ErrClosed.
	Closed
)

var (
	// ErrRejected matches every RejectedError.
	ErrRejected = errors.New("drr: rejected")
	// ErrWaitedTooLong matches a RejectedError with that reason.
	ErrWaitedTooLong = errors.New("drr: waited too long")
	// ErrNeverFits matches a RejectedError with that reason.
	ErrNeverFits = errors.New("drr: takes more seats than there can be")
	// ErrClosed matches a RejectedError with that reason. Scheduler.Next returns
	// it when there will be no more work.
	ErrClosed = errors.New("drr: closed")
)

// reasons has each Reason's word and error.
var reasons = [...]struct {
	word string
	err  error
}{
	TenantFull:    {"tenant queue full", ErrTenantFull},
	Full:          {"queue full", ErrFull},
	WaitedTooLong: {"waited too long", ErrWaitedTooLong},
	NeverFits:     {"never fits", ErrNeverFits},
	Closed:        {"closed", ErrClosed},
}

// String returns the reason in words, as in "tenant queue full".
func (r Reason) String() string {
	if int(r) < len(reasons) && reasons[r].err != nil {
		return reasons[r].word
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// Never is the RetryAfter of a request that would be refused however long its
// client waits.
const Never time.Duration = -1

// A RejectedError reports that a request was refused before it ran, and that
// nothing of it is left behind. errors.Is(err, ErrRejected) holds for each, and
// so does errors.Is with the error of its reason.
type RejectedError struct {
	Tenant string
	Reason Reason
	// RetryAfter is an estimate of the time until the same request would be
	// taken, 1 ms at least and 1 minute at most, or Never. It comes from the
	// costs that wait and the rate at which they were served in the last
	// minute, and is 1 s while that isn't known.
	RetryAfter time.Duration
}

func (e *RejectedError) Error() string {
	if e.RetryAfter == Never {
		return fmt.Sprintf("drr: tenant %q rejected: %s; retrying won't help", e.Tenant, e.Reason)
	}
	return fmt.Sprintf("drr: tenant %q rejected: %s; retry after %s", e.Tenant, e.Reason, e.RetryAfter)
}

// Is reports whether target is ErrRejected or the error of e's reason.
func (e *RejectedError) Is(target error) bool {
	return target == ErrRejected || int(e.Reason) < len(reasons) && target == reasons[e.Reason].err
}
