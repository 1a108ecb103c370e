// Package tenantmetrics counts the outcomes of requests by tenant and reduces
// them, period by period, to a number of series that does not depend on the
// number of tenants.
//
// A [Reducer] counts each request once, by tenant and [Outcome]. At the end of
// a period [Reducer.Flush] gives a series of its own to the TopK tenants with
// the most requests, some of these places if wanted to those with the most
// refusals, and folds everybody else into one more series, [Other]. It is ready
// for an exporter, such as one that adds each period to Prometheus counters.
//
// # What is exact
//
// The total, and the sum of the series, are exact always, for each outcome. The
// count of a tenant is exact in a period in which no more than Config.Counters
// different tenants had requests. Beyond that, tenants share counters by the
// Space-Saving algorithm (Metwally, Agrawal and El Abbadi, ICDT 2005): with N
// requests and m counters every tenant with more than N/m requests is known. A
// series then has what the Reducer saw of the tenant since it last gave it a
// counter, never more than the truth, and Series.Missed says how many requests
// of the tenant may be among those of Other instead: N/m at most. (Both bounds
// are for periods in which no tenant was deleted.)
//
// # What is bounded
//
//   - A period has TopK+1 series at most.
//   - All periods together have Config.MaxNames+1 different series, by default
//     ten times TopK, deleted tenants not counted: each name is a lasting cost to
//     whoever stores the series. Tenants that had a series in the period before
//     keep it until another has more than twice their requests, by default, so
//     that names are not spent on noise and series don't flicker.
//   - Memory is bounded by Config.Counters and the length of names by 128 bytes,
//     whatever the tenants and their names.
//
// # Names
//
// A tenant appears under its name, or under what [Label] makes of one that is
// empty, longer than 128 bytes, not UTF-8, or begins with two underscores. So no
// tenant can pass for another or for Other.
package tenantmetrics
