package fairness

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func BenchmarkMaxMin(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000} {
		rng := rand.New(rand.NewPCG(1, 2))
		demands, weights := make([]float64, n), make([]float64, n)
		whole, wholeWeights := make([]int64, n), make([]int64, n)
		for i := range demands {
			demands[i] = math.Pow(10, 6*rng.Float64())
			weights[i] = 1 + 9*rng.Float64()
			whole[i], wholeWeights[i] = int64(demands[i]), int64(weights[i])
		}
		capacity := float64(n) * 1e4
		b.Run(fmt.Sprintf("type=float64/tenants=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := MaxMin(demands, capacity, weights); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("type=int64/tenants=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := MaxMin(whole, int64(capacity), wholeWeights); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkJain(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000} {
		rng := rand.New(rand.NewPCG(3, 4))
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.Float64()
		}
		b.Run(fmt.Sprintf("tenants=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := Jain(x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
