package drr

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNoRefundOfWhatWasNotCharged: a request that went through an idle gate was
// not charged what it stated, so overstating wins nothing back.
func TestNoRefundOfWhatWasNotCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, GateConfig{Slots: 1})
		gr := acquire(t, g, Request{Tenant: "a", Cost: MaxCost})
		require.NoError(t, gr.Charge(5))
		for range 2 {
			go g.Acquire(context.Background(), Request{Tenant: "a"})
		}
		synctest.Wait()
		require.NoError(t, gr.ReleaseCost(1))
		require.LessOrEqual(t, g.TenantStats("a").Balance, int64(1))
		g.Close()

		// A total below nothing is nothing.
		g = newGate(t, GateConfig{Slots: 1})
		gr = acquire(t, g, Request{Tenant: "b", Cost: 10})
		require.NoError(t, gr.Charge(-1000))
		gr.Release()
		require.GreaterOrEqual(t, g.Stats().CostPerSecond, 0.0)
	})
}

// TestCapacityOfADrain: with nothing arriving, what is served is booked in the
// seconds in which it was, however long the drain takes.
func TestCapacityOfADrain(t *testing.T) {
	for _, n := range []int{30, 200} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, GateConfig{Slots: 1})
			gr := acquire(t, g, Request{})
			for range n {
				go func() {
					gr := acquire(t, g, Request{Cost: 3})
					time.Sleep(time.Second)
					gr.Release()
				}()
			}
			synctest.Wait()
			gr.Release()
			time.Sleep(time.Duration(n/2) * time.Second)
			require.InDelta(t, 1, g.Stats().RequestsPerSecond, 0.1)
			require.InDelta(t, 3, g.Stats().CostPerSecond, 0.3)
			require.True(t, g.Wait("", 1).Known)
			time.Sleep(time.Duration(n/2+20) * time.Second)
			require.InDelta(t, 1, g.Stats().RequestsPerSecond, 0.1)
		})
	}
}

// TestCappedTenantLeavesRoomForOthers: what waits for its tenant's own cap
// neither fills the common queue nor counts as waiting for seats.
func TestCappedTenantLeavesRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, GateConfig{Slots: 4, Limits: Limits{MaxTenantSeats: 1, Config: Config{MaxDepth: 2}}})
		acquire(t, g, Request{Tenant: "heavy"})
		for range 2 {
			go g.Acquire(context.Background(), Request{Tenant: "heavy"})
			synctest.Wait()
		}
		_, err := g.Acquire(context.Background(), Request{Tenant: "heavy"})
		require.ErrorIs(t, err, ErrTenantFull)
		time.Sleep(10 * time.Second)
		require.Equal(t, Estimate{Known: true}, g.Wait("light", 1))
		require.Equal(t, 3, g.Wait("heavy", 1).Position)
		require.Equal(t, 3, g.Wait("heavy", -7).Position)
		require.GreaterOrEqual(t, g.Wait("heavy", -7).Wait, time.Duration(0))
		require.Zero(t, g.Stats().RequestsPerSecond, "three seats were free")
		acquire(t, g, Request{Tenant: "light"})
		require.NoError(t, checkGate(g, false))
		g.Close()
		s := g.Stats()
		require.EqualValues(t, 2, s.Closed, "counted when it is decided")
	})
}

// TestDebtsAreForgivenWhateverTheTimerDoes: a timer that fires for nothing
// doesn't count as something going on.
func TestDebtsAreForgivenWhateverTheTimerDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(t, SchedulerConfig[int]{Limits: Limits{MaxWait: 10 * time.Second}})
		require.NoError(t, s.Submit("a", 1, 1)) // sets the timer
		j, err := s.Next(context.Background())
		require.NoError(t, err)
		require.NoError(t, j.Done(1000))
		time.Sleep(10500 * time.Millisecond)
		require.NoError(t, s.Submit("b", 1, 1))
		require.Zero(t, s.TenantStats("a").Balance)
		s.Close()
	})
}

// TestNeverServedLate: one that has waited for MaxWait is refused even if the
// seat comes before the timer does.
func TestNeverServedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, GateConfig{Slots: 1, Limits: Limits{MaxWait: time.Second}})
		gr := acquire(t, g, Request{})
		var err error
		go func() { _, err = g.Acquire(context.Background(), Request{}) }()
		synctest.Wait()
		g.a.mu.Lock()
		g.a.epoch = g.a.epoch.Add(-2 * time.Second) // the clock is ahead of the timer
		g.a.mu.Unlock()
		gr.Release()
		synctest.Wait()
		require.ErrorIs(t, err, ErrWaitedTooLong)
		require.Zero(t, g.Stats().InUse)
	})
}

func TestShutdownOfADrainedGateIgnoresTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 100 {
		g := newGate(t, GateConfig{Slots: 1})
		require.NoError(t, g.Shutdown(ctx))
	}
}

// TestSeatingsComeBack: tenants that were at their caps leave no memory behind,
// and neither does a cap that is the default again.
func TestSeatingsComeBack(t *testing.T) {
	g := newGate(t, GateConfig{Slots: 5000, Limits: Limits{MaxTenantSeats: 2}})
	var grants []Grant
	for i := range 3000 {
		grants = append(grants, acquire(t, g, Request{Tenant: tenantNames[i%1000] + string(rune('a'+i/1000))}))
	}
	require.Equal(t, 3000, g.a.crowd)
	for _, gr := range grants {
		gr.Release()
	}
	require.Zero(t, g.a.crowd)
	require.Empty(t, g.a.seatings)
	require.NoError(t, g.SetTenantSeats("a", 7))
	require.NoError(t, g.SetTenantSeats("a", 2))
	require.Empty(t, g.a.caps)
}
