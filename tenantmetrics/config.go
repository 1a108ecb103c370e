package tenantmetrics

import (
	"errors"

	"github.com/fairlane-go/fairlane/internal/invalid"
)

// The values that take the place of a zero in Config.
const (
	DefaultTopK       = 10
	DefaultCounters   = 4096
	DefaultHysteresis = 2
	DefaultSamples    = 10

	maxCounters   = 1 << 24
	maxHysteresis = 100
	maxSamples    = 1000
)

// A ValueError reports a field of a Config or an argument that is out of range,
// with its name and value. The call that returned it changed nothing.
type ValueError = invalid.ValueError

// Config describes a Reducer. Its zero value is valid.
type Config struct {
	// TopK is the most tenants that have a series of their own in a period, 1 to
	// 2^24. Zero means DefaultTopK.
	TopK int

	// TopRefused is how many of these TopK go to the tenants with the most
	// refusals among those that don't have enough requests for a series: a small
	// tenant that is mostly refused is then seen. 0 to TopK. Zero means none:
	// all go by requests. Places that no refusals claim go by requests too.
	TopRefused int

	// Counters is the most tenants that are counted one by one in a period,
	// TopK to 2^24. Counts are exact while no more tenants have requests; with
	// TopRefused there are as many again for refused tenants. A counter takes
	// about 150 bytes and the name. Zero means DefaultCounters, or TopK if that
	// is more.
	Counters int

	// MaxNames is the most tenants that ever have a series, in all periods of
	// the Reducer's life taken together; TopK or more. Delete takes one off.
	// Once there are as many, only these can have a series, others stay in Other,
	// and Report.Unnamed tells which would have had one. Zero means 10*TopK;
	// math.MaxInt sets no bound, and then memory has none either.
	MaxNames int

	// Hysteresis is how many times the requests (or, for TopRefused, refusals)
	// of a tenant that had a series in the period before another must exceed to
	// take its place, 1 to 100. At 1 there is no preference, so that each period
	// is judged by itself. Zero means DefaultHysteresis.
	Hysteresis int

	// Samples is the most refused tenants that a Report lists by name, 1 to
	// 1000. Zero means DefaultSamples.
	Samples int
}

// validate reports every problem of c, the zeros already filled in.
func (c Config) validate() error {
	check := func(field string, value, least, most int, want string) error {
		if value >= least && value <= most {
			return nil
		}
		return &ValueError{Package: "tenantmetrics", Field: "Config." + field, Value: value, Want: want}
	}
	return errors.Join(
		check("TopK", c.TopK, 1, maxCounters, "1 to 2^24, or 0 for the default"),
		check("TopRefused", c.TopRefused, 0, c.TopK, "0 to TopK"),
		check("Counters", c.Counters, c.TopK, maxCounters, "TopK to 2^24, or 0 for the default"),
		check("MaxNames", c.MaxNames, c.TopK, c.MaxNames, "TopK or more, or 0 for the default"),
		check("Hysteresis", c.Hysteresis, 1, maxHysteresis, "1 to 100, or 0 for the default"),
		check("Samples", c.Samples, 1, maxSamples, "1 to 1000, or 0 for the default"),
	)
}

func (c Config) withDefaults() Config {
	fill := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	fill(&c.TopK, DefaultTopK)
	fill(&c.Counters, max(DefaultCounters, c.TopK))
	fill(&c.MaxNames, 10*min(c.TopK, maxCounters))
	fill(&c.Hysteresis, DefaultHysteresis)
	fill(&c.Samples, DefaultSamples)
	return c
}
