package gateway

import (
	"encoding/base64"
	"math"
	"math/big"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// An item is one of a list of structured fields, parsed.
type item struct {
	name       string
	parameters map[string]any // string for a String, int64, []byte
}

var (
	sfString  = regexp.MustCompile(`^"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"`)
	sfKey     = regexp.MustCompile(`^;([a-z*][a-z0-9_.*-]*)=`)
	sfInteger = regexp.MustCompile(`^-?[0-9]{1,15}`)
	sfBytes   = regexp.MustCompile(`^:([A-Za-z0-9+/=]*):`)
)

// parseList reads a List of Strings with parameters, by the grammar of RFC 9651,
// and fails for anything else.
func parseList(t require.TestingT, s string) []item {
	var list []item
	unescape := strings.NewReplacer(`\"`, `"`, `\\`, `\`)
	for {
		m := sfString.FindStringSubmatch(s)
		require.NotNil(t, m, "a string at %q", s)
		it := item{unescape.Replace(m[1]), map[string]any{}}
		s = s[len(m[0]):]
		for strings.HasPrefix(s, ";") {
			k := sfKey.FindStringSubmatch(s)
			require.NotNil(t, k, "a key at %q", s)
			require.NotContains(t, it.parameters, k[1])
			s = s[len(k[0]):]
			if m := sfString.FindStringSubmatch(s); m != nil {
				it.parameters[k[1]], s = unescape.Replace(m[1]), s[len(m[0]):]
			} else if m := sfBytes.FindStringSubmatch(s); m != nil {
				b, err := base64.StdEncoding.DecodeString(m[1])
				require.NoError(t, err)
				it.parameters[k[1]], s = string(b), s[len(m[0]):]
			} else {
				m := sfInteger.FindString(s)
				n, err := strconv.ParseInt(m, 10, 64)
				require.NoError(t, err, "an integer at %q", s)
				it.parameters[k[1]], s = n, s[len(m):]
			}
		}
		list = append(list, it)
		if s == "" {
			return list
		}
		require.True(t, strings.HasPrefix(s, ", "), "a comma at %q", s)
		s = s[2:]
	}
}

func TestSetQuotas(t *testing.T) {
	set := func(q ...Quota) (policy, state string) {
		h := http.Header{}
		SetQuotas(h, q...)
		return h.Get("RateLimit-Policy"), h.Get("RateLimit")
	}
	policy, state := set(
		Quota{Name: "burst", Limit: 10, Remaining: 8, Window: time.Second, Reset: time.Second},
		Quota{Name: "daily", Limit: 5000, Remaining: 4998, Window: 24 * time.Hour, Reset: 69076 * time.Second})
	require.Equal(t, `"burst";q=10;w=1, "daily";q=5000;w=86400`, policy)
	require.Equal(t, `"burst";r=8;t=1, "daily";r=4998;t=69076`, state)

	policy, state = set(Quota{Name: `a"b\`, Unit: "concurrent-requests", Limit: math.MaxInt64, Remaining: -1, Reset: -1})
	require.Equal(t, `"a\"b\\";q=999999999999999;qu="concurrent-requests"`, policy)
	require.Equal(t, `"a\"b\\";r=0`, state)

	policy, state = set(Quota{}, Quota{Name: "a\nb"}, Quota{Name: "é"}, Quota{Name: "a", Unit: "\x7f"}, Quota{Name: strings.Repeat("x", 129)})
	require.Empty(t, policy+state)

	h := http.Header{"Ratelimit": {"kept"}}
	SetQuotas(h)
	require.Equal(t, http.Header{"Ratelimit": {"kept"}}, h)
}

// TestQuotasRoundTrip reads back, with a parser of its own, what was written.
func TestQuotasRoundTrip(t *testing.T) {
	ceil := func(d time.Duration) int64 {
		n := new(big.Int).Add(big.NewInt(int64(d)), big.NewInt(1e9-1))
		return n.Div(n, big.NewInt(1e9)).Int64()
	}
	rapid.Check(t, func(t *rapid.T) {
		ascii := rapid.StringMatching(`[ -~]{1,20}`)
		q := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Quota {
			return Quota{
				Name: ascii.Draw(t, "name"), Unit: rapid.OneOf(rapid.Just(""), ascii).Draw(t, "unit"),
				Limit: rapid.Int64().Draw(t, "limit"), Remaining: rapid.Int64().Draw(t, "remaining"),
				Window:       time.Duration(rapid.Int64().Draw(t, "window")),
				Reset:        time.Duration(rapid.Int64().Draw(t, "reset")),
				PartitionKey: rapid.String().Draw(t, "key"),
			}
		}), 1, 4).Draw(t, "quotas")
		h := http.Header{}
		SetQuotas(h, q...)
		policy, state := parseList(t, h.Get("RateLimit-Policy")), parseList(t, h.Get("RateLimit"))
		require.Len(t, policy, len(q))
		require.Len(t, state, len(q))
		for i, q := range q {
			p := map[string]any{"q": min(max(q.Limit, 0), 999_999_999_999_999)}
			s := map[string]any{"r": min(max(q.Remaining, 0), 999_999_999_999_999)}
			if q.Unit != "" {
				p["qu"] = q.Unit
			}
			if q.Window > 0 {
				p["w"] = ceil(q.Window)
			}
			if q.Reset >= 0 {
				s["t"] = ceil(q.Reset)
			}
			if q.PartitionKey != "" {
				p["pk"], s["pk"] = q.PartitionKey, q.PartitionKey
			}
			require.Equal(t, item{q.Name, p}, policy[i])
			require.Equal(t, item{q.Name, s}, state[i])
		}
	})
}
