package tenantmetrics

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// Other is the name of the series that has everybody without one of their own.
const Other = "__other__"

const (
	maxLabel = 128 // bytes
	maxHead  = 64  // of those, how many of a name that is not shown in full
)

// Label returns the name under which a tenant appears in reports: its own if
// that is valid UTF-8 of 1 to 128 bytes that does not begin with "__".
// Otherwise it is "__", the first 32 hexadecimal digits of the name's SHA-256,
// "_", and the name's beginning with what is not UTF-8 replaced by "?".
//
// A label is valid UTF-8 of at most 128 bytes (quoting what a format reserves,
// such as a line feed, is up to the exporter), and different tenants have
// different labels, none of which is Other.
func Label(tenant string) string {
	if tenant != "" && len(tenant) <= maxLabel && !strings.HasPrefix(tenant, "__") && utf8.ValidString(tenant) {
		return tenant
	}
	sum := sha256.Sum256([]byte(tenant))
	head := strings.ToValidUTF8(tenant[:min(len(tenant), maxHead)], "?")
	return "__" + hex.EncodeToString(sum[:16]) + "_" + head
}
