package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fairlane-go/fairlane/drr"
)

func newGate(t testing.TB, c drr.GateConfig) *drr.Gate {
	t.Helper()
	g, err := drr.NewGate(c)
	require.NoError(t, err)
	t.Cleanup(g.Close)
	return g
}

func wrap(t testing.TB, g *drr.Gate, o Options, h http.HandlerFunc) http.Handler {
	t.Helper()
	if o.Tenant == nil {
		o.Tenant = TenantHeader("X-Tenant")
	}
	m, err := Middleware(g, o)
	require.NoError(t, err)
	return m(h)
}

// idle fails unless nothing is left of any request.
func idle(t testing.TB, g *drr.Gate) {
	t.Helper()
	s := g.Stats()
	require.Zero(t, s.InUse, "seats in use")
	require.Zero(t, s.Running, "running")
	require.Zero(t, s.Waiting, "waiting")
}

func get(tenant string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	if tenant != "" {
		r.Header.Set("X-Tenant", tenant)
	}
	return r
}

// do runs a request through h, and checks what holds for every answer.
func do(t testing.TB, h http.Handler, r *http.Request) (*http.Response, Problem) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return checked(t, w)
}

func checked(t testing.TB, w *httptest.ResponseRecorder) (*http.Response, Problem) {
	t.Helper()
	res := w.Result()
	retry := res.Header.Values("Retry-After")
	if res.StatusCode < 400 {
		require.Empty(t, retry)
		return res, Problem{}
	}
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	var p Problem
	require.NoError(t, json.Unmarshal(body, &p), "%s", body)
	require.Equal(t, "application/problem+json", res.Header.Get("Content-Type"))
	require.Equal(t, strconv.Itoa(len(body)), res.Header.Get("Content-Length"))
	require.Equal(t, res.StatusCode, p.Status)
	for field, value := range map[string]string{"type": p.Type, "title": p.Title, "detail": p.Detail, "reason": p.Reason} {
		require.NotEmpty(t, value, field)
	}
	if p.RetryAfter == 0 {
		require.Empty(t, retry)
		require.NotContains(t, string(body), "retry_after")
	} else {
		require.Positive(t, p.RetryAfter)
		require.Equal(t, []string{strconv.FormatInt(p.RetryAfter, 10)}, retry)
	}
	return res, p
}

func ok(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

func never(t testing.TB) http.HandlerFunc {
	return func(http.ResponseWriter, *http.Request) { t.Error("the handler of a refused request was called") }
}

func TestMiddlewareReportsAllThatIsMissing(t *testing.T) {
	m, err := Middleware(nil, Options{})
	require.Nil(t, m)
	require.EqualError(t, err, "gateway: gate is <nil>, want a gate\ngateway: Options.Tenant is <nil>, want a function")
	var value *ValueError
	require.ErrorAs(t, err, &value)
	m, err = Middleware(newGate(t, drr.GateConfig{Slots: 1}), Options{Tenant: TenantHeader("X-Tenant")})
	require.NoError(t, err)
	require.PanicsWithValue(t, "gateway: nil handler", func() { m(nil) })
}

// TestRefusals has each status that isn't a matter of time or of the body.
func TestRefusals(t *testing.T) {
	full := func(c drr.Config) *drr.Gate {
		g := newGate(t, drr.GateConfig{Slots: 1, Limits: drr.Limits{Config: c}})
		_, granted := g.TryAcquire(drr.Request{Tenant: "other"})
		require.True(t, granted)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _, _ = g.Acquire(ctx, drr.Request{Tenant: "a"}) }()
		t.Cleanup(func() { stop(); <-done })
		require.Eventually(t, func() bool { return g.Stats().Waiting == 1 }, 10*time.Second, time.Millisecond)
		return g
	}
	closed := newGate(t, drr.GateConfig{Slots: 1})
	closed.Close()
	free := newGate(t, drr.GateConfig{Slots: 2})
	fix := func(n int64) func(*http.Request) int64 { return func(*http.Request) int64 { return n } }
	seats := func(n int) func(*http.Request) int { return func(*http.Request) int { return n } }
	for _, c := range []struct {
		name   string
		gate   *drr.Gate
		o      Options
		tenant string
		status int
		reason string
		typ    string
		retry  int64
	}{
		{"tenant full", full(drr.Config{MaxTenantDepth: 1}), Options{}, "a", 429, drr.TenantFull.String(), "drr#TenantFull", 1},
		{"full", full(drr.Config{MaxDepth: 1}), Options{}, "b", 503, drr.Full.String(), "drr#Full", 1},
		{"never fits", free, Options{Seats: seats(3)}, "a", 413, drr.NeverFits.String(), "drr#NeverFits", 0},
		{"closed", closed, Options{}, "a", 503, drr.Closed.String(), "drr#Closed", 0},
		{"no tenant", free, Options{RequireTenant: true}, "", 400, NoTenant, "gateway#NoTenant", 0},
		{"cost below 0", free, Options{Cost: fix(-1)}, "a", 400, BadCost, "gateway#BadCost", 0},
		{"cost too large", free, Options{Cost: fix(drr.MaxCost + 1)}, "a", 400, BadCost, "gateway#BadCost", 0},
		{"seats below 0", free, Options{Seats: seats(-1)}, "a", 400, BadSeats, "gateway#BadSeats", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := c.gate.Stats()
			res, p := do(t, wrap(t, c.gate, c.o, never(t)), get(c.tenant))
			require.Equal(t, c.status, res.StatusCode)
			require.Equal(t, c.reason, p.Reason)
			require.Equal(t, "https://pkg.go.dev/github.com/fairlane-go/fairlane/"+c.typ, p.Type)
			require.Equal(t, c.retry, p.RetryAfter)
			require.Equal(t, c.tenant, p.Tenant)
			after := c.gate.Stats()
			require.Equal(t, before.Waiting, after.Waiting)
			require.Equal(t, before.Running, after.Running)
		})
	}
	idle(t, free)
	for reason, p := range byReason {
		require.Equal(t, p.Status, Status(reason))
	}
	require.Len(t, byReason, int(drr.Closed), "a problem for each reason")
	require.Equal(t, 503, Status(0))
}

// TestRC08QueueTimeout is the case of that number: who waited too long, who found no place
// and whose own deadline passed are told so, each at its moment.
func TestRC08QueueTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, drr.GateConfig{Slots: 1, Limits: drr.Limits{
			Config: drr.Config{MaxTenantDepth: 2}, MaxWait: 15 * time.Second,
		}})
		holder, granted := g.TryAcquire(drr.Request{Tenant: "busy"})
		require.True(t, granted)
		start := time.Now()
		h := wrap(t, g, Options{}, never(t))
		type answer struct {
			status int
			reason string
			at     time.Duration
		}
		got := map[string]answer{}
		var mu sync.Mutex
		var all sync.WaitGroup
		for name, c := range map[string]struct{ at, deadline time.Duration }{
			"a1": {}, "a2": {at: time.Second}, "a3": {at: 15500 * time.Millisecond},
			"a4": {at: 15501 * time.Millisecond}, "a5": {at: 16100 * time.Millisecond, deadline: 18 * time.Second},
		} {
			all.Go(func() {
				<-time.After(c.at)
				r := get("A")
				if c.deadline > 0 {
					ctx, stop := context.WithTimeout(t.Context(), c.deadline-time.Since(start))
					defer stop()
					r = r.WithContext(ctx)
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				at := time.Since(start)
				res, p := checked(t, w)
				mu.Lock()
				defer mu.Unlock()
				if p.RetryAfter < 1 {
					t.Error(name, "isn't told when to come back")
				}
				got[name] = answer{res.StatusCode, p.Reason, at}
			})
		}
		all.Wait()
		late := drr.WaitedTooLong.String()
		require.Equal(t, map[string]answer{
			"a1": {504, late, 15 * time.Second},
			"a2": {504, late, 16 * time.Second},
			"a3": {504, late, 30500 * time.Millisecond},
			"a4": {429, drr.TenantFull.String(), 15501 * time.Millisecond},
			"a5": {504, DeadlineExceeded, 18 * time.Second},
		}, got)
		s := g.Stats()
		require.Equal(t, []uint64{1, 3, 1}, []uint64{s.TenantFull, s.WaitedTooLong, s.Cancelled})
		holder.Release()
		idle(t, g)
	})
}

// TestRC04CancelledFreeTheirPlaces is the case of that number: requests that were given up leave room at
// once, and never run.
func TestRC04CancelledFreeTheirPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, drr.GateConfig{Slots: 1, Limits: drr.Limits{Config: drr.Config{MaxTenantDepth: 5}}})
		holder, _ := g.TryAcquire(drr.Request{Tenant: "busy"})
		var mu sync.Mutex
		var order []string
		h := wrap(t, g, Options{}, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			order = append(order, r.Header.Get("X-Name"))
			mu.Unlock()
		})
		status, cancel := map[string]int{}, map[string]func(){}
		send := func(name string) {
			ctx, stop := context.WithCancel(t.Context())
			cancel[name] = stop
			r := get("A").WithContext(ctx)
			r.Header.Set("X-Name", name)
			go func() {
				res, _ := do(t, h, r)
				mu.Lock()
				status[name] = res.StatusCode
				mu.Unlock()
			}()
			synctest.Wait()
		}
		for _, name := range []string{"a1", "a2", "a3", "a4", "a5", "a6"} {
			send(name)
		}
		require.Equal(t, map[string]int{"a6": 429}, status)
		for _, name := range []string{"a2", "a3", "a4"} {
			cancel[name]()
		}
		synctest.Wait()
		require.Equal(t, 2, g.TenantStats("A").Waiting)
		require.Equal(t, map[string]int{"a2": 503, "a3": 503, "a4": 503, "a6": 429}, status)
		for _, name := range []string{"a6", "a7", "a8", "a9"} {
			send(name)
		}
		require.Equal(t, 429, status["a9"])
		holder.Release()
		synctest.Wait()
		require.Equal(t, []string{"a1", "a5", "a6", "a7", "a8"}, order)
		idle(t, g)
		for _, stop := range cancel {
			stop()
		}
	})
}

// TestRC26RetryAfterRoundsUp is the case of that number: the field is a whole number of seconds,
// never below 1, never earlier than what the gate said.
func TestRC26RetryAfterRoundsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.OneOf(rapid.Int64Range(0, 3e9), rapid.Int64Range(0, math.MaxInt64)).Draw(t, "d")
		s := seconds(time.Duration(d))
		require.GreaterOrEqual(t, s, int64(1))
		require.LessOrEqual(t, float64(d)/1e9, float64(s))
		if d > 1 {
			require.Equal(t, (d-1)/1e9+1, s, "the least that will do")
		}
	})
	require.Zero(t, seconds(drr.Never))
	for d, want := range map[time.Duration]int64{0: 1, 1: 1, time.Second: 1, time.Second + 1: 2, time.Minute: 60} {
		require.Equal(t, want, seconds(d), d)
	}

	// A gate that serves a request in 2.5 seconds, and whose hook tells what it said.
	synctest.Test(t, func(t *testing.T) {
		var said []time.Duration
		limits := drr.Limits{Config: drr.Config{MaxTenantDepth: 2}}
		limits.Hooks.Rejected = func(e *drr.RejectedError) { said = append(said, e.RetryAfter) }
		g := newGate(t, drr.GateConfig{Slots: 1, Limits: limits})
		h := wrap(t, g, Options{}, func(http.ResponseWriter, *http.Request) { <-time.After(2500 * time.Millisecond) })
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { do(t, h, get("a")) })
			all.Go(func() { do(t, h, get("a")) })
			<-time.After(2600 * time.Millisecond)
		}
		for range 2 {
			all.Go(func() { do(t, h, get("a")) })
			synctest.Wait()
		}
		_, p := do(t, h, get("a"))
		require.Equal(t, drr.TenantFull.String(), p.Reason)
		last := said[len(said)-1]
		require.Greater(t, last, time.Second, "a rate was measured")
		require.Equal(t, int64(math.Ceil(last.Seconds())), p.RetryAfter)
		all.Wait()
		idle(t, g)
	})
}

func TestGrantAndTenantInContext(t *testing.T) {
	g := newGate(t, drr.GateConfig{Slots: 3})
	type key struct{}
	h := wrap(t, g, Options{
		Cost:  func(*http.Request) int64 { return 5 },
		Seats: func(*http.Request) int { return 2 },
	}, func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "a", Tenant(r.Context()))
		require.Equal(t, "outer", r.Context().Value(key{}))
		require.Equal(t, 2, g.Stats().InUse)
		Grant(r.Context()).Release()
		require.Zero(t, g.Stats().InUse, "released early")
		w.WriteHeader(http.StatusNoContent)
	})
	r := get("a")
	do(t, h, r.WithContext(context.WithValue(r.Context(), key{}, "outer")))
	idle(t, g)
	require.Equal(t, uint64(1), g.Stats().Done)

	require.Equal(t, drr.Grant{}, Grant(t.Context()))
	require.Empty(t, Tenant(t.Context()))
	Grant(t.Context()).Release()
}

// TestSettling checks what the gate is told a request has cost.
func TestSettling(t *testing.T) {
	for _, c := range []struct {
		name    string
		actual  func(*http.Request) int64
		handler http.HandlerFunc
		want    int64
	}{
		{"estimate", nil, ok, 10},
		{"charged", nil, func(_ http.ResponseWriter, r *http.Request) {
			for range 3 {
				require.NoError(t, Grant(r.Context()).Charge(4))
			}
		}, 22},
		{"actual", func(*http.Request) int64 { return 3 }, ok, 3},
		{"actual, not what was charged", func(*http.Request) int64 { return 7 }, func(_ http.ResponseWriter, r *http.Request) {
			require.NoError(t, Grant(r.Context()).Charge(100))
		}, 7},
		{"actual for the tenant in the context", func(r *http.Request) int64 { return int64(len(Tenant(r.Context()))) }, ok, 6},
		{"actual out of range", func(*http.Request) int64 { return -1 }, ok, 10},
		{"panic", func(*http.Request) int64 { t.Error("called after a panic"); return 0 }, func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		}, 10},
		{"panic in actual", func(*http.Request) int64 { panic(http.ErrAbortHandler) }, ok, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			done := []int64{}
			limits := drr.Limits{Hooks: drr.Hooks{Done: func(tenant string, cost int64) {
				require.Equal(t, "tenant", tenant)
				done = append(done, cost)
			}}}
			g := newGate(t, drr.GateConfig{Slots: 1, Limits: limits})
			h := wrap(t, g, Options{ActualCost: c.actual, Cost: func(*http.Request) int64 { return 10 }}, c.handler)
			run := func() { h.ServeHTTP(httptest.NewRecorder(), get("tenant")) }
			if strings.HasPrefix(c.name, "panic") {
				require.PanicsWithValue(t, http.ErrAbortHandler, run)
			} else {
				run()
			}
			require.Equal(t, []int64{c.want}, done)
			idle(t, g)
		})
	}
}

func TestQuotasAndRefuse(t *testing.T) {
	g := newGate(t, drr.GateConfig{Slots: 1})
	o := Options{
		Quotas: func(_ *http.Request, tenant string) []Quota {
			return []Quota{{Name: "burst", Limit: 10, Remaining: 8, Window: time.Second, Reset: time.Second, PartitionKey: tenant}}
		},
		Refuse: func(w http.ResponseWriter, r *http.Request, p Problem) {
			http.Error(w, "sorry: "+p.Reason, p.Status)
		},
	}
	res, _ := do(t, wrap(t, g, o, ok), get("a"))
	require.Equal(t, `"burst";q=10;w=1;pk=:YQ==:`, res.Header.Get("RateLimit-Policy"))
	require.Equal(t, `"burst";r=8;t=1;pk=:YQ==:`, res.Header.Get("RateLimit"))

	g.Close()
	w := httptest.NewRecorder()
	wrap(t, g, o, never(t)).ServeHTTP(w, get("a"))
	require.Equal(t, "sorry: closed\n", w.Body.String())
	require.Equal(t, 503, w.Code)
	require.Equal(t, `"burst";r=8;t=1;pk=:YQ==:`, w.Header().Get("RateLimit"))
}

// TestPanicGoesOn checks that any panic, and a Goexit, gives the seat back.
func TestPanicGoesOn(t *testing.T) {
	g := newGate(t, drr.GateConfig{Slots: 1})
	boom := errors.New("boom")
	for _, v := range []any{boom, http.ErrAbortHandler, "text"} {
		require.PanicsWithValue(t, v, func() {
			wrap(t, g, Options{}, func(http.ResponseWriter, *http.Request) { panic(v) }).ServeHTTP(httptest.NewRecorder(), get("a"))
		})
		idle(t, g)
	}
	require.Panics(t, func() {
		wrap(t, g, Options{Quotas: func(*http.Request, string) []Quota { panic(boom) }}, never(t)).ServeHTTP(httptest.NewRecorder(), get("a"))
	})
	idle(t, g)
}
