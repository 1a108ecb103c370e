package fairness

import (
	"cmp"
	"math/bits"
	"slices"
)

// maxMinIntegers is MaxMin for integers that were checked: none is negative,
// and the weights add up to less than 2^64.
func maxMinIntegers[T Number](demands []T, capacity T, weights []T) []T {
	alloc := make([]T, len(demands))
	left := uint64(capacity)
	positive, spare := tiers(len(demands), weights)
	claims := make([]integerClaim, 0, len(demands))
	for _, tier := range [][]int{positive, spare} {
		claims = claims[:0]
		var weight uint64 // of the claims not yet met
		for _, i := range tier {
			c := integerClaim{index: i, demand: uint64(demands[i]), weight: 1}
			if weights != nil && weights[i] > 0 {
				c.weight = uint64(weights[i])
			}
			claims = append(claims, c)
			weight += c.weight
		}
		slices.SortFunc(claims, compareIntegerClaims)
		met := 0
		for _, c := range claims {
			if productCompare(c.demand, weight, c.weight, left) > 0 {
				break
			}
			alloc[c.index] = T(c.demand)
			left -= c.demand
			weight -= c.weight
			met++
		}
		if met == len(claims) {
			continue // some may be left for the next tier
		}
		divide(claims[met:], left, weight)
		for _, c := range claims[met:] {
			alloc[c.index] = T(c.share)
		}
		break
	}
	return alloc
}

// An integerClaim is one tenant's demand for a part of what is left.
type integerClaim struct {
	index          int
	demand, weight uint64
	share          uint64
	fraction       uint64 // what the share lost by rounding, times the weight of all
}

// compareIntegerClaims orders claims by the level at which they are met.
func compareIntegerClaims(a, b integerClaim) int {
	if order := productCompare(a.demand, b.weight, b.demand, a.weight); order != 0 {
		return order
	}
	return cmp.Compare(a.index, b.index)
}

// divide gives each claim its part of left by weight, by the method of largest
// remainders. None of the claims can be met, so none gets more than its demand.
func divide(claims []integerClaim, left, weight uint64) {
	units := left
	for k := range claims {
		c := &claims[k]
		hi, lo := bits.Mul64(c.weight, left)
		c.share, c.fraction = bits.Div64(hi, lo, weight) // hi < weight, as c.weight <= weight
		units -= c.share
	}
	// The fractions add up to the units left, so there are more claims that
	// lost something than units.
	slices.SortFunc(claims, func(a, b integerClaim) int {
		return cmp.Or(cmp.Compare(b.fraction, a.fraction), cmp.Compare(a.index, b.index))
	})
	for k := range units {
		claims[k].share++
	}
}

// productCompare compares a*b with c*d.
func productCompare(a, b, c, d uint64) int {
	abHi, abLo := bits.Mul64(a, b)
	cdHi, cdLo := bits.Mul64(c, d)
	return cmp.Or(cmp.Compare(abHi, cdHi), cmp.Compare(abLo, cdLo))
}
