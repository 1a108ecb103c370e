//go:build race && unix

package gateway

// The race detector stops at 8,128 goroutines; a connection takes two.
func init() { connections = 2000 }
