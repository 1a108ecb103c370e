package sim

import "github.com/fairlane-go/fairlane/tenantmetrics"

// boundedMetrics reports a run through a tenantmetrics.Reducer that may name k
// tenants, and says whether it made k+1 series at most that add up, outcome by
// outcome, to what happened.
func boundedMetrics(r *Result, k int) (bool, error) {
	reducer, err := tenantmetrics.New(tenantmetrics.Config{TopK: k})
	if err != nil {
		return false, err
	}
	var want, sum tenantmetrics.Counts
	for _, t := range r.Tenants {
		counts := tenantmetrics.Counts{
			tenantmetrics.Completed: int64(t.Run.Completed),
			tenantmetrics.OverQuota: int64(t.Run.RefusedQuota),
			tenantmetrics.QueueFull: int64(t.Run.RefusedFull),
		}
		for outcome, n := range counts {
			if n == 0 {
				continue
			}
			want[outcome] += n
			if err := reducer.Add(t.Name, tenantmetrics.Outcome(outcome), n); err != nil {
				return false, err
			}
		}
	}
	report := reducer.Flush()
	for _, s := range report.Series {
		for outcome, n := range s.Counts {
			sum[outcome] += n
		}
	}
	return len(report.Series) <= k+1 && sum == want && report.Total == want, nil
}
