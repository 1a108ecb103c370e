package quota

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The outcome is a dimension because it decides what is computed: an admission
// writes, a refusal works out the wait.
func BenchmarkBucketAllow(b *testing.B) {
	for _, outcome := range []string{"admitted", "refused"} {
		b.Run("outcome="+outcome, func(b *testing.B) {
			bucket := benchBucket(b, outcome)
			start := time.Now()
			b.ReportAllocs()
			for b.Loop() {
				bucket.Allow(time.Since(start), 1)
			}
		})
	}
	b.Run("outcome=admitted/clock=virtual", func(b *testing.B) {
		bucket := benchBucket(b, "admitted")
		now := time.Duration(0)
		b.ReportAllocs()
		for b.Loop() {
			now += 100
			bucket.Allow(now, 1)
		}
	})
}

func BenchmarkBucketAllowParallel(b *testing.B) {
	for _, goroutines := range []int{1, 8} {
		for _, outcome := range []string{"admitted", "refused"} {
			b.Run(fmt.Sprintf("goroutines=%d/outcome=%s", goroutines, outcome), func(b *testing.B) {
				bucket := benchBucket(b, outcome)
				start := time.Now()
				b.SetParallelism(max(1, goroutines/2)) // times GOMAXPROCS, 2 where the targets were set
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						bucket.Allow(time.Since(start), 1)
					}
				})
			})
		}
	}
}

func benchBucket(b *testing.B, outcome string) *Bucket {
	l := Limit{Rate: PerSecond(1e9), Burst: 1 << 40}
	if outcome == "refused" {
		l = Limit{Rate: PerSecond(1e-3), Burst: 1}
	}
	bucket, err := NewBucket(l)
	require.NoError(b, err)
	d, err := bucket.Allow(0, 1)
	require.NoError(b, err)
	require.True(b, d.OK)
	return bucket
}

// Asking for a tenant that is tracked, each in turn and each by a string of its
// own, as they come off the wire. load is what a sync.Map of names costs alone.
func BenchmarkLimiterAllow(b *testing.B) {
	for _, tenants := range []int{10, 1_000, 100_000} {
		names, keys := make([]string, tenants), make([]string, tenants)
		for i := range names {
			names[i], keys[i] = fmt.Sprintf("tenant-%06d", i), fmt.Sprintf("tenant-%06d", i)
		}
		b.Run(fmt.Sprintf("tenants=%d", tenants), func(b *testing.B) {
			l, bytes := benchLimiter(b, names)
			now, i := time.Duration(0), 0
			b.ReportAllocs()
			for b.Loop() {
				now += 100
				l.Allow(now, keys[i], 1)
				if i++; i == tenants {
					i = 0
				}
			}
			require.Equal(b, tenants, l.Len())
			b.ReportMetric(bytes, "B/tenant") // after Loop, which forgets what was reported before
		})
		b.Run(fmt.Sprintf("tenants=%d/load", tenants), func(b *testing.B) {
			var m sync.Map
			for i, name := range names {
				m.Store(name, i)
			}
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				m.Load(keys[i])
				if i++; i == tenants {
					i = 0
				}
			}
		})
		b.Run(fmt.Sprintf("tenants=%d/goroutines=8", tenants), func(b *testing.B) {
			l, _ := benchLimiter(b, names)
			var starts atomic.Int64
			b.SetParallelism(4) // times GOMAXPROCS, 2 where the targets were set
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				now, i := time.Duration(0), int(starts.Add(1))*tenants/8%tenants
				for pb.Next() {
					now += 100
					l.Allow(now, keys[i], 1)
					if i++; i == tenants {
						i = 0
					}
				}
			})
		})
	}
}

// A newcomer for whom there is no room, as in a flood of made-up names.
func BenchmarkLimiterOverflow(b *testing.B) {
	names := make([]string, 100_000)
	for i := range names {
		names[i] = fmt.Sprintf("tenant-%06d", i)
	}
	l, _ := benchLimiter(b, names)
	b.ReportAllocs()
	for b.Loop() {
		l.Allow(0, "stranger", 1)
	}
}

// benchLimiter returns a Limiter that tracks all names, and the bytes it takes
// for each.
func benchLimiter(b *testing.B, names []string) (*Limiter, float64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	l, err := NewLimiter(LimiterConfig{Default: Limit{Rate: PerSecond(1e-3), Burst: 1 << 20}})
	require.NoError(b, err)
	for _, name := range names {
		d, err := l.Allow(0, name, 1<<10)
		require.NoError(b, err)
		require.True(b, d.OK)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	return l, float64(after.HeapAlloc-before.HeapAlloc) / float64(len(names))
}
