package gateway

import (
	"context"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fairlane-go/fairlane/drr"
)

func TestKey(t *testing.T) {
	a, b := strings.Repeat("x", 9999)+"a", strings.Repeat("x", 9999)+"b"
	require.NotEqual(t, Key(a), Key(b))
	require.Len(t, Key(a), 128)
	require.NotEqual(t, Key(a), Key(Key(a)), "the key of another can't be chosen as a name")
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune("ab~")), 120, 140, -1))
		a, b := names.Draw(t, "a"), names.Draw(t, "b")
		require.Equal(t, a == b, Key(a) == Key(b))
		require.LessOrEqual(t, len(Key(a)), 128)
		if len(a) < 128 {
			require.Equal(t, a, Key(a))
		}
	})
}

func TestExtractors(t *testing.T) {
	keys := map[string]string{"k1": "acme", "": "nobody"}
	byKey := TenantAPIKey(func(key string) string { return keys[key] })
	byHeader := TenantHeader("x-TENANT")
	for _, c := range []struct {
		f    func(*http.Request) string
		h    http.Header
		want string
	}{
		{byHeader, http.Header{"X-Tenant": {"a"}}, "a"},
		{byHeader, http.Header{"X-Tenant": {"a", "b"}}, ""},
		{byHeader, http.Header{"X-Tenant": {}}, ""},
		{byHeader, http.Header{}, ""},
		{byKey, http.Header{"Authorization": {"Bearer k1"}}, "acme"},
		{byKey, http.Header{"Authorization": {"bEARER  k1 "}}, "acme"},
		{byKey, http.Header{"Authorization": {"Bearer k2"}}, ""},
		{byKey, http.Header{"Authorization": {"Bearer "}}, ""},
		{byKey, http.Header{"Authorization": {"Bearer"}}, ""},
		{byKey, http.Header{"Authorization": {"Basic azE="}}, ""},
		{byKey, http.Header{"Authorization": {"Bearer k1", "Bearer k1"}}, ""},
		{byKey, http.Header{"X-Api-Key": {"k1"}}, "acme"},
		{byKey, http.Header{"X-Api-Key": {"k1", "k1"}}, ""},
		{byKey, http.Header{"X-Api-Key": {"k1"}, "Authorization": {"Bearer k2"}}, ""},
		{byKey, http.Header{"X-Api-Key": {"k1"}, "Authorization": {"Basic eDp5"}}, "acme"},
		{byKey, http.Header{}, ""},
	} {
		require.Equal(t, c.want, c.f(&http.Request{Header: c.h}), "%v", c.h)
	}
	cost := CostHeader("x-cost", 100)
	for _, c := range []struct {
		values []string
		want   int64
	}{
		{nil, 1},
		{[]string{"1"}, 1},
		{[]string{"100"}, 100},
		{[]string{"007"}, 7},
		{[]string{"101"}, -1},
		{[]string{"0"}, -1},
		{[]string{"-1"}, -1},
		{[]string{"+1"}, -1},
		{[]string{""}, -1},
		{[]string{"1", "1"}, -1},
		{[]string{"1e2"}, -1},
		{[]string{" 1"}, -1},
		{[]string{"1_0"}, -1},
		{[]string{"99999999999999999999"}, -1},
	} {
		require.Equal(t, c.want, cost(&http.Request{Header: http.Header{"X-Cost": c.values}}), "%q", c.values)
	}
	require.Equal(t, int64(-1), CostHeader("x-cost", 1<<62)(&http.Request{Header: http.Header{"X-Cost": {strconv.FormatInt(drr.MaxCost+1, 10)}}}))
}

// TestRC32OddTenantNames is the case of that number: odd names stay apart, and come out as text.
func TestRC32OddTenantNames(t *testing.T) {
	long := strings.Repeat("n", 9999)
	names := []string{"", "\xff\xf4", "a\nb\"c\\d", "租户-一", "a\x00b", "other", long + "1", long + "2"}
	g := newGate(t, drr.GateConfig{Slots: 1})
	by := func(name string) Options { return Options{Tenant: func(*http.Request) string { return name }} }
	seen := map[string]bool{}
	for _, name := range names {
		do(t, wrap(t, g, by(name), func(w http.ResponseWriter, r *http.Request) { seen[Tenant(r.Context())] = true }), get(""))
	}
	require.Len(t, seen, len(names))
	require.Equal(t, uint64(len(names)), g.Stats().Done)
	g.Close()
	told := map[string]bool{}
	for _, name := range names {
		w := httptest.NewRecorder()
		wrap(t, g, by(name), never(t)).ServeHTTP(w, get(""))
		body := w.Body.String()
		require.True(t, utf8.ValidString(body))
		require.NotContains(t, body, "\n")
		_, p := checked(t, w)
		if utf8.ValidString(Key(name)) {
			require.Equal(t, Key(name), p.Tenant)
		}
		told[p.Tenant] = true
		for field, values := range w.Header() {
			for _, v := range values {
				require.NotContains(t, v, "\n", field)
			}
		}
	}
	require.Len(t, told, len(names))
}

// TestRC40TenantCannotBeChosen is part (a) of the case of that number: a caller who is known by its key
// can't have other tenants' places by naming them.
func TestRC40TenantCannotBeChosen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, drr.GateConfig{Slots: 1, Limits: drr.Limits{Config: drr.Config{MaxTenantDepth: 120}}})
		holder, _ := g.TryAcquire(drr.Request{Tenant: "busy"})
		h := wrap(t, g, Options{Tenant: TenantAPIKey(func(string) string { return "caller" })}, ok)
		status := make(chan int, 150)
		for i := range 150 {
			r := get("tenant" + strconv.Itoa(i))
			r.Header.Set("Authorization", "Bearer key")
			go func() {
				res, _ := do(t, h, r)
				status <- res.StatusCode
			}()
		}
		synctest.Wait()
		require.Len(t, status, 30)
		require.Equal(t, 1, g.Stats().Tenants)
		require.Equal(t, 120, g.TenantStats("caller").Waiting)
		holder.Release()
		count := map[int]int{}
		for range 150 {
			count[<-status]++
		}
		require.Equal(t, map[int]int{429: 30, 204: 120}, count)
		synctest.Wait()
		idle(t, g)
	})
}

// FuzzHeaders throws arbitrary field values at a gate that admits, and at one that
// refuses with all it has to say.
func FuzzHeaders(f *testing.F) {
	f.Add("a", "1", "k")
	f.Add("\xff\xf4", "-1", "Bearer ")
	f.Add("a\r\nSet-Cookie: x=1", "1099511627777", "bearer \x00")
	f.Add(strings.Repeat("x", 200), "9999999999999999999999", "")
	f.Add("\u2028</script>", "007", "Bearer k k")
	f.Fuzz(func(t *testing.T, tenant, cost, authorization string) {
		g := newGate(t, drr.GateConfig{Slots: 1})
		ran := false
		o := Options{Cost: CostHeader("X-Cost", drr.MaxCost), Quotas: func(_ *http.Request, tenant string) []Quota {
			return []Quota{{Name: tenant, PartitionKey: tenant, Unit: cost}, {Name: "q", PartitionKey: tenant}}
		}}
		h := wrap(t, g, o, func(_ http.ResponseWriter, r *http.Request) { ran = true })
		request := func() *http.Request {
			r, err := http.NewRequestWithContext(context.Background(), "GET", "http://x/", nil)
			require.NoError(t, err)
			r.Header = http.Header{"X-Tenant": {tenant}, "X-Cost": {cost}, "Authorization": {authorization}}
			return r
		}
		res, p := do(t, h, request())

		// The oracle reads the cost by arithmetic of any size.
		n, isNumber := new(big.Int).SetString(cost, 10)
		for _, c := range cost {
			isNumber = isNumber && c >= '0' && c <= '9'
		}
		want := isNumber && n.Sign() > 0 && n.Cmp(big.NewInt(drr.MaxCost)) <= 0
		require.Equal(t, want, ran)
		if !want {
			require.Equal(t, BadCost, p.Reason)
		}
		idle(t, g)

		g.Close()
		again := httptest.NewRecorder()
		h.ServeHTTP(again, request())
		require.True(t, utf8.Valid(again.Body.Bytes()))
		require.True(t, json.Valid(again.Body.Bytes()))
		require.Less(t, again.Body.Len(), 2000)
		_, p = checked(t, again)
		require.Equal(t, text(Key(tenant)), p.Tenant)
		for _, h := range []http.Header{res.Header, again.Header()} {
			policy := parseList(t, h.Get("RateLimit-Policy"))
			require.Equal(t, "q", policy[len(policy)-1].name)
			require.Len(t, parseList(t, h.Get("RateLimit")), len(policy))
		}

		key := ""
		TenantAPIKey(func(k string) string { key = k; return k })(request())
		require.False(t, strings.HasPrefix(key, " ") || strings.HasSuffix(key, " "))
		require.True(t, strings.HasSuffix(strings.TrimRight(authorization, " "), key))
	})
}
