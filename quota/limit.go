package quota

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// The largest values a limit and a request can have, in tokens.
const (
	MaxBurst int64 = 1 << 40
	MaxCost  int64 = 1 << 40
	// MaxRate is the highest rate, in tokens per second.
	MaxRate = 1e15
)

// A Rate is how fast a bucket refills: Tokens every Per, evenly, not in steps.
// The zero Rate never refills.
//
// A whole number of tokens in any span is kept exactly as far as the package's
// documentation says. So is a fraction with a small divisor, although a float
// can't hold it: Tokens 1666.6666666666667 a second counts as the 5000/3 it was
// rounded from, because a bucket takes the simplest fraction within one part in
// 2^40 once the next would exceed p = 1,024.
type Rate struct {
	// Tokens is 0 or more, finite.
	Tokens float64
	// Per is the span in which they come. Zero means a second.
	Per time.Duration
}

// Per returns the rate of tokens every d, as in Per(600, time.Minute).
func Per(tokens float64, d time.Duration) Rate { return Rate{Tokens: tokens, Per: d} }

// PerSecond returns the rate of tokens every second.
func PerSecond(tokens float64) Rate { return Rate{Tokens: tokens, Per: time.Second} }

// String returns the rate in words: "600 per 1m0s".
func (r Rate) String() string { return fmt.Sprintf("%v per %v", r.Tokens, r.per()) }

func (r Rate) per() time.Duration {
	if r.Per == 0 {
		return time.Second
	}
	return r.Per
}

// A Limit is what a bucket enforces: no more than Burst tokens at once and no
// more than Rate over time. The zero Limit admits nothing.
type Limit struct {
	// Rate is how fast tokens come. Zero means never: what the bucket holds is
	// all there is.
	Rate Rate
	// Burst is the most tokens the bucket holds, and so the largest cost it
	// ever admits: 0 to MaxBurst. Zero admits nothing, whatever the rate.
	Burst int64
}

// wantFill is said of a rate so low for its burst that the units don't fit.
const wantFill = "0, or enough to fill Burst within 36 years"

// validate reports every problem of l, whose fields' names start with prefix.
func (l Limit) validate(prefix string) error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, &ValueError{Package: "quota", Field: prefix + field, Value: value, Want: want})
	}
	tokensOK := l.Rate.Tokens >= 0 && l.Rate.Tokens <= math.MaxFloat64 // false for NaN
	if !tokensOK {
		bad(".Rate.Tokens", l.Rate.Tokens, "0 or more, finite")
	}
	if l.Rate.Per < 0 {
		bad(".Rate.Per", l.Rate.Per, "0 (a second) or more")
	}
	if l.Burst < 0 || l.Burst > MaxBurst {
		bad(".Burst", l.Burst, "0 to 2^40")
	}
	if tokensOK && l.Rate.Per >= 0 && l.Rate.Tokens/l.Rate.per().Seconds() > MaxRate {
		bad(".Rate", l.Rate, "at most 1e15 per second")
	}
	return errors.Join(errs...)
}

func checkCost(cost int64) error {
	if cost < 1 || cost > MaxCost {
		return &ValueError{Package: "quota", Field: "cost", Value: cost, Want: "1 to 2^40"}
	}
	return nil
}
