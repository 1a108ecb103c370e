package fairness

import (
	"cmp"
	"math"
)

// A wide is the number frac * 2^exp, 0.5 <= frac < 1, or 0. A demand over a
// weight may be far out of the range of float64 where the share that follows
// from it is not, so quotients keep their exponents apart.
type wide struct {
	frac float64
	exp  int
}

// widen takes a finite number, 0 or more.
func widen(x float64) wide {
	frac, exp := math.Frexp(x)
	return wide{frac, exp}
}

// over returns a/b to the nearest 53 bits. b must not be 0.
func (a wide) over(b wide) wide {
	q := widen(a.frac / b.frac)
	q.exp += a.exp - b.exp
	return q
}

// float returns the nearest float64, +Inf or 0 beyond its range.
func (a wide) float() float64 { return math.Ldexp(a.frac, a.exp) }

func (a wide) compare(b wide) int {
	if a.frac == 0 || b.frac == 0 || a.exp == b.exp {
		return cmp.Compare(a.frac, b.frac)
	}
	return cmp.Compare(a.exp, b.exp)
}

// compareProducts compares a*b with c*d exactly. It relies on rounding being
// monotonic: the rounded products can be equal when the exact ones are not,
// but never the other way round.
func compareProducts(a, b, c, d wide) int {
	ab, cd := a.frac*b.frac, c.frac*d.frac
	x, y := widen(ab), widen(cd)
	x.exp += a.exp + b.exp
	y.exp += c.exp + d.exp
	if order := x.compare(y); order != 0 {
		return order
	}
	return cmp.Compare(
		math.Ldexp(math.FMA(a.frac, b.frac, -ab), a.exp+b.exp-c.exp-d.exp),
		math.FMA(c.frac, d.frac, -cd),
	)
}

// shareDown returns a*b/c, or a number below it by less than 2^-51 of it or by
// one unit of a subnormal result, whichever is more.
func shareDown(a, b, c wide) float64 {
	p := a.frac * b.frac
	if math.FMA(a.frac, b.frac, -p) < 0 {
		p = math.Nextafter(p, 0)
	}
	q := p / c.frac
	if math.FMA(q, c.frac, -p) > 0 {
		q = math.Nextafter(q, 0)
	}
	exp := a.exp + b.exp - c.exp
	x := math.Ldexp(q, exp)
	if math.Ldexp(x, -exp) > q {
		x = math.Nextafter(x, 0)
	}
	return x
}
