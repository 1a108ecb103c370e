package sim_test

import (
	"fmt"
	"strings"

	"github.com/fairlane-go/fairlane/sim"
)

// A noisy neighbour under two policies.
func ExampleRun() {
	sc, err := sim.Builtin("four-policies")
	if err != nil {
		panic(err)
	}
	for _, policy := range []string{sim.PolicyFIFO, sim.PolicyDRR} {
		r, err := sim.Run(sc, policy, 1)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%-4s worst share %.2f, p99 of those within their share %.0f ms\n",
			policy, r.MinShare, r.P99.Seconds()*1e3)
	}
	// Output:
	// fifo worst share 0.26, p99 of those within their share 2596 ms
	// drr  worst share 0.99, p99 of those within their share 21 ms
}

// The five findings, judged.
func ExampleEvaluate() {
	sc, err := sim.Builtin("four-policies")
	if err != nil {
		panic(err)
	}
	verdict := func(v *bool) string {
		switch {
		case v == nil:
			return "-"
		case *v:
			return "pass"
		}
		return "fail"
	}
	for _, policy := range sc.PolicyNames() {
		e, err := sim.Evaluate(sc, policy, 1)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%-9s", policy)
		for _, v := range []*bool{e.F1, e.F2, e.F3, e.F4, e.F5} {
			fmt.Printf(" %-4s", verdict(v))
		}
		fmt.Println()
	}
	// Output:
	// fifo      fail fail fail pass pass
	// quota     pass fail pass fail pass
	// drr       pass pass pass pass pass
	// drr_quota pass pass pass -    pass
}

// A scenario of one's own. Everything that is wrong with it is reported at once.
func ExampleLoad() {
	_, err := sim.Load(strings.NewReader(`{
		"name": "mine",
		"seeds": [1],
		"duration": "10s",
		"window": {"from": "5s", "to": "20s"},
		"workers": 4,
		"service": {"distribution": "exponential", "mean": "20ms"},
		"tenants": [{"name": "a", "rate": 50, "weigth": 2}, {"name": "b", "rate": -1}],
		"policies": {"drr": {"quantum": "20ms", "tenant_depth": 100}}
	}`))
	fmt.Println(err)
	// Output:
	// sim: tenants[0].weigth is 2, want no such field
	// sim: window.to is 20s, want at most duration, 10s
	// sim: tenants[1].rate is -1, want above 0, at most 1e9
}

func ExampleResult_Metric() {
	sc, err := sim.Builtin("tiers")
	if err != nil {
		panic(err)
	}
	r, err := sim.Run(sc, sim.PolicyDRR, 1)
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"jain", "min_share", "capacity_per_sec"} {
		value, _ := r.Metric(name)
		fmt.Printf("%s %.2f\n", name, value)
	}
	for _, t := range r.Tenants {
		fmt.Printf("%s: weight %v, %.0f/s\n", t.Name, t.Weight, t.Rate)
	}
	// Output:
	// jain 1.00
	// min_share 0.99
	// capacity_per_sec 799.01
	// bronze: weight 1, 115/s
	// silver: weight 2, 226/s
	// gold: weight 4, 454/s
}
