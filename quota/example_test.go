package quota_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/fairlane-go/fairlane/quota"
)

// Two requests a second, three at once. A service passes time.Since(start).
func ExampleBucket() {
	b, err := quota.NewBucket(quota.Limit{Rate: quota.PerSecond(2), Burst: 3})
	if err != nil {
		panic(err)
	}
	for _, now := range []time.Duration{0, 0, 0, 0, 500 * time.Millisecond} {
		d, err := b.Allow(now, 1)
		if err != nil {
			panic(err)
		}
		fmt.Println(now, d.OK, d.Remaining, d.Reason, d.RetryAfter)
	}
	// Output:
	// 0s true 2 not refused 0s
	// 0s true 1 not refused 0s
	// 0s true 0 not refused 0s
	// 0s false 0 rate limited 500ms
	// 500ms true 0 not refused 0s
}

// A request's true cost is known only afterwards: what it used beyond the
// estimate is charged, and is paid back before anything else is admitted.
func ExampleBucket_Charge() {
	b, err := quota.NewBucket(quota.Limit{Rate: quota.Per(600, time.Minute), Burst: 100})
	if err != nil {
		panic(err)
	}
	d, _ := b.Allow(0, 80)
	fmt.Println(d.OK, b.Balance(0))

	_ = b.Charge(0, 50) // it used 130
	fmt.Println(b.Balance(0))

	d, _ = b.Allow(0, 1)
	fmt.Println(d.OK, d.Remaining, d.RetryAfter)
	// Output:
	// true 20
	// -30
	// false 0 3.1s
}

// What was taken for a request that wasn't served, or not needed in full, goes
// back.
func ExampleBucket_Refund() {
	b, err := quota.NewBucket(quota.Limit{Rate: quota.PerSecond(10), Burst: 100})
	if err != nil {
		panic(err)
	}
	_, _ = b.Allow(0, 80)
	_ = b.Refund(0, 60) // it used 20
	fmt.Println(b.Balance(0))
	_ = b.Refund(0, 60)
	fmt.Println(b.Balance(0))
	// Output:
	// 80
	// 100
}

// A new limit leaves the balance as it is.
func ExampleBucket_SetLimit() {
	b, err := quota.NewBucket(quota.Limit{Rate: quota.PerSecond(1), Burst: 10})
	if err != nil {
		panic(err)
	}
	_, _ = b.Allow(0, 6)
	_ = b.SetLimit(0, quota.Limit{Rate: quota.PerSecond(10), Burst: 100})
	fmt.Println(b.Balance(0), b.Balance(time.Second))
	// Output: 4 14
}

// One tenant's burst leaves the other's bucket alone.
func ExampleLimiter() {
	l, err := quota.NewLimiter(quota.LimiterConfig{
		Default: quota.Limit{Rate: quota.PerSecond(1), Burst: 2},
	})
	if err != nil {
		panic(err)
	}
	for _, tenant := range []string{"noisy", "noisy", "noisy", "quiet"} {
		d, err := l.Allow(0, tenant, 1)
		if err != nil {
			panic(err)
		}
		fmt.Println(tenant, d.OK)
	}
	// Output:
	// noisy true
	// noisy true
	// noisy false
	// quiet true
}

// A tenant that pays for more gets more; the others stay at the default.
func ExampleLimiter_SetLimit() {
	l, err := quota.NewLimiter(quota.LimiterConfig{
		Default: quota.Limit{Rate: quota.PerSecond(1), Burst: 2},
	})
	if err != nil {
		panic(err)
	}
	if err := l.SetLimit(0, "gold", quota.Limit{Rate: quota.PerSecond(50), Burst: 100}); err != nil {
		panic(err)
	}
	for _, tenant := range []string{"gold", "other"} {
		d, err := l.Allow(0, tenant, 1)
		if err != nil {
			panic(err)
		}
		fmt.Println(tenant, d.Limit, d.Remaining)
	}
	// Output:
	// gold 100 99
	// other 2 1
}

// The header's value is rounded up, so that a client that obeys it gets in, and
// there is none if no wait would help.
func ExampleDecision_RetryAfterSeconds() {
	b, err := quota.NewBucket(quota.Limit{Rate: quota.Per(2, 3*time.Second), Burst: 2})
	if err != nil {
		panic(err)
	}
	_, _ = b.Allow(0, 2)
	for _, cost := range []int64{1, 3} {
		d, _ := b.Allow(0, cost)
		if seconds, ok := d.RetryAfterSeconds(); ok {
			fmt.Println("429", d.Reason, "Retry-After:", seconds)
		} else {
			fmt.Println("429", d.Reason, d.RetryAfter == quota.Never)
		}
	}
	// Output:
	// 429 rate limited Retry-After: 2
	// 429 too large true
}

func ExamplePer() {
	fmt.Println(quota.Per(600, time.Minute), "=", quota.PerSecond(10))
	// Output: 600 per 1m0s = 10 per 1s
}

// All that is wrong with a limit is reported at once.
func ExampleValueError() {
	_, err := quota.NewBucket(quota.Limit{Rate: quota.PerSecond(-1), Burst: -5})
	fmt.Println(err)
	var v *quota.ValueError
	fmt.Println(errors.As(err, &v), v.Field, v.Value)
	// Output:
	// quota: Limit.Rate.Tokens is -1, want 0 or more, finite
	// quota: Limit.Burst is -5, want 0 to 2^40
	// true Limit.Rate.Tokens -1
}
