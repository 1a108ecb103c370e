package fairness

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestExactSumIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s exactSum
		want := new(big.Rat)
		for _, x := range rapid.SliceOf(rapid.OneOf(
			rapid.Float64Range(-1e300, 1e300), rapid.Float64Range(-10, 10),
			rapid.Map(rapid.IntRange(-1074, 900), func(e int) float64 { return math.Ldexp(-1, e) }),
		)).Draw(t, "xs") {
			s.add(x)
			want.Add(want, rational(x))
			checkExactSum(t, &s, want)
		}
	})
}

func TestExactSumOfProducts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s exactSum
		want := new(big.Rat)
		for _, x := range rapid.SliceOf(rapid.Float64Range(0.5, 1)).Draw(t, "xs") {
			y := math.Ldexp(x, rapid.IntRange(-900, 3).Draw(t, "exp"))
			s.addProduct(-x, y)
			want.Sub(want, new(big.Rat).Mul(rational(x), rational(y)))
			checkExactSum(t, &s, want)
		}
	})
}

func checkExactSum(t require.TestingT, s *exactSum, want *big.Rat) {
	require.Zero(t, sum(rationals(s.parts)).Cmp(want))
	require.Equal(t, want.Sign(), rational(s.top()).Sign())
	require.True(t, rational(s.floor()).Cmp(want) <= 0)
	require.True(t, rational(s.ceil()).Cmp(want) >= 0)
	require.LessOrEqual(t, s.ceil(), math.Nextafter(s.floor(), math.Inf(1)))
	if s.floor() == s.ceil() {
		require.Zero(t, rational(s.floor()).Cmp(want))
	}
}

func positiveFloat(t *rapid.T, name string) float64 {
	return math.Ldexp(rapid.Float64Range(0.5, 0.999).Draw(t, name), rapid.IntRange(-1073, 1023).Draw(t, name+" exp"))
}

func TestWideComparesExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := positiveFloat(t, "a"), positiveFloat(t, "b")
		c, d := b, a
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			c, d = positiveFloat(t, "c"), positiveFloat(t, "d")
		case 1:
			c = math.Nextafter(c, math.Inf(1))
		}
		want := new(big.Rat).Mul(rational(a), rational(b)).Cmp(new(big.Rat).Mul(rational(c), rational(d)))
		require.Equal(t, want, compareProducts(widen(a), widen(b), widen(c), widen(d)))
		require.Equal(t, rational(a).Cmp(rational(c)), widen(a).compare(widen(c)))
		require.Equal(t, 1, widen(a).compare(wide{}))
		require.Equal(t, -1, compareProducts(wide{}, widen(a), widen(b), widen(c)))
	})
}

func TestShareIsRoundedDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := positiveFloat(t, "a"), positiveFloat(t, "b")
		c := max(a, positiveFloat(t, "c")) // so that the share is at most b
		got := rational(shareDown(widen(a), widen(b), widen(c)))
		want := new(big.Rat).Mul(rational(a), rational(b))
		want.Quo(want, rational(c))
		require.True(t, got.Cmp(want) <= 0)
		require.False(t, less(got, want, 0x1p-51, tiny64))
	})
}

// Claims whose rounded levels are the same are still put in order.
func TestClaimsAreOrderedExactly(t *testing.T) {
	equal := 0
	rapid.Check(t, func(t *rapid.T) {
		var claims [2]claim
		for i := range claims {
			w := rapid.Float64Range(1, 2).Draw(t, "weight")
			d := rapid.Float64Range(1, 2).Draw(t, "demand")
			if i == 1 {
				d = claims[0].amount * w / claims[0].weight.float()
			}
			claims[i] = claim{index: i, amount: d, demand: widen(d), weight: widen(w), ratio: widen(d).over(widen(w))}
		}
		want := new(big.Rat).Quo(rational(claims[0].amount), rational(claims[0].weight.float())).
			Cmp(new(big.Rat).Quo(rational(claims[1].amount), rational(claims[1].weight.float())))
		if want == 0 {
			want = -1 // the first in the list
		} else if claims[0].ratio == claims[1].ratio {
			equal++
		}
		require.Equal(t, want, compareClaims(claims[0], claims[1]))
		require.Equal(t, -want, compareClaims(claims[1], claims[0]))
	})
	if !testing.Short() { // few claims then
		require.Positive(t, equal, "no rounded levels were equal: nothing was tested")
	}
}
