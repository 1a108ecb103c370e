package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Every number of a result, computed once more from what happened to each
// request, in the plainest way.
func TestResultAgainstLog(t *testing.T) {
	sc := small()
	tenants := expand(sc.Tenants)
	inWindow := func(at time.Duration) bool { return sc.Window.From <= at && at < sc.Window.To }
	for _, name := range PolicyNames() {
		log, r := runLogged(t, sc, name, 3)
		require.Len(t, r.Tenants, 3)
		var offered, work, inside, end time.Duration
		arrived, finished := 0, 0
		for _, x := range log {
			if inWindow(x.arrived) {
				offered += x.service
				arrived++
			}
			if x.outcome != admitted {
				continue
			}
			require.Equal(t, x.service, x.finished-x.started)
			require.LessOrEqual(t, x.arrived, x.started)
			work += x.service
			if x.started < sc.Duration {
				inside += min(x.finished, sc.Duration) - x.started
			}
			end = max(end, x.finished)
			if inWindow(x.finished) {
				finished++
			}
		}
		seconds := 0.6
		require.InEpsilon(t, 2/(offered.Seconds()/float64(arrived)), r.Capacity, 1e-12)
		require.InEpsilon(t, float64(finished)/seconds, r.Throughput, 1e-12)
		require.InEpsilon(t, work.Seconds()/2, r.Utilization, 1e-12)
		require.InEpsilon(t, inside.Seconds()/2, r.BusyUtilization, 1e-12)
		require.Less(t, sc.Duration, end, "something was drained")

		level := waterLevel(tenants, log, inWindow, r.Capacity*seconds)
		var sum, squares float64
		least := math.Inf(1)
		var within []time.Duration
		refused := 0
		for i, tr := range r.Tenants {
			var run, window Counts
			var queueing []time.Duration
			var bins [BinsPerRun]int32
			finishes := 0
			var workIn time.Duration
			for _, x := range log {
				if x.tenant != i {
					continue
				}
				run.add(x.outcome)
				if inWindow(x.arrived) {
					window.add(x.outcome)
				}
				if x.outcome != admitted {
					continue
				}
				run.Completed++
				if inWindow(x.arrived) {
					window.Completed++
					queueing = append(queueing, x.started-x.arrived)
				}
				if inWindow(x.finished) {
					finishes++
					workIn += x.service
				}
				if x.finished < sc.Duration {
					bins[x.finished/r.Bin]++
				}
			}
			slices.Sort(queueing)
			require.Equal(t, run, tr.Run)
			require.Equal(t, window, tr.Window)
			require.Equal(t, run.Submitted, run.Completed+run.Refused())
			require.Equal(t, queueing, tr.Queueing)
			require.Equal(t, bins[:], tr.Bins)
			require.Equal(t, workIn, tr.Work)
			require.Equal(t, tenants[i].Name, tr.Name)
			demand := float64(window.Submitted)
			fair := min(demand, level*tenants[i].Weight)
			require.InEpsilon(t, demand/seconds, tr.Demand, 1e-12)
			require.InEpsilon(t, fair/seconds, tr.FairShare, 1e-9)
			require.InEpsilon(t, float64(finishes)/seconds, tr.Rate, 1e-12)
			require.InEpsilon(t, float64(finishes)/fair, tr.Share, 1e-9)
			require.Equal(t, demand < level*tenants[i].Weight, tr.WithinShare)
			share := float64(finishes) / fair
			sum, squares, least = sum+share, squares+share*share, min(least, share)
			if tr.WithinShare {
				within = append(within, queueing...)
				refused += window.Refused()
			}
		}
		slices.Sort(within)
		require.Equal(t, within, r.Queueing)
		require.Equal(t, refused, r.RefusedFull+r.RefusedQuota)
		require.InEpsilon(t, sum*sum/(3*squares), r.Jain, 1e-9)
		require.InEpsilon(t, least, r.MinShare, 1e-9)
		require.Equal(t, 0, r.Heaviest)
		require.True(t, !r.Tenants[0].WithinShare && r.Tenants[1].WithinShare, "both kinds are there")
	}
}

// waterLevel finds by bisection the level at which each tenant's demand, cut at
// level*weight, adds up to the capacity.
func waterLevel(tenants []Tenant, log []entry, inWindow func(time.Duration) bool, capacity float64) float64 {
	demand := make([]float64, len(tenants))
	for _, x := range log {
		if inWindow(x.arrived) {
			demand[x.tenant]++
		}
	}
	low, high := 0.0, 1e6
	for range 200 {
		level, sum := (low+high)/2, 0.0
		for i, d := range demand {
			sum += min(d, level*tenants[i].Weight)
		}
		if sum < capacity {
			low = level
		} else {
			high = level
		}
	}
	return low
}

func TestPercentileIsNearestRank(t *testing.T) {
	require.Zero(t, percentile(nil, 99))
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 50), 1, 300).Draw(t, "values")
		p := rapid.IntRange(1, 100).Draw(t, "p")
		sorted := make([]time.Duration, len(values))
		for i, v := range values {
			sorted[i] = time.Duration(v)
		}
		slices.Sort(sorted)
		got := percentile(sorted, p)
		atMost := func(limit time.Duration) (n int) {
			for _, v := range sorted {
				if v <= limit {
					n++
				}
			}
			return n
		}
		require.Contains(t, sorted, got)
		require.GreaterOrEqual(t, 100*atMost(got), p*len(sorted))
		require.Less(t, 100*atMost(got-1), p*len(sorted), "a smaller value would do")
	})
}

func TestRunTwiceIsEqual(t *testing.T) {
	for _, name := range PolicyNames() {
		a, err := Run(small(), name, 5)
		require.NoError(t, err)
		b, err := Run(small(), name, 5)
		require.NoError(t, err)
		require.Equal(t, a, b)
		c, err := Run(small(), name, 6)
		require.NoError(t, err)
		require.NotEqual(t, a, c)
	}
}

func TestNothingArrivesInTheWindow(t *testing.T) {
	sc := small()
	for i := range sc.Tenants {
		sc.Tenants[i].Bursts = []Burst{{sc.Window.From, sc.Window.To, 0}}
	}
	for _, name := range PolicyNames() {
		e, err := Evaluate(sc, name, 1)
		require.NoError(t, err)
		require.Zero(t, e.Run.Capacity)
		require.Zero(t, e.Run.Jain)
		require.Zero(t, e.Run.P99)
		require.Nil(t, e.F1)
		require.NotZero(t, e.Run.Tenants[0].Run.Submitted)
		_, err = json.Marshal(e.Run)
		require.NoError(t, err)
	}
}

// The golden file has every number of the built-in scenarios for one seed, the
// same on every platform. A change of it is a change of a package that sim
// drives, or of sim; -update rewrites it.
func TestGolden(t *testing.T) {
	long(t)
	var out bytes.Buffer
	for _, scenario := range Names() {
		sc := builtinScenario(t, scenario)
		for _, policy := range sc.PolicyNames() {
			e, err := Evaluate(sc, policy, 1)
			require.NoError(t, err)
			summary, err := json.Marshal(e.Summary())
			require.NoError(t, err)
			fmt.Fprintf(&out, "%s %s\n", scenario, summary)
			tenants := e.Run.Tenants
			e.Run.Tenants = nil
			run, err := json.Marshal(e.Run)
			require.NoError(t, err)
			fmt.Fprintf(&out, "%s\n", run)
			hash := fnv.New64a()
			for _, x := range tenants {
				line, err := json.Marshal(x)
				require.NoError(t, err)
				if len(tenants) < 100 {
					fmt.Fprintf(&out, "%s\n", line)
				}
				fmt.Fprintln(hash, string(line), x.Queueing, x.Bins)
			}
			fmt.Fprintf(&out, "all of them, with queueing times and bins: %016x\n\n", hash.Sum64())
		}
	}
	golden := filepath.Join("testdata", "builtin.golden")
	if *updateFlag {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, out.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String())
}
