package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func compare(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	require.NoError(t, run(args, &out, &errs))
	require.Empty(t, errs.String(), "a progress bar, though nobody is looking")
	return out.String()
}

// TestVerdicts: what the table says of F1 to F5.
func TestVerdicts(t *testing.T) {
	out := compare(t)
	for policy, want := range map[string]string{
		"fifo":      "FAIL FAIL FAIL pass pass",
		"quota":     "pass FAIL pass FAIL pass",
		"drr":       "pass pass pass pass pass",
		"drr_quota": "pass pass pass - pass",
	} {
		lines := regexp.MustCompile(`(?m)^`+policy+` +[123] .*(pass|FAIL)$`).FindAllString(out, -1)
		n := 0
		for _, line := range lines {
			if f := strings.Fields(line); len(f) == 14 {
				n++
				require.Equal(t, want, strings.Join(f[9:], " "), line)
			}
		}
		require.Equal(t, 3, n, "seeds of %s", policy)
	}
	require.Contains(t, out, "seeds 1, 2, 3")
	require.NotContains(t, out, "OUTSIDE")
	require.Equal(t, out, compare(t), "the same seeds, another output")
}

func TestJSON(t *testing.T) {
	var rows []map[string]any
	require.NoError(t, json.Unmarshal([]byte(compare(t, "-format", "json", "-seeds", "7", "-policies", "drr, drr_quota")), &rows))
	require.Len(t, rows, 2)
	for _, field := range []string{
		"policy", "seed", "jain", "min_share", "p99_within_share_ms", "heavy_per_sec", "utilization", "within_share_rejections",
		"f1", "f2", "f3", "f4", "f5",
	} {
		require.Contains(t, rows[0], field)
	}
	require.Equal(t, "drr", rows[0]["policy"])
	require.EqualValues(t, 7, rows[0]["seed"])
	require.Equal(t, true, rows[0]["f4"])
	require.Nil(t, rows[1]["f4"])
}

func TestCSVAndMarkdown(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(compare(t, "-format", "csv", "-seeds", "1,2", "-policies", "drr"))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 3)
	require.Equal(t, "min_share", rows[0][3])
	require.Equal(t, []string{"true", "true", "true", "true", "true"}, rows[2][9:])

	md := compare(t, "-format", "markdown", "-seeds", "1", "-policies", "drr")
	require.Contains(t, md, "| drr | 1 |")
}

// TestOwnScenario: a file of the user's own, and what is said of a bad one.
func TestOwnScenario(t *testing.T) {
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "mine.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	const mine = `{"name": "mine/../x", "seeds": [5], "duration": "4s", "window": {"from": "1s", "to": "3s"}, "workers": 2,
		"service": {"distribution": "constant", "mean": "10ms"},
		"tenants": [{"name": "a", "rate": 500}, {"name": "b", "count": 3, "rate": 10}],
		"policies": {"fifo": {"depth": 100}, "drr": {"quantum": "1ms", "tenant_depth": 50}}}`
	out := compare(t, "-scenario", write(mine))
	require.Contains(t, out, "2 workers, 4 tenants")
	require.NotContains(t, out, "Control")
	require.NotContains(t, out, "published")

	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	require.NoError(t, run([]string{"-scenario", write(mine), "-plot", dir}, &stdout, &stderr))
	for _, name := range []string{"mine____x-shares", "mine____x-queueing"} {
		f, err := os.Open(filepath.Join(dir, name+".png"))
		require.NoError(t, err)
		img, err := png.Decode(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.Greater(t, img.Bounds().Dx(), 400)
		svg, err := os.ReadFile(filepath.Join(dir, name+".svg"))
		require.NoError(t, err)
		require.Contains(t, string(svg), "<svg")
		require.Contains(t, stderr.String(), name)
	}

	bad := write(strings.Replace(mine, `"rate": 10`, `"rate": -10`, 1))
	err := run([]string{"-scenario", bad}, &stdout, &stderr)
	require.ErrorContains(t, err, bad)
	require.ErrorContains(t, err, "tenants[1].rate is -10")
}

func TestBadFlags(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-scenario nosuch", `-scenario is "nosuch"`},
		{"-seeds 1,-2", `-seeds has "-2"`},
		{"-policies drr,lifo", `-policies has "lifo", want some of fifo, quota, drr, drr_quota`},
		{"-format yaml", `-format is "yaml", want table, markdown, json or csv`},
		{"four-policies", `"four-policies" is not a flag`},
		{"-nosuch", "flag provided but not defined"},
	} {
		var out, errs bytes.Buffer
		require.ErrorContains(t, run(strings.Fields(c.args), &out, &errs), c.want)
		require.Empty(t, out.String())
	}
}

// TestREADME: the README shows what the program prints, up to the comparison
// with published numbers.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	printed, _, ok := strings.Cut(compare(t), "\n\nBeside what was published")
	require.True(t, ok)
	require.Contains(t, string(readme), printed, "print it anew: go run ./examples/compare")
}
