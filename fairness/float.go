package fairness

import (
	"cmp"
	"math"
	"math/big"
	"slices"
)

// maxMinFloats is MaxMin for floating-point numbers that were checked.
func maxMinFloats[T Number](demands []T, capacity T, weights []T) []T {
	alloc := make([]T, len(demands))
	if math.IsInf(float64(capacity), 1) {
		copy(alloc, demands)
		return alloc
	}
	var biggest T
	for _, w := range weights {
		biggest = max(biggest, w)
	}
	// Nobody can get more than the capacity, so a demand beyond it, such as
	// +Inf, comes to the same. Weights are brought to 1 or less, so that their
	// sum is in range.
	_, scale := math.Frexp(float64(biggest))
	positive, spare := tiers(len(demands), weights)
	claims := make([]claim, 0, len(demands))
	f := filler{}
	f.left.add(float64(capacity))
	for _, tier := range [][]int{positive, spare} {
		claims = claims[:0]
		for _, i := range tier {
			weight := 1.0
			if weights != nil && weights[i] > 0 {
				// A weight of less than 2^-1074 of the largest is no zero.
				weight = max(math.Ldexp(float64(weights[i]), -scale), math.SmallestNonzeroFloat64)
			}
			demand := float64(min(demands[i], capacity))
			c := claim{index: i, amount: demand, demand: widen(demand), weight: widen(weight)}
			c.ratio = c.demand.over(c.weight)
			claims = append(claims, c)
			f.weight.add(weight)
		}
		slices.SortFunc(claims, compareClaims)
		met := f.meet(claims)
		for _, c := range claims[:met] {
			alloc[c.index] = T(c.amount) + 0 // no -0
		}
		if met == len(claims) {
			continue // some may be left for the next tier
		}
		left, weight := widen(f.left.floor()), widen(f.weight.ceil())
		for _, c := range claims[met:] {
			alloc[c.index] = narrowDown[T](shareDown(c.weight, left, weight))
		}
		break
	}
	return alloc
}

// A claim is one tenant's demand for a part of what is left.
type claim struct {
	index                 int
	amount                float64
	demand, weight, ratio wide // ratio is demand/weight, rounded
}

// compareClaims orders claims by the level at which they are met, exactly.
func compareClaims(a, b claim) int {
	if order := a.ratio.compare(b.ratio); order != 0 {
		return order
	}
	if order := compareProducts(a.demand, b.weight, b.demand, a.weight); order != 0 {
		return order
	}
	return cmp.Compare(a.index, b.index)
}

// A filler raises the level. It holds, exactly, what of the capacity is left
// and the weight of those who still want some of it.
type filler struct {
	left, weight exactSum
	scratch      exactSum
}

// meet takes the claims that the capacity can meet, in order, off what is left,
// and returns how many they are.
func (f *filler) meet(claims []claim) int {
	for k, c := range claims {
		if !f.canMeet(c) {
			return k
		}
		f.left.add(-c.amount)
		f.weight.add(-c.weight.float())
	}
	return len(claims)
}

// canMeet reports whether demand/weight <= left/(weight of all), exactly. A
// comparison of rounded quotients won't do: to meet a demand that is too large
// by its last bit may take all that is left for a tenant of a very small weight.
func (f *filler) canMeet(c claim) bool {
	if c.amount == 0 {
		return true
	}
	left, weight := widen(f.left.top()), widen(f.weight.top())
	if left.frac == 0 {
		return false
	}
	// demand*(weight of all) is x * 2^shift and weight*left is y, where x and y
	// are within 0.25 to 1 and a bit.
	shift := c.demand.exp + weight.exp - c.weight.exp - left.exp
	switch {
	case shift > 3:
		return false
	case shift < -3:
		return true
	case f.left.finest(left.exp) < 0x1p-900 || f.weight.finest(weight.exp) < 0x1p-900:
		return f.canMeetRational(c)
	}
	f.scratch.parts = f.scratch.parts[:0]
	demand := math.Ldexp(c.demand.frac, shift)
	for _, p := range f.weight.parts {
		f.scratch.addProduct(demand, math.Ldexp(p, -weight.exp))
	}
	for _, p := range f.left.parts {
		f.scratch.addProduct(-c.weight.frac, math.Ldexp(p, -left.exp))
	}
	return f.scratch.top() <= 0
}

// canMeetRational is canMeet where the products have more digits than float64s
// can be the parts of.
func (f *filler) canMeetRational(c claim) bool {
	product := func(x float64, s *exactSum) *big.Rat {
		sum := new(big.Rat)
		for _, p := range s.parts {
			sum.Add(sum, new(big.Rat).SetFloat64(p))
		}
		return sum.Mul(sum, new(big.Rat).SetFloat64(x))
	}
	return product(c.amount, &f.weight).Cmp(product(c.weight.float(), &f.left)) <= 0
}

// narrowDown converts x to T, rounding down, which is to say towards 0.
func narrowDown[T Number](x float64) T {
	t := T(x)
	if float64(t) > x {
		t = T(math.Nextafter32(float32(t), 0))
	}
	return t
}
