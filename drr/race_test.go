//go:build race

package drr

const raceEnabled = true
