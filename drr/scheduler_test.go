package drr

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func newScheduler(t testing.TB, c SchedulerConfig[int]) *Scheduler[int] {
	t.Helper()
	s, err := NewScheduler(c)
	require.NoError(t, err)
	return s
}

func TestSchedulerOrderAndSettling(t *testing.T) {
	s := newScheduler(t, SchedulerConfig[int]{Limits: Limits{Config: Config{Quantum: 10}}})
	for i := range 4 {
		require.NoError(t, s.Submit("understates", 10, i))
	}
	for i := range 12 {
		require.NoError(t, s.Submit("honest", 10, i))
	}
	order := ""
	for range 16 {
		j, err := s.Next(context.Background())
		require.NoError(t, err)
		order += j.Tenant[:1]
		actual := int64(10)
		if j.Tenant == "understates" {
			actual = 50
		}
		require.NoError(t, j.Done(actual))
		require.NoError(t, j.Done(actual), "twice")
	}
	require.Equal(t, "uhhhhhuhhhhhuhhu", order)
	require.NoError(t, Job[int]{}.Done(3))
	require.EqualValues(t, 16, s.Stats().Done)

	require.NoError(t, s.Submit("a", 1, 0))
	j, err := s.Next(context.Background())
	require.NoError(t, err)
	require.ErrorContains(t, j.Done(-1), "drr: actual cost is -1")
	require.Zero(t, s.Stats().Running)
	var v *ValueError
	require.ErrorAs(t, s.Submit("a", 0, 0), &v)
	require.Zero(t, s.Stats().Waiting)
}

func TestSchedulerBoundsAndTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dropped []int
		s := newScheduler(t, SchedulerConfig[int]{
			Limits: Limits{Config: Config{MaxTenantDepth: 2, MaxDepth: 3}, MaxWait: time.Second},
			Dropped: func(v int, why *RejectedError) {
				dropped = append(dropped, v)
				require.ErrorIs(t, why, ErrWaitedTooLong)
			},
		})
		require.NoError(t, s.Submit("a", 1, 1))
		require.NoError(t, s.Submit("a", 1, 2))
		require.ErrorIs(t, s.Submit("a", 1, 3), ErrTenantFull)
		time.Sleep(600 * time.Millisecond)
		require.NoError(t, s.Submit("b", 1, 4))
		require.ErrorIs(t, s.Submit("b", 1, 5), ErrFull)
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, []int{1, 2}, dropped)
		j, err := s.Next(context.Background())
		require.NoError(t, err)
		require.Equal(t, 4, j.Value)
		j.Done(1)
		s.Close()
	})
}

func TestSchedulerTenantSeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(t, SchedulerConfig[int]{Limits: Limits{MaxTenantSeats: 1}})
		for i := range 3 {
			require.NoError(t, s.Submit("a", 1, i))
		}
		require.NoError(t, s.Submit("b", 1, 10))
		next := func() Job[int] {
			j, err := s.Next(context.Background())
			require.NoError(t, err)
			return j
		}
		a, b := next(), next()
		require.Equal(t, []int{0, 10}, []int{a.Value, b.Value})
		var got atomic.Int64
		go func() { got.Store(int64(next().Value)) }()
		synctest.Wait()
		require.Zero(t, got.Load(), "a tenant above its cap")
		a.Done(1)
		synctest.Wait()
		require.EqualValues(t, 1, got.Load())
		require.NoError(t, s.SetTenantSeats("a", 2))
		require.Equal(t, 2, next().Value)
		require.Equal(t, 2, s.TenantStats("a").Running)
		s.Close()
	})
}

// TestRC06NoLostWakeUp: a blocked Next is reached by cancelling and by closing,
// in every interleaving.
func TestRC06NoLostWakeUp(t *testing.T) {
	rounds := 10_000
	if raceEnabled || testing.Short() {
		rounds = 2_000
	}
	before := runtime.NumGoroutine()
	r := rand.New(rand.NewPCG(1, 1))
	for i := range rounds {
		s := newScheduler(t, SchedulerConfig[int]{})
		ctx, cancel := context.WithCancel(context.Background())
		result := make(chan error, 1)
		go func() {
			_, err := s.Next(ctx)
			result <- err
		}()
		for range r.IntN(30) {
			runtime.Gosched()
		}
		want := context.Canceled
		if i%2 == 0 {
			cancel()
		} else {
			s.Close()
			want = ErrClosed
		}
		select {
		case err := <-result:
			require.ErrorIs(t, err, want, "round %d", i)
		case <-time.After(time.Minute):
			t.Fatalf("round %d: Next hangs", i)
		}
		cancel()
		s.Close()
		s.Close()
		require.ErrorIs(t, s.Submit("a", 1, 1), ErrClosed)
		_, err := s.Next(context.Background())
		require.ErrorIs(t, err, ErrClosed)
	}
	for range 1000 {
		if runtime.NumGoroutine() <= before+2 {
			return
		}
		runtime.Gosched()
	}
	t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

func TestSchedulerShutdownAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(t, SchedulerConfig[int]{})
		for i := range 5 {
			require.NoError(t, s.Submit("a", 1, i))
		}
		var done atomic.Int64
		workers := func() {
			for {
				j, err := s.Next(context.Background())
				if err != nil {
					require.ErrorIs(t, err, ErrClosed)
					return
				}
				time.Sleep(time.Second)
				done.Add(1)
				j.Done(1)
			}
		}
		go workers()
		go workers()
		ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, s.Shutdown(ctx), context.DeadlineExceeded)
		require.NoError(t, s.Shutdown(context.Background()))
		require.EqualValues(t, 5, done.Load())

		var dropped atomic.Int64
		s = newScheduler(t, SchedulerConfig[int]{Dropped: func(_ int, why *RejectedError) {
			require.ErrorIs(t, why, ErrClosed)
			dropped.Add(1)
		}})
		for i := range 5 {
			require.NoError(t, s.Submit("a", 1, i))
		}
		j, err := s.Next(context.Background())
		require.NoError(t, err)
		s.Close()
		require.EqualValues(t, 4, dropped.Load())
		j.Done(1)
		require.NoError(t, s.Shutdown(context.Background()))
	})
}

// TestSchedulerHistories: random concurrent calls; every job taken is run or
// dropped exactly once.
func TestSchedulerHistories(t *testing.T) {
	jobs := 100_000
	if testing.Short() {
		jobs = 20_000
	}
	for round := range 2 {
		var taken, ran, dropped atomic.Int64
		seen := make([]atomic.Int32, jobs+16)
		l := Limits{Config: Config{Quantum: 2, MaxDepth: 100, MaxTenantDepth: 30}, MaxTenantSeats: 2}
		if round == 1 {
			l.MaxWait = 300 * time.Microsecond
		}
		s := newScheduler(t, SchedulerConfig[int]{Limits: l, Dropped: func(v int, _ *RejectedError) {
			dropped.Add(1)
			seen[v].Add(1)
		}})
		var submitters, workers sync.WaitGroup
		for w := range 4 {
			submitters.Go(func() {
				r := rand.New(rand.NewPCG(uint64(round), uint64(w)))
				for i := w; i < jobs; i += 4 {
					err := s.Submit(fmt.Sprint(r.IntN(5)), 1+r.Int64N(5), i)
					if err == nil {
						taken.Add(1)
					} else if !errors.Is(err, ErrRejected) {
						t.Error(err)
					}
					if r.IntN(3) == 0 {
						runtime.Gosched()
					}
				}
			})
			workers.Go(func() {
				r := rand.New(rand.NewPCG(uint64(round), uint64(10+w)))
				for {
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(200))*time.Microsecond)
					j, err := s.Next(ctx)
					cancel()
					switch {
					case err == nil:
						ran.Add(1)
						seen[j.Value].Add(1)
						j.Done(r.Int64N(10))
						j.Done(1)
					case errors.Is(err, ErrClosed):
						return
					case !errors.Is(err, context.DeadlineExceeded):
						t.Error(err)
						return
					}
				}
			})
		}
		submitters.Wait()
		require.NoError(t, s.Shutdown(context.Background()))
		workers.Wait()
		require.Equal(t, taken.Load(), ran.Load()+dropped.Load())
		require.Positive(t, ran.Load())
		for i := range seen {
			require.LessOrEqual(t, seen[i].Load(), int32(1), "job %d ran twice", i)
		}
		st := s.Stats()
		require.Zero(t, st.Waiting+st.Running+st.InUse)
		require.EqualValues(t, ran.Load(), st.Done)
		require.Empty(t, s.a.seatings)
	}
}

func TestSchedulerAllocatesNothing(t *testing.T) {
	s := newScheduler(t, SchedulerConfig[int]{})
	ctx := context.Background()
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		s.Submit("a", 1, 1)
		j, _ := s.Next(ctx)
		j.Done(1)
	}))
}

// TestBurstDrainsWithoutArrivals: what was submitted at once is worked off as
// fast as workers pull, though nothing more arrives.
func TestBurstDrainsWithoutArrivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(t, SchedulerConfig[int]{Limits: Limits{MaxWait: time.Minute}})
		for i := range 10_000 {
			require.NoError(t, s.Submit(fmt.Sprint(i%50), 1, i))
		}
		start := time.Now()
		for range 10_000 {
			j, err := s.Next(context.Background())
			require.NoError(t, err)
			j.Done(1)
		}
		require.Zero(t, time.Since(start))
		s.Close()
	})
}
