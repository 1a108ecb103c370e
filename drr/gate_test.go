package drr

import (
	"context"
	"errors"
	"flag"
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

func newGate(t testing.TB, c GateConfig) *Gate {
	t.Helper()
	g, err := NewGate(c)
	require.NoError(t, err)
	return g
}

func acquire(t testing.TB, g *Gate, r Request) Grant {
	t.Helper()
	gr, err := g.Acquire(context.Background(), r)
	require.NoError(t, err)
	return gr
}

// checkGate reports the first broken invariant of g, whose lock is held.
//
//	G1  seats in use are those of the requests running, 0 to slots unless the
//	    slots were lowered
//	G2  the queue has exactly the requests that wait, in the states they say
//	G3  nobody waits while a seat it fits into is free and it is next
//	G4  with caps, each tenant has at most its cap in use, and is blocked only
//	    while its first request doesn't fit under it
func checkGate(g *Gate, lowered bool) error {
	a := &g.a
	if err := check(a.q, false); err != nil {
		return err
	}
	seats, byTenant, n := 0, map[string]int{}, 0
	for e := a.running.head; e != nil; e = e.next {
		seats += e.seats
		byTenant[e.tenant] += e.seats
		n++
		if e.state != running {
			return fmt.Errorf("G1: a request of %q runs in state %d", e.tenant, e.state)
		}
	}
	if seats != a.inUse || n != a.running.length || seats > g.a.slots && !lowered {
		return fmt.Errorf("G1: %d seats in use by %d requests, counted %d and %d, of %d", seats, n, a.inUse, a.running.length, g.a.slots)
	}
	n = 0
	for e := a.waiting.head; e != nil; e = e.next {
		n++
		if e.state != waiting || e.item.it == nil || e.item.it.gen != e.item.gen || e.item.it.value != e {
			return fmt.Errorf("G2: a request of %q waits in state %d, not in the queue", e.tenant, e.state)
		}
	}
	if n != a.waiting.length || n != a.q.Len() {
		return fmt.Errorf("G2: %d requests wait, counted %d, %d in the queue", n, a.waiting.length, a.q.Len())
	}
	if _, e, ok := a.q.Peek(); ok && e.seats <= g.a.slots-a.inUse && !(a.capped && a.overCap(e)) {
		return fmt.Errorf("G3: %d of %d seats in use, and a request for %d waits next", a.inUse, g.a.slots, e.seats)
	}
	if a.capped {
		for tenant, s := range a.seatings {
			if s.inUse != byTenant[tenant] {
				return fmt.Errorf("G4: tenant %q has %d seats, counted %d", tenant, byTenant[tenant], s.inUse)
			}
			first, ok := a.q.Tenant(tenant).Peek()
			if s.blocked && (!ok || !a.overCap(first)) {
				return fmt.Errorf("G4: tenant %q is blocked at %d of %d", tenant, s.inUse, a.capOf(tenant))
			}
		}
		for tenant, n := range byTenant {
			if n > a.capOf(tenant) && !lowered {
				return fmt.Errorf("G4: tenant %q has %d seats of %d", tenant, n, a.capOf(tenant))
			}
		}
	}
	return nil
}

func TestGateOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, GateConfig{Slots: 1})
		first := acquire(t, g, Request{Tenant: "noisy"})
		var mu sync.Mutex
		var order []string
		for _, tenant := range []string{"noisy", "noisy", "noisy", "quiet", "other"} {
			go func() {
				gr := acquire(t, g, Request{Tenant: tenant})
				mu.Lock()
				order = append(order, tenant)
				mu.Unlock()
				gr.Release()
			}()
			synctest.Wait()
		}
		require.Equal(t, 5, g.Stats().Waiting)
		first.Release()
		synctest.Wait()
		require.Equal(t, []string{"noisy", "quiet", "other", "noisy", "noisy"}, order)
		require.Zero(t, g.Stats().InUse)
	})
}

// TestRC08WaitIsBoundByItsOwnTimer: the time limit on waiting works though
// nothing else happens, and the three ways to end are told apart.
func TestRC08WaitIsBoundByItsOwnTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, GateConfig{Slots: 1, Limits: Limits{Config: Config{MaxTenantDepth: 2}, MaxWait: 15 * time.Second}})
		start := time.Now()
		at := func(s float64) { time.Sleep(time.Duration(s*float64(time.Second)) - time.Since(start)) }
		type result struct {
			err error
			at  time.Duration
		}
		results := map[string]result{}
		var mu sync.Mutex
		ask := func(name string, ctx context.Context) {
			go func() {
				_, err := g.Acquire(ctx, Request{Tenant: "A"})
				mu.Lock()
				results[name] = result{err, time.Since(start)}
				mu.Unlock()
			}()
			synctest.Wait()
		}
		got := func(name string) result {
			mu.Lock()
			defer mu.Unlock()
			return results[name]
		}
		busy := acquire(t, g, Request{Tenant: "A"})
		bg := context.Background()
		ask("a1", bg)
		at(1)
		ask("a2", bg)
		at(15.5)
		ask("a3", bg)
		ask("a4", bg)
		require.ErrorIs(t, got("a4").err, ErrTenantFull)
		at(16.1)
		ctx, cancel := context.WithDeadline(bg, start.Add(18*time.Second))
		defer cancel()
		ask("a5", ctx)
		at(100)
		busy.Release()
		synctest.Wait()
		for name, want := range map[string]struct {
			err error
			at  time.Duration
		}{
			"a1": {ErrWaitedTooLong, 15 * time.Second},
			"a2": {ErrWaitedTooLong, 16 * time.Second},
			"a3": {ErrWaitedTooLong, 30500 * time.Millisecond},
			"a4": {ErrTenantFull, 15500 * time.Millisecond},
			"a5": {context.DeadlineExceeded, 18 * time.Second},
		} {
			require.ErrorIs(t, got(name).err, want.err, name)
			require.Equal(t, want.at, got(name).at, name)
		}
		require.NotErrorIs(t, got("a5").err, ErrRejected)
		s := g.Stats()
		require.EqualValues(t, []uint64{1, 3, 1, 1}, []uint64{s.TenantFull, s.WaitedTooLong, s.Cancelled, s.Done})
		require.Zero(t, s.Waiting)
	})
}

// TestRC03GateBoundLoweredWhileFull: nothing blocks, nobody is lost, others go on.
func TestRC03GateBoundLoweredWhileFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, GateConfig{Slots: 1, Limits: Limits{Config: Config{MaxTenantDepth: 100}}})
		busy := acquire(t, g, Request{Tenant: "A"})
		var served []string
		wait := func(tenant string) {
			go func() {
				gr := acquire(t, g, Request{Tenant: tenant})
				served = append(served, tenant) // one at a time: there is one slot
				gr.Release()
			}()
			synctest.Wait()
		}
		for range 100 {
			wait("A")
		}
		require.NoError(t, g.SetTenantDepth("A", 10))
		_, err := g.Acquire(context.Background(), Request{Tenant: "A"})
		require.ErrorIs(t, err, ErrTenantFull)
		wait("B")
		busy.Release()
		synctest.Wait()
		require.Len(t, served, 101)
		require.Contains(t, served[:3], "B")
	})
}

// TestRC04CancelFreesItsPlace: a caller that gave up takes no room in the queue.
func TestRC04CancelFreesItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, GateConfig{Slots: 1, Limits: Limits{Config: Config{MaxTenantDepth: 5}}})
		busy := acquire(t, g, Request{Tenant: "A"})
		var order []int
		errs := map[int]error{}
		var mu sync.Mutex
		submit := func(i int) context.CancelFunc {
			ctx, cancel := context.WithCancel(context.Background())
			go func() {
				gr, err := g.Acquire(ctx, Request{Tenant: "A"})
				mu.Lock()
				errs[i] = err
				if err == nil {
					order = append(order, i)
				}
				mu.Unlock()
				gr.Release()
			}()
			synctest.Wait()
			return cancel
		}
		cancels := map[int]context.CancelFunc{}
		for i := 1; i <= 6; i++ {
			cancels[i] = submit(i)
		}
		require.ErrorIs(t, errs[6], ErrTenantFull)
		for i := 2; i <= 4; i++ {
			cancels[i]()
		}
		synctest.Wait()
		require.Equal(t, 2, g.TenantStats("A").Waiting)
		for i := 2; i <= 4; i++ {
			require.Equal(t, context.Canceled, errs[i])
		}
		for i := 6; i <= 9; i++ {
			cancels[i] = submit(i)
		}
		require.ErrorIs(t, errs[9], ErrTenantFull)
		busy.Release()
		synctest.Wait()
		require.Equal(t, []int{1, 5, 6, 7, 8}, order)
		require.Zero(t, g.Stats().Waiting)
		for _, c := range cancels {
			c()
		}
	})
}

// TestCancelledHeadLetsOthersBy: when the wide request at the head gives up,
// those behind it that fit run at once, with no release needed.
func TestCancelledHeadLetsOthersBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, GateConfig{Slots: 4})
		held := acquire(t, g, Request{Tenant: "x", Seats: 2})
		ctx, cancel := context.WithCancel(context.Background())
		var granted atomic.Int64
		go g.Acquire(ctx, Request{Tenant: "wide", Seats: 3})
		synctest.Wait()
		for range 2 {
			go func() {
				acquire(t, g, Request{Tenant: "narrow"})
				granted.Add(1)
			}()
			synctest.Wait()
		}
		require.Zero(t, granted.Load(), "somebody overtook the wide request")
		cancel()
		synctest.Wait()
		require.EqualValues(t, 2, granted.Load())
		require.NoError(t, checkGate(g, false))
		held.Release()
	})
}

// TestWideIsNotStarved: a request for all seats gets them among a stream of
// narrow ones.
func TestWideIsNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, GateConfig{Slots: 4})
		stop := make(chan struct{})
		for i := range 16 {
			go func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					gr := acquire(t, g, Request{Tenant: fmt.Sprint(i % 4)})
					time.Sleep(time.Duration(1+i) * time.Millisecond)
					gr.Release()
				}
			}()
		}
		time.Sleep(time.Second)
		start := time.Now()
		gr := acquire(t, g, Request{Tenant: "wide", Seats: 4, Cost: 4})
		require.Less(t, time.Since(start), 200*time.Millisecond)
		require.Equal(t, 1, g.Stats().Running)
		gr.Release()
		close(stop)
		synctest.Wait()
		time.Sleep(time.Second)
		require.Zero(t, g.Stats().InUse)
	})
}

func TestTenantSeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, GateConfig{Slots: 4})
		a1 := acquire(t, g, Request{Tenant: "a"})
		require.NoError(t, g.SetTenantSeats("a", 2)) // with one of its requests running
		a2 := acquire(t, g, Request{Tenant: "a"})
		granted := map[string]int{}
		grants := make(chan Grant, 10)
		ask := func(tenant string, seats int) {
			go func() {
				gr, err := g.Acquire(context.Background(), Request{Tenant: tenant, Seats: seats})
				if err != nil {
					granted[tenant+" refused"]++
					return
				}
				granted[tenant]++
				grants <- gr
			}()
			synctest.Wait()
			require.NoError(t, checkGate(g, false))
		}
		ask("a", 1)
		ask("a", 2)
		ask("b", 1)
		require.Equal(t, map[string]int{"b": 1}, granted, "the capped tenant blocks others, or goes above its cap")
		require.True(t, g.TenantStats("a").AtCap)
		_, err := g.Acquire(context.Background(), Request{Tenant: "a", Seats: 3})
		require.ErrorIs(t, err, ErrNeverFits)
		a1.Release()
		synctest.Wait()
		require.Equal(t, 1, granted["a"])
		a2.Release()
		synctest.Wait()
		require.Equal(t, 1, granted["a"], "two seats beside one is above the cap")
		require.NoError(t, g.SetTenantSeats("a", 1)) // the waiting request for two fits no more
		synctest.Wait()
		require.Equal(t, 1, granted["a refused"])
		require.NoError(t, g.SetTenantSeats("a", 3))
		ask("a", 2)
		require.Equal(t, 2, granted["a"])
		require.ErrorContains(t, g.SetTenantSeats("a", 0), "drr: tenant seats is 0")
		close(grants)
		for gr := range grants {
			gr.Release()
		}
		require.NoError(t, checkGate(g, false))
		require.Empty(t, g.a.seatings)
	})
}

// TestManyCappedTenants: 100,000 tenants at their caps don't slow the one that
// isn't.
func TestManyCappedTenants(t *testing.T) {
	n := 100_000
	if testing.Short() || raceEnabled {
		n = 5_000
	}
	g := newGate(t, GateConfig{Slots: 1 << 30, Limits: Limits{MaxTenantSeats: 1}})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i := range n {
		tenant := fmt.Sprint(i)
		acquire(t, g, Request{Tenant: tenant})
		wg.Go(func() { g.Acquire(ctx, Request{Tenant: tenant}) })
	}
	for g.Stats().Waiting < n {
		runtime.Gosched()
	}
	require.NoError(t, checkGate(g, false))
	g.a.mu.Lock()
	before := g.a.q.Turns()
	g.a.mu.Unlock()
	acquire(t, g, Request{Tenant: "free"}).Release()
	g.a.mu.Lock()
	require.LessOrEqual(t, g.a.q.Turns()-before, uint64(3))
	g.a.mu.Unlock()
	cancel()
	wg.Wait()
	require.Zero(t, g.Stats().Waiting)
	require.NoError(t, checkGate(g, false))
}

func TestSetSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, GateConfig{Slots: 2})
		grants := []Grant{acquire(t, g, Request{}), acquire(t, g, Request{})}
		var wideErr error
		var done atomic.Int64
		go func() { _, wideErr = g.Acquire(context.Background(), Request{Tenant: "w", Seats: 2}) }()
		synctest.Wait()
		for range 3 {
			go func() {
				if _, err := g.Acquire(context.Background(), Request{}); err == nil {
					done.Add(1)
				}
			}()
			synctest.Wait()
		}
		require.NoError(t, g.SetSlots(1))
		synctest.Wait()
		require.ErrorIs(t, wideErr, ErrNeverFits, "it waits for more than there will be")
		require.Equal(t, 2, g.Stats().InUse, "lowering stops nobody")
		grants[0].Release()
		synctest.Wait()
		require.Zero(t, done.Load())
		require.NoError(t, g.SetSlots(3))
		synctest.Wait()
		require.EqualValues(t, 2, done.Load())
		require.ErrorContains(t, g.SetSlots(0), "drr: slots is 0, want 1 or more")
		require.Equal(t, 3, g.Stats().Slots)
		g.Close()
		synctest.Wait()
		require.EqualValues(t, 2, done.Load())
		grants[1].Release()
	})
}

func TestGrantIsIdempotent(t *testing.T) {
	g := newGate(t, GateConfig{Slots: 2})
	Grant{}.Release()
	require.NoError(t, Grant{}.ReleaseCost(5))
	require.NoError(t, Grant{}.Charge(5))
	a := acquire(t, g, Request{Tenant: "a"})
	b := a
	a.Release()
	a.Release()
	b.Release()
	require.Zero(t, g.Stats().InUse)
	c := acquire(t, g, Request{Tenant: "c"}) // reuses a's memory
	a.Release()
	require.NoError(t, a.ReleaseCost(100))
	require.NoError(t, a.Charge(100))
	require.Equal(t, 1, g.Stats().InUse, "an old grant released another's seats")
	require.ErrorContains(t, c.Charge(MaxCost+1), "drr: delta is 1099511627777")
	require.ErrorContains(t, c.ReleaseCost(-1), "drr: actual cost is -1")
	require.Zero(t, g.Stats().InUse, "a wrong cost leaked the seats")
	require.EqualValues(t, 2, g.Stats().Done)
}

// TestGateSettles: what a tenant is charged in the end is the true cost,
// however it was told, and a request that never ran costs nothing.
func TestGateSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, GateConfig{Slots: 1, Limits: Limits{Config: Config{Quantum: 10}}})
		balance := func() int64 { return g.TenantStats("a").Balance }
		gr := acquire(t, g, Request{Tenant: "a", Cost: 10})
		require.NoError(t, gr.Charge(30))
		require.EqualValues(t, -30, balance())
		require.NoError(t, gr.ReleaseCost(25))
		require.EqualValues(t, -15, balance(), "25 instead of 10")

		gr = acquire(t, g, Request{Tenant: "a", Cost: 10})
		require.NoError(t, gr.Charge(5))
		gr.Release()
		require.EqualValues(t, -20, balance())

		time.Sleep(2 * time.Second) // long enough for debts to be forgiven
		acquire(t, g, Request{Tenant: "b"}).Release()
		require.Zero(t, balance())
	})
}

func TestContextCauseIsKept(t *testing.T) {
	g := newGate(t, GateConfig{Slots: 1})
	defer acquire(t, g, Request{}).Release()
	boom := errors.New("the client hung up")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(boom)
	_, err := g.Acquire(ctx, Request{})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, boom)
	ctx2, cancel2 := context.WithCancel(context.Background())
	cancel2()
	_, err = g.Acquire(ctx2, Request{})
	require.Equal(t, context.Canceled, err)
}

func TestRejectedErrorSaysAll(t *testing.T) {
	g := newGate(t, GateConfig{Slots: 1, Limits: Limits{Config: Config{MaxTenantDepth: 1, MaxDepth: 1}}})
	_, err := g.Acquire(context.Background(), Request{Tenant: "a\n", Seats: 2})
	var r *RejectedError
	require.ErrorAs(t, err, &r)
	require.Equal(t, RejectedError{"a\n", NeverFits, Never}, *r)
	require.ErrorIs(t, err, ErrRejected)
	require.ErrorIs(t, err, ErrNeverFits)
	require.NotErrorIs(t, err, ErrFull)
	require.EqualError(t, err, `drr: tenant "a\n" rejected: never fits; retrying won't help`)
	require.Equal(t, "Reason(77)", Reason(77).String())

	for _, bad := range []Request{{Cost: -1}, {Cost: MaxCost + 1}, {Seats: -1}} {
		_, err := g.Acquire(context.Background(), bad)
		var v *ValueError
		require.ErrorAs(t, err, &v)
	}
	_, err = NewGate(GateConfig{Slots: 0, Limits: Limits{
		Config: Config{Quantum: -1, MaxDepth: 3}, MaxTenantSeats: -1, MaxWait: -1, TolerableWait: -1, MinDepth: 5, DebtIdle: -1,
	}})
	for _, part := range []string{
		"slots is 0", "Config.Quantum is -1", "Limits.MaxTenantSeats is -1", "Limits.MaxWait is -1ns", "Limits.TolerableWait is -1ns", "Limits.MinDepth is 5", "Limits.DebtIdle is -1ns",
	} {
		require.ErrorContains(t, err, part)
	}
}

func TestTryAcquire(t *testing.T) {
	g := newGate(t, GateConfig{Slots: 1})
	gr, ok := g.TryAcquire(Request{Tenant: "a"})
	require.True(t, ok)
	_, ok = g.TryAcquire(Request{Tenant: "b"})
	require.False(t, ok)
	_, ok = g.TryAcquire(Request{Tenant: "b", Seats: 9})
	require.False(t, ok)
	require.Zero(t, g.Stats().Waiting)
	gr.Release()
	gr, ok = g.TryAcquire(Request{Tenant: "b"})
	require.True(t, ok)
	gr.Release()
	require.NoError(t, checkGate(g, false))
}

func TestShutdownLetsQueuedWorkFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, GateConfig{Slots: 1, Limits: Limits{MaxWait: time.Hour}})
		gr := acquire(t, g, Request{})
		ran := false
		go func() { acquire(t, g, Request{}).Release(); ran = true }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		require.ErrorIs(t, g.Shutdown(ctx), context.DeadlineExceeded)
		_, err := g.Acquire(context.Background(), Request{})
		require.ErrorIs(t, err, ErrClosed)
		gr.Release()
		require.NoError(t, g.Shutdown(context.Background()))
		synctest.Wait()
		require.True(t, ran)
		g.Close()
		g.Close()
		require.NoError(t, g.Shutdown(context.Background()))
	})
}

func TestCloseWakesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, GateConfig{Slots: 1, Limits: Limits{MaxWait: time.Hour}})
		gr := acquire(t, g, Request{})
		var refusals atomic.Int64
		for i := range 100 {
			go func() {
				_, err := g.Acquire(context.Background(), Request{Tenant: fmt.Sprint(i % 7)})
				if errors.Is(err, ErrClosed) {
					refusals.Add(1)
				}
			}()
			synctest.Wait()
		}
		g.Close()
		synctest.Wait()
		require.EqualValues(t, 100, refusals.Load())
		require.Equal(t, 1, g.Stats().InUse)
		gr.Release()
		require.Zero(t, g.Stats().InUse)
		require.EqualValues(t, 100, g.Stats().Closed)
	})
}

func TestTolerableWaitBoundsTheQueueByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, GateConfig{Slots: 2, Limits: Limits{Config: Config{MaxDepth: 1000}, TolerableWait: 2 * time.Second, MinDepth: 5}})
		var full atomic.Int64
		serve := func(n int) {
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() {
					gr, err := g.Acquire(context.Background(), Request{})
					if err != nil {
						full.Add(1)
						return
					}
					time.Sleep(100 * time.Millisecond)
					gr.Release()
				})
			}
			wg.Wait()
		}
		serve(10)
		require.EqualValues(t, 3, full.Load(), "two run and the floor of five wait")
		for range 20 {
			serve(7) // 20 a second: two slots, 100 ms each
		}
		full.Store(0)
		serve(100)
		require.InDelta(t, 100-2-40, full.Load(), 8, "20/s for 2 s is 40")
	})
}

var historyOps = flag.Int("ops", 300_000, "how many operations TestGateHistories makes")

// TestGateHistories: random concurrent Acquire, Release, cancel, SetSlots,
// SetTenantSeats, Charge and at last Close, with every invariant checked
// throughout and the counts adding up at the end.
func TestGateHistories(t *testing.T) {
	ops := *historyOps
	if testing.Short() {
		ops /= 5
	}
	before := runtime.NumGoroutine()
	for round := range 4 {
		caps := round%2 == 1
		l := Limits{Config: Config{Quantum: 3, MaxDepth: 40, MaxTenantDepth: 12}}
		if round >= 2 {
			l.MaxWait = 200 * time.Microsecond
		}
		if caps {
			l.MaxTenantSeats = 3
		}
		g := newGate(t, GateConfig{Slots: 4, Limits: l})
		var wg sync.WaitGroup
		var inUse, asked, granted, rejected, cancelled atomic.Int64
		var broken atomic.Pointer[error]
		fail := func(err error) {
			if err != nil {
				broken.CompareAndSwap(nil, &err)
			}
		}
		const workers = 16
		for w := range workers {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(round), uint64(w)))
				for range ops / 4 / workers {
					req := Request{Tenant: fmt.Sprint(r.IntN(6)), Cost: 1 + r.Int64N(9), Seats: 1 + r.IntN(3)}
					ctx, cancel := context.WithCancel(context.Background())
					kind := r.IntN(10)
					if kind < 4 {
						go func() {
							for range r.IntN(50) {
								runtime.Gosched()
							}
							cancel()
						}()
						// r belongs to this goroutine until cancel is called
						<-ctx.Done()
						ctx, cancel = context.WithCancel(context.Background())
						timer := time.AfterFunc(time.Duration(r.IntN(100))*time.Microsecond, cancel)
						defer timer.Stop()
					}
					asked.Add(1)
					gr, err := g.Acquire(ctx, req)
					switch {
					case err == nil:
						granted.Add(1)
						if n := inUse.Add(int64(req.Seats)); n > 5 {
							fail(fmt.Errorf("%d seats in use", n))
						}
						if kind == 9 {
							fail(gr.Charge(r.Int64N(20) - 10))
						}
						if r.IntN(4) == 0 {
							runtime.Gosched()
						}
						inUse.Add(-int64(req.Seats))
						if kind%2 == 0 {
							gr.Release()
						} else {
							fail(gr.ReleaseCost(r.Int64N(20)))
						}
						gr.Release()
					case errors.Is(err, ErrRejected):
						rejected.Add(1)
					case errors.Is(err, context.Canceled):
						cancelled.Add(1)
					default:
						fail(err)
					}
					cancel()
					switch r.IntN(200) {
					case 0:
						fail(g.SetSlots(3 + r.IntN(3)))
					case 1:
						if caps {
							fail(g.SetTenantSeats(req.Tenant, 3+r.IntN(2)))
						}
					case 2:
						fail(g.SetWeight(req.Tenant, 0.5+r.Float64()))
					case 3, 4, 5, 6:
						g.a.mu.Lock()
						fail(checkGate(g, true))
						g.a.mu.Unlock()
					}
				}
			})
		}
		wg.Wait()
		if err := broken.Load(); err != nil {
			t.Fatal(*err)
		}
		s := g.Stats()
		require.Zero(t, s.InUse+s.Waiting+s.Running)
		require.EqualValues(t, asked.Load(), int64(s.Done+s.Cancelled+s.TenantFull+s.Full+s.WaitedTooLong+s.NeverFits+s.Closed))
		require.EqualValues(t, granted.Load(), s.Done)
		require.EqualValues(t, cancelled.Load(), s.Cancelled)
		require.NoError(t, checkGate(g, true))
		require.NoError(t, g.Shutdown(context.Background()))
		g.Close()
	}
	for range 1000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before+2)
}

// TestCancelGrantReleaseCloseCoincide: the four meet in one moment, again and
// again, and no seat is lost or granted twice.
func TestCancelGrantReleaseCloseCoincide(t *testing.T) {
	rounds := 100_000
	if testing.Short() || raceEnabled {
		rounds = 20_000
	}
	for i := range rounds {
		g := newGate(t, GateConfig{Slots: 1})
		gr := acquire(t, g, Request{Tenant: "holder"})
		ctx, cancel := context.WithCancel(context.Background())
		result := make(chan error, 1)
		go func() {
			gr, err := g.Acquire(ctx, Request{Tenant: "waiter"})
			if err == nil {
				gr.Release()
			}
			result <- err
		}()
		for spin := 0; spin < 1000; spin++ {
			g.a.mu.Lock()
			n := g.a.waiting.length
			g.a.mu.Unlock()
			if n == 1 {
				break
			}
			runtime.Gosched()
		}
		var wg sync.WaitGroup
		wg.Go(cancel)
		wg.Go(gr.Release)
		if i%2 == 0 {
			wg.Go(g.Close)
		}
		err := <-result
		wg.Wait()
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, ErrClosed) {
			t.Fatal(err)
		}
		s := g.Stats()
		if s.InUse != 0 || s.Waiting != 0 || s.Done+s.Cancelled+s.Closed != 2 {
			t.Fatalf("round %d: %+v", i, s)
		}
		cancel()
	}
}

// TestGateAllocations: none when the seats are free, at most one for a waiter.
func TestGateAllocations(t *testing.T) {
	g := newGate(t, GateConfig{Slots: 1})
	ctx := context.Background()
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		gr, _ := g.Acquire(ctx, Request{Tenant: "a", Cost: 5})
		gr.Release()
	}))
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		gr, _ := g.Acquire(ctx, Request{Tenant: "a", Cost: 5})
		gr.ReleaseCost(7)
	}))

	start, done := make(chan struct{}), make(chan struct{})
	go func() {
		for range start {
			gr, _ := g.Acquire(ctx, Request{Tenant: "b"})
			gr.Release()
			done <- struct{}{}
		}
	}()
	require.LessOrEqual(t, testing.AllocsPerRun(1000, func() {
		gr, _ := g.Acquire(ctx, Request{Tenant: "a"})
		start <- struct{}{}
		for g.Stats().Waiting == 0 {
			runtime.Gosched()
		}
		gr.Release()
		<-done
	}), 1.0)
	close(start)
}

// TestOneAgainstSixtyFour: a tenant with one caller gets its half of the slots'
// work from one with sixty-four, to the extent that one caller can ask for it.
func TestOneAgainstSixtyFour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, GateConfig{Slots: 1})
		var served [2]int
		stop := time.Now().Add(2 * time.Second)
		var wg sync.WaitGroup
		run := func(i int, tenant string) {
			for time.Now().Before(stop) {
				gr := acquire(t, g, Request{Tenant: tenant})
				time.Sleep(time.Millisecond)
				served[i]++
				gr.Release()
			}
		}
		for range 64 {
			wg.Go(func() { run(0, "many") })
		}
		wg.Go(func() { run(1, "one") })
		wg.Wait()
		require.GreaterOrEqual(t, served[1], 950, "of 2000, alternating: %v", served)
	})
}

// TestHooksAreTold: each hook hears of what it is for, outside the lock, and one
// that panics leaks no seat.
func TestHooksAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var heard []string
		var g *Gate
		hear := func(format string, args ...any) {
			g.Stats() // would hang under the lock
			mu.Lock()
			heard = append(heard, fmt.Sprintf(format, args...))
			mu.Unlock()
		}
		g = newGate(t, GateConfig{Slots: 1, Limits: Limits{MaxWait: time.Second, Hooks: Hooks{
			Granted:   func(tenant string, waited time.Duration) { hear("granted %s %s", tenant, waited) },
			Done:      func(tenant string, cost int64) { hear("done %s %d", tenant, cost) },
			Rejected:  func(err *RejectedError) { hear("rejected %s %s", err.Tenant, err.Reason) },
			Cancelled: func(tenant string) { hear("cancelled %s", tenant) },
		}}})
		a := acquire(t, g, Request{Tenant: "a"})
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		g.Acquire(ctx, Request{Tenant: "b"})
		g.Acquire(context.Background(), Request{Tenant: "c"})
		go func() { acquire(t, g, Request{Tenant: "d"}).ReleaseCost(7) }()
		time.Sleep(200 * time.Millisecond)
		a.Release()
		synctest.Wait()
		require.ElementsMatch(t, []string{
			"granted a 0s", "cancelled b", "rejected c waited too long", "granted d 200ms", "done a 1", "done d 7",
		}, heard)
	})

	g := newGate(t, GateConfig{Slots: 1, Limits: Limits{Hooks: Hooks{Granted: func(string, time.Duration) { panic("hook") }}}})
	require.Panics(t, func() { g.Acquire(context.Background(), Request{}) })
	require.Panics(t, func() { g.TryAcquire(Request{}) })
	require.Zero(t, g.Stats().InUse)
	s := newScheduler(t, SchedulerConfig[int]{Limits: Limits{Hooks: Hooks{Granted: func(string, time.Duration) { panic("hook") }}}})
	require.NoError(t, s.Submit("a", 1, 1))
	require.Panics(t, func() { s.Next(context.Background()) })
	require.Zero(t, s.Stats().Running)
}
