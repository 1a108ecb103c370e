package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"

	"github.com/fairlane-go/fairlane/drr"
)

// maxKey is the length in bytes of the longest key; names must be shorter, so
// that none can be chosen to equal the key of another.
const maxKey = 128

// Key returns the name by which the gate knows a tenant: the tenant's own, if it
// is at most 127 bytes long, or else exactly 128 bytes: its first 63, a "~", and
// the SHA-256 sum of all of it in hexadecimal digits. Names that differ have keys
// that differ.
func Key(tenant string) string {
	if len(tenant) < maxKey {
		return tenant
	}
	sum := sha256.Sum256([]byte(tenant))
	return tenant[:maxKey-1-2*sha256.Size] + "~" + hex.EncodeToString(sum[:])
}

// only returns the value of a field that a request has once. Of several, one may
// be what the client sent and another what a proxy added, so none is taken.
func only(h http.Header, canonical string) string {
	if v := h[canonical]; len(v) == 1 {
		return v[0]
	}
	return ""
}

// TenantHeader returns a function for Options.Tenant: the tenant is the value of
// the header field with that name. If it is absent, empty or there more than
// once, there is no tenant. Something in front of the server must see to it that
// clients can't choose the value.
func TenantHeader(name string) func(*http.Request) string {
	name = http.CanonicalHeaderKey(name)
	return func(r *http.Request) string { return only(r.Header, name) }
}

// TenantAPIKey returns a function for Options.Tenant: the tenant is what lookup
// makes of the request's API key, "" if the key isn't known. The key is that of
// "Authorization: Bearer KEY" (RFC 6750) or, without a bearer token, of
// "X-Api-Key: KEY". Without a key, or with a field twice, lookup isn't called and
// there is no tenant. lookup is called for every request; it should be quick, and
// take the same time for a wrong key as for a right one.
func TenantAPIKey(lookup func(key string) (tenant string)) func(*http.Request) string {
	return func(r *http.Request) string {
		key, ok := bearer(only(r.Header, "Authorization"))
		if !ok {
			key = only(r.Header, "X-Api-Key")
		}
		if key == "" {
			return ""
		}
		return lookup(key)
	}
}

// bearer returns the token of a field value of scheme Bearer, whatever its case.
func bearer(v string) (token string, ok bool) {
	const scheme = "bearer "
	if len(v) < len(scheme) || !strings.EqualFold(v[:len(scheme)], scheme) {
		return "", false
	}
	return strings.Trim(v[len(scheme):], " "), true
}

// CostHeader returns a function for Options.Cost: the cost is the value of the
// header field with that name, decimal digits for 1 to limit (at most
// drr.MaxCost). If the field is absent the cost is 1. If it is there more than
// once, or says anything else, the request is refused as BadCost. A client that
// understates gains nothing lasting if Options.ActualCost or Grant settles.
func CostHeader(name string, limit int64) func(*http.Request) int64 {
	name = http.CanonicalHeaderKey(name)
	limit = min(limit, drr.MaxCost)
	return func(r *http.Request) int64 {
		if len(r.Header[name]) == 0 {
			return 1
		}
		v := only(r.Header, name)
		if v == "" || strings.Trim(v, "0123456789") != "" {
			return -1 // ParseInt takes signs, too
		}
		cost, err := strconv.ParseInt(v, 10, 64)
		if err != nil || cost < 1 || cost > limit {
			return -1
		}
		return cost
	}
}
