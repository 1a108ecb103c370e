//go:build !race

package tenantmetrics

const million = 1_000_000
