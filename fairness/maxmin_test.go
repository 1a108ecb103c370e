package fairness

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Shares that neither waste nor invent capacity: the published failure of a
// fair-share tree that split surplus by weight times demand.
func TestRC29MaxMinSharesNeitherWasteNorInventCapacity(t *testing.T) {
	for _, c := range []struct {
		capacity               int
		demands, weights, want []int
	}{
		{8, []int{2, 10}, []int{1, 1}, []int{2, 6}},
		{12, []int{3, 10, 10}, []int{1, 1, 2}, []int{3, 3, 6}},
		{10, []int{10, 10, 10}, []int{1, 1, 1}, []int{4, 3, 3}},
		{10, []int{10, 10, 10}, nil, []int{4, 3, 3}},
		{10, []int{0, 5}, []int{1, 1}, []int{0, 5}},
		{10, []int{5, 20}, []int{0, 1}, []int{0, 10}},
		{30, []int{5, 20}, []int{0, 1}, []int{5, 20}},
		{22, []int{5, 20}, []int{0, 1}, []int{2, 20}},
		{10, []int{5, 5}, []int{0, 0}, []int{5, 5}},
		{4, []int{5, 1, 5}, []int{0, 0, 0}, []int{2, 1, 1}},
		{0, []int{5, 5}, []int{1, 1}, []int{0, 0}},
		{7, []int{}, []int{}, []int{}},
		{7, nil, nil, []int{}},
	} {
		t.Run(fmt.Sprint(c.capacity, c.demands, c.weights), func(t *testing.T) {
			for range 3 { // the same in every run
				require.Equal(t, c.want, maxMinWhole(t, c.demands, c.capacity, c.weights))
			}
			floats := maxMinChecked(t, convert[float64](c.demands), float64(c.capacity), convert[float64](c.weights))
			for i := range floats {
				require.InDelta(t, c.want[i], floats[i], 1, "never a whole unit from the whole numbers")
			}
		})
	}
}

func convert[To, From Number](xs []From) []To {
	if xs == nil {
		return nil
	}
	out := make([]To, len(xs))
	for i, x := range xs {
		out[i] = To(x)
	}
	return out
}

func TestMaxMinExamples(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name             string
		capacity         float64
		demands, weights []float64
		want             []float64
	}{
		{"textbook", 10, []float64{2, 2.6, 4, 5}, nil, []float64{2, 2.6, 2.7, 2.7}},
		{"weights", 16, []float64{4, 2, 10, 4}, []float64{2.5, 4, 0.5, 1}, []float64{4, 2, 6, 4}},
		{"weights, scarce", 10, []float64{100, 100, 100}, []float64{1, 2, 2}, []float64{2, 4, 4}},
		{"enough for all", 100, []float64{1, 2, 3}, nil, []float64{1, 2, 3}},
		{"exactly enough", 6, []float64{1, 2, 3}, nil, []float64{1, 2, 3}},
		{"always wants more", 9, []float64{inf, 1, inf}, []float64{1, 1, 3}, []float64{2, 1, 6}},
		{"endless capacity", inf, []float64{inf, 1}, nil, []float64{inf, 1}},
		{"endless demand of weight 0", 9, []float64{inf, 1}, []float64{0, 1}, []float64{8, 1}},
		{"huge", math.MaxFloat64, []float64{math.MaxFloat64, math.MaxFloat64}, []float64{math.MaxFloat64, math.MaxFloat64}, []float64{math.MaxFloat64 / 2, math.MaxFloat64 / 2}},
		{"subnormal weights", 1, []float64{1, 1}, []float64{5e-324, 5e-324}, []float64{0.5, 0.5}},
		{"subnormal capacity", 15e-324, []float64{1, 1, 1}, nil, []float64{5e-324, 5e-324, 5e-324}},
		{"minus zero", math.Copysign(0, -1), []float64{math.Copysign(0, -1), 1}, []float64{math.Copysign(0, -1), 1}, []float64{0, 0}},
		{"short by less than half", 0.5, []float64{0.495, 5}, []float64{0.5, 0.49}, []float64{0.25 / 0.99, 0.245 / 0.99}},
		{"met by nearly half", 0.99, []float64{0.5, 5}, []float64{0.99, 0.01}, []float64{0.5, 0.49}},
		// Rounded, the first tenant's demand is met and nothing is left.
		{"a featherweight", 1, []float64{1, 1}, []float64{1, 1e-20}, []float64{1 - 0x1p-53, 1e-20}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := MaxMin(c.demands, c.capacity, c.weights)
			require.NoError(t, err)
			if !math.IsInf(c.capacity, 1) {
				maxMinChecked(t, c.demands, c.capacity, c.weights)
			}
			require.Len(t, got, len(c.want))
			for i := range got {
				require.False(t, math.Signbit(got[i]))
				if c.want[i] != got[i] {
					require.InEpsilon(t, c.want[i], got[i], 1e-12)
				}
			}
		})
	}
}

// Who is short is decided exactly, however far apart the numbers are: here the
// first is short by 2^-2000 or so of its demand.
func TestMaxMinDecidesExactly(t *testing.T) {
	for _, c := range []struct {
		capacity         float64
		demands, weights []float64
	}{
		{6e300, []float64{3e300, 3e300, 1e-300}, []float64{1, 1, 1}},
		{1, []float64{0.5, 0.5, 1}, []float64{1, 1, 5e-324}},
	} {
		got, err := MaxMin(c.demands, c.capacity, c.weights)
		require.NoError(t, err)
		require.Less(t, got[0], c.demands[0])
		require.Equal(t, got[0], got[1], "twins")
		require.InEpsilon(t, c.demands[0], got[0], tolerance64)
	}
}

// genFloats draws magnitudes from everywhere, and plain ones often enough to
// make ties.
func genFloats(n int) *rapid.Generator[[]float64] {
	return rapid.SliceOfN(rapid.OneOf(
		rapid.Map(rapid.IntRange(0, 6), func(i int) float64 { return float64(i) }),
		rapid.Map(rapid.IntRange(-40, 40), func(i int) float64 { return math.Pow(10, float64(i)/6) }),
		rapid.Map(rapid.IntRange(-1074, 1023), func(i int) float64 { return math.Ldexp(1, i) }),
		rapid.Float64Range(0, 10),
		rapid.Float64Range(0, math.MaxFloat64),
		rapid.Just(math.SmallestNonzeroFloat64),
		rapid.Just(math.MaxFloat64),
	), n, n)
}

func genCase(t *rapid.T) (demands []float64, capacity float64, weights []float64) {
	n := rapid.IntRange(1, 6).Draw(t, "n")
	demands = genFloats(n).Draw(t, "demands")
	weights = genFloats(n).Draw(t, "weights")
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		weights = nil
	case 1: // demands in proportion to weights: all are met at one level, nearly
		for i, w := range weights {
			demands[i] = min(w*3, math.MaxFloat64)
		}
	case 2:
		demands[0] = math.Inf(1)
	}
	capacity = genFloats(1).Draw(t, "capacity")[0]
	if total := demands[0] + demands[n-1]; rapid.Bool().Draw(t, "tight") && !math.IsInf(total, 1) {
		capacity = total
	}
	return demands, capacity, weights
}

func TestMaxMinAgreesWithWaterFilling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		demands, capacity, weights := genCase(t)
		maxMinChecked(t, demands, capacity, weights)
	})
}

func TestMaxMinGrowsWithCapacityAndWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		demands, capacity, weights := genCase(t)
		if weights == nil {
			weights = slices.Repeat([]float64{1}, len(demands))
		}
		before, err := MaxMin(demands, capacity, weights)
		require.NoError(t, err)

		more := max(capacity, genFloats(1).Draw(t, "more")[0])
		after, err := MaxMin(demands, more, weights)
		require.NoError(t, err)
		if !farApart(weights) {
			for i := range before {
				require.GreaterOrEqual(t, after[i], math.Nextafter(before[i]*(1-tolerance64), 0), "capacity %v to %v took from %d", capacity, more, i)
			}
		}

		heavier := slices.Clone(weights)
		i := rapid.IntRange(0, len(weights)-1).Draw(t, "i")
		heavier[i] = max(heavier[i], genFloats(1).Draw(t, "weight")[0])
		after, err = MaxMin(demands, capacity, heavier)
		require.NoError(t, err)
		if !farApart(weights) && !farApart(heavier) {
			require.GreaterOrEqual(t, after[i], math.Nextafter(before[i]*(1-tolerance64), 0), "weight %v to %v", weights[i], heavier[i])
		}
	})
}

// For floats the place in the list means nothing, to the last bit, and neither
// does the unit of the weights.
func TestMaxMinDoesNotDependOnOrderOrUnit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		demands, capacity, weights := genCase(t)
		if weights == nil {
			weights = slices.Repeat([]float64{1}, len(demands))
		}
		want, err := MaxMin(demands, capacity, weights)
		require.NoError(t, err)
		order := rapid.Permutation(indices(len(demands))).Draw(t, "order")
		got, err := MaxMin(permute(demands, order), capacity, permute(weights, order))
		require.NoError(t, err)
		require.Equal(t, permute(want, order), got)

		scaled := slices.Clone(weights)
		for i := range scaled {
			scaled[i] = math.Ldexp(scaled[i], -1)
			if math.Ldexp(scaled[i], 1) != weights[i] {
				return // lost a bit of a subnormal weight
			}
		}
		got, err = MaxMin(demands, capacity, scaled)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func indices(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

func permute[T any](xs []T, order []int) []T {
	out := make([]T, len(xs))
	for i, j := range order {
		out[i] = xs[j]
	}
	return out
}

func TestMaxMinFloat32(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "n")
		gen := rapid.SliceOfN(rapid.Float32Range(0, math.MaxFloat32), n, n)
		demands, weights := gen.Draw(t, "demands"), gen.Draw(t, "weights")
		capacity := rapid.Float32Range(0, math.MaxFloat32).Draw(t, "capacity")
		got, err := MaxMin(demands, capacity, weights)
		require.NoError(t, err)
		d, w, c := caseOf(demands, capacity, weights)
		a := rationals(got)
		checkBounds(t, d, w, c, a, tolerance32, tiny32)
		checkIdeal(t, waterFill(d, w, c), d, a, tolerance32, tiny32)
	})
}

func TestMaxMinIntegersAgreeWithWaterFilling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "n")
		top := rapid.SampledFrom([]uint64{5, 100, 1 << 40, math.MaxUint64}).Draw(t, "top")
		heaviest := rapid.SampledFrom([]uint64{3, 1000, math.MaxUint64 / uint64(n)}).Draw(t, "heaviest")
		demands := rapid.SliceOfN(rapid.Uint64Range(0, top), n, n).Draw(t, "demands")
		weights := rapid.SliceOfN(rapid.Uint64Range(0, heaviest), n, n).Draw(t, "weights")
		capacity := rapid.Uint64Range(0, top).Draw(t, "capacity")
		got := maxMinWhole(t, demands, capacity, weights)

		// A unit more of capacity, or of weight, takes back one unit at most.
		if capacity < math.MaxUint64 {
			for i, a := range maxMinWhole(t, demands, capacity+1, weights) {
				require.GreaterOrEqual(t, a+1, got[i])
			}
		}
		if i := rapid.IntRange(0, n-1).Draw(t, "i"); weights[i] < heaviest {
			heavier := slices.Clone(weights)
			heavier[i]++
			require.GreaterOrEqual(t, maxMinWhole(t, demands, capacity, heavier)[i]+1, got[i])
		}

		// The place in the list decides about one unit at most.
		order := rapid.Permutation(indices(n)).Draw(t, "order")
		permuted := maxMinWhole(t, permute(demands, order), capacity, permute(weights, order))
		for i, a := range permute(got, order) {
			require.LessOrEqual(t, max(a, permuted[i])-min(a, permuted[i]), uint64(1))
		}
	})
}

func TestMaxMinSmallIntegersExhaustively(t *testing.T) {
	demands, weights := make([]int8, 3), make([]int8, 3)
	cases := 0
	for code := range 4 * 4 * 4 * 3 * 3 * 3 {
		demands[0], demands[1], demands[2] = int8(code%4), int8(code/4%4), int8(code/16%4)
		weights[0], weights[1], weights[2] = int8(code/64%3), int8(code/192%3), int8(code/576%3)
		for capacity := range int8(6) {
			maxMinWhole(t, demands, capacity, weights)
			cases++
		}
	}
	require.Equal(t, 10368, cases)
}

// The rule of largest remainders is not monotonic (the Alabama paradox): what
// the documentation admits does happen.
func TestMaxMinIntegersMayTakeBackAUnit(t *testing.T) {
	demands, weights := []int{100, 100, 100}, []int{6, 6, 2}
	require.Equal(t, []int{4, 4, 2}, maxMinWhole(t, demands, 10, weights))
	require.Equal(t, []int{5, 5, 1}, maxMinWhole(t, demands, 11, weights))
}

func TestMaxMinTakesAnyNumberType(t *testing.T) {
	durations, err := MaxMin([]time.Duration{time.Second, time.Minute}, 21*time.Second, []time.Duration{1, 2})
	require.NoError(t, err)
	require.Equal(t, []time.Duration{time.Second, 20 * time.Second}, durations)
	type load float32
	loads, err := MaxMin([]load{0.25, 1}, 1, nil)
	require.NoError(t, err)
	require.Equal(t, []load{0.25, 0.75}, loads)
	require.Equal(t, []uint8{128, 127}, maxMinWhole(t, []uint8{255, 255}, 255, []uint8{255, 255}))
	require.Equal(t, []int64{math.MaxInt64/2 + 1, math.MaxInt64 / 2},
		maxMinWhole(t, []int64{math.MaxInt64, math.MaxInt64}, math.MaxInt64, []int64{math.MaxInt64, math.MaxInt64}))
}

func TestMaxMinChangesNoArgument(t *testing.T) {
	demands, weights := []float64{3, 1, 2}, []float64{1, 3, 2}
	got, err := MaxMin(demands, 4, weights)
	require.NoError(t, err)
	got[0] = -1
	require.Equal(t, []float64{3, 1, 2}, demands)
	require.Equal(t, []float64{1, 3, 2}, weights)
}

// MM-3. The sum of a hundred tenants whose demands span 12 decades and whose
// weights span 6 is right to 1e-14 and never above the capacity. The same
// filling with "left -= demand, weight -= w" is not: the check can fail.
func TestMaxMinIllConditioned(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 4))
	worst, worstNaive, above := 0.0, 0.0, 0
	for range 300 {
		demands, weights := make([]float64, 100), make([]float64, 100)
		for i := range demands {
			demands[i] = math.Pow(10, 12*rng.Float64()-6)
			weights[i] = math.Pow(10, 6*rng.Float64()-3)
		}
		total := 0.0
		for _, d := range demands {
			total += d
		}
		capacity := total * rng.Float64()
		error := func(alloc []float64) float64 {
			c := rational(capacity)
			e := new(big.Rat).Sub(sum(rationals(alloc)), c)
			f, _ := e.Quo(e, c).Float64()
			return f
		}
		got, err := MaxMin(demands, capacity, weights)
		require.NoError(t, err)
		e := error(got)
		require.LessOrEqual(t, e, 0.0)
		worst = max(worst, -e)
		naive := error(naiveMaxMin(demands, capacity, weights))
		worstNaive = max(worstNaive, math.Abs(naive))
		if naive > 0 {
			above++
		}
	}
	require.Less(t, worst, tolerance64)
	require.Greater(t, worstNaive, 1e-14, "the check must be able to fail")
	require.Positive(t, above, "the check must be able to fail")
}

func naiveMaxMin(demands []float64, capacity float64, weights []float64) []float64 {
	order := indices(len(demands))
	slices.SortFunc(order, func(i, j int) int {
		if demands[i]/weights[i] < demands[j]/weights[j] {
			return -1
		}
		return 1
	})
	alloc, left, weight := make([]float64, len(demands)), capacity, 0.0
	for _, w := range weights {
		weight += w
	}
	for _, i := range order {
		alloc[i] = min(demands[i], left*weights[i]/weight)
		left -= alloc[i]
		weight -= weights[i]
	}
	return alloc
}

func TestMaxMinReportsBadArguments(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		demands  []float64
		capacity float64
		weights  []float64
		want     string
	}{
		{[]float64{1, -1, -2}, 1, nil, "fairness: demands[1] is -1, want 0 or more"},
		{[]float64{nan}, 1, nil, "fairness: demands[0] is NaN, want 0 or more"},
		{[]float64{1}, nan, nil, "fairness: capacity is NaN, want 0 or more"},
		{[]float64{1}, -inf, nil, "fairness: capacity is -Inf, want 0 or more"},
		{[]float64{1, 1}, 1, []float64{1, inf}, "fairness: weights[1] is +Inf, want 0 or more and finite"},
		{[]float64{1}, 1, []float64{-0.5}, "fairness: weights[0] is -0.5, want 0 or more and finite"},
		{[]float64{1}, 1, []float64{nan}, "fairness: weights[0] is NaN, want 0 or more and finite"},
		{[]float64{1, 2}, 1, []float64{1}, "fairness: len(weights) is 1, want as many as demands, 2"},
		{[]float64{1}, 1, []float64{}, "fairness: len(weights) is 0, want as many as demands, 1"},
		{
			[]float64{nan},
			-1,
			[]float64{-1},
			"fairness: demands[0] is NaN, want 0 or more\nfairness: capacity is -1, want 0 or more\n" +
				"fairness: weights[0] is -1, want 0 or more and finite",
		},
	} {
		got, err := MaxMin(c.demands, c.capacity, c.weights)
		require.EqualError(t, err, c.want)
		require.Nil(t, got)
		var e *ValueError
		require.ErrorAs(t, err, &e)
	}
	_, err := MaxMin([]int{1, -1}, -1, []int{-7, 1})
	require.EqualError(t, err, "fairness: demands[1] is -1, want 0 or more\nfairness: capacity is -1, want 0 or more\nfairness: weights[0] is -7, want 0 or more")
	_, err = MaxMin([]uint64{1, 1}, 1, []uint64{1, math.MaxUint64})
	require.EqualError(t, err, "fairness: weights[1] is 18446744073709551615, want a sum of weights below 2^64")
}
