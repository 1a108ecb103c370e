// Package arch has the tests that keep the packages of this module apart.
package arch

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/fairlane-go/fairlane/"

// allowed says what each package's non-test code may import, directly or not,
// beyond the standard library. A package that isn't listed may not exist.
var allowed = map[string][]string{
	"drr":              {module + "internal/invalid"},
	"quota":            {module + "internal/invalid"},
	"fairness":         {module + "internal/invalid", "golang.org/x/exp/constraints"},
	"tenantmetrics":    {module + "internal/invalid"},
	"gateway":          {module + "internal/invalid", module + "drr"},
	"sim":              {module, "golang.org/x/exp/constraints", "gonum.org/v1/gonum/"},
	"internal/invalid": nil,
	"internal/arch":    nil,
}

func TestImports(t *testing.T) {
	for _, name := range goList(t, "-f", "{{.ImportPath}}", "./...") {
		name = strings.TrimPrefix(name, module)
		if name+"/" == module { // the benchmarks at the root: no code of its own
			continue
		}
		may, known := allowed[name]
		require.True(t, known, "package %s is new: say here what it may import", name)
		for _, dep := range goList(t, "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", module+name) {
			require.True(t, dep == module+name || slices.ContainsFunc(may, func(p string) bool {
				return dep == p || strings.HasSuffix(p, "/") && strings.HasPrefix(dep, p)
			}), "%s imports %s", name, dep)
		}
		std := goList(t, "-deps", "-f", "{{if .Standard}}{{.ImportPath}}{{end}}", module+name)
		require.NotContains(t, std, "testing", "%s ships test code", name)
	}
}

// TestListSeesImports is the control: the test above must be able to see what a
// package imports.
func TestListSeesImports(t *testing.T) {
	require.Contains(t, goList(t, "-deps", "-f", "{{.ImportPath}}", module+"drr"), module+"internal/invalid")
	require.Contains(t, goList(t, "-deps", "-f", "{{.ImportPath}}", "pgregory.net/rapid"), "testing")
}

func goList(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = "../.."
	cmd.Env = append(cmd.Environ(), "GOWORK=off") // nested modules have rules of their own
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return slices.DeleteFunc(strings.Split(string(out), "\n"), func(s string) bool { return s == "" })
}
