package fairness

import (
	"errors"
	"math"
	"math/bits"

	"golang.org/x/exp/constraints"

	"github.com/fairlane-go/fairlane/internal/invalid"
)

// A Number is a type that shares, demands and weights can have.
type Number interface {
	constraints.Integer | constraints.Float
}

// A ValueError reports an argument that is out of range, with its index and
// value, as in "fairness: demands[3] is -1, want 0 or more".
type ValueError = invalid.ValueError

// MaxMin returns the weighted max-min fair division of capacity: allocation i
// is the smaller of demands[i] and weights[i]*L, where the level L, the same
// for all, is as high as capacity allows. Demands, capacity and allocations are
// in one unit of the caller's; of weights only the ratios matter.
//
// The allocations add up to capacity or to all demands, whichever is less, and
// a tenant whose demand can be met gets exactly its demand. Those that differ
// in nothing but their place in the list get the same, or for integers the same
// to within one unit.
//
// Nil weights are all 1. A tenant of weight 0 gets spare capacity only: nothing
// until all those above 0 have their whole demand; what is left then is divided
// equally, by demand, among those of weight 0. So if all weights are 0, they
// count as equal. A demand of +Inf means that the tenant always wants more; if
// capacity is +Inf as well, everybody gets its demand.
//
// For integers, allocations are rounded down, and the units that this leaves go
// one each to the tenants that lost the largest fractions, the first in the
// list among equals. Every allocation is then within one unit of the ideal.
// Like all such rules (Balinski and Young, Fair Representation, 1982) this one
// may take back one unit from a tenant when capacity or its own weight grows.
//
// For floating-point numbers, the exact sum of the allocations is never above
// capacity (adding them up in floating point may round it up). An allocation
// that doesn't meet its demand is rounded down, by less than 1e-15 of itself
// for float64 and 2e-7 for float32, or to the next subnormal number. That holds
// while the weights above 0 are within a factor of 1e300; beyond it the error
// of the lightest may grow, but not that of the sum.
//
// A demand, the capacity or a weight that is negative or NaN, an infinite
// weight, weights of another number than demands, and integer weights whose sum
// is 2^64 or more are reported by a [*ValueError], the first of each argument,
// joined. MaxMin takes time O(n log n).
func MaxMin[T Number](demands []T, capacity T, weights []T) ([]T, error) {
	err := errors.Join(
		checkNumbers("demands", demands, true),
		checkNumber("capacity", capacity, true),
		checkWeights(weights, len(demands)),
	)
	if err != nil {
		return nil, err
	}
	if isFloat[T]() {
		return maxMinFloats(demands, capacity, weights), nil
	}
	return maxMinIntegers(demands, capacity, weights), nil
}

// tiers returns the indices of the tenants with a weight above 0, and of those
// that get what these leave.
func tiers[T Number](n int, weights []T) (positive, spare []int) {
	positive = make([]int, 0, n)
	for i := range n {
		if weights == nil || weights[i] > 0 {
			positive = append(positive, i)
		} else {
			spare = append(spare, i)
		}
	}
	return positive, spare
}

func isFloat[T Number]() bool {
	one, two := T(1), T(2)
	return one/two != 0
}

func checkWeights[T Number](weights []T, n int) error {
	if weights == nil {
		return nil
	}
	if err := checkLength("weights", len(weights), "demands", n); err != nil {
		return err
	}
	if err := checkNumbers("weights", weights, false); err != nil || isFloat[T]() {
		return err
	}
	var sum, carry uint64
	for i, w := range weights {
		if sum, carry = bits.Add64(sum, uint64(w), 0); carry != 0 {
			return &ValueError{
				Package: "fairness", Field: index("weights", i), Value: w,
				Want: "a sum of weights below 2^64",
			}
		}
	}
	return nil
}

func checkLength(field string, n int, other string, want int) error {
	if n == want {
		return nil
	}
	return &ValueError{
		Package: "fairness", Field: "len(" + field + ")", Value: n,
		Want: "as many as " + other + ", " + decimal(want),
	}
}

// checkNumbers reports the first bad element: a list may have millions.
func checkNumbers[T Number](field string, xs []T, mayBeInf bool) error {
	for i, x := range xs {
		if bad(x, mayBeInf) {
			return checkNumber(index(field, i), x, mayBeInf)
		}
	}
	return nil
}

func checkNumber[T Number](field string, x T, mayBeInf bool) error {
	if !bad(x, mayBeInf) {
		return nil
	}
	want := "0 or more"
	if !mayBeInf && isFloat[T]() {
		want = "0 or more and finite"
	}
	return &ValueError{Package: "fairness", Field: field, Value: x, Want: want}
}

func bad[T Number](x T, mayBeInf bool) bool {
	return !(x >= 0) || !mayBeInf && math.IsInf(float64(x), 1)
}
