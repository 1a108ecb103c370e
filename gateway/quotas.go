package gateway

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Quota is what there is to say in RateLimit-Policy and RateLimit fields about
// one quota policy and what of it is left. Only Name must be set.
type Quota struct {
	// Name identifies the policy: 1 to 128 printable ASCII characters.
	Name string
	// Limit is how much the policy allows in a Window, Remaining how much of it
	// is left now, both in Units. Below zero means 0. It is good to lower
	// Remaining where the window is long, so that nobody sends it all at once.
	Limit, Remaining int64
	// Window is the time for which Limit holds, rounded up to whole seconds. Zero
	// or less means that there is none, as for a limit on what runs at once.
	Window time.Duration
	// Reset is the time until there is more, rounded up to whole seconds; if the
	// request is refused for this quota it should be what Retry-After says. Below
	// zero means that it isn't known.
	Reset time.Duration
	// Unit is what is counted: "" means "requests"; "content-bytes" and
	// "concurrent-requests" are registered, too. Printable ASCII.
	Unit string
	// PartitionKey tells clients which of their requests share the quota. Any
	// bytes will do. "" means that it isn't told.
	PartitionKey string
}

const (
	maxName = 128
	// maxInteger is the largest Integer in a structured field (RFC 9651, 3.3.1).
	maxInteger = 999_999_999_999_999
)

// SetQuotas sets the fields RateLimit-Policy and RateLimit to say this about
// quotas, in the syntax of draft-ietf-httpapi-ratelimit-headers since its version
// 09, as in
//
//	RateLimit-Policy: "burst";q=10;w=1, "daily";q=5000;w=86400
//	RateLimit: "burst";r=8;t=1, "daily";r=4998;t=69076
//
// Lists of structured fields (RFC 9651). A quota whose Name or Unit can't be
// written is left out, numbers above 999,999,999,999,999 are lowered to that.
// Without any quota the fields are left as they are.
func SetQuotas(h http.Header, quotas ...Quota) {
	var policy, state []byte
	for _, q := range quotas {
		if q.Name == "" || len(q.Name) > maxName || !printable(q.Name) || len(q.Unit) > maxName || !printable(q.Unit) {
			continue
		}
		if policy != nil {
			policy, state = append(policy, ", "...), append(state, ", "...)
		}
		policy, state = appendString(policy, q.Name), appendString(state, q.Name)
		policy = appendParameter(policy, "q", q.Limit)
		state = appendParameter(state, "r", q.Remaining)
		if q.Unit != "" {
			policy = appendString(append(policy, ";qu="...), q.Unit)
		}
		if q.Window > 0 {
			policy = appendParameter(policy, "w", ceilSeconds(q.Window))
		}
		if q.Reset >= 0 {
			state = appendParameter(state, "t", ceilSeconds(q.Reset))
		}
		if q.PartitionKey != "" {
			key := ";pk=:" + base64.StdEncoding.EncodeToString([]byte(q.PartitionKey)) + ":"
			policy, state = append(policy, key...), append(state, key...)
		}
	}
	if policy == nil {
		return
	}
	h.Set("RateLimit-Policy", string(policy))
	h.Set("RateLimit", string(state))
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// appendString writes a String, in which only these two are escaped.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}

func appendParameter(b []byte, name string, n int64) []byte {
	b = append(append(append(b, ';'), name...), '=')
	return strconv.AppendInt(b, min(max(n, 0), maxInteger), 10)
}

func ceilSeconds(d time.Duration) int64 {
	s := int64(d / time.Second)
	if d%time.Second > 0 {
		s++
	}
	return s
}
