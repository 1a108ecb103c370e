package fairness

import "math"

// An exactSum adds float64s without rounding. Subtracting the demands that are
// met from a capacity one by one would otherwise lose the digits that the
// smaller shares are made of.
//
// The sum is kept as parts that don't overlap, the smallest first (Shewchuk,
// Adaptive precision floating-point arithmetic, 1997, grow-expansion): one or
// two as a rule, forty at most. No sum on the way may exceed the range of
// float64.
type exactSum struct {
	parts []float64 // none is 0
}

func (s *exactSum) add(x float64) {
	kept := s.parts[:0]
	for _, y := range s.parts {
		if math.Abs(x) < math.Abs(y) {
			x, y = y, x
		}
		sum := x + y
		if lost := y - (sum - x); lost != 0 {
			kept = append(kept, lost)
		}
		x = sum
	}
	if x != 0 {
		kept = append(kept, x)
	}
	s.parts = kept
}

// addProduct adds x*y, exactly unless it is below 2^-968.
func (s *exactSum) addProduct(x, y float64) {
	p := float64(x * y) // the conversion keeps it from being fused with a sum
	s.add(math.FMA(x, y, -p))
	s.add(p)
}

// top is the largest part: it has the sign of the sum and is near it.
func (s *exactSum) top() float64 {
	if len(s.parts) == 0 {
		return 0
	}
	return s.parts[len(s.parts)-1]
}

// finest returns the size of the smallest part of a sum other than 0, over 2^exp.
func (s *exactSum) finest(exp int) float64 {
	return math.Abs(math.Ldexp(s.parts[0], -exp))
}

// nearest returns a float64 next to the sum, and what the sum exceeds it by
// or, if that has further parts, the largest of these: its sign is right.
func (s *exactSum) nearest() (sum, rest float64) {
	for i := len(s.parts) - 1; i >= 0; i-- {
		x, y := sum, s.parts[i]
		sum = x + y
		if rest = y - (sum - x); rest != 0 {
			break
		}
	}
	return sum, rest
}

// floor returns the largest float64 that is not above the sum.
func (s *exactSum) floor() float64 {
	sum, rest := s.nearest()
	if rest < 0 {
		return math.Nextafter(sum, math.Inf(-1))
	}
	return sum
}

// ceil returns the smallest float64 that is not below the sum.
func (s *exactSum) ceil() float64 {
	sum, rest := s.nearest()
	if rest > 0 {
		return math.Nextafter(sum, math.Inf(1))
	}
	return sum
}
