package grpcgate

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/fairlane-go/fairlane/drr"
)

// Domain is the ErrorInfo.Domain of every refusal.
const Domain = "fairlane"

// The ErrorInfo.Reason of a refusal, one for each drr.Reason. They are part of
// the protocol and won't change. A drr.Reason without one here is ReasonOther.
const (
	ReasonTenantFull    = "TENANT_QUEUE_FULL"
	ReasonFull          = "QUEUE_FULL"
	ReasonWaitedTooLong = "WAITED_TOO_LONG"
	ReasonNeverFits     = "NEVER_FITS"
	ReasonClosed        = "CLOSED"
	ReasonOther         = "REJECTED"
)

// pushbackKey is the trailer that tells a gRPC client's retry policy how long to
// wait, or with a negative number not to retry (gRFC A6).
const pushbackKey = "grpc-retry-pushback-ms"

// maxShown bounds how much of a tenant a status repeats, in bytes: it travels in
// trailers, which clients bound (8 KiB is common).
const maxShown = 128

// RejectedStatus returns the status for a refusal: its code, an ErrorInfo with
// the reason and, in its Metadata, "tenant" and "reason" (in words), and if it is
// worth retrying here a RetryInfo. See the package's documentation for the table.
// The tenant is shown in valid UTF-8, and cut after 128 bytes.
//
// The interceptors use it. It is exported for handlers that have a Gate of their
// own.
func RejectedStatus(e *drr.RejectedError) *status.Status {
	code, reason := codes.Unavailable, ReasonOther
	switch e.Reason {
	case drr.TenantFull:
		code, reason = codes.ResourceExhausted, ReasonTenantFull
	case drr.Full:
		reason = ReasonFull
	case drr.WaitedTooLong:
		reason = ReasonWaitedTooLong
	case drr.NeverFits:
		code, reason = codes.ResourceExhausted, ReasonNeverFits
	case drr.Closed:
		reason = ReasonClosed
	}
	shown := *e
	shown.Tenant = show(e.Tenant)
	s := status.New(code, shown.Error())
	info := &errdetails.ErrorInfo{
		Reason: reason, Domain: Domain,
		Metadata: map[string]string{"tenant": shown.Tenant, "reason": e.Reason.String()},
	}
	// WithDetails fails for an OK code or a string that isn't UTF-8: neither can
	// be here.
	if e.RetryAfter < 0 {
		s, _ = s.WithDetails(info)
	} else {
		s, _ = s.WithDetails(info, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)})
	}
	return s
}

// pushback is the value of pushbackKey for a refusal, in whole milliseconds,
// rounded up so that nobody comes too early; "" means none. Nothing is said of a
// closed gate, for the client's next attempt may go to another server.
func pushback(e *drr.RejectedError) string {
	if e.RetryAfter >= 0 {
		ms := e.RetryAfter.Milliseconds()
		if e.RetryAfter%time.Millisecond > 0 {
			ms++
		}
		return strconv.FormatInt(ms, 10)
	}
	if e.Reason == drr.NeverFits {
		return "-1"
	}
	return ""
}

// show makes a tenant fit to be sent: valid UTF-8 (or protobuf refuses to encode
// it, and all details are lost), of maxShown bytes at most and then an ellipsis.
func show(tenant string) string {
	cut := len(tenant) > maxShown
	if cut {
		end := maxShown
		for end > maxShown-utf8.UTFMax && !utf8.RuneStart(tenant[end]) {
			end-- // not in the middle of a character
		}
		tenant = tenant[:end]
	}
	tenant = strings.ToValidUTF8(tenant, "?")
	if cut {
		tenant += "…"
	}
	return tenant
}
