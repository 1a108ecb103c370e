package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/fairlane-go/fairlane/drr"
)

// Reasons of refusals that the gate doesn't make, as Problem.Reason has them. See
// the package's documentation for the statuses.
const (
	NoTenant         = "no tenant"
	BadCost          = "bad cost"
	BadSeats         = "bad seats"
	BadBody          = "bad body"
	DeadlineExceeded = "deadline exceeded"
	Cancelled        = "cancelled"
)

// A Problem is the answer to a request that was refused: the problem details of
// RFC 9457, with reason, tenant and retry_after as extensions.
type Problem struct {
	// Type is a URI that identifies the reason, where its documentation is.
	Type string `json:"type"`
	// Title is the reason in words, the same for all requests of a type.
	Title string `json:"title"`
	// Status is the HTTP status, 400 to 599.
	Status int `json:"status"`
	// Detail says what the client might do.
	Detail string `json:"detail"`
	// Reason is the reason's name: drr.Reason.String, or a constant of this
	// package. Programs should go by it or by Type.
	Reason string `json:"reason"`
	// Tenant is the tenant by its Key, or absent for the anonymous one. It is
	// valid UTF-8: if the name isn't, it is as strconv.Quote writes it.
	Tenant string `json:"tenant,omitempty"`
	// RetryAfter is how many seconds to wait before trying again, 1 or more, or 0
	// and absent if that won't help. It is the value of the Retry-After field.
	RetryAfter int64 `json:"retry_after,omitempty"`
}

// Write answers with the problem: its status, and itself as
// application/problem+json.
func (p Problem) Write(w http.ResponseWriter) {
	body, err := json.Marshal(p)
	if err != nil { // can't be: there is nothing in it but text and integers
		http.Error(w, p.Title, p.Status)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff") // the tenant's name is the client's text
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // the client may have gone, and that's its own affair
}

// The problem types of the draft on RateLimit fields (quota-exceeded and others)
// aren't used: they name a quota that was violated, and here is none.
const (
	docs        = "https://pkg.go.dev/github.com/fairlane-go/fairlane/"
	docsDRR     = docs + "drr#"
	docsGateway = docs + "gateway#"
)

var problemNoTenant = Problem{
	Type: docsGateway + "NoTenant", Title: "No tenant", Status: http.StatusBadRequest, Reason: NoTenant,
	Detail: "The request doesn't say, or not unambiguously, which tenant it belongs to.",
}

// byReason has a problem for each of the gate's reasons.
var byReason = map[drr.Reason]Problem{
	drr.TenantFull: {
		Type: docsDRR + "TenantFull", Title: "Tenant queue full", Status: http.StatusTooManyRequests,
		Detail: "This tenant has as many requests waiting as it may. Send fewer at once.",
	},
	drr.Full: {
		Type: docsDRR + "Full", Title: "Queue full", Status: http.StatusServiceUnavailable,
		Detail: "As many requests are waiting, of all tenants, as may.",
	},
	drr.WaitedTooLong: {
		Type: docsDRR + "WaitedTooLong", Title: "Waited too long", Status: http.StatusGatewayTimeout,
		Detail: "The request wasn't started within the time that requests may wait.",
	},
	drr.NeverFits: {
		Type: docsDRR + "NeverFits", Title: "Never fits", Status: http.StatusRequestEntityTooLarge,
		Detail: "The request takes more capacity at once than it can ever be given.",
	},
	drr.Closed: {
		Type: docsDRR + "Closed", Title: "Closed", Status: http.StatusServiceUnavailable,
		Detail: "The service is shutting down here.",
	},
}

// Status returns the HTTP status of a refusal for that reason, 503 for one that
// it doesn't know.
func Status(reason drr.Reason) int {
	if p, ok := byReason[reason]; ok {
		return p.Status
	}
	return http.StatusServiceUnavailable
}

// problem is for an error of Gate.Acquire.
func (h *handler) problem(req drr.Request, err error) Problem {
	var rejected *drr.RejectedError
	var value *ValueError
	switch {
	case errors.As(err, &rejected):
		p, ok := byReason[rejected.Reason]
		if !ok {
			p = Problem{Type: "about:blank", Title: http.StatusText(http.StatusServiceUnavailable), Status: http.StatusServiceUnavailable}
		}
		p.Reason = rejected.Reason.String()
		p.RetryAfter = seconds(rejected.RetryAfter)
		return p
	case errors.As(err, &value) && value.Field == "Request.Seats":
		return Problem{
			Type: docsGateway + "BadSeats", Title: "Bad seats", Status: http.StatusBadRequest, Reason: BadSeats,
			Detail: "The number of seats of the request is out of range.",
		}
	case errors.As(err, &value):
		return Problem{
			Type: docsGateway + "BadCost", Title: "Bad cost", Status: http.StatusBadRequest, Reason: BadCost,
			Detail: "The cost of the request isn't a whole number in the range that is taken.",
		}
	}
	p := Problem{
		Type: docsGateway + "Cancelled", Title: "Cancelled", Status: http.StatusServiceUnavailable, Reason: Cancelled,
		Detail: "The request was given up while it was waiting.",
	}
	if errors.Is(err, context.DeadlineExceeded) {
		p = Problem{
			Type: docsGateway + "DeadlineExceeded", Title: "Deadline exceeded", Status: http.StatusGatewayTimeout, Reason: DeadlineExceeded,
			Detail: "The request's deadline passed while it was waiting.",
		}
	}
	// Nobody has said how long others wait, so estimate it.
	p.RetryAfter = seconds(max(h.gate.Wait(req.Tenant, max(req.Cost, 1)).Wait, 1))
	return p
}

// badBody is for an error in reading the request's body.
func badBody(err error) Problem {
	p := Problem{
		Type: docsGateway + "BadBody", Title: "Bad body", Status: http.StatusBadRequest, Reason: BadBody,
		Detail: "The request's body couldn't be read to its end.",
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		p.Status = http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		p.Status = http.StatusRequestTimeout
	}
	return p
}

// refuse answers instead of the handler.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, tenant string, p Problem) {
	p.Tenant = text(tenant)
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(p.RetryAfter, 10))
	}
	if h.o.Quotas != nil {
		SetQuotas(w.Header(), h.o.Quotas(r, tenant)...)
	}
	if h.o.Refuse != nil {
		h.o.Refuse(w, r, p)
		return
	}
	p.Write(w)
}

// seconds is the value of Retry-After: rounded up, so that a client that obeys
// isn't early, and 0 for no such field if waiting won't help.
func seconds(d time.Duration) int64 {
	if d < 0 {
		return 0
	}
	s := int64(d / time.Second)
	if d%time.Second != 0 || s == 0 {
		s++
	}
	return s
}

// text is s if that is text, or else s with what isn't escaped.
func text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strconv.Quote(s)
}
