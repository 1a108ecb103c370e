package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/fairlane-go/fairlane/drr"
	"github.com/fairlane-go/fairlane/internal/invalid"
)

// A ValueError reports an option that is out of range, by name and value.
// Several can come joined; errors.As finds the first.
type ValueError = invalid.ValueError

// Options say how the middleware reads requests. Only Tenant must be set. Its
// functions are called by many goroutines at once, and before any waiting unless
// they say otherwise. If one panics, what was acquired is released.
type Options struct {
	// Tenant says whose request it is; "" is one without a tenant. There is no
	// default, since no part of a request can be trusted as such. See
	// TenantHeader and TenantAPIKey.
	Tenant func(*http.Request) string

	// RequireTenant refuses requests without a tenant, as NoTenant. Otherwise
	// they share one: the anonymous tenant, "".
	RequireTenant bool

	// Cost estimates what a request costs, in the unit of the gate's quantum: 1
	// to drr.MaxCost, or 0 for 1. Another value is refused as BadCost. Nil means
	// that each costs 1. See CostHeader.
	Cost func(*http.Request) int64

	// Seats is how many of the gate's slots a request takes: 1 or more, or 0 for
	// 1. Another value is refused as BadSeats. Nil means that each takes 1.
	Seats func(*http.Request) int

	// ActualCost says, after the handler has returned, what the request has cost
	// in all: 0 to drr.MaxCost, instead of the estimate and of what was charged
	// by Grant. It gets the request that the handler got. Out of range it is
	// ignored. It isn't called if the handler panics. Nil means that the estimate,
	// with what was charged, was right.
	ActualCost func(*http.Request) int64

	// BufferBody is the size in bytes up to which the body of an HTTP/1 request
	// whose length is known is read before it waits: only then does net/http
	// notice that the client has gone. It also keeps a client that sends slowly
	// from holding a seat. A client that expects 100 Continue is told to, though
	// it may be refused afterwards. Zero means 64 KiB, below zero means that no
	// body is read.
	BufferBody int64

	// Quotas supplies what to say in RateLimit fields about the tenant, see
	// SetQuotas. It is called when it is decided whether the request runs. Nil
	// means that none are sent.
	Quotas func(r *http.Request, tenant string) []Quota

	// Refuse writes the answer to a request that is refused; Retry-After and
	// RateLimit fields are set already. Nil means Problem.Write.
	Refuse func(http.ResponseWriter, *http.Request, Problem)
}

const defaultBufferBody = 64 << 10

// Middleware returns a function that puts gate in front of a handler. Several
// handlers may share a gate. It returns a *ValueError for each argument that is
// missing, joined. The function it returns panics if the handler is nil.
//
// To a request that is admitted at once it adds about a microsecond and two
// allocations.
func Middleware(gate *drr.Gate, o Options) (func(http.Handler) http.Handler, error) {
	if err := o.validate(gate); err != nil {
		return nil, err
	}
	if o.BufferBody == 0 {
		o.BufferBody = defaultBufferBody
	}
	return func(next http.Handler) http.Handler {
		if next == nil {
			panic("gateway: nil handler")
		}
		return &handler{gate, o, next}
	}, nil
}

func (o *Options) validate(gate *drr.Gate) error {
	var errs []error
	if gate == nil {
		errs = append(errs, &ValueError{Package: "gateway", Field: "gate", Value: nil, Want: "a gate"})
	}
	if o.Tenant == nil {
		errs = append(errs, &ValueError{Package: "gateway", Field: "Options.Tenant", Value: nil, Want: "a function"})
	}
	return errors.Join(errs...)
}

type handler struct {
	gate *drr.Gate
	o    Options
	next http.Handler
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req := drr.Request{Tenant: Key(h.o.Tenant(r))}
	if req.Tenant == "" && h.o.RequireTenant {
		h.refuse(w, r, req.Tenant, problemNoTenant)
		return
	}
	if h.o.Cost != nil {
		req.Cost = h.o.Cost(r)
	}
	if h.o.Seats != nil {
		req.Seats = h.o.Seats(r)
	}
	body, err := h.buffer(r)
	if err != nil {
		h.refuse(w, r, req.Tenant, badBody(err))
		return
	}
	grant, err := h.gate.Acquire(r.Context(), req)
	if err != nil {
		h.refuse(w, r, req.Tenant, h.problem(req, err))
		return
	}
	// Deferred, so that a panic gives the seats back too and goes on panicking.
	defer grant.Release()
	if h.o.Quotas != nil {
		SetQuotas(w.Header(), h.o.Quotas(r, req.Tenant)...)
	}
	r = r.WithContext(&granted{r.Context(), grant, req.Tenant})
	if body != nil {
		r.Body = body
	}
	h.next.ServeHTTP(w, r)
	if h.o.ActualCost != nil {
		// Out of range, it is released all the same, and the books stay as they
		// are: there is nobody here to tell.
		_ = grant.ReleaseCost(h.o.ActualCost(r))
	}
}

// buffer returns the request's body, read already, or nil if it isn't to be read
// now. It allocates for what was received, not for what the request announces,
// and reads no more than it may even if somebody has replaced the body by a
// longer one (say, decompressed it).
func (h *handler) buffer(r *http.Request) (io.ReadCloser, error) {
	if r.ProtoMajor != 1 || r.Body == nil || r.ContentLength <= 0 || r.ContentLength > h.o.BufferBody {
		return nil, nil
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, h.o.BufferBody))
	if err != nil {
		return nil, err
	}
	return &buffered{io.MultiReader(bytes.NewReader(b), r.Body), r.Body}, nil
}

// buffered is a body of which the beginning was read.
type buffered struct {
	io.Reader
	io.Closer
}

// granted is the context of a request that runs. It is one allocation, where
// context.WithValue would be one for the context and one for the value.
type granted struct {
	context.Context
	grant  drr.Grant
	tenant string
}

type grantedKey struct{}

func (g *granted) Value(key any) any {
	if key == (grantedKey{}) {
		return g
	}
	return g.Context.Value(key)
}

// Grant returns what the request with this context was granted, so that its
// handler can Charge what turns out to be due, or Release before it returns. It
// is the zero Grant, which is harmless, if there is none.
func Grant(ctx context.Context) drr.Grant {
	if g, ok := ctx.Value(grantedKey{}).(*granted); ok {
		return g.grant
	}
	return drr.Grant{}
}

// Tenant returns the tenant of the request with this context, as the gate knows
// it (see Key), or "" if there is none.
func Tenant(ctx context.Context) string {
	if g, ok := ctx.Value(grantedKey{}).(*granted); ok {
		return g.tenant
	}
	return ""
}
