package sim

// Verdicts says which of five properties a run has. A verdict is nil where
// there is nothing to judge.
//
// "Within share" is TenantResult.WithinShare with some demand; F1 to F3 are nil
// if there is no such tenant. The bounds are those of Scenario.Criteria, in
// brackets their usual values.
type Verdicts struct {
	// F1: every tenant within its share gets its demand. At least Completed
	// (97 %) of the requests it sent in the window are served, at whatever time.
	F1 *bool `json:"f1"`
	// F2: no burst of others slows them. The 99th percentile of their requests'
	// queueing times, all together, is below QueueingP99 (50 ms), and none of
	// these requests found the queue full.
	F2 *bool `json:"f2"`
	// F3: refusals fall on tenants above their share only. Not one request that
	// a tenant within its share sent in the window was refused, for any reason.
	F3 *bool `json:"f3"`
	// F4: capacity doesn't idle while anyone waits. In the control, the tenant
	// with the largest demand gets at least Lone (97 %) of the capacity, or of
	// its demand if that is less. It is nil without a control.
	F4 *bool `json:"f4"`
	// F5: metrics stay bounded and exact. Reported through a
	// tenantmetrics.Reducer that may name Series (10) tenants, the outcomes of
	// the run make at most one series more than that, and add up to what they were.
	F5 *bool `json:"f5"`
}

// Judge judges a run of sc, and the control of the same policy and seed; control
// is nil if there was none.
func (sc *Scenario) Judge(run, control *Result) (Verdicts, error) {
	v := Verdicts{}
	judged, f1 := 0, true
	for _, t := range run.Tenants {
		if !t.WithinShare || t.Window.Submitted == 0 {
			continue
		}
		judged++
		if float64(t.Window.Completed) < sc.Criteria.Completed*float64(t.Window.Submitted) {
			f1 = false
		}
	}
	if judged > 0 {
		v.F1 = &f1
		v.F2 = verdict(run.P99 < sc.Criteria.QueueingP99 && run.RefusedFull == 0)
		v.F3 = verdict(run.RefusedQuota+run.RefusedFull == 0)
	}
	if control != nil {
		t := control.heaviest()
		if t.Window.Submitted > 0 {
			v.F4 = verdict(t.Rate >= sc.Criteria.Lone*min(t.Demand, control.Capacity))
		}
	}
	f5, err := boundedMetrics(run, sc.Criteria.Series)
	if err != nil {
		return Verdicts{}, err
	}
	v.F5 = &f5
	return v, nil
}

func verdict(ok bool) *bool { return &ok }

// An Evaluation is a run of a scenario with its control and its verdicts.
type Evaluation struct {
	Run *Result
	// Control is nil if the scenario has no control for the policy.
	Control *Result
	Verdicts
}

// Evaluate runs a scenario and its control through a policy and judges them. The
// error is Run's.
func Evaluate(sc *Scenario, policy string, seed uint64) (*Evaluation, error) {
	result, err := Run(sc, policy, seed)
	if err != nil {
		return nil, err
	}
	control, err := RunControl(sc, policy, seed)
	if err != nil {
		return nil, err
	}
	verdicts, err := sc.Judge(result, control)
	if err != nil {
		return nil, err
	}
	return &Evaluation{Run: result, Control: control, Verdicts: verdicts}, nil
}

// A Summary is an Evaluation in one line of a table.
type Summary struct {
	Policy                string  `json:"policy"`
	Seed                  uint64  `json:"seed"`
	Jain                  float64 `json:"jain"`
	MinShare              float64 `json:"min_share"`
	P99WithinShare        float64 `json:"p99_within_share_ms"`
	HeavyPerSec           float64 `json:"heavy_per_sec"`
	Utilization           float64 `json:"utilization"`
	WithinShareRejections int     `json:"within_share_rejections"`
	// LoneHeavyPerSec and LoneUtilization are the control's, nil without one.
	LoneHeavyPerSec *float64 `json:"lone_heavy_per_sec"`
	LoneUtilization *float64 `json:"lone_utilization"`
	Verdicts
}

// Summary returns the evaluation in short.
func (e *Evaluation) Summary() Summary {
	r := e.Run
	s := Summary{
		Policy: r.Policy, Seed: r.Seed,
		Jain: r.Jain, MinShare: r.MinShare,
		P99WithinShare:        milliseconds(r.P99),
		HeavyPerSec:           r.heaviest().Rate,
		Utilization:           r.Utilization,
		WithinShareRejections: r.RefusedQuota + r.RefusedFull,
		Verdicts:              e.Verdicts,
	}
	if c := e.Control; c != nil {
		s.LoneHeavyPerSec = &c.heaviest().Rate
		s.LoneUtilization = &c.Utilization
	}
	return s
}
