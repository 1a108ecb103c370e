// Package gateway puts a [drr.Gate] in front of an [http.Handler]: requests of
// many tenants share a number of slots fairly, and each that is refused is told
// why and when to come back.
//
//	gate, err := drr.NewGate(drr.GateConfig{Slots: 64, Limits: drr.Limits{
//		Config: drr.Config{MaxDepth: 5000, MaxTenantDepth: 500}, MaxWait: 10 * time.Second}})
//	…
//	fair, err := gateway.Middleware(gate, gateway.Options{Tenant: gateway.TenantHeader("X-Tenant")})
//	…
//	http.ListenAndServe(addr, fair(handler))
//
// A request waits until the gate grants it, runs, and gives its seats back when
// the handler returns or panics. The handler may tell what the request turns out
// to cost, with [Grant] while it runs or by Options.ActualCost at its end. It gets
// the server's own [http.ResponseWriter], so that whatever that can do
// (http.ResponseController, Flusher, Hijacker, Pusher) still works. A handler that
// hijacks the connection has its seats for as long as it runs, not for as long as
// the connection lives.
//
// # Refusals
//
//	reason               status
//	drr.TenantFull       429  its own client should slow down
//	drr.Full             503
//	drr.WaitedTooLong    504
//	drr.NeverFits        413  it takes more seats than it can ever have
//	drr.Closed           503
//	NoTenant             400  with Options.RequireTenant
//	BadCost, BadSeats    400  what Options.Cost or Seats returned is out of range
//	BadBody              400  the body ended early; 413 by http.MaxBytesReader, 408 if its deadline passed
//	DeadlineExceeded     504  the context's deadline passed while it waited
//	Cancelled            503  the context was cancelled: mostly, nobody is left to read this
//
// Each has a body of type application/problem+json (RFC 9457), see [Problem], and
// if it is of use to try again a Retry-After field (RFC 9110, 10.2.3): whole
// seconds, rounded up, 1 or more.
//
// # A client that goes away
//
// While its request waits, its place in the queue is freed at once and the
// handler never called. net/http notices it by the request's context. With
// HTTP/1 it does so only once the request's body is read; so the middleware
// reads small ones before the request waits, see Options.BufferBody. One whose
// body isn't read keeps its place until its turn or drr.Limits.MaxWait.
//
// # Tenants
//
// Who chooses a tenant's name chooses whose share is used: a header that a client
// can set is only good behind a proxy that overwrites it. Names may be any bytes.
// Longer than 127 they are shortened, see [Key]; they appear in no header, and
// escaped in the body of a refusal.
//
// # RateLimit fields
//
// A gate has no quota that is used up and comes back after a time: what it says
// about itself changes with everybody's next request. So the middleware sends
// RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers) only if
// Options.Quotas supplies the numbers, say those of a rate limit that is applied
// as well. See [SetQuotas].
package gateway
