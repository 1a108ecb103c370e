package sim

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

const smallest = `{
  "name": "smallest",
  "seeds": [7],
  "duration": "1s",
  "window": {"from": "0s", "to": "1s"},
  "workers": 1,
  "service": {"distribution": "constant", "mean": "1ms"},
  "tenants": [{"name": "a", "rate": 10}],
  "policies": {"fifo": {"depth": 5}}
}`

func TestLoadSmallest(t *testing.T) {
	sc, err := Load(strings.NewReader(smallest))
	require.NoError(t, err)
	require.Equal(t, &Scenario{
		Name: "smallest", Seeds: []uint64{7}, Duration: time.Second, Window: Window{0, time.Second}, Workers: 1,
		Service:  Service{Constant, time.Millisecond},
		Tenants:  []Tenant{{Name: "a", Count: 1, Rate: 10, Weight: 1}},
		Policies: Policies{FIFO: &FIFOParams{5}},
		Criteria: Criteria{0.97, 50 * time.Millisecond, 0.97, 10},
	}, sc)
	require.Equal(t, []string{PolicyFIFO}, sc.PolicyNames())
	r, err := Run(sc, PolicyFIFO, 7)
	require.NoError(t, err)
	require.Positive(t, r.Tenants[0].Run.Completed)
}

func TestBuiltin(t *testing.T) {
	require.Equal(t, []string{"four-policies", "ten-thousand-tenants", "tiers"}, Names())
	for _, name := range Names() {
		sc := builtinScenario(t, name)
		require.Equal(t, name, sc.Name)
		require.NotEmpty(t, sc.About)
		require.NotEmpty(t, sc.Choices)
		require.Equal(t, PolicyNames(), sc.PolicyNames())
	}
	sc := builtinScenario(t, "four-policies")
	tenants := expand(sc.Tenants)
	require.Len(t, tenants, 25)
	require.Equal(t, "small-01", tenants[5].Name)
	require.Equal(t, "mid-4", tenants[4].Name)

	_, err := Builtin("../go.mod")
	require.ErrorContains(t, err, `scenario is "../go.mod", want one of [four-policies`)
}

// fields returns the fields that an error is about.
func fields(t testing.TB, err error) []string {
	t.Helper()
	require.Error(t, err)
	var names []string
	for _, err := range flatten(err) {
		var e *ValueError
		require.ErrorAs(t, err, &e)
		require.Equal(t, "sim", e.Package)
		names = append(names, e.Field)
	}
	return names
}

// Each row breaks one thing in a file that is right, and names the field and
// the value.
func TestLoadRefuses(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "everything.json"))
	require.NoError(t, err)
	_, err = Load(strings.NewReader(string(data)))
	require.NoError(t, err)
	for _, test := range []struct{ old, new, want string }{
		{`"name": "everything"`, `"name": ""`, `name is "", want a name`},
		{`"name": "everything"`, `"nam": "everything"`, "name is missing, want a string\nsim: nam is \"everything\", want no such field"},
		{`"name": "everything"`, `"name": "x", "name": "y"`, `name is "y", want to be given once`},
		{`"name": "everything"`, `"name": null`, `name is "null", want a string`},
		{`"what": "w"`, `"what": ""`, `choices[0].what is ""`},
		{`"why": "y"`, `"why": 3`, `choices[0].why is 3, want a string`},
		{`[1, 2]`, `[]`, `seeds is [], want one at least`},
		{`[1, 2]`, `[1, -2]`, `seeds[1] is -2, want a whole number from 0`},
		{`[1, 2]`, `[1, 2.5]`, `seeds[1] is 2.5`},
		{`[1, 2]`, `7`, `seeds is 7, want a list`},
		{`"duration": "10s"`, `"duration": 10`, `duration is 10, want a duration`},
		{`"duration": "10s"`, `"duration": "10 parsecs"`, `duration is "10 parsecs", want a duration`},
		{`"duration": "10s"`, `"duration": "1us"`, `duration is 1µs, want 1ms to 1000h0m0s`},
		{`"to": "9s"`, `"to": "11s"`, `window.to is 11s, want at most duration, 10s`},
		{`"to": "9s"`, `"to": "1s"`, `window.to is 1s, want later than from, 2s`},
		{`"from": "2s"`, `"from": "-2s"`, `window.from is -2s, want 0s or later`},
		{`"workers": 3`, `"workers": 0`, `workers is 0, want 1 to 100000`},
		{`"workers": 3`, `"workers": 4294967297`, `workers is 4294967297, want a number below 2^31`},
		{`"workers": 3`, `"workers": 2.5`, `workers is 2.5, want a whole number`},
		{`"exponential"`, `"pareto"`, `service.distribution is "pareto", want "exponential" or "constant"`},
		{`"mean": "5ms"`, `"mean": "0s"`, `service.mean is 0s, want 1ns to 10s`},
		{`"name": "other"`, `"name": "one"`, `tenants[1].name is "one", want a name that no other tenant has`},
		{`"name": "other"`, `"name": "group-1"`, `tenants[2].name is "group-1", want a name that no other`},
		{`"name": "other"`, `"name": 5`, `tenants[1].name is 5, want a string`},
		{`"count": 2`, `"count": 0`, `tenants[2].count is 0, want 1 to 100000`},
		{`"count": 2`, `"count": 100000`, `tenants is "100002 or more tenants", want at most 100000`},
		{`"rate": 20`, `"rate": 0`, `tenants[0].rate is 0, want above 0`},
		{`"rate": 20`, `"rate": 1e400`, `tenants[0].rate is 1e400, want a number`},
		{`"rate": 20`, `"rate": 1e8`, `tenants is "a load of 1100000450 requests", want at most 20000000 in a run`},
		{`"rate": 20`, `"rate": "20"`, `tenants[0].rate is "20", want a number`},
		{`"weight": 2`, `"weight": 0`, `tenants[0].weight is 0, want above 0`},
		{`"weight": 2`, `"weight": -1`, `tenants[0].weight is -1, want above 0`},
		{`"weight": 2`, `"weight": 1e7`, `tenants[0].weight is 1e+07, want above 0, at most 1e6`},
		{`"quantum": "5ms"`, `"quantum": "1ns"`, `policies.drr.quantum is 1ns, want 1ns or more when multiplied by 0.5, the weight of "other"`},
		{`"from": "3s"`, `"from": "4s"`, `tenants[0].bursts[0].to is 4s, want later than from, 4s`},
		{`"to": "6s"`, `"to": "60s"`, `tenants[0].bursts[1].to is 1m0s, want at most duration, 10s`},
		{`"from": "5s"`, `"from": "3.5s"`, `tenants[0].bursts[1].from is 3.5s, want no earlier than the end of the burst before, 4s`},
		{`"factor": 3`, `"factor": -3`, `tenants[0].bursts[0].factor is -3, want 0 to 1e9`},
		{`"factor": 3`, `"factr": 3`, "tenants[0].bursts[0].factor is missing, want a number\nsim: tenants[0].bursts[0].factr is 3, want no such field"},
		{`"burst": 9`, `"burst": 0`, `tenants[0].quota.burst is 0, want 1 to 2^40`},
		{`{"rate": 30, "burst": 9}`, `{"rate": 0, "burst": 9}`, `tenants[0].quota.rate is 0, want above 0`},
		{`{"rate": 30, "burst": 9}`, `{"rate": 1e-9, "burst": 1099511627776}`, `tenants[0].quota is {1e-09 1099511627776}, want a limit that quota.NewBucket takes`},
		{`{"rate": 30, "burst": 9}`, `[]`, `tenants[0].quota is "a list", want an object`},
		{`"depth": 21`, `"depth": 0`, `policies.fifo.depth is 0, want 1 to 1e9`},
		{`"depth": 22`, `"depth": -1`, `policies.quota.depth is -1, want 1 to 1e9`},
		{`"depth": 23`, `"depth": -1`, `policies.drr.depth is -1, want 1 to 1e9, or none`},
		{`"tenant_depth": 24`, `"tenant_depth": 0`, `policies.drr.tenant_depth is 0, want 1 to 1e9`},
		{`"quantum": "6ms"`, `"quantum": "2s"`, `policies.drr_quota.quantum is 2s, want 1ns to 1s`},
		{`"policies": ["fifo"]`, `"policies": ["lifo"]`, `control.policies[0] is "lifo", want one of [fifo quota drr drr_quota]`},
		{`{"name": "lone", "rate": 100}`, ``, `control.tenants is [], want one at least`},
		{`{"name": "lone", "rate": 100}`, `true`, `control.tenants[0] is true, want an object`},
		{`"completed": 0.9`, `"completed": 1.1`, `criteria.completed is 1.1, want above 0, at most 1`},
		{`"queueing_p99": "9ms"`, `"queueing_p99": "0s"`, `criteria.queueing_p99 is 0s, want above 0`},
		{`"lone": 0.8`, `"lone": 0`, `criteria.lone is 0, want above 0`},
		{`"series": 4`, `"series": 0`, `criteria.series is 0, want 1 to 10000`},
		{`"metric": "jain"`, `"metric": "gini"`, `published[0].metric is "gini", want the name of a metric`},
		{`"policy": "drr"`, `"policy": "wfq"`, `published[0].policy is "wfq", want the name of a policy`},
		{`"max": 1`, `"max": 0.5`, `published[0].max is 0.5, want at least mean`},
		{`"control": true`, `"control": "yes"`, `published[0].control is "yes", want true or false`},
	} {
		broken := strings.Replace(string(data), test.old, test.new, 1)
		require.NotEqual(t, string(data), broken, test.old)
		sc, err := Load(strings.NewReader(broken))
		require.Nil(t, sc)
		require.ErrorContains(t, err, "sim: "+test.want, test.new)
		require.Len(t, flatten(err), 1+strings.Count(test.want, "\n"), "%s: %v", test.new, err)
		fields(t, err)
	}
}

func TestLoadReportsEverythingAtOnce(t *testing.T) {
	_, err := Load(strings.NewReader(`{"name": "x", "window": 5, "tenants": [{"rate": -1}, 3, {"name": "z", "rate": -2}], "policies": {}, "more": {}}`))
	require.Equal(t, []string{
		"seeds", "duration", "window", "workers", "service", "tenants[0].name", "tenants[1]", "more",
		"tenants[0].rate", "tenants[2].rate", "policies",
	}, fields(t, err))
}

func TestLoadWhatIsNoScenario(t *testing.T) {
	for _, text := range []string{"", "{", `{"name": }`, smallest + smallest, strings.Repeat("[", 1e5)} {
		_, err := Load(strings.NewReader(text))
		require.ErrorContains(t, err, "sim: the scenario is not JSON: ")
	}
	var syntax *json.SyntaxError
	_, err := Load(strings.NewReader("{]"))
	require.ErrorAs(t, err, &syntax)
	for _, text := range []string{"[]", "3", "null", `"x"`} {
		_, err := Load(strings.NewReader(text))
		require.Equal(t, []string{"file"}, fields(t, err))
	}
	_, err = Load(strings.NewReader(smallest + strings.Repeat(" ", maxFile)))
	require.Equal(t, []string{"file size"}, fields(t, err))
	_, err = Load(iotest.ErrReader(io.ErrClosedPipe))
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

// A program's own scenario is checked as a file's is.
func TestRunRefuses(t *testing.T) {
	for want, change := range map[string]func(*Scenario){
		"tenants[0].weight":           func(sc *Scenario) { sc.Tenants[0].Weight = math.NaN() },
		"tenants[0].rate":             func(sc *Scenario) { sc.Tenants[0].Rate = math.Inf(1) },
		"tenants[0].bursts[0].factor": func(sc *Scenario) { sc.Tenants[0].Bursts[0].Factor = math.NaN() },
		"tenants[1].quota.rate":       func(sc *Scenario) { sc.Tenants[1].Quota.Rate = math.NaN() },
		"criteria.completed":          func(sc *Scenario) { sc.Criteria.Completed = math.NaN() },
		"policy":                      func(sc *Scenario) { sc.Policies.FIFO = nil },
		"tenants":                     func(sc *Scenario) { sc.Tenants = nil },
		"published[0].mean": func(sc *Scenario) {
			nan := math.NaN()
			sc.Published = []Published{{Policy: PolicyDRR, Metric: "jain", Mean: &nan}}
		},
	} {
		sc := small()
		change(sc)
		_, err := Run(sc, PolicyFIFO, 1)
		require.Equal(t, []string{want}, fields(t, err))
	}
	for _, policy := range []string{"", "lifo", "DRR"} {
		_, err := Run(small(), policy, 1)
		require.Equal(t, []string{"policy"}, fields(t, err))
		_, err = Evaluate(small(), policy, 1)
		require.Equal(t, []string{"policy"}, fields(t, err))
	}
	_, err := RunControl(&Scenario{}, PolicyFIFO, 1)
	require.Error(t, err)
}

// A file from a stranger is refused with an error, or runs to its end with its
// books in order.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(smallest))
	for _, name := range Names() {
		data, err := builtin.ReadFile("scenarios/" + name + ".json")
		require.NoError(f, err)
		f.Add(data)
	}
	data, err := os.ReadFile(filepath.Join("testdata", "everything.json"))
	require.NoError(f, err)
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		sc, err := Load(strings.NewReader(string(data)))
		if err != nil {
			require.Nil(t, sc)
			require.NotEmpty(t, err.Error())
			return
		}
		require.NoError(t, sc.Validate())
		requests, tenants := 0.0, 0
		for _, x := range sc.Tenants {
			tenants += x.Count
			most := 1.0
			for _, b := range x.Bursts {
				most = max(most, b.Factor)
			}
			requests += float64(x.Count) * x.Rate * most * sc.Duration.Seconds()
		}
		if requests > 2000 || tenants > 50 || sc.Workers > 50 {
			return // valid, but checking it after every event is slow
		}
		for _, name := range sc.PolicyNames() {
			e := prepare(t, sc, name, sc.Seeds[0])
			for last := time.Duration(0); e.step(); last = e.now {
				require.NoError(t, check(e, last))
			}
			require.NoError(t, e.err)
			r, err := e.record.result(sc, expand(sc.Tenants))
			require.NoError(t, err)
			_, err = sc.Judge(r, nil)
			require.NoError(t, err)
			_, err = json.Marshal(r)
			require.NoError(t, err)
		}
	})
}

func TestFlatten(t *testing.T) {
	require.Empty(t, flatten(nil))
	require.Equal(t, []error{io.EOF}, flatten(io.EOF))
	require.Equal(t, []error{io.EOF, io.ErrNoProgress}, flatten(errors.Join(io.EOF, io.ErrNoProgress)))
}
