package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/fairlane-go/fairlane/sim"
)

// print writes all tables, or the summaries as JSON or CSV.
func (o *options) print(w io.Writer, evaluations []*sim.Evaluation) error {
	switch o.format {
	case "json":
		summaries := make([]sim.Summary, len(evaluations))
		for i, e := range evaluations {
			summaries[i] = e.Summary()
		}
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(summaries)
	case "csv":
		o.render(w, o.comparison(evaluations, true))
		return nil
	}
	sc := o.scenario
	tenants := len(evaluations[0].Run.Tenants)
	fmt.Fprintf(w, "%s: %s\n", sc.Name, sc.About)
	fmt.Fprintf(w, "%d workers, %d tenants, %s of arrivals, measured from %s to %s; seeds %s\n\n",
		sc.Workers, tenants, sc.Duration, sc.Window.From, sc.Window.To, join(o.seeds))
	o.render(w, o.comparison(evaluations, false))
	fmt.Fprint(w, `
F1 tenants within their share get at least `, percent(sc.Criteria.Completed), ` of their demand
F2 the 99th percentile of their queueing time stays below `, sc.Criteria.QueueingP99, `, and none finds the queue full
F3 refusals fall only on tenants above their share
F4 a lone tenant can use the whole capacity (see the control)
F5 the metrics stay bounded, and exact
`)
	fmt.Fprint(w, "\nBy group of tenants, the mean of its tenants and of the seeds:\n\n")
	o.render(w, o.groups(evaluations))
	if t := o.control(evaluations); t.Length() > 0 {
		fmt.Fprint(w, "\nControl: one tenant alone.\n\n")
		o.render(w, t)
	}
	if t := o.published(evaluations); t.Length() > 0 {
		fmt.Fprint(w, "\nBeside what was published, and a reference simulation's runs:\n\n")
		o.render(w, t)
	}
	return nil
}

func (o *options) render(w io.Writer, t table.Writer) {
	switch o.format {
	case "markdown":
		fmt.Fprintln(w, t.RenderMarkdown())
	case "csv":
		fmt.Fprintln(w, t.RenderCSV())
	default:
		fmt.Fprintln(w, t.Render())
	}
}

// newTable returns a table whose first column is text and whose others are
// numbers.
func newTable(header ...any) table.Writer {
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	t.AppendHeader(header)
	var columns []table.ColumnConfig
	for i := 2; i <= len(header); i++ {
		columns = append(columns, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	return t
}

func (o *options) comparison(evaluations []*sim.Evaluation, exact bool) table.Writer {
	t := newTable("policy", "seed", "Jain", "min share", "p99 ms", "heaviest/s", "utilization", "refused", "steps", "F1", "F2", "F3", "F4", "F5")
	if exact { // for programs: the names of the JSON fields
		t = newTable("policy", "seed", "jain", "min_share", "p99_within_share_ms", "heavy_per_sec", "utilization",
			"within_share_rejections", "steps_per_dequeue", "f1", "f2", "f3", "f4", "f5")
	}
	for _, e := range evaluations {
		s := e.Summary()
		row := table.Row{s.Policy, s.Seed}
		if exact {
			row = append(row, s.Jain, s.MinShare, s.P99WithinShare, s.HeavyPerSec, s.Utilization, s.WithinShareRejections, e.Run.StepsPerDequeue())
		} else {
			row = append(row, fixed(s.Jain, 4), fixed(s.MinShare, 3), p99(e.Run), fixed(s.HeavyPerSec, 1),
				fixed(s.Utilization, 3), s.WithinShareRejections, steps(e.Run))
		}
		for _, v := range []*bool{s.F1, s.F2, s.F3, s.F4, s.F5} {
			row = append(row, verdict(v, exact))
		}
		t.AppendRow(row)
	}
	return t
}

// groups says what the tenants of each group asked for and got.
func (o *options) groups(evaluations []*sim.Evaluation) table.Writer {
	t := newTable("policy", "tenants", "asked/s", "fair share/s", "got/s", "completed", "p99 ms", "over quota", "queue full")
	for _, policy := range o.policies {
		at := 0
		for _, group := range o.scenario.Tenants {
			var n, asked, fair, got, p99, completed, submitted, quota, full float64
			for _, e := range evaluations {
				if e.Run.Policy != policy {
					continue
				}
				for _, tenant := range e.Run.Tenants[at : at+group.Count] {
					n++
					asked += tenant.Demand
					fair += tenant.FairShare
					got += tenant.Rate
					p99 += float64(tenant.P99) / float64(time.Millisecond)
					completed += float64(tenant.Window.Completed)
					submitted += float64(tenant.Window.Submitted)
					quota += float64(tenant.Window.RefusedQuota)
					full += float64(tenant.Window.RefusedFull)
				}
			}
			at += group.Count
			part := "-"
			if submitted > 0 {
				part = percent(completed / submitted)
			}
			t.AppendRow(table.Row{policy, group.Name, short(asked / n), short(fair / n), short(got / n), part, fixed(p99/n, 1), short(quota / n), short(full / n)})
		}
	}
	return t
}

func (o *options) control(evaluations []*sim.Evaluation) table.Writer {
	t := newTable("policy", "seed", "served/s", "of capacity", "utilization", "F4")
	for _, e := range evaluations {
		c := e.Control
		if c == nil {
			continue
		}
		rate := c.Tenants[c.Heaviest].Rate
		t.AppendRow(table.Row{c.Policy, c.Seed, fixed(rate, 1), percent(rate / c.Capacity), fixed(c.Utilization, 3), verdict(e.F4, false)})
	}
	return t
}

// published sets the mean over the seeds, and each seed's value against the
// range that is acceptable, beside the scenario's published numbers.
func (o *options) published(evaluations []*sim.Evaluation) table.Writer {
	t := newTable("policy", "metric", "this run", "published", "reference mean", "reference range", "accepted", "")
	for _, p := range o.scenario.Published {
		var sum, n float64
		fits := "ok"
		for _, e := range evaluations {
			r := e.Run
			if p.Control {
				r = e.Control
			}
			if e.Run.Policy != p.Policy || r == nil {
				continue
			}
			v, _ := r.Metric(p.Metric)
			sum += v
			n++
			if p.AcceptMin != nil && v < *p.AcceptMin || p.AcceptMax != nil && v > *p.AcceptMax {
				fits = "OUTSIDE"
			}
		}
		if n == 0 {
			continue
		}
		name := p.Metric
		if p.Control {
			name = "control: " + name
		}
		accepted := bounds(p.AcceptMin, p.AcceptMax)
		if accepted == "" {
			fits = ""
		}
		t.AppendRow(table.Row{p.Policy, name, short(sum / n), optional(p.Source), optional(p.Mean), bounds(p.Min, p.Max), accepted, fits})
	}
	return t
}

func verdict(v *bool, exact bool) string {
	switch {
	case v == nil && exact:
		return ""
	case v == nil:
		return "-"
	case exact:
		return fmt.Sprint(*v)
	case *v:
		return "pass"
	}
	return "FAIL"
}

func p99(r *sim.Result) string {
	if len(r.Queueing) == 0 { // nobody was within their share
		return "-"
	}
	return fixed(float64(r.P99)/float64(time.Millisecond), 1)
}

func steps(r *sim.Result) string {
	if r.Turns == 0 {
		return "-"
	}
	return fixed(r.StepsPerDequeue(), 2)
}

func fixed(v float64, digits int) string { return fmt.Sprintf("%.*f", digits, v) }

// short prints as many digits as tell something.
func short(v float64) string {
	switch a := math.Abs(v); {
	case a == 0, a == math.Trunc(a) && a >= 2:
		return fixed(v, 0)
	case a >= 100:
		return fixed(v, 1)
	case a >= 10:
		return fixed(v, 2)
	case a >= 1.5:
		return fixed(v, 3)
	}
	return fixed(v, 4)
}

func optional(v *float64) string {
	if v == nil {
		return ""
	}
	return short(*v)
}

func bounds(low, high *float64) string {
	switch {
	case low == nil && high == nil:
		return ""
	case low == nil:
		return "up to " + short(*high)
	case high == nil:
		return short(*low) + " or more"
	}
	return short(*low) + " to " + short(*high)
}

func percent(v float64) string { return fixed(100*v, 0) + " %" }

func join(seeds []uint64) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(seeds)), ", "), "[]")
}
