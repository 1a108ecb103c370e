package gateway

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fairlane-go/fairlane/drr"
)

// discard is a ResponseWriter that costs nothing.
type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

func benchOptions() map[string]Options {
	cost := func(*http.Request) int64 { return 3 }
	return map[string]Options{
		"header": {},
		"apikey": {Tenant: TenantAPIKey(func(string) string { return "acme" })},
		"all": {
			Cost: CostHeader("X-Cost", 1000), Seats: func(*http.Request) int { return 1 }, ActualCost: cost,
		},
	}
}

func benchRequest() *http.Request {
	r := get("acme")
	r.Header.Set("X-Cost", "7")
	r.Header.Set("Authorization", "Bearer key")
	return r
}

// BenchmarkMiddleware measures a request that is admitted at once, against the
// bare handler.
func BenchmarkMiddleware(b *testing.B) {
	run := func(name string, h http.Handler) {
		b.Run("with="+name, func(b *testing.B) {
			w, r := discard{http.Header{}}, benchRequest()
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(w, r)
			}
		})
	}
	run("none", http.HandlerFunc(ok))
	for name, o := range benchOptions() {
		run(name, wrap(b, newGate(b, drr.GateConfig{Slots: 8}), o, ok))
	}
	g := newGate(b, drr.GateConfig{Slots: 8})
	h := wrap(b, g, Options{}, ok)
	g.Close()
	run("refusal", h)
}

func TestAllocations(t *testing.T) {
	for name, o := range benchOptions() {
		h := wrap(t, newGate(t, drr.GateConfig{Slots: 8}), o, ok)
		w, r := discard{http.Header{}}, benchRequest()
		require.LessOrEqual(t, testing.AllocsPerRun(1000, func() { h.ServeHTTP(w, r) }), 2.0, name)
	}
}
