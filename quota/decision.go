package quota

import (
	"fmt"
	"time"

	"github.com/fairlane-go/fairlane/internal/invalid"
)

// A ValueError reports an argument or a configuration field that is out of
// range, by name and value. Nothing has changed when a function returns one.
// Several can come joined; errors.As finds the first.
type ValueError = invalid.ValueError

// Never is the RetryAfter of a refusal that waiting doesn't cure: the cost is
// above the burst, the bucket never refills, or the instant lies beyond what a
// time.Duration can express (292 years).
const Never time.Duration = -1

// A Decision is the answer to a request: a small value, nothing to release. The
// zero Decision is a refusal without a reason; it comes with an error.
type Decision struct {
	// OK says that the request is admitted and its cost taken.
	OK bool
	// Reason is why it was refused, NotRefused if it wasn't.
	Reason Reason
	// Limit is the most tokens that could ever be there at once: the burst of
	// the bucket that decided.
	Limit int64
	// Remaining is how many whole tokens are left after this decision, 0 to
	// Limit. A debt shows as 0 here, and in RetryAfter.
	Remaining int64
	// RetryAfter is the shortest wait, counted from the request's now, after
	// which the same request would be admitted if nothing else is taken until
	// then: 0 if it was admitted, at least 1 ns if it was refused, or Never.
	RetryAfter time.Duration
}

// RetryAfterSeconds returns the value of the HTTP header field Retry-After (RFC
// 9110, section 10.2.3): the wait in whole seconds, rounded up so that a client
// that obeys isn't refused again, and thus 1 or more. Without one to send, since
// the request was admitted or no wait would help, it returns 0 and false.
func (d Decision) RetryAfterSeconds() (seconds int64, ok bool) {
	if d.OK || d.RetryAfter <= 0 {
		return 0, false
	}
	seconds = int64(d.RetryAfter / time.Second)
	if d.RetryAfter%time.Second != 0 {
		seconds++
	}
	return seconds, true
}

// A Reason is why a request was refused.
type Reason uint8

const (
	// NotRefused is the zero Reason: the request was admitted.
	NotRefused Reason = iota
	// RateLimited means that the tokens aren't there yet.
	RateLimited
	// TooLarge means that the cost is above the burst: it never fits, unless
	// the limit changes.
	TooLarge
	// Exhausted means that the tokens aren't there and the rate is 0: none will
	// come, unless by a refund or a change of the limit.
	Exhausted
	// Overflow means that the Limiter tracks as many tenants as it may, and the
	// bucket that all further ones share lacks the tokens.
	Overflow
)

var reasons = [...]string{
	NotRefused:  "not refused",
	RateLimited: "rate limited",
	TooLarge:    "too large",
	Exhausted:   "exhausted",
	Overflow:    "overflow",
}

// String returns the reason in words, fit for a log line or a metric's label.
func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}
