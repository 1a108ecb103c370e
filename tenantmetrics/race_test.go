//go:build race

package tenantmetrics

// million stands for a million tenants where these would take too long.
const million = 100_000
