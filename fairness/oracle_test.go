package fairness

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The oracle: round-by-round water filling in rational numbers. In each round
// the level rises at the same speed for each unit of weight, until somebody is
// full or the capacity is used up. It knows nothing of sorting or rounding.

var (
	zero = new(big.Rat)
	one  = big.NewRat(1, 1)
)

func waterFill(demands, weights []*big.Rat, capacity *big.Rat) []*big.Rat {
	alloc := make([]*big.Rat, len(demands))
	for i := range alloc {
		alloc[i] = new(big.Rat)
	}
	left := fillTier(alloc, demands, weights, capacity)
	spare := make([]*big.Rat, len(weights)) // those of weight 0, now as equals
	for i, w := range weights {
		spare[i] = zero
		if w.Sign() == 0 {
			spare[i] = one
		}
	}
	fillTier(alloc, demands, spare, left)
	return alloc
}

func fillTier(alloc, demands, weights []*big.Rat, capacity *big.Rat) (left *big.Rat) {
	left = new(big.Rat).Set(capacity)
	for {
		var hungry []int
		speed := new(big.Rat)
		for i, w := range weights {
			if w.Sign() > 0 && alloc[i].Cmp(demands[i]) < 0 {
				hungry = append(hungry, i)
				speed.Add(speed, w)
			}
		}
		if len(hungry) == 0 || left.Sign() == 0 {
			return left
		}
		rise := new(big.Rat).Quo(left, speed)
		for _, i := range hungry {
			room := new(big.Rat).Sub(demands[i], alloc[i])
			if room.Quo(room, weights[i]).Cmp(rise) < 0 {
				rise = room
			}
		}
		for _, i := range hungry {
			part := new(big.Rat).Mul(rise, weights[i])
			alloc[i].Add(alloc[i], part)
			left.Sub(left, part)
		}
	}
}

// wholeUnits rounds an ideal division by the method of largest remainders.
func wholeUnits(ideal []*big.Rat) []*big.Rat {
	units := make([]*big.Rat, len(ideal))
	fractions := make([]*big.Rat, len(ideal))
	lost := new(big.Rat)
	for i, x := range ideal {
		units[i] = new(big.Rat).SetInt(new(big.Int).Quo(x.Num(), x.Denom()))
		fractions[i] = new(big.Rat).Sub(x, units[i])
		lost.Add(lost, fractions[i])
	}
	for lost.Sign() > 0 {
		best := 0
		for i, f := range fractions {
			if f.Cmp(fractions[best]) > 0 {
				best = i
			}
		}
		units[best] = new(big.Rat).Add(units[best], one)
		fractions[best] = big.NewRat(-1, 1)
		lost.Sub(lost, one)
	}
	return units
}

func rationals[T Number](xs []T) []*big.Rat {
	out := make([]*big.Rat, len(xs))
	for i, x := range xs {
		out[i] = rational(x)
	}
	return out
}

func rational[T Number](x T) *big.Rat {
	if isFloat[T]() {
		return new(big.Rat).SetFloat64(float64(x))
	}
	if x < 0 {
		return new(big.Rat).SetInt64(int64(x))
	}
	return new(big.Rat).SetInt(new(big.Int).SetUint64(uint64(x)))
}

// caseOf turns the arguments of MaxMin into rationals. A demand beyond the
// capacity becomes just that, since +Inf is no rational.
func caseOf[T Number](demands []T, capacity T, weights []T) (d, w []*big.Rat, c *big.Rat) {
	c = rational(capacity)
	more := new(big.Rat).Add(c, one)
	d = make([]*big.Rat, len(demands))
	for i, x := range demands {
		d[i] = more
		if x <= capacity {
			d[i] = rational(x)
		}
	}
	if weights == nil {
		weights = slices.Repeat([]T{1}, len(demands))
	}
	return d, rationals(weights), c
}

func sum(xs []*big.Rat) *big.Rat {
	total := new(big.Rat)
	for _, x := range xs {
		total.Add(total, x)
	}
	return total
}

// less reports whether x < y*(1-tolerance) - floor.
func less(x, y *big.Rat, tolerance, floor float64) bool {
	limit := new(big.Rat).SetFloat64(tolerance)
	limit.Sub(one, limit)
	limit.Mul(limit, y)
	limit.Sub(limit, new(big.Rat).SetFloat64(floor))
	return x.Cmp(limit) < 0
}

// checkBounds checks what holds whatever the weights:
//
//	M1  0 <= a <= d
//	M2  the sum is min(C, sum of demands), at most, and at least to within the tolerance
//	M3  weight 0 gets nothing before all others have their demand
func checkBounds(t require.TestingT, d, w []*big.Rat, c *big.Rat, a []*big.Rat, tolerance, tiny float64) {
	require.Len(t, a, len(d))
	positiveMet := true
	for i := range a {
		require.True(t, a[i].Sign() >= 0 && a[i].Cmp(d[i]) <= 0, "M1: allocation %d is %v, demand %v", i, a[i], d[i])
		positiveMet = positiveMet && (w[i].Sign() == 0 || a[i].Cmp(d[i]) == 0)
	}
	want, got := sum(d), sum(a)
	if c.Cmp(want) < 0 {
		want = c
	}
	require.True(t, got.Cmp(want) <= 0, "M2: handed out %v of %v", got, want)
	require.False(t, less(got, want, tolerance, tiny*float64(len(a))), "M2: handed out only %v of %v", got, want)
	for i := range a {
		require.True(t, positiveMet || w[i].Sign() > 0 || a[i].Sign() == 0, "M3: spare tenant %d got %v", i, a[i])
	}
}

// checkBottleneck checks what makes a division max-min fair, pair by pair:
//
//	M4  a[i] < d[i] => a[j]/w[j] <= a[i]/w[i], to within the tolerance
func checkBottleneck(t require.TestingT, d, w, a []*big.Rat, tolerance, tiny float64) {
	for i := range a {
		if a[i].Cmp(d[i]) >= 0 || w[i].Sign() == 0 {
			continue
		}
		for j := range a {
			if w[j].Sign() == 0 {
				continue
			}
			mine := new(big.Rat).Mul(a[i], w[j])
			theirs := new(big.Rat).Mul(a[j], w[i])
			slack := new(big.Rat).Mul(new(big.Rat).SetFloat64(tiny), w[j])
			require.False(t, less(mine.Add(mine, slack), theirs, tolerance, 0),
				"M4: %d is short with %v of %v at weight %v, while %d has %v at %v", i, a[i], d[i], w[i], j, a[j], w[j])
		}
	}
}

// checkIdeal compares with the oracle: rounded down by less than the tolerance,
// and exact where the demand is met.
func checkIdeal(t require.TestingT, ideal, d, a []*big.Rat, tolerance, tiny float64) {
	for i := range a {
		if ideal[i].Cmp(d[i]) == 0 {
			require.Zero(t, a[i].Cmp(d[i]), "tenant %d: %v, want its demand %v", i, a[i], d[i])
			continue
		}
		require.True(t, a[i].Cmp(ideal[i]) <= 0, "tenant %d: %v is above %v", i, a[i], ideal[i])
		require.False(t, less(a[i], ideal[i], tolerance, tiny), "tenant %d: %v is below %v", i, a[i], ideal[i])
	}
}

const (
	tolerance64 = 1e-15
	tolerance32 = 2e-7
	tiny64      = math.SmallestNonzeroFloat64
	tiny32      = math.SmallestNonzeroFloat32
)

// maxMinChecked runs MaxMin on floats and checks all of its promises.
func maxMinChecked(t require.TestingT, demands []float64, capacity float64, weights []float64) []float64 {
	got, err := MaxMin(demands, capacity, weights)
	require.NoError(t, err)
	d, w, c := caseOf(demands, capacity, weights)
	a := rationals(got)
	checkBounds(t, d, w, c, a, tolerance64, tiny64)
	if !farApart(weights) {
		checkBottleneck(t, d, w, a, tolerance64, tiny64)
		checkIdeal(t, waterFill(d, w, c), d, a, tolerance64, tiny64)
	}
	return got
}

// farApart reports whether weights are beyond what MaxMin's accuracy is stated for.
func farApart(weights []float64) bool {
	lightest, heaviest := math.Inf(1), 0.0
	for _, w := range weights {
		if w > 0 {
			lightest, heaviest = min(lightest, w), max(heaviest, w)
		}
	}
	return heaviest*1e-150 > lightest*1e150
}

// maxMinWhole runs MaxMin on integers and compares with the oracle.
func maxMinWhole[T Number](t require.TestingT, demands []T, capacity T, weights []T) []T {
	got, err := MaxMin(demands, capacity, weights)
	require.NoError(t, err)
	d, w, c := caseOf(demands, capacity, weights)
	a := rationals(got)
	checkBounds(t, d, w, c, a, 0, 0)
	want := wholeUnits(waterFill(d, w, c))
	for i := range a {
		require.Zero(t, a[i].Cmp(want[i]), "tenant %d: %v, want %v, of %v at weights %v", i, a[i], want[i], demands, weights)
	}
	return got
}

func TestOracleOnPaper(t *testing.T) {
	d, w, c := caseOf([]float64{2, 2.5, 4, 5}, 10, nil)
	for i, want := range []*big.Rat{big.NewRat(2, 1), big.NewRat(5, 2), big.NewRat(11, 4), big.NewRat(11, 4)} {
		require.Zero(t, waterFill(d, w, c)[i].Cmp(want))
	}
}
