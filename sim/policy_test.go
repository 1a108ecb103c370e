package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// policyOf builds a policy for one or more tenants of weight 1.
func policyOf(t testing.TB, name string, p Policies, quotas ...*Limit) policy {
	t.Helper()
	var tenants []Tenant
	for _, q := range quotas {
		tenants = append(tenants, Tenant{Name: "t", Count: 1, Rate: 1, Weight: 1, Quota: q})
	}
	built, err := newPolicy(&Scenario{Policies: p}, name, tenants)
	require.NoError(t, err)
	return built
}

// offers offers n requests of a tenant at once and returns how many had each
// outcome.
func offers(t testing.TB, p policy, now time.Duration, tenant, n int) (counts [3]int) {
	t.Helper()
	for range n {
		out, err := p.offer(now, request{tenant: tenant, arrived: now, service: 1000})
		require.NoError(t, err)
		counts[out]++
	}
	return counts
}

func TestBounds(t *testing.T) {
	params := Policies{
		FIFO:     &FIFOParams{Depth: 5},
		Quota:    &FIFOParams{Depth: 6},
		DRR:      &DRRParams{Quantum: 1000, TenantDepth: 4, Depth: 7},
		DRRQuota: &DRRParams{Quantum: 1000, TenantDepth: 3},
	}
	p := policyOf(t, PolicyFIFO, params, nil, nil)
	require.Equal(t, [3]int{4, 0, 0}, offers(t, p, 0, 0, 4))
	require.Equal(t, [3]int{1, 0, 3}, offers(t, p, 0, 1, 4))
	require.Equal(t, 5, p.waiting())

	p = policyOf(t, PolicyDRR, params, nil, nil, nil)
	require.Equal(t, [3]int{4, 0, 6}, offers(t, p, 0, 0, 10))
	require.Equal(t, [3]int{3, 0, 7}, offers(t, p, 0, 1, 10), "the bound over all tenants")
	_, ok := p.next()
	require.True(t, ok)
	require.Equal(t, [3]int{1, 0, 0}, offers(t, p, 0, 2, 1))

	p = policyOf(t, PolicyDRRQuota, params, &Limit{1, 2}, nil)
	require.Equal(t, [3]int{2, 8, 0}, offers(t, p, 0, 0, 10), "the bucket's burst")
	require.Equal(t, [3]int{1, 9, 0}, offers(t, p, time.Second, 0, 10), "one token more")
	require.Equal(t, [3]int{3, 0, 7}, offers(t, p, 0, 1, 10), "without a quota, no bound over all tenants")
}

// A token isn't lost to a queue that is full.
func TestFullQueueGivesTheTokenBack(t *testing.T) {
	p := policyOf(t, PolicyQuota, Policies{Quota: &FIFOParams{Depth: 6}}, &Limit{1, 8}, nil)
	require.Equal(t, [3]int{6, 0, 0}, offers(t, p, 0, 1, 6))
	require.Equal(t, [3]int{0, 0, 50}, offers(t, p, 0, 0, 50), "none is refused for its quota")
	for range 6 {
		_, ok := p.next()
		require.True(t, ok)
	}
	require.Equal(t, [3]int{6, 0, 0}, offers(t, p, 0, 0, 6))
	for range 6 {
		p.next()
	}
	require.Equal(t, [3]int{2, 4, 0}, offers(t, p, 0, 0, 6))
}

func TestFIFOAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		depth := rapid.IntRange(1, 40).Draw(t, "depth")
		q := newFIFO(FIFOParams{Depth: depth})
		var plain []request
		arrived := time.Duration(0)
		t.Repeat(map[string]func(*rapid.T){
			"offer": func(t *rapid.T) {
				arrived++
				r := request{arrived: arrived}
				out, err := q.offer(arrived, r)
				require.NoError(t, err)
				if len(plain) == depth {
					require.Equal(t, refusedFull, out)
					return
				}
				require.Equal(t, admitted, out)
				plain = append(plain, r)
			},
			"next": func(t *rapid.T) {
				r, ok := q.next()
				require.Equal(t, len(plain) > 0, ok)
				if ok {
					require.Equal(t, plain[0], r)
					plain = plain[1:]
				}
			},
			"": func(t *rapid.T) { require.Equal(t, len(plain), q.waiting()) },
		})
	})
}
