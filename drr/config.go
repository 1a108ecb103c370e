package drr

import (
	"errors"
	"math"

	"github.com/fairlane-go/fairlane/internal/invalid"
)

const (
	// MaxCost is the largest cost one item may have, and the largest quantum.
	// It leaves room for 2^20 of the largest items in every sum of this package.
	MaxCost = 1 << 40

	// DefaultQuantum is the quantum of a Config that leaves it zero: one unit
	// of cost, the finest interleaving. Tenants of weight 1 then alternate
	// whenever their costs allow it.
	DefaultQuantum = 1

	// maxQuantum bounds Quantum*weight, maxBalance what settling can move a
	// deficit away from zero. Their sum with MaxCost stays below 2^51, so no
	// deficit, due round or difference of rounds can overflow.
	maxQuantum = 1 << 50
	maxBalance = 1 << 50
)

var (
	// ErrTenantFull is returned by Push when the tenant has as many items
	// waiting as it may have. Nothing was queued.
	ErrTenantFull = errors.New("drr: the tenant's queue is full")

	// ErrFull is returned by Push when the queue holds as many items as it
	// may hold over all tenants. Nothing was queued.
	ErrFull = errors.New("drr: the queue is full")
)

// A ValueError reports an argument or a configuration field that is out of
// range, with its name and value. The call that returned it changed nothing.
type ValueError = invalid.ValueError

// Config describes a Queue. Its zero value is valid: quantum 1, no bounds.
type Config struct {
	// Quantum is the cost that a tenant of weight 1 may spend in each round,
	// in Push's unit of cost: 1 to MaxCost. Zero means DefaultQuantum.
	//
	// A smaller quantum interleaves tenants more finely and lowers everybody's
	// latency; one no smaller than the typical cost makes Pop O(1) instead of
	// O(log tenants). Neither fairness nor progress depends on it. Weights are
	// resolved to one part in Quantum: for weights such as 0.5 or 1.25 take a
	// quantum of 100 or more, in a unit of cost that is finer to match.
	Quantum int64

	// MaxDepth is the most items that may wait at once over all tenants. Those
	// of blocked tenants don't count, or they would keep others out; but no
	// tenant may have more than that. Zero means no bound.
	MaxDepth int

	// MaxTenantDepth is the most items that one tenant may have waiting, unless
	// Tenant.SetMaxDepth gives it a bound of its own. Zero means no bound.
	MaxTenantDepth int
}

// validate reports every field that is out of range, joined.
func (c Config) validate() error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, &ValueError{Package: "drr", Field: "Config." + field, Value: value, Want: want})
	}
	if c.Quantum < 0 || c.Quantum > MaxCost {
		bad("Quantum", c.Quantum, "1 to 2^40, or 0 for the default")
	}
	if c.MaxDepth < 0 {
		bad("MaxDepth", c.MaxDepth, "1 or more, or 0 for no bound")
	}
	if c.MaxTenantDepth < 0 {
		bad("MaxTenantDepth", c.MaxTenantDepth, "1 or more, or 0 for no bound")
	}
	return errors.Join(errs...)
}

// unbounded is how a queue keeps "no bound".
const unbounded = math.MaxInt

func boundOf(depth int) int {
	if depth == 0 {
		return unbounded
	}
	return depth
}

// checkBound accepts what a caller may set as a bound once the queue exists.
// Zero isn't "no bound" here: by then it more often is a mistake.
func checkBound(depth int) error {
	if depth < 1 {
		return &ValueError{Package: "drr", Field: "max depth", Value: depth, Want: "1 or more"}
	}
	return nil
}

// quantumOf turns a weight into whole units of cost a round, at least one.
func quantumOf(quantum int64, weight float64) (int64, error) {
	want := ""
	product := float64(quantum) * weight
	switch {
	case !(weight > 0) || math.IsInf(weight, 1): // NaN included
		want = "a finite number above 0"
	case product > maxQuantum:
		want = "a weight with Quantum*weight at most 2^50"
	default:
		return max(1, int64(math.Round(product))), nil
	}
	return 0, &ValueError{Package: "drr", Field: "weight", Value: weight, Want: want}
}
