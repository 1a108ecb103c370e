//go:build race

package quota

// The race detector makes locks ten times as slow and finds nothing new in
// more calls of one goroutine.
func init() { manyNames = 100_000 }
