//go:build !race

package drr

const raceEnabled = false
