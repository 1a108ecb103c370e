package peerbench

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sync/semaphore"

	"github.com/fairlane-go/fairlane/drr"
)

// BenchmarkAcquire measures an Acquire and a Release of one seat: drr.Gate beside
// golang.org/x/sync/semaphore, whose waiters stand in one line and have no
// tenants. With fewer slots than goroutines both have waiters.
func BenchmarkAcquire(b *testing.B) {
	for _, c := range []struct{ goroutines, slots int }{{1, 1}, {8, 2}, {64, 2}} {
		name := fmt.Sprintf("goroutines=%d/slots=%d", c.goroutines, c.slots)
		ctx := context.Background()
		b.Run("impl=fairlane/"+name, func(b *testing.B) {
			g, err := drr.NewGate(drr.GateConfig{Slots: c.slots})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			each(b, c.goroutines, func(tenant string) {
				gr, err := g.Acquire(ctx, drr.Request{Tenant: tenant})
				if err != nil {
					b.Error(err)
				}
				gr.Release()
			})
		})
		b.Run("impl=semaphore/"+name, func(b *testing.B) {
			s := semaphore.NewWeighted(int64(c.slots))
			b.ReportAllocs()
			each(b, c.goroutines, func(string) {
				if err := s.Acquire(ctx, 1); err != nil {
					b.Error(err)
				}
				s.Release(1)
			})
		})
	}
}

// each runs b.N calls of f, spread over so many goroutines, a tenant each.
func each(b *testing.B, goroutines int, f func(tenant string)) {
	var wg sync.WaitGroup
	b.ResetTimer()
	for i := range goroutines {
		n := b.N / goroutines
		if i < b.N%goroutines {
			n++
		}
		tenant := "tenant-" + strconv.Itoa(i)
		wg.Go(func() {
			for range n {
				f(tenant)
			}
		})
	}
	wg.Wait()
}
