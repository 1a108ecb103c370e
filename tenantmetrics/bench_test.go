package tenantmetrics

import (
	"fmt"
	"strconv"
	"testing"
)

func tenantNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = "tenant-" + strconv.Itoa(i)
	}
	return names
}

// Up to DefaultCounters tenants have a counter; of more, some take one over.
func BenchmarkAdd(b *testing.B) {
	for _, tenants := range []int{10, 1_000, 100_000} {
		for _, topRefused := range []int{0, 3} {
			b.Run(fmt.Sprintf("tenants=%d/refused=%d", tenants, topRefused), func(b *testing.B) {
				r := newReducer(b, Config{TopRefused: topRefused})
				names := tenantNames(tenants)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if r.Add(names[i%tenants], Outcome(i%4), 1) != nil {
						b.Fatal("refused")
					}
				}
			})
		}
	}
}

func BenchmarkAddParallel(b *testing.B) {
	r := newReducer(b, Config{})
	names := tenantNames(1_000)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			if r.Add(names[i%len(names)], Completed, 1) != nil {
				b.Error("refused")
			}
		}
	})
}

func BenchmarkFlush(b *testing.B) {
	for _, counters := range []int{1_000, 4_096} {
		b.Run(fmt.Sprintf("counters=%d", counters), func(b *testing.B) {
			r := newReducer(b, Config{Counters: counters, TopRefused: 3})
			names := tenantNames(counters)
			for b.Loop() {
				b.StopTimer()
				for i, name := range names {
					if r.Add(name, Outcome(i%4), int64(1+i%97)) != nil {
						b.Fatal("refused")
					}
				}
				b.StartTimer()
				r.Flush()
			}
		})
	}
}
