package quota

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// interval is the exact time of a token, in ns: what the limit says.
func interval(l Limit) *big.Rat {
	x := new(big.Rat).SetFloat64(l.Rate.Tokens)
	return x.Quo(rat(int64(l.Rate.per())), x)
}

func TestTermsOfCommonRatesAreExact(t *testing.T) {
	for _, c := range []struct {
		limit Limit
		p, q  int64
	}{
		{Limit{PerSecond(1), 1}, 1, 1e9},
		{Limit{PerSecond(3), 5}, 3, 1e9},
		{Limit{PerSecond(1e6), 1e6}, 1, 1000},
		{Limit{PerSecond(1e15), 1}, 1_000_000, 1},
		{Limit{PerSecond(2.5e9), 1}, 5, 2},
		{Limit{Per(600, time.Minute), 600}, 1, 1e8},
		{Limit{Per(100_000, time.Minute), 100_000}, 1, 600_000},
		{Limit{Per(7, time.Hour), 7}, 7, 3600e9},
		{Limit{Per(5_000_000, 30*24*time.Hour), 5_000_000}, 1, 518_400_000},
		{Limit{Per(1, 30*24*time.Hour), 12}, 1, 2592e12},
		{Limit{Rate{Tokens: 10}, 1}, 1, 1e8},                   // Per 0 is a second
		{Limit{PerSecond(0), MaxBurst}, 0, zeroRateQ},          // never refills
		{Limit{PerSecond(5000. / 3), 1}, 1, 600_000},           // what the float was meant to be
		{Limit{PerSecond(0.1), 1}, 1, 1e10},                    // so was this
		{Limit{PerSecond(454.5454545454545), 1}, 1, 2_200_000}, // 5000/11
		{Limit{PerSecond(1. / 3), 1}, 1, 3e9},
	} {
		terms, err := compile(c.limit, "Limit")
		require.NoError(t, err)
		require.Equal(t, [2]int64{c.p, c.q}, [2]int64{terms.p, terms.q}, "%v", c.limit)
	}
}

// anyLimit draws limits of all sizes, half of them from what people configure.
func anyLimit(t *rapid.T) Limit {
	per := rapid.SampledFrom([]time.Duration{0, 1, time.Microsecond, time.Second, time.Minute, time.Hour, 24 * time.Hour, 30 * 24 * time.Hour}).Draw(t, "per")
	var tokens float64
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		tokens = float64(rapid.Int64Range(0, 20).Draw(t, "few"))
	case 1:
		tokens = float64(rapid.Int64Range(1, 1<<40).Draw(t, "many"))
	case 2:
		tokens = float64(rapid.IntRange(1, 1000).Draw(t, "num")) / float64(rapid.IntRange(1, 1000).Draw(t, "denom"))
	case 3:
		tokens = math.Exp(rapid.Float64Range(-20, 35).Draw(t, "log"))
	}
	burst := rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64Range(0, 1e6), rapid.Int64Range(0, MaxBurst)).Draw(t, "burst")
	return Limit{Rate{tokens, per}, burst}
}

// The rate served is the rate asked for, within the bounds of the package's
// documentation, and exactly if that fits.
func TestTermsAreNearTheLimit(t *testing.T) {
	exact, near := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		l := anyLimit(t)
		terms, err := compile(l, "Limit")
		burst := max(l.Burst, 1)
		if l.Rate.Tokens == 0 {
			require.NoError(t, err)
			require.Zero(t, terms.p)
			return
		}
		x := interval(l)
		fill := new(big.Rat).Mul(x, rat(burst))
		if err != nil {
			var v *ValueError
			require.ErrorAs(t, err, &v)
			require.Equal(t, "Limit.Rate", v.Field)
			tooFast := x.Cmp(big.NewRat(1e9, 1e15)) < 0
			tooSlow := fill.Cmp(rat(maxCapacity)) > 0 // 36.5 years
			require.True(t, tooFast || tooSlow, "%v: %v", l, err)
			return
		}
		require.LessOrEqual(t, terms.capacity, int64(maxCapacity))
		require.LessOrEqual(t, terms.p, int64(hardP))
		require.Positive(t, terms.p)
		require.Positive(t, terms.q)

		diff := new(big.Rat).Quo(big.NewRat(terms.q, terms.p), x)
		diff.Sub(diff, rat(1)).Abs(diff)
		e, _ := diff.Float64()
		bound := 1.01 * max(1./(1<<goodBits), 1./(1<<20)/float64(terms.q), float64(burst)/(1<<60)/float64(terms.p))
		require.LessOrEqual(t, e, bound, "%v is %d/%d", l, terms.p, terms.q)
		require.LessOrEqual(t, e, 1e-6)
		if l.Rate.Tokens/l.Rate.per().Seconds() <= 1e6 && burst <= 1e9 {
			require.LessOrEqual(t, e, 1e-9)
		}
		p, q := x.Denom(), x.Num()
		fits := p.IsInt64() && p.Int64() <= softP && q.IsInt64() && q.Int64() <= softCapacity/burst
		if fits {
			require.Zero(t, diff.Sign(), "%v fits, but is %d/%d", l, terms.p, terms.q)
			exact++
		} else if diff.Sign() != 0 {
			near++
		}
	})
	if !testing.Short() { // few values then, and chance may have left these out
		require.Positive(t, exact)
		require.Positive(t, near)
	}
}

// A rate that is only near in a binary fraction is the fraction meant.
func TestTermsRecoverFractions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64Range(1, 1000).Draw(t, "a"), rapid.Int64Range(1, 1000).Draw(t, "b")
		terms, err := compile(Limit{PerSecond(float64(a) / float64(b)), 1}, "Limit")
		require.NoError(t, err)
		require.Equal(t, big.NewRat(b*1e9, a), big.NewRat(terms.q, terms.p), "%d/%d per second", a, b)
	})
}

func TestCarryKeepsTheBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, err := compile(anyLimit(t), "Limit")
		if err != nil {
			t.Skip()
		}
		to, err := compile(anyLimit(t), "Limit")
		if err != nil {
			t.Skip()
		}
		used := rapid.OneOf(
			rapid.Int64Range(0, from.capacity),
			rapid.Int64Range(0, maxUsed),
			rapid.Just(from.capacity), rapid.Just(int64(maxUsed)),
		).Draw(t, "used")
		o := &oracle{terms: from, balance: big.NewRat(from.capacity-used, from.q)}
		o.setTerms(0, to)
		got := big.NewRat(to.capacity-to.carry(from, used), to.q)
		require.Equal(t, o.balance.RatString(), got.RatString())
	})
}

func TestRateString(t *testing.T) {
	require.Equal(t, "600 per 1m0s", Per(600, time.Minute).String())
	require.Equal(t, "0.5 per 1s", Rate{Tokens: 0.5}.String())
}

func TestReduceRefusesWhatDoesNotFit(t *testing.T) {
	_, _, ok := reduce(big.NewRat(1, hardP+1), 1)
	require.False(t, ok, "too fast")
	p, q, ok := reduce(big.NewRat(1, hardP), 1)
	require.True(t, ok)
	require.Equal(t, []int64{hardP, 1}, []int64{p, q})
	_, _, ok = reduce(rat(maxCapacity/4+1), 4)
	require.False(t, ok, "too slow")
	p, q, ok = reduce(rat(maxCapacity/4), 4)
	require.True(t, ok)
	require.Equal(t, []int64{1, maxCapacity / 4}, []int64{p, q})
}
