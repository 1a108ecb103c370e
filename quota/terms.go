package quota

import (
	"math/big"
	"math/bits"
)

// Units. A bucket whose rate is p tokens in q ns, in lowest terms, measures in
// units of 1/p ns, which is also 1/q token: a nanosecond is p units and a token
// q, both whole. Of an int64 it uses 62 bits:
//
//	time since the era's base   up to 2^60 units, then a new era begins
//	used (capacity - balance)   up to 2^61, of which the capacity up to 2^60
//
// The larger p, the shorter an era and the smaller the debt that fits. Hence
// two budgets in reduce: within the soft one it aims for exactness; beyond it,
// up to the hard one, it goes only as far as accuracy needs.
const (
	maxTime     = 1 << 60
	maxCapacity = 1 << 60
	maxUsed     = 1 << 61

	softP, softCapacity = 1 << 10, 1 << 50
	hardP               = 1 << 20
	goodBits            = 40 // a relative error of 2^-40 is good enough beyond the soft budget

	// zeroRateQ splits tokens when there is no rate that says how: finely, so
	// that a balance survives a rate of 0 that comes and goes, and with room
	// for MaxBurst.
	zeroRateQ = 1 << 20
)

// terms are a limit in units. They don't change, and many buckets share them.
type terms struct {
	limit    Limit
	p        int64  // units in a nanosecond, 0 if the rate is
	q        int64  // units in a token
	burst    int64  // tokens
	capacity int64  // burst in units
	span     uint64 // ns that an era may last
	most     int64  // the largest number of tokens whose units fit in maxUsed
}

// nothing are the terms of a zero Bucket.
var nothing = newTerms(Limit{}, 0, zeroRateQ)

func newTerms(l Limit, p, q int64) *terms {
	t := &terms{limit: l, p: p, q: q, burst: l.Burst, capacity: l.Burst * q, most: maxUsed / q}
	t.span = ^uint64(0)
	if p > 0 {
		t.span = maxTime / uint64(p)
	}
	return t
}

// compile returns the terms of l or what is wrong with it.
func compile(l Limit, prefix string) (*terms, error) {
	if err := l.validate(prefix); err != nil {
		return nil, err
	}
	if l.Rate.Tokens == 0 {
		return newTerms(l, 0, zeroRateQ), nil
	}
	// A token takes x = Per/Tokens ns, exactly.
	x := new(big.Rat).SetFloat64(l.Rate.Tokens)
	x.Quo(new(big.Rat).SetInt64(int64(l.Rate.per())), x)
	p, q, ok := reduce(x, max(l.Burst, 1))
	if !ok {
		return nil, &ValueError{Package: "quota", Field: prefix + ".Rate", Value: l.Rate, Want: wantFill}
	}
	return newTerms(l, p, q), nil
}

// reduce returns p and q such that q/p is x or near it, and burst*q fits. It
// walks the convergents of x's continued fraction, which are the best fractions
// there are of their size. The error of one is below 1/(p*p') where p' is the
// next one's p, so with p' or q' over the hard budget the relative error of the
// last is below about 2^-20/q or burst/(p*2^60).
func reduce(x *big.Rat, burst int64) (p, q int64, ok bool) {
	num, den := new(big.Int).Set(x.Num()), new(big.Int).Set(x.Denom())
	p0, q0, p1, q1 := int64(1), int64(0), int64(0), int64(1) // the two before the first
	for den.Sign() != 0 {
		a, rest := new(big.Int).QuoRem(num, den, new(big.Int))
		p2, pFits := step(a, p1, p0, hardP)
		q2, qFits := step(a, q1, q0, maxCapacity/burst)
		if !pFits || !qFits {
			break
		}
		soft := p2 <= softP && q2 <= softCapacity/burst
		if !soft && ok && near(p1, q1, x) {
			break
		}
		p0, q0, p1, q1 = p1, q1, p2, q2
		ok = q1 > 0 // the first is 0/1 if x < 1
		num, den = den, rest
	}
	return p1, q1, ok
}

// step returns a*x + y, and whether it is at most limit.
func step(a *big.Int, x, y, limit int64) (int64, bool) {
	if x == 0 {
		return y, y <= limit
	}
	if !a.IsInt64() {
		return 0, false
	}
	hi, lo := bits.Mul64(uint64(a.Int64()), uint64(x))
	lo, carry := bits.Add64(lo, uint64(y), 0)
	return int64(lo), hi+carry == 0 && lo <= uint64(limit)
}

// near says whether q/p differs from x by at most one part in 2^goodBits.
func near(p, q int64, x *big.Rat) bool {
	d := new(big.Rat).SetFrac64(q, p)
	d.Quo(d, x)
	d.Sub(d, big.NewRat(1, 1))
	return d.Abs(d).Cmp(big.NewRat(1, 1<<goodBits)) <= 0
}

// whole returns the balance in whole tokens, rounded down, when used units of
// the capacity are used: negative in debt.
func (t *terms) whole(used int64) int64 {
	left := t.capacity - used
	if left >= 0 {
		return left / t.q
	}
	return -((-left + t.q - 1) / t.q)
}

// carry returns how much of t's capacity is used when the balance is the one
// that from's bucket has with used of its own. It rounds the balance down to a
// whole unit of t, caps it at the burst, and caps a debt at what fits.
func (t *terms) carry(from *terms, used int64) int64 {
	if t == from {
		return used
	}
	balance := from.capacity - used
	if balance >= 0 {
		hi, lo := bits.Mul64(uint64(balance), uint64(t.q))
		if hi >= uint64(from.q) {
			return 0 // above any capacity
		}
		b, _ := bits.Div64(hi, lo, uint64(from.q))
		if b >= uint64(t.capacity) {
			return 0
		}
		return t.capacity - int64(b)
	}
	hi, lo := bits.Mul64(uint64(-balance), uint64(t.q))
	if hi >= uint64(from.q) {
		return maxUsed
	}
	debt, rest := bits.Div64(hi, lo, uint64(from.q))
	if rest > 0 {
		debt++
	}
	if debt > uint64(maxUsed-t.capacity) {
		return maxUsed
	}
	return t.capacity + int64(debt)
}
