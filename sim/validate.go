package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/fairlane-go/fairlane/quota"
)

// Validate reports every field of sc that is out of range, or contradicts
// another, as a *ValueError, joined.
func (sc *Scenario) Validate() error {
	c := &checker{}
	c.that(sc.Name != "", "name", sc.Name, "a name")
	for i, x := range sc.Choices {
		c.that(x.What != "", at("choices", i)+".what", x.What, "what was chosen")
		c.that(x.Why != "", at("choices", i)+".why", x.Why, "the reason")
	}
	c.that(len(sc.Seeds) > 0, "seeds", sc.Seeds, "one at least")
	inTime := c.between("duration", sc.Duration, time.Millisecond, maxDuration)
	c.window("window", sc.Window.From, sc.Window.To, sc.Duration, inTime)
	c.that(1 <= sc.Workers && sc.Workers <= MaxWorkers, "workers", sc.Workers, "1 to 100000")
	d := sc.Service.Distribution
	c.that(d == Exponential || d == Constant, "service.distribution", d, `"exponential" or "constant"`)
	c.between("service.mean", sc.Service.Mean, 1, maxService)
	c.tenants("tenants", sc.Tenants, sc.Duration, inTime)
	c.policies(sc)
	if ctl := sc.Control; ctl != nil {
		c.tenants("control.tenants", ctl.Tenants, sc.Duration, inTime)
		for i, name := range ctl.Policies {
			c.that(isPolicy(name), at("control.policies", i), name, fmt.Sprintf("one of %v", PolicyNames()))
		}
	}
	c.that(sc.Criteria.Completed > 0 && sc.Criteria.Completed <= 1, "criteria.completed", sc.Criteria.Completed, "above 0, at most 1")
	c.that(sc.Criteria.QueueingP99 > 0, "criteria.queueing_p99", sc.Criteria.QueueingP99, "above 0")
	c.that(sc.Criteria.Lone > 0 && sc.Criteria.Lone <= 1, "criteria.lone", sc.Criteria.Lone, "above 0, at most 1")
	c.that(1 <= sc.Criteria.Series && sc.Criteria.Series <= 10_000, "criteria.series", sc.Criteria.Series, "1 to 10000")
	for i, p := range sc.Published {
		c.published(at("published", i), p, sc.Control != nil)
	}
	return errors.Join(c.errs...)
}

// A checker collects what is wrong.
type checker struct {
	errs []error
}

// that reports the field unless ok, and returns ok.
func (c *checker) that(ok bool, field string, value any, want string) bool {
	if !ok {
		c.errs = append(c.errs, &ValueError{Package: "sim", Field: field, Value: value, Want: want})
	}
	return ok
}

func (c *checker) between(field string, value, low, high time.Duration) bool {
	return c.that(low <= value && value <= high, field, value, fmt.Sprintf("%v to %v", low, high))
}

// window checks an interval that must lie within the run, if that is known.
func (c *checker) window(field string, from, to, end time.Duration, known bool) bool {
	ok := c.that(from >= 0, field+".from", from, "0s or later")
	if ok {
		ok = c.that(from < to, field+".to", to, fmt.Sprintf("later than from, %v", from))
	}
	if known && to > end {
		ok = c.that(false, field+".to", to, fmt.Sprintf("at most duration, %v", end))
	}
	return ok
}

func (c *checker) tenants(field string, groups []Tenant, end time.Duration, known bool) {
	c.that(len(groups) > 0, field, groups, "one at least")
	count, requests := 0, 0.0
	names := make(map[string]bool)
	for i, t := range groups {
		field := at(field, i)
		named := c.that(1 <= len(t.Name) && len(t.Name) <= 200, field+".name", t.Name, "a name of 1 to 200 bytes")
		counted := c.that(1 <= t.Count && t.Count <= MaxTenants, field+".count", t.Count, "1 to 100000")
		rated := c.that(t.Rate > 0 && t.Rate <= 1e9, field+".rate", t.Rate, "above 0, at most 1e9")
		c.that(t.Weight > 0 && t.Weight <= maxWeight, field+".weight", t.Weight, "above 0, at most 1e6")
		extra, apart := 0.0, true
		for k, b := range t.Bursts {
			field := at(field+".bursts", k)
			ok := c.window(field, b.From, b.To, end, known)
			if ok && k > 0 {
				last := t.Bursts[k-1].To
				ok = c.that(b.From >= last, field+".from", b.From, fmt.Sprintf("no earlier than the end of the burst before, %v", last))
			}
			ok = c.that(b.Factor >= 0 && b.Factor <= 1e9, field+".factor", b.Factor, "0 to 1e9") && ok
			extra += (b.Factor - 1) * (b.To - b.From).Seconds()
			apart = apart && ok
		}
		if q := t.Quota; q != nil {
			ok := c.that(q.Rate > 0 && q.Rate <= 1e9, field+".quota.rate", q.Rate, "above 0, at most 1e9")
			ok = c.that(q.Burst >= 1 && q.Burst <= quota.MaxBurst, field+".quota.burst", q.Burst, "1 to 2^40") && ok
			if ok {
				_, err := quota.NewBucket(q.limit())
				c.that(err == nil, field+".quota", *q, "a limit that quota.NewBucket takes")
			}
		}
		if rated && counted && apart {
			requests += float64(t.Count) * t.Rate * (end.Seconds() + extra)
		}
		if !counted {
			continue
		}
		if count += t.Count; count > MaxTenants {
			break
		}
		for k := 0; named && k < t.Count; k++ {
			name := t.name(k)
			if !c.that(!names[name], field+".name", name, "a name that no other tenant has") {
				break
			}
			names[name] = true
		}
	}
	few := c.that(count <= MaxTenants, field, fmt.Sprintf("%d or more tenants", count), fmt.Sprintf("at most %d", MaxTenants))
	if known && few {
		c.that(requests <= MaxArrivals, field, fmt.Sprintf("a load of %.0f requests", requests), fmt.Sprintf("at most %d in a run", MaxArrivals))
	}
}

func (c *checker) policies(sc *Scenario) {
	p := sc.Policies
	c.that(p != Policies{}, "policies", "empty", "one policy at least")
	fifo := func(field string, p *FIFOParams) {
		if p != nil {
			c.that(1 <= p.Depth && p.Depth <= maxDepth, field+".depth", p.Depth, "1 to 1e9")
		}
	}
	fifo("policies.fifo", p.FIFO)
	fifo("policies.quota", p.Quota)
	fair := func(field string, p *DRRParams) {
		if p == nil {
			return
		}
		c.that(1 <= p.TenantDepth && p.TenantDepth <= maxDepth, field+".tenant_depth", p.TenantDepth, "1 to 1e9")
		c.that(0 <= p.Depth && p.Depth <= maxDepth, field+".depth", p.Depth, "1 to 1e9, or none for no bound")
		if !c.between(field+".quantum", p.Quantum, 1, maxQuantum) {
			return
		}
		groups := sc.Tenants
		if sc.Control != nil {
			groups = append(groups[:len(groups):len(groups)], sc.Control.Tenants...)
		}
		for _, t := range groups {
			if t.Weight > 0 && t.Weight*float64(p.Quantum) < 1 {
				c.that(false, field+".quantum", p.Quantum, fmt.Sprintf("1ns or more when multiplied by %v, the weight of %q", t.Weight, t.Name))
				return
			}
		}
	}
	fair("policies.drr", p.DRR)
	fair("policies.drr_quota", p.DRRQuota)
}

func at(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

func isPolicy(name string) bool { return slices.Contains(PolicyNames(), name) }

// isFinite says whether x is a number to compare with.
func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
