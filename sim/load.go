package sim

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxFile is the largest scenario file.
const maxFile = 1 << 20

//go:embed scenarios/*.json
var builtin embed.FS

// Names returns the names of the built-in scenarios, sorted.
func Names() []string {
	entries, err := builtin.ReadDir("scenarios")
	if err != nil {
		return nil // not with a pattern that matched when this was compiled
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".json"))
	}
	slices.Sort(names)
	return names
}

// Builtin returns a built-in scenario, one of Names, or a *ValueError. The
// scenario is the caller's to change.
func Builtin(name string) (*Scenario, error) {
	if !slices.Contains(Names(), name) {
		return nil, &ValueError{Package: "sim", Field: "scenario", Value: name, Want: fmt.Sprintf("one of %v", Names())}
	}
	data, err := builtin.ReadFile("scenarios/" + name + ".json")
	if err != nil {
		return nil, fmt.Errorf("sim: scenario %q: %w", name, err)
	}
	return Load(bytes.NewReader(data))
}

// Load reads a scenario from a JSON file of at most 1 MiB. The fields are those
// of Scenario, their names in lower case with underscores, times as strings
// such as "10ms"; testdata/everything.json has all of them. Optional are
// "about", "choices", "control", "published", "criteria" and each field in it
// (DefaultCriteria), and of a tenant "count" and "weight" (1), "bursts" and
// "quota" (none).
//
// The error has a *ValueError for each field that is missing, unknown, given
// twice, of the wrong type, out of range or contradicts another, joined, with
// the field's path. A file that isn't JSON gives encoding/json's error, and one
// that can't be read the reader's.
func Load(r io.Reader) (*Scenario, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("sim: reading the scenario: %w", err)
	}
	if len(data) > maxFile {
		return nil, &ValueError{Package: "sim", Field: "file size", Value: "above 1 MiB", Want: "at most 1 MiB"}
	}
	v, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("sim: the scenario is not JSON: %w", err)
	}
	sc := &Scenario{Criteria: DefaultCriteria()}
	var bad []*ValueError
	if _, ok := v.(*object); !ok {
		return nil, &ValueError{Package: "sim", Field: "file", Value: show(v), Want: "an object"}
	}
	readObject(v, "", &bad, "an object", sc.read)
	if err := joinErrors(bad, sc.Validate()); err != nil {
		return nil, err
	}
	return sc, nil
}

func (sc *Scenario) read(o *object) {
	sc.Name = o.text("name", true)
	sc.About = o.text("about", false)
	o.objects("choices", false, func(o *object) {
		sc.Choices = append(sc.Choices, Choice{What: o.text("what", true), Why: o.text("why", true)})
	})
	o.list("seeds", true, func(path string, v any) {
		seed, ok := uint64Of(v)
		if !ok {
			report(o.bad, path, show(v), "a whole number from 0 to 2^64-1")
		}
		sc.Seeds = append(sc.Seeds, seed)
	})
	sc.Duration = o.duration("duration", true)
	o.object("window", true, func(o *object) {
		sc.Window = Window{From: o.duration("from", true), To: o.duration("to", true)}
	})
	sc.Workers = o.count("workers", true, 0)
	o.object("service", true, func(o *object) {
		sc.Service = Service{Distribution: o.text("distribution", true), Mean: o.duration("mean", true)}
	})
	sc.Tenants = readTenants(o)
	o.object("policies", true, func(o *object) {
		sc.Policies = Policies{
			FIFO:     readFIFO(o, PolicyFIFO),
			Quota:    readFIFO(o, PolicyQuota),
			DRR:      readDRR(o, PolicyDRR),
			DRRQuota: readDRR(o, PolicyDRRQuota),
		}
	})
	ctl := Control{}
	if o.object("control", false, func(o *object) {
		ctl.Tenants = readTenants(o)
		o.list("policies", false, func(path string, v any) {
			name, ok := v.(string)
			if !ok {
				report(o.bad, path, show(v), "a string")
			}
			ctl.Policies = append(ctl.Policies, name)
		})
	}) {
		sc.Control = &ctl
	}
	o.object("criteria", false, func(o *object) {
		c := &sc.Criteria
		c.Completed = value(o.number("completed", false), c.Completed)
		c.Lone = value(o.number("lone", false), c.Lone)
		c.Series = o.count("series", false, c.Series)
		if _, ok := o.values["queueing_p99"]; ok {
			c.QueueingP99 = o.duration("queueing_p99", true)
		}
	})
	o.objects("published", false, func(o *object) {
		sc.Published = append(sc.Published, Published{
			Policy:    o.text("policy", true),
			Control:   o.boolean("control"),
			Metric:    o.text("metric", true),
			Source:    o.number("source", false),
			Mean:      o.number("mean", false),
			Min:       o.number("min", false),
			Max:       o.number("max", false),
			Runs:      o.count("runs", false, 0),
			AcceptMin: o.number("accept_min", false),
			AcceptMax: o.number("accept_max", false),
		})
	})
}

func readTenants(o *object) []Tenant {
	var tenants []Tenant
	o.objects("tenants", true, func(o *object) {
		t := Tenant{
			Name:   o.text("name", true),
			Count:  o.count("count", false, 1),
			Rate:   value(o.number("rate", true), 0),
			Weight: value(o.number("weight", false), 1),
		}
		o.objects("bursts", false, func(o *object) {
			t.Bursts = append(t.Bursts, Burst{
				From:   o.duration("from", true),
				To:     o.duration("to", true),
				Factor: value(o.number("factor", true), 0),
			})
		})
		q := Limit{}
		if o.object("quota", false, func(o *object) {
			q = Limit{Rate: value(o.number("rate", true), 0), Burst: o.whole("burst", true, 0)}
		}) {
			t.Quota = &q
		}
		tenants = append(tenants, t)
	})
	return tenants
}

func readFIFO(o *object, name string) *FIFOParams {
	p := FIFOParams{}
	if !o.object(name, false, func(o *object) { p.Depth = o.count("depth", true, 0) }) {
		return nil
	}
	return &p
}

func readDRR(o *object, name string) *DRRParams {
	p := DRRParams{}
	if !o.object(name, false, func(o *object) {
		p.Quantum = o.duration("quantum", true)
		p.TenantDepth = o.count("tenant_depth", true, 0)
		p.Depth = o.count("depth", false, 0)
	}) {
		return nil
	}
	return &p
}

// value returns *p, or without if p is nil.
func value(p *float64, without float64) float64 {
	if p == nil {
		return without
	}
	return *p
}
