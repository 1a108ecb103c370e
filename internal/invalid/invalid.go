// Package invalid has the one error that every package of this module returns
// for a value it can't use, so that callers match a single type.
package invalid

import "fmt"

// A ValueError reports an argument or a configuration field that is out of
// range. Nothing has changed when a function returns one. Its errors can be
// joined (errors.Join); errors.As finds the first.
type ValueError struct {
	Package string // "drr"
	Field   string // what was wrong, as the caller spells it: "Config.Quantum", "cost"
	Value   any    // the value given
	Want    string // the values that would do: "1 to 1099511627776"
}

func (e *ValueError) Error() string {
	if s, ok := e.Value.(string); ok {
		return fmt.Sprintf("%s: %s is %q, want %s", e.Package, e.Field, s, e.Want)
	}
	return fmt.Sprintf("%s: %s is %v, want %s", e.Package, e.Field, e.Value, e.Want)
}
