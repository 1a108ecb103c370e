package grpcgate_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/fairlane-go/fairlane/drr"

	grpcgate "github.com/fairlane-go/fairlane/adapters/grpc"
)

// The forms that error_details.proto asks of an ErrorInfo.
var (
	reasonForm = regexp.MustCompile(`^[A-Z][A-Z0-9_]+[A-Z0-9]$`)
	keyForm    = regexp.MustCompile(`^[a-z][a-zA-Z0-9-_]+$`)
)

// checkStatus requires of the status for e what holds for all of them.
func checkStatus(t require.TestingT, e drr.RejectedError) {
	before := e
	s := grpcgate.RejectedStatus(&e)
	require.Equal(t, before, e)
	require.NotEqual(t, codes.OK, s.Code())

	wire, err := proto.Marshal(s.Proto()) // fails for what isn't UTF-8
	require.NoError(t, err)
	require.Less(t, len(wire), 2048, "too large for a trailer")

	info, retry := details(t, s)
	require.NotNil(t, info)
	require.Regexp(t, reasonForm, info.GetReason())
	require.LessOrEqual(t, len(info.GetReason()), 63)
	for key := range info.GetMetadata() {
		require.Regexp(t, keyForm, key)
	}
	require.Equal(t, e.RetryAfter >= 0, retry != nil)
	if retry != nil {
		require.Equal(t, e.RetryAfter, retry.GetRetryDelay().AsDuration())
	}

	shown := info.GetMetadata()["tenant"]
	require.True(t, utf8.ValidString(shown))
	require.LessOrEqual(t, len(shown), 128+len("…"))
	switch {
	case utf8.ValidString(e.Tenant) && len(e.Tenant) <= 128:
		require.Equal(t, e.Tenant, shown)
	case utf8.ValidString(e.Tenant):
		whole, cut := strings.CutSuffix(shown, "…")
		require.True(t, cut)
		require.True(t, strings.HasPrefix(e.Tenant, whole), "%q", shown)
		require.Greater(t, len(whole), 128-utf8.UTFMax, "cut too early")
	}
	require.NotContains(t, s.Message(), "\n")
}

func TestStatusOfAnyRefusal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkStatus(t, drr.RejectedError{
			Tenant: rapid.OneOf(
				rapid.String(),
				rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 400), func(b []byte) string { return string(b) }),
				rapid.Map(rapid.IntRange(0, 140), func(n int) string { return strings.Repeat("x", n) + strings.Repeat("😀", 40) }),
			).Draw(t, "tenant"),
			Reason:     drr.Reason(rapid.Byte().Draw(t, "reason")),
			RetryAfter: time.Duration(rapid.Int64Min(-1).Draw(t, "retry after")),
		})
	})
}

func FuzzStatus(f *testing.F) {
	f.Add("acme", uint8(drr.Full), int64(time.Second))
	f.Add(strings.Repeat("\xff", 300), uint8(drr.NeverFits), int64(-1))
	f.Add(strings.Repeat("é", 65), uint8(0), int64(0))
	f.Fuzz(func(t *testing.T, tenant string, reason uint8, after int64) {
		checkStatus(t, drr.RejectedError{Tenant: tenant, Reason: drr.Reason(reason), RetryAfter: time.Duration(after)})
	})
}

// TestUnknownReason: a reason that a later drr adds is still a refusal.
func TestUnknownReason(t *testing.T) {
	s := grpcgate.RejectedStatus(&drr.RejectedError{Tenant: "acme", Reason: 200, RetryAfter: time.Second})
	info, _ := details(t, s)
	require.Equal(t, codes.Unavailable, s.Code())
	require.Equal(t, grpcgate.ReasonOther, info.GetReason())
}

// TestHostileTenants sends names that would break a status or a log line all the
// way: the client still gets every detail.
func TestHostileTenants(t *testing.T) {
	s := start(t, drr.GateConfig{Slots: 1}, grpcgate.Options{
		Tenant: grpcgate.TenantFromMetadata("Tenant-Bin"),
	})
	s.gate.Close()
	for tenant, shown := range map[string]string{
		"":                             "",
		"\x00\xff\xfe":                 "\x00?",
		"a\r\nset-cookie: b":           "a\r\nset-cookie: b",
		"é😀":                           "é😀",
		strings.Repeat("x", 256):       strings.Repeat("x", 128) + "…",
		strings.Repeat("é", 128):       strings.Repeat("é", 64) + "…",
		"x" + strings.Repeat("é", 127): "x" + strings.Repeat("é", 63) + "…",
		strings.Repeat("\xff", 256):    "?…",
	} {
		eachKind(t, func(t *testing.T, k kind) {
			_, err := k.call(s, metadata.AppendToOutgoingContext(t.Context(), "tenant-bin", tenant))
			require.Equal(t, codes.Unavailable, status.Code(err))
			info, _ := details(t, status.Convert(err))
			require.Equal(t, map[string]string{"tenant": shown, "reason": "closed"}, info.GetMetadata())
			require.NotContains(t, status.Convert(err).Message(), "\n")
		})
	}
}

// TestPushbackRoundsUp: a client must not come a fraction of a millisecond early.
func TestPushbackRoundsUp(t *testing.T) {
	for after, want := range map[time.Duration]string{
		0: "0", 1: "1", time.Millisecond: "1", time.Millisecond + 1: "2",
		1500 * time.Microsecond: "2", time.Minute: "60000", 1<<63 - 1: "9223372036855",
	} {
		require.Equal(t, want, grpcgate.Pushback(&drr.RejectedError{Reason: drr.Full, RetryAfter: after}))
	}
}

// FuzzTenant: what a stranger puts into the metadata is a tenant within bounds or
// an InvalidArgument.
func FuzzTenant(f *testing.F) {
	f.Add("acme", "", false)
	f.Add(strings.Repeat("x", 257), "", false)
	f.Add("acme", "zeta", true)
	tenantOf := grpcgate.TenantFromMetadata("Tenant")
	f.Fuzz(func(t *testing.T, first, second string, twice bool) {
		md := metadata.Pairs("tenant", first)
		if twice {
			md.Append("tenant", second)
		}
		tenant, err := tenantOf(metadata.NewIncomingContext(context.Background(), md), "/method")
		if twice || len(first) > grpcgate.MaxTenantLen {
			require.Equal(t, codes.InvalidArgument, status.Code(err))
			require.Empty(t, tenant)
			require.Less(t, len(err.Error()), 200)
			return
		}
		require.NoError(t, err)
		require.Equal(t, first, tenant)
	})
}
