package fairness_test

import (
	"errors"
	"fmt"

	"github.com/fairlane-go/fairlane/fairness"
)

// The first two want less than an equal share, 2.5 and then 2.67; what they
// leave is divided among the others.
func ExampleMaxMin() {
	shares, err := fairness.MaxMin([]float64{2, 2.5, 4, 5}, 10, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(shares)
	// Output:
	// [2 2.5 2.75 2.75]
}

// Ten worker slots for three tenants that want all of them: none is lost to
// rounding. The third tenant has paid for twice the share.
func ExampleMaxMin_integers() {
	equal, _ := fairness.MaxMin([]int{10, 10, 10}, 10, nil)
	weighted, _ := fairness.MaxMin([]int{10, 10, 10}, 10, []int{1, 1, 2})
	fmt.Println(equal, weighted)
	// Output:
	// [4 3 3] [3 2 5]
}

// A batch tenant of weight 0 gets what the others leave.
func ExampleMaxMin_spareCapacity() {
	demands, weights := []int{30, 100}, []int{1, 0}
	busy, _ := fairness.MaxMin(demands, 20, weights)
	quiet, _ := fairness.MaxMin(demands, 50, weights)
	fmt.Println(busy, quiet)
	// Output:
	// [20 0] [30 20]
}

func ExampleJain() {
	alike, _ := fairness.Jain([]int{40, 40, 40, 40})
	one, _ := fairness.Jain([]int{160, 0, 0, 0})
	fmt.Println(alike, one)
	// Output:
	// 1 0.25
}

// What tenants received, against their max-min shares of the same window.
func ExampleWeightedJain() {
	shares, _ := fairness.MaxMin([]float64{20, 300, 300}, 200, []float64{1, 1, 2})
	index, _ := fairness.WeightedJain([]int{20, 60, 120}, shares)
	fmt.Println(shares, index)
	// Output:
	// [20 60 120] 1
}

// The third tenant was starved.
func ExampleMinShare() {
	share, _ := fairness.MinShare([]int{20, 60, 3}, []float64{20, 60, 120})
	fmt.Println(share)
	// Output:
	// 0.025
}

func ExampleValueError() {
	_, err := fairness.MaxMin([]int{4, -1}, 10, nil)
	var bad *fairness.ValueError
	if errors.As(err, &bad) {
		fmt.Println(bad.Field, bad.Value)
	}
	fmt.Println(err)
	// Output:
	// demands[1] -1
	// fairness: demands[1] is -1, want 0 or more
}
