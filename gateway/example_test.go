package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/fairlane-go/fairlane/drr"
	"github.com/fairlane-go/fairlane/gateway"
)

// A handler behind a gate, and how a request is refused.
func ExampleMiddleware() {
	gate, err := drr.NewGate(drr.GateConfig{Slots: 64, Limits: drr.Limits{
		Config: drr.Config{MaxDepth: 5000, MaxTenantDepth: 500}, MaxWait: 10 * time.Second,
	}})
	if err != nil {
		panic(err)
	}
	fair, err := gateway.Middleware(gate, gateway.Options{Tenant: gateway.TenantHeader("X-Tenant")})
	if err != nil {
		panic(err)
	}
	handler := fair(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s", gateway.Tenant(r.Context()))
	}))

	request := httptest.NewRequest("GET", "/", nil)
	request.Header.Set("X-Tenant", "acme")
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	fmt.Println(answer.Code, answer.Body)

	gate.Close()
	answer = httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	fmt.Println(answer.Code, answer.Body)
	// Output:
	// 200 hello acme
	// 503 {"type":"https://pkg.go.dev/github.com/fairlane-go/fairlane/drr#Closed","title":"Closed","status":503,"detail":"The service is shutting down here.","reason":"closed","tenant":"acme"}
}

// What is missing is reported all at once.
func ExampleMiddleware_invalid() {
	_, err := gateway.Middleware(nil, gateway.Options{})
	fmt.Println(err)
	var value *gateway.ValueError
	fmt.Println(errors.As(err, &value))
	// Output:
	// gateway: gate is <nil>, want a gate
	// gateway: Options.Tenant is <nil>, want a function
	// true
}

// A handler that streams says what it costs as it goes.
func ExampleGrant() {
	limits := drr.Limits{Hooks: drr.Hooks{Done: func(tenant string, cost int64) {
		fmt.Println(tenant, "is charged", cost)
	}}}
	gate, _ := drr.NewGate(drr.GateConfig{Slots: 1, Limits: limits})
	fair, _ := gateway.Middleware(gate, gateway.Options{
		Tenant: gateway.TenantHeader("X-Tenant"),
		Cost:   gateway.CostHeader("X-Estimated-Tokens", 100_000),
	})
	handler := fair(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 3 { // pieces of output, 20 tokens each
			if err := gateway.Grant(r.Context()).Charge(20); err != nil {
				panic(err)
			}
		}
	}))
	request := httptest.NewRequest("GET", "/", nil)
	request.Header.Set("X-Tenant", "acme")
	request.Header.Set("X-Estimated-Tokens", "10")
	handler.ServeHTTP(httptest.NewRecorder(), request)

	gateway.Grant(context.Background()).Release() // of nothing: harmless
	// Output: acme is charged 70
}

// Tenants by API key: nobody can name another.
func ExampleTenantAPIKey() {
	keys := map[string]string{"s3cret": "acme"}
	tenant := gateway.TenantAPIKey(func(key string) string { return keys[key] })
	request := httptest.NewRequest("GET", "/", nil)
	request.Header.Set("X-Tenant", "globex")
	request.Header.Set("Authorization", "Bearer s3cret")
	fmt.Println(tenant(request))
	// Output: acme
}

func ExampleSetQuotas() {
	h := http.Header{}
	gateway.SetQuotas(h,
		gateway.Quota{Name: "burst", Limit: 10, Remaining: 8, Window: time.Second, Reset: time.Second},
		gateway.Quota{Name: "daily", Limit: 5000, Remaining: 4998, Window: 24 * time.Hour, Reset: 69076 * time.Second})
	fmt.Println(h.Get("RateLimit-Policy"))
	fmt.Println(h.Get("RateLimit"))
	// Output:
	// "burst";q=10;w=1, "daily";q=5000;w=86400
	// "burst";r=8;t=1, "daily";r=4998;t=69076
}

func ExampleKey() {
	fmt.Println(gateway.Key("acme"))
	fmt.Println(len(gateway.Key(fmt.Sprintf("%5000d", 1))))
	// Output:
	// acme
	// 128
}

func ExampleStatus() {
	for _, reason := range []drr.Reason{drr.TenantFull, drr.Full, drr.WaitedTooLong} {
		fmt.Println(reason, gateway.Status(reason))
	}
	// Output:
	// tenant queue full 429
	// queue full 503
	// waited too long 504
}
