package peerbench

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkPushPop measures one item in and one item out with one item of each
// tenant waiting. The package's documentation says what each system does for it.
func BenchmarkPushPop(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		for _, s := range subjects {
			// Filling some of these takes longer than emptying them. The
			// benchmark's function is called several times; it goes on with the
			// same system, which is in its steady state then.
			var sys system
			b.Run(fmt.Sprintf("impl=%s/tenants=%d", s.name, n), func(b *testing.B) {
				if sys.cycle == nil {
					sys = s.start(names(n), nil)
					sys.cycle(100)
				}
				b.ReportAllocs()
				b.ResetTimer()
				sys.cycle(b.N)
			})
			if sys.stop != nil {
				sys.stop()
			}
		}
	}
}

// TestEachItemOnce runs the adapters the way the benchmark does and looks at
// what comes out.
func TestEachItemOnce(t *testing.T) {
	for _, s := range subjects {
		for _, tenants := range []int{1, 2, 10, 100} {
			t.Run(fmt.Sprintf("impl=%s/tenants=%d", s.name, tenants), func(t *testing.T) {
				var out []item
				all := names(tenants)
				sys := s.start(all, func(name string, it item) {
					if name != all[it.tenant] {
						it.tenant = -1 // check will see it
					}
					out = append(out, it)
				})
				if sys.stop != nil {
					defer sys.stop()
				}
				cycles := 0
				for _, n := range []int{0, 1, 2, 20 * tenants, 7} {
					sys.cycle(n)
					cycles += n
					require.Len(t, out, cycles)
				}
				sys.drain()
				require.NoError(t, check(out, tenants, cycles))
				// And it is the tenants that take turns: otherwise the number of
				// them wouldn't be what the benchmark says it is.
				served := make([]int, tenants)
				for _, it := range out[:cycles] {
					served[it.tenant]++
				}
				require.NotContains(t, served, 0, "a tenant was never served while it waited")
			})
		}
	}
}

// check reports what is wrong with what came out of a system of so many tenants
// that was cycled so many times and drained.
func check(out []item, tenants, cycles int) error {
	if len(out) != tenants+cycles {
		return fmt.Errorf("%d items came out, %d went in", len(out), tenants+cycles)
	}
	seen := make([]bool, len(out))
	for i, it := range out {
		switch {
		case it.seq < 0 || it.seq >= len(out):
			return fmt.Errorf("item %d came out, and never went in", it.seq)
		case seen[it.seq]:
			return fmt.Errorf("item %d came out twice", it.seq)
		}
		seen[it.seq] = true
		owner := it.seq // it was among the first, one of each tenant
		if it.seq >= tenants {
			before := it.seq - tenants // it went in when this one came out, for the same tenant
			if before >= i {
				return fmt.Errorf("item %d came out before it went in", it.seq)
			}
			owner = out[before].tenant
		}
		if it.tenant != owner {
			return fmt.Errorf("item %d of tenant %d came out as tenant %d's", it.seq, owner, it.tenant)
		}
	}
	return nil
}

// TestCheckSees is the control of check.
func TestCheckSees(t *testing.T) {
	good := func() []item { return []item{{0, 0}, {1, 1}, {0, 2}, {1, 3}, {0, 4}} }
	require.NoError(t, check(good(), 2, 3))
	for name, spoil := range map[string]func(out []item) []item{
		"item 2 came out twice":                     func(out []item) []item { out[4] = item{0, 2}; return out },
		"4 items came out, 5 went in":               func(out []item) []item { return out[:4] },
		"6 items came out, 5 went in":               func(out []item) []item { return append(out, item{1, 5}) },
		"item 5 came out, and never went in":        func(out []item) []item { out[4].seq = 5; return out },
		"item 3 of tenant 1 came out as tenant 0's": func(out []item) []item { out[3].tenant = 0; return out },
		"item 2 came out before it went in":         func(out []item) []item { out[0], out[2] = out[2], out[0]; return out },
	} {
		require.EqualError(t, check(spoil(good()), 2, 3), name)
	}
}
