package tenantmetrics_test

import (
	"fmt"

	"github.com/fairlane-go/fairlane/tenantmetrics"
)

// One period with a top 2 of four tenants. A real program would count each
// request as it ends and call Flush from a ticker.
func ExampleReducer() {
	r, err := tenantmetrics.New(tenantmetrics.Config{TopK: 2})
	if err != nil {
		panic(err)
	}
	count := func(tenant string, outcome tenantmetrics.Outcome, n int64) {
		if err := r.Add(tenant, outcome, n); err != nil {
			panic(err)
		}
	}
	count("acme", tenantmetrics.Completed, 700)
	count("acme", tenantmetrics.OverQuota, 40)
	count("globex", tenantmetrics.Completed, 300)
	count("initech", tenantmetrics.Completed, 20)
	count("hooli", tenantmetrics.QueueFull, 5)

	report := r.Flush()
	for _, s := range report.Series {
		fmt.Println(s.Tenant, s.Counts[tenantmetrics.Completed], s.Counts.Refused())
	}
	fmt.Println("total", report.Total.Requests())
	for _, refusal := range report.Refused {
		fmt.Println(refusal.Tenant, refusal.Outcome)
	}
	// Output:
	// acme 700 40
	// globex 300 0
	// __other__ 20 5
	// total 1065
	// acme over quota
	// hooli queue full
}

// With TopRefused a small tenant that is refused at every call has a series.
func ExampleConfig_topRefused() {
	r, err := tenantmetrics.New(tenantmetrics.Config{TopK: 2, TopRefused: 1})
	if err != nil {
		panic(err)
	}
	for _, tenant := range []string{"acme", "globex", "initech"} {
		_ = r.Add(tenant, tenantmetrics.Completed, 1000)
	}
	_ = r.Add("tiny", tenantmetrics.OverQuota, 7)
	for _, s := range r.Flush().Series {
		fmt.Println(s.Tenant, s.Counts.Requests())
	}
	// Output:
	// acme 1000
	// tiny 7
	// __other__ 2000
}

func ExampleReducer_Delete() {
	r, err := tenantmetrics.New(tenantmetrics.Config{})
	if err != nil {
		panic(err)
	}
	_ = r.Add("tenant-1", tenantmetrics.Completed, 5)
	_ = r.Add("tenant-10", tenantmetrics.Completed, 5)
	r.Delete("tenant-1")
	_ = r.Add("tenant-1", tenantmetrics.Completed, 1) // it was under way
	for _, s := range r.Flush().Series {
		fmt.Println(s.Tenant, s.Counts.Requests())
	}
	// Output:
	// tenant-10 5
	// __other__ 6
}

func ExampleLabel() {
	fmt.Println(tenantmetrics.Label("acme"))
	fmt.Println(tenantmetrics.Label("__other__"))
	// Output:
	// acme
	// __c9e633384a1fdcc39f9b34716d12617f___other__
}
