package drr

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
)

// BenchmarkGate measures an Acquire and a Release, with as many goroutines at
// once and as many slots. The channel is the semaphore that the standard library
// has: as many tokens in a buffered channel, no tenants, no order.
func BenchmarkGate(b *testing.B) {
	for _, c := range []struct{ goroutines, slots int }{{1, 1}, {8, 8}, {8, 2}, {64, 2}} {
		name := fmt.Sprintf("goroutines=%d/slots=%d", c.goroutines, c.slots)
		b.Run("impl=gate/"+name, func(b *testing.B) {
			g, err := NewGate(GateConfig{Slots: c.slots})
			if err != nil {
				b.Fatal(err)
			}
			ctx := context.Background()
			b.ReportAllocs()
			inParallel(b, c.goroutines, func(i int) {
				gr, err := g.Acquire(ctx, Request{Tenant: tenantNames[i%8]})
				if err != nil {
					b.Error(err)
				}
				gr.Release()
			})
		})
		b.Run("impl=channel/"+name, func(b *testing.B) {
			tokens := make(chan struct{}, c.slots)
			ctx := context.Background()
			b.ReportAllocs()
			inParallel(b, c.goroutines, func(int) {
				select {
				case tokens <- struct{}{}:
				case <-ctx.Done():
				}
				<-tokens
			})
		})
	}
}

var tenantNames = func() (names [1000]string) {
	for i := range names {
		names[i] = "tenant-" + strconv.Itoa(i)
	}
	return names
}()

func inParallel(b *testing.B, goroutines int, f func(goroutine int)) {
	var wg sync.WaitGroup
	b.ResetTimer()
	for i := range goroutines {
		n := b.N / goroutines
		if i < b.N%goroutines {
			n++
		}
		wg.Go(func() {
			for range n {
				f(i)
			}
		})
	}
	wg.Wait()
}

// BenchmarkScheduler measures a Submit and a Next with its Done, at a thousand
// tenants with an item each waiting: by one goroutine, and handed from
// producers to workers. The channel is a buffered one of that size.
func BenchmarkScheduler(b *testing.B) {
	fill := func(b *testing.B) *Scheduler[int] {
		s, err := NewScheduler(SchedulerConfig[int]{})
		if err != nil {
			b.Fatal(err)
		}
		for i := range tenantNames {
			s.Submit(tenantNames[i], 1, i)
		}
		return s
	}
	b.Run("impl=scheduler/one", func(b *testing.B) {
		s, ctx := fill(b), context.Background()
		b.ReportAllocs()
		for b.Loop() {
			j, _ := s.Next(ctx)
			j.Done(1)
			s.Submit(j.Tenant, 1, j.Value)
		}
	})
	b.Run("impl=channel/one", func(b *testing.B) {
		c := make(chan int, len(tenantNames))
		for i := range len(tenantNames) - 1 {
			c <- i
		}
		ctx := context.Background()
		b.ReportAllocs()
		for b.Loop() {
			select {
			case v := <-c:
				c <- v
			case <-ctx.Done():
			}
		}
	})
	b.Run("impl=scheduler/hand-over", func(b *testing.B) {
		s, ctx := fill(b), context.Background()
		b.ReportAllocs()
		var wg sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			wg.Go(func() {
				for {
					j, err := s.Next(ctx)
					if err != nil {
						return
					}
					j.Done(1)
				}
			})
		}
		b.ResetTimer()
		for i := range b.N {
			for s.Submit(tenantNames[i%1000], 1, i) != nil {
				runtime.Gosched()
			}
		}
		s.Shutdown(ctx)
		wg.Wait()
	})
	b.Run("impl=channel/hand-over", func(b *testing.B) {
		c := make(chan int, len(tenantNames))
		b.ReportAllocs()
		var wg sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			wg.Go(func() {
				for range c {
				}
			})
		}
		b.ResetTimer()
		for i := range b.N {
			c <- i
		}
		close(c)
		wg.Wait()
	})
}
