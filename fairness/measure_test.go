package fairness

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The fairness index of nothing, of equals, and of numbers whose squares are
// out of range.
func TestRC27FairnessIndexOfNothing(t *testing.T) {
	for _, c := range []struct {
		allocations []float64
		want        float64
	}{
		{[]float64{0, 0, 0}, 1},
		{[]float64{5}, 1},
		{[]float64{1, 1, 1, 1}, 1},
		{[]float64{1, 0, 0, 0}, 0.25},
		{[]float64{3, 1}, 0.8},
		{[]float64{1e300, 1e300}, 1},
		{[]float64{1e-200, 1e-200}, 1},
		{[]float64{math.MaxFloat64, 5e-324}, 0.5},
		{[]float64{4, 3, 2, 1}, 5. / 6},
		{[]float64{10, 10, 10, 10, 10, 10, 10, 10, 10, 1}, 0.9190899},
	} {
		got, err := Jain(c.allocations)
		require.NoError(t, err)
		require.InDelta(t, c.want, got, 1e-7, "%v", c.allocations)
		if slices.Min(c.allocations) == slices.Max(c.allocations) {
			require.Equal(t, 1.0, got)
		}
	}
	for _, c := range []struct {
		allocations []float64
		want        string
	}{
		{[]float64{}, "fairness: len(allocations) is 0, want 1 or more"},
		{nil, "fairness: len(allocations) is 0, want 1 or more"},
		{[]float64{1, -1}, "fairness: allocations[1] is -1, want 0 or more and finite"},
		{[]float64{1, math.NaN()}, "fairness: allocations[1] is NaN, want 0 or more and finite"},
		{[]float64{math.Inf(1)}, "fairness: allocations[0] is +Inf, want 0 or more and finite"},
	} {
		got, err := Jain(c.allocations)
		require.EqualError(t, err, c.want)
		require.Zero(t, got)
		var e *ValueError
		require.ErrorAs(t, err, &e)
	}
	_, err := Jain([]int{3, -2})
	require.EqualError(t, err, "fairness: allocations[1] is -2, want 0 or more")
}

// jainExact is the definition, in rationals.
func jainExact(x []*big.Rat) float64 {
	s, squares := new(big.Rat), new(big.Rat)
	for _, v := range x {
		s.Add(s, v)
		squares.Add(squares, new(big.Rat).Mul(v, v))
	}
	if s.Sign() == 0 {
		return 1
	}
	s.Mul(s, s)
	s.Quo(s, squares.Mul(squares, big.NewRat(int64(len(x)), 1)))
	f, _ := s.Float64()
	return f
}

func TestJainAgreesWithItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "n")
		x := genFloats(n).Draw(t, "x")
		got, err := Jain(x)
		require.NoError(t, err)
		require.InDelta(t, jainExact(rationals(x)), got, 1e-12)
		require.GreaterOrEqual(t, got, 1/float64(n))
		require.LessOrEqual(t, got, 1.0)

		whole := rapid.SliceOfN(rapid.Uint64(), n, n).Draw(t, "whole")
		got, err = Jain(whole)
		require.NoError(t, err)
		require.InDelta(t, jainExact(rationals(whole)), got, 1e-12)
	})
}

func TestJainProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(0.001, 1000), 1, 9).Draw(t, "x")
		want, err := Jain(x)
		require.NoError(t, err)

		scale := math.Pow(10, float64(rapid.IntRange(-300, 300).Draw(t, "scale")))
		scaled := slices.Clone(x)
		for i := range scaled {
			scaled[i] *= scale
		}
		got, err := Jain(scaled)
		require.NoError(t, err)
		require.InDelta(t, want, got, 1e-12, "the unit does not matter")

		got, err = Jain(append(slices.Clone(x), x...))
		require.NoError(t, err)
		require.InDelta(t, want, got, 1e-12, "nor does replication")

		mean, variance := 0.0, 0.0
		for _, v := range x {
			mean += v / float64(len(x))
		}
		for _, v := range x {
			variance += (v - mean) * (v - mean) / float64(len(x))
		}
		require.InDelta(t, 1/(1+variance/(mean*mean)), want, 1e-9)

		entitlements := make([]float64, len(x))
		for i := range entitlements {
			entitlements[i] = 7
		}
		got, err = WeightedJain(x, entitlements)
		require.NoError(t, err)
		require.InDelta(t, want, got, 1e-12, "equal entitlements change nothing")
	})
}

func TestWeightedMeasuresAgreeWithTheirDefinitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "n")
		allocations := genFloats(n).Draw(t, "allocations")
		entitlements := genFloats(n).Draw(t, "entitlements")
		var x []*big.Rat
		for i, e := range entitlements {
			if e > 0 {
				x = append(x, new(big.Rat).Quo(rational(allocations[i]), rational(e)))
			}
		}
		index, err := WeightedJain(allocations, entitlements)
		share, err2 := MinShare(allocations, entitlements)
		if len(x) == 0 {
			require.EqualError(t, err, "fairness: entitlements is \"all 0\", want one above 0")
			require.Equal(t, err, err2)
			return
		}
		require.NoError(t, err)
		require.NoError(t, err2)
		require.InDelta(t, jainExact(x), index, 1e-12)
		least, _ := slices.MinFunc(x, (*big.Rat).Cmp).Float64()
		if least != share { // which could be +Inf
			require.LessOrEqual(t, math.Abs(least-share), least*1e-15+tiny64)
		}
	})
}

// IDX-1: with one starved tenant among a hundred the index still looks well.
func TestMinShareIsTheAlarmThatJainIsNot(t *testing.T) {
	received := slices.Repeat([]int{10}, 100)
	entitled := slices.Repeat([]float64{10}, 100)
	received[41] = 0
	index, err := Jain(received)
	require.NoError(t, err)
	require.InDelta(t, 0.99, index, 1e-12)
	share, err := MinShare(received, entitled)
	require.NoError(t, err)
	require.Zero(t, share)
}

func TestMeasuresLeaveOutThoseWithoutEntitlement(t *testing.T) {
	received, entitled := []int{0, 5, 10, 7}, []float64{0, 10, 20, 0}
	share, err := MinShare(received, entitled)
	require.NoError(t, err)
	require.Equal(t, 0.5, share)
	index, err := WeightedJain(received, entitled)
	require.NoError(t, err)
	require.Equal(t, 1.0, index)
	share, err = MinShare([]float64{1e308}, []float64{1e-308})
	require.NoError(t, err)
	require.Equal(t, math.Inf(1), share)
}

func TestWeightedMeasuresReportBadArguments(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		allocations, entitlements []float64
		want                      string
	}{
		{nil, nil, "fairness: len(allocations) is 0, want 1 or more"},
		{[]float64{1}, nil, "fairness: len(entitlements) is 0, want as many as allocations, 1"},
		{[]float64{1}, []float64{0}, `fairness: entitlements is "all 0", want one above 0`},
		{[]float64{1, 2}, []float64{1, -2}, "fairness: entitlements[1] is -2, want 0 or more and finite"},
		{[]float64{1}, []float64{math.Inf(1)}, "fairness: entitlements[0] is +Inf, want 0 or more and finite"},
		{
			[]float64{nan, 2},
			[]float64{nan},
			"fairness: allocations[0] is NaN, want 0 or more and finite\n" +
				"fairness: len(entitlements) is 1, want as many as allocations, 2\n" +
				"fairness: entitlements[0] is NaN, want 0 or more and finite",
		},
	} {
		_, err := WeightedJain(c.allocations, c.entitlements)
		require.EqualError(t, err, c.want)
		_, err = MinShare(c.allocations, c.entitlements)
		require.EqualError(t, err, c.want)
	}
}
