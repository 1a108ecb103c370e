package tenantmetrics

import "strconv"

// An Outcome says how a request ended.
type Outcome uint8

// The outcomes. All but Completed are refusals.
const (
	Completed Outcome = iota // it ran
	OverQuota                // refused: the tenant had used up its quota or rate
	QueueFull                // refused: there was no room to wait
	TimedOut                 // dropped after waiting too long, before it ran
	outcomes                 // how many there are
)

// String returns "completed", "over quota", "queue full" or "timed out".
func (o Outcome) String() string {
	switch o {
	case Completed:
		return "completed"
	case OverQuota:
		return "over quota"
	case QueueFull:
		return "queue full"
	case TimedOut:
		return "timed out"
	}
	return "outcome " + strconv.Itoa(int(o))
}

// Counts are numbers of requests, by Outcome: counts[QueueFull].
type Counts [outcomes]int64

// Requests returns the number of requests, over all outcomes.
func (c Counts) Requests() int64 {
	return c[Completed] + c.Refused()
}

// Refused returns the number of requests that were refused or dropped.
func (c Counts) Refused() int64 {
	return c[OverQuota] + c[QueueFull] + c[TimedOut]
}

func (c *Counts) add(d Counts) {
	for o := range c {
		c[o] += d[o]
	}
}

func (c *Counts) sub(d Counts) {
	for o := range c {
		c[o] -= d[o]
	}
}
