package sim

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ks returns the Kolmogorov-Smirnov distance of values from the exponential
// distribution of mean 1, times the root of their number. Above 1.95 lies one
// sample in a thousand.
func ks(values []float64) float64 {
	slices.Sort(values)
	n, most := float64(len(values)), 0.0
	for i, v := range values {
		f := 1 - math.Exp(-v)
		most = max(most, f-float64(i)/n, float64(i+1)/n-f)
	}
	return most * math.Sqrt(n)
}

// A Poisson process of any rate becomes one of rate 1 when time is measured by
// the number of arrivals expected.
func TestArrivalsArePoisson(t *testing.T) {
	a := arrivals{
		src: stream(3, 5, arrivalStream), rate: 200, end: 100 * time.Second,
		bursts: []Burst{{0, time.Second, 3}, {20 * time.Second, 40 * time.Second, 5}, {40 * time.Second, 50 * time.Second, 0}, {99 * time.Second, 100 * time.Second, 0.5}},
	}
	bursts := a.bursts
	expected := func(at time.Duration) float64 {
		sum := a.rate * at.Seconds()
		for _, b := range bursts {
			if at > b.From {
				sum += a.rate * (b.Factor - 1) * (min(at, b.To) - b.From).Seconds()
			}
		}
		return sum
	}
	require.InDelta(t, 200*(100+2+80-10-0.5), expected(a.end), 1e-6)
	var gaps []float64
	last, now := 0.0, time.Duration(0)
	for {
		next, ok := a.next(now)
		if !ok {
			break
		}
		require.GreaterOrEqual(t, next, now)
		require.Less(t, next, a.end)
		require.False(t, bursts[2].From <= next && next < bursts[2].To, "a rate of 0, but an arrival at %v", next)
		gaps = append(gaps, expected(next)-last)
		last, now = expected(next), next
	}
	n := expected(a.end)
	require.InDelta(t, n, float64(len(gaps)), 4*math.Sqrt(n))
	require.Less(t, ks(gaps), 1.95)
	// The check can fail: a rate that is 5 % off.
	for i := range gaps {
		gaps[i] *= 1.05
	}
	require.Greater(t, ks(gaps), 1.95)
}

func TestServiceTimesAreExponential(t *testing.T) {
	s := service{src: stream(1, 2, serviceStream), mean: 10 * time.Millisecond}
	times := make([]float64, 50_000)
	for i := range times {
		times[i] = float64(s.next()) / float64(s.mean)
	}
	require.Less(t, ks(times), 1.95)
	// Whole nanoseconds, 1 at least.
	s = service{src: stream(1, 2, serviceStream), mean: 1}
	for range 1000 {
		require.Positive(t, s.next())
	}
	s = service{src: stream(1, 2, serviceStream), mean: 5, same: true}
	require.Equal(t, time.Duration(5), s.next())
}

// chi2 counts pairs of numbers from 0 to 1 in a grid of 16*16 and returns the
// chi-square statistic as a standard normal number, which for independent
// uniform ones is above 4 once in 30,000 times.
func chi2(xs, ys []float64) float64 {
	const side, cells = 16, 16 * 16
	var grid [cells]float64
	for i := range xs {
		grid[int(xs[i]*side)*side+int(ys[i]*side)]++
	}
	sum, want := 0.0, float64(len(xs))/cells
	for _, n := range grid {
		sum += (n - want) * (n - want) / want
	}
	return (sum - (cells - 1)) / math.Sqrt(2*(cells-1))
}

func unit(x uint64) float64 { return float64(x>>11) / (1 << 53) }

// Streams of neighbouring seeds, tenants and purposes have nothing to do with
// one another, from their first number on (of which many tenants need few).
func TestStreamsAreIndependent(t *testing.T) {
	const n = 100_000
	draw := func(seed uint64, tenant, purpose int) []float64 {
		src := stream(seed, tenant, purpose)
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = unit(src.Uint64())
		}
		return xs
	}
	base := draw(1, 0, 0)
	require.Greater(t, chi2(base, draw(1, 0, 0)), 100.0)
	for i, other := range [][]float64{draw(1, 0, 1), draw(1, 1, 0), draw(1, 2, 0), draw(2, 0, 0), draw(3, 0, 0), draw(0, 0, 0), draw(1<<63, 0, 0)} {
		require.Less(t, chi2(base, other), 4.0, "stream %d", i)
		require.Less(t, chi2(base[1:], other), 4.0, "stream %d, one earlier", i)
	}
	first := func(seed uint64, purpose, number int) []float64 {
		xs := make([]float64, n)
		for tenant := range xs {
			src := stream(seed, tenant, purpose)
			for range number {
				src.Uint64()
			}
			xs[tenant] = unit(src.Uint64())
		}
		return xs
	}
	for seed := range uint64(4) {
		xs := first(seed, arrivalStream, 0)
		require.Less(t, chi2(xs[1:], xs[:n-1]), 4.0, "next tenant")
		require.Less(t, chi2(xs, first(seed, arrivalStream, 1)), 4.0, "second number")
		require.Less(t, chi2(xs, first(seed, serviceStream, 0)), 4.0, "other purpose")
		require.Less(t, chi2(xs, first(seed+1, arrivalStream, 0)), 4.0, "next seed")
	}
}
