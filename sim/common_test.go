package sim

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	seedsFlag  = flag.Int("seeds", 3, "run the comparison with seeds 1 to `n`; from 30 on, its means are compared with the reference's")
	updateFlag = flag.Bool("update", false, "rewrite the golden files")
)

// evaluations caches what several tests look at: each is a run of a fixed seed.
var evaluations = map[string]*Evaluation{}

func builtinScenario(t testing.TB, name string) *Scenario {
	t.Helper()
	sc, err := Builtin(name)
	require.NoError(t, err)
	return sc
}

// evaluate runs the published comparison.
func evaluate(t testing.TB, policy string, seed uint64) *Evaluation {
	t.Helper()
	key := policy + string(rune(seed))
	e := evaluations[key]
	if e == nil {
		var err error
		e, err = Evaluate(builtinScenario(t, "four-policies"), policy, seed)
		require.NoError(t, err)
		evaluations[key] = e
	}
	return e
}

// seeds are 1, 2, 3, or as many as asked for.
func seeds() []uint64 {
	var s []uint64
	for i := range *seedsFlag {
		s = append(s, uint64(i+1))
	}
	return s
}
