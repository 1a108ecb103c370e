package fairness

import (
	"errors"
	"strconv"
)

// Jain returns Jain's fairness index of the allocations x,
//
//	(sum of x)^2 / (n * sum of x^2)
//
// which is 1 if all are equal, k/n if k of them are equal and the others 0, and
// never below 1/n. It equals 1/(1+v^2) where v is their coefficient of
// variation, so it does not depend on the unit. Allocations that are all 0 are
// equal: their index is 1.
//
// The index hardly moves when one tenant among many is starved; see [MinShare].
//
// An allocation that is negative, NaN or infinite, and no allocations at all
// (where nothing can be said), are a [*ValueError].
func Jain[T Number](allocations []T) (float64, error) {
	ratios, err := normalise(allocations, []T(nil))
	if err != nil {
		return 0, err
	}
	return jain(ratios), nil
}

// WeightedJain returns Jain's index, see [Jain], of allocations[i] divided by
// entitlements[i]: 1 if everybody received the same part of its entitlement.
// Entitlements are weights, or the shares that [MaxMin] finds for the demands
// of the same window; their unit does not matter.
//
// Tenants with an entitlement of 0 are left out, whatever they received.
//
// An allocation or entitlement that is negative, NaN or infinite, a different
// number of the two, and no entitlement above 0 are a [*ValueError]; the first
// of each argument, joined.
func WeightedJain[A, E Number](allocations []A, entitlements []E) (float64, error) {
	ratios, err := normalise(allocations, nonNil(entitlements))
	if err != nil {
		return 0, err
	}
	return jain(ratios), nil
}

// MinShare returns the smallest of allocations[i]/entitlements[i], the minimum
// normalised share: 1 if the worst-off tenant received just what it was
// entitled to, 0 if somebody received nothing. The two must be in one unit.
// A result beyond the range of float64 is +Inf.
//
// Tenants with an entitlement of 0, such as those that had no demand, are left
// out: they can't be starved.
//
// An allocation or entitlement that is negative, NaN or infinite, a different
// number of the two, and no entitlement above 0 are a [*ValueError]; the first
// of each argument, joined.
func MinShare[A, E Number](allocations []A, entitlements []E) (float64, error) {
	ratios, err := normalise(allocations, nonNil(entitlements))
	if err != nil {
		return 0, err
	}
	least := ratios[0]
	for _, r := range ratios[1:] {
		if r.compare(least) < 0 {
			least = r
		}
	}
	return least.float(), nil
}

// normalise returns allocations over entitlements for those that have one. Nil
// entitlements are all 1.
func normalise[A, E Number](allocations []A, entitlements []E) ([]wide, error) {
	equal := entitlements == nil
	err := checkNumbers("allocations", allocations, false)
	if !equal {
		err = errors.Join(
			err,
			checkLength("entitlements", len(entitlements), "allocations", len(allocations)),
			checkNumbers("entitlements", entitlements, false),
		)
	}
	if err != nil {
		return nil, err
	}
	ratios := make([]wide, 0, len(allocations))
	for i, a := range allocations {
		switch {
		case equal:
			ratios = append(ratios, widen(float64(a)))
		case entitlements[i] > 0:
			ratios = append(ratios, widen(float64(a)).over(widen(float64(entitlements[i]))))
		}
	}
	if len(ratios) > 0 {
		return ratios, nil
	}
	e := &ValueError{Package: "fairness", Field: "len(allocations)", Value: len(allocations), Want: "1 or more"}
	if len(allocations) > 0 {
		e = &ValueError{Package: "fairness", Field: "entitlements", Value: "all 0", Want: "one above 0"}
	}
	return nil, e
}

// jain computes the index of one or more numbers. It divides them by the
// largest first, or their squares would leave the range of float64.
func jain(xs []wide) float64 {
	var largest wide
	for _, x := range xs {
		if x.compare(largest) > 0 {
			largest = x
		}
	}
	if largest.frac == 0 {
		return 1
	}
	var sum, squares exactSum
	for _, x := range xs {
		r := x.over(largest).float()
		sum.add(r)
		squares.add(float64(r * r))
	}
	n, s := float64(len(xs)), sum.floor()
	return min(max(s*s/(n*squares.floor()), 1/n), 1)
}

// nonNil makes nil an empty list, which has no entitlement rather than equal ones.
func nonNil[T Number](xs []T) []T {
	if xs == nil {
		return []T{}
	}
	return xs
}

func index(field string, i int) string { return field + "[" + decimal(i) + "]" }

func decimal(n int) string { return strconv.Itoa(n) }
