package drr

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var mutate = flag.Bool("mutate", false, "run the tests on broken copies of the package; each must fail")

// TestMutationsAreCaught breaks the queue's own source in one place at a time
// (through the go command's -overlay, nothing on disk changes) and requires
// that the comparison with the ring, or the bounds, fail.
func TestMutationsAreCaught(t *testing.T) {
	if !*mutate {
		t.Skip("takes a minute: run with -mutate")
	}
	for name, m := range map[string]struct{ file, old, new string }{
		"overspends by one":          {"queue.go", "next.cost <= t.deficit {", "next.cost <= t.deficit+1 {"},
		"one credit too many":        {"ring.go", "t.quantum * (q.round - t.credited)\n\t\t\tt.credited", "t.quantum * (q.round - t.credited + 1)\n\t\t\tt.credited"},
		"idle credit kept":           {"ring.go", "if t.head == nil {\n\t\tt.deficit = min(t.deficit, 0)\n\t} else if", "if t.head == nil {\n\t} else if"},
		"debt forgiven when idle":    {"memory.go", "if t.deficit < 0 {", "if t.deficit < -1<<62 {"},
		"rounds rounded down":        {"ring.go", "(lack-1)/t.quantum + 1", "max(1, lack/t.quantum)"},
		"cancelled head not rekeyed": {"queue.go", "case first:\n\t\tq.rekey(t)", "case first && t.head == nil:\n\t\tq.rekey(t)"},
		"new weight is retroactive":  {"tenant.go", "h.q.settle(t)\n\t\tif t.head", "if t.head"},
		"line out of order":          {"ring.go", "t.due == q.passed(t)+1 && l.sorts(t)", "t.due == q.passed(t)+1"},
		"joins this round":           {"ring.go", "t.credited = q.round\n\tt.due = q.round + t.rounds()", "t.credited = q.round - 1\n\tt.due = q.round - 1 + t.rounds()"},
		"unblocked twice a round":    {"tenant.go", "case t.due == q.round:", "case false:"},
	} {
		t.Run(name, func(t *testing.T) {
			source, err := os.ReadFile(m.file)
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(string(source), m.old), "the place to break isn't there once")
			dir := t.TempDir()
			broken := filepath.Join(dir, m.file)
			require.NoError(t, os.WriteFile(broken, []byte(strings.Replace(string(source), m.old, m.new, 1)), 0o600))
			path, err := filepath.Abs(m.file)
			require.NoError(t, err)
			overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: broken}})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))

			out, err := exec.Command("go", "test", "-vet=off", "-timeout=60s", "-overlay", filepath.Join(dir, "overlay.json"),
				"-run", "^(TestQueueMatchesRing|TestQueueMatchesRingAtLength|TestFairnessBounds)$", ".", "-rapid.nofailfile").CombinedOutput()
			require.Error(t, err, "the broken queue passes the tests")
			require.NotContains(t, string(out), "[build failed]")
			require.Contains(t, string(out), "FAIL", "%s", out)
		})
	}
}
