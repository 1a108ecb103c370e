package grpcgate_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fairlane-go/fairlane/drr"

	grpcgate "github.com/fairlane-go/fairlane/adapters/grpc"
)

// details returns a status's ErrorInfo and RetryInfo, nil where it has none, and
// fails if it has anything else, or anything twice.
func details(t require.TestingT, s *status.Status) (info *errdetails.ErrorInfo, retry *errdetails.RetryInfo) {
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			require.Nil(t, info)
			info = d
		case *errdetails.RetryInfo:
			require.Nil(t, retry)
			retry = d
		default:
			require.Failf(t, "unknown detail", "%T %v", d, d)
		}
	}
	return info, retry
}

// TestRefusals brings about each reason, and looks at all that the client gets.
func TestRefusals(t *testing.T) {
	// full occupies the only seat, and has a call of the same tenant wait.
	full := func(t *testing.T, s *server) {
		seat := occupy(t, s.gate)
		done := make(chan error, 1)
		go func() {
			grant, err := s.gate.Acquire(context.Background(), drr.Request{Tenant: "acme"})
			grant.Release()
			done <- err
		}()
		waiting(t, s.gate, 1)
		t.Cleanup(func() {
			seat.Release()
			require.NoError(t, <-done)
			idle(t, s.gate)
		})
	}
	rows := []struct {
		name   string
		limits drr.Limits
		seats  int
		before func(*testing.T, *server)
		code   codes.Code
		reason string
		words  string
		retry  time.Duration // 0 means none
		push   []string
	}{
		{
			name: "tenant full", limits: drr.Limits{Config: drr.Config{MaxTenantDepth: 1}}, before: full,
			code: codes.ResourceExhausted, reason: "TENANT_QUEUE_FULL", words: "tenant queue full", retry: time.Second, push: []string{"1000"},
		},
		{
			name: "full", limits: drr.Limits{Config: drr.Config{MaxDepth: 1}}, before: full,
			code: codes.Unavailable, reason: "QUEUE_FULL", words: "queue full", retry: time.Second, push: []string{"1000"},
		},
		{
			name: "waited too long", limits: drr.Limits{MaxWait: 5 * time.Millisecond},
			before: func(t *testing.T, s *server) { t.Cleanup(occupy(t, s.gate).Release) },
			code:   codes.Unavailable, reason: "WAITED_TOO_LONG", words: "waited too long", retry: time.Second, push: []string{"1000"},
		},
		{
			name: "never fits", seats: 2,
			code: codes.ResourceExhausted, reason: "NEVER_FITS", words: "never fits", push: []string{"-1"},
		},
		{
			name: "closed", before: func(_ *testing.T, s *server) { s.gate.Close() },
			code: codes.Unavailable, reason: "CLOSED", words: "closed",
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			eachKind(t, func(t *testing.T, k kind) {
				s := start(t, drr.GateConfig{Slots: 1, Limits: row.limits}, grpcgate.Options{
					Seats: func(context.Context, string, any) int { return row.seats },
				})
				if row.before != nil {
					row.before(t, s)
				}
				trailer, err := k.call(s, as(t.Context(), "acme"))
				require.Equal(t, row.code, status.Code(err), "%v", err)
				require.Contains(t, status.Convert(err).Message(), `tenant "acme" rejected: `+row.words)
				info, retry := details(t, status.Convert(err))
				require.Equal(t, row.reason, info.GetReason())
				require.Equal(t, "fairlane", info.GetDomain())
				require.Equal(t, map[string]string{"tenant": "acme", "reason": row.words}, info.GetMetadata())
				require.Equal(t, row.retry > 0, retry != nil)
				require.Equal(t, row.retry, retry.GetRetryDelay().AsDuration())
				require.Equal(t, row.push, trailer.Get("grpc-retry-pushback-ms"))
				require.Zero(t, s.ran.Load(), "a refused call ran")
			})
		})
	}
}

// TestClientGoneWhileWaiting: its place is free at once, and it never runs.
func TestClientGoneWhileWaiting(t *testing.T) {
	rows := []struct {
		name string
		ctx  func(context.Context) (context.Context, context.CancelFunc)
		code codes.Code
	}{
		{"cancelled", context.WithCancel, codes.Canceled},
		{"deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 50*time.Millisecond)
		}, codes.DeadlineExceeded},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			eachKind(t, func(t *testing.T, k kind) {
				s := start(t, drr.GateConfig{Slots: 1, Limits: drr.Limits{Config: drr.Config{MaxDepth: 1}}}, grpcgate.Options{})
				seat := occupy(t, s.gate)
				ctx, cancel := row.ctx(as(t.Context(), "acme"))
				defer cancel()
				answer := make(chan error, 1)
				go func() {
					_, err := k.call(s, ctx)
					answer <- err
				}()
				if row.code == codes.Canceled {
					waiting(t, s.gate, 1)
					cancel()
				}
				require.Equal(t, row.code, status.Code(<-answer))
				// What the server says is lost, for the client is gone: look at it here.
				// A deadline may come as Canceled: the client resets the stream then, and
				// that may arrive before the server's own timer fires.
				code := status.Code(<-s.errs)
				require.True(t, code == row.code || code == codes.Canceled, "%v", code)
				require.Equal(t, 0, s.gate.Stats().Waiting)
				require.EqualValues(t, 1, s.gate.Stats().Cancelled)

				// The place is free: the queue, of one, takes another.
				go func() {
					_, err := k.call(s, as(t.Context(), "acme"))
					answer <- err
				}()
				waiting(t, s.gate, 1)
				seat.Release()
				require.NoError(t, <-answer)
				require.EqualValues(t, 1, s.ran.Load(), "the call that was given up ran")
				idle(t, s.gate)
			})
		})
	}
}

// TestCauseStaysInside: the cause of a cancellation is neither shown to clients
// nor taken for a refusal by the gate, even if it is one by another.
func TestCauseStaysInside(t *testing.T) {
	gate, err := drr.NewGate(drr.GateConfig{Slots: 1})
	require.NoError(t, err)
	intercept := grpcgate.UnaryServerInterceptor(gate, grpcgate.Options{})
	for _, cause := range []error{
		errors.New("secret"), context.DeadlineExceeded, &drr.RejectedError{Tenant: "secret", Reason: drr.NeverFits},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		_, err = intercept(ctx, nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) { panic("ran") })
		require.Equal(t, codes.Canceled, status.Code(err))
		require.Equal(t, "context canceled", status.Convert(err).Message())
		require.Empty(t, status.Convert(err).Details())
	}
}

// TestOutOfRange: what the gate can't take is told, and leaves nothing behind.
func TestOutOfRange(t *testing.T) {
	for name, o := range map[string]grpcgate.Options{
		"Request.Cost is -1":                  {Cost: func(context.Context, string, any) int64 { return -1 }},
		"Request.Cost is 9223372036854775807": {Cost: func(context.Context, string, any) int64 { return math.MaxInt64 }},
		"Request.Seats is -2":                 {Seats: func(context.Context, string, any) int { return -2 }},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, drr.GateConfig{Slots: 1}, o)
			eachKind(t, func(t *testing.T, k kind) {
				_, err := k.call(s, t.Context())
				require.Equal(t, codes.InvalidArgument, status.Code(err))
				require.Contains(t, status.Convert(err).Message(), name)
				require.Zero(t, s.ran.Load())
				idle(t, s.gate)
			})
		})
	}
}

func TestNilGatePanics(t *testing.T) {
	require.PanicsWithValue(t, "grpcgate: nil gate", func() { grpcgate.UnaryServerInterceptor(nil, grpcgate.Options{}) })
	require.PanicsWithValue(t, "grpcgate: nil gate", func() { grpcgate.StreamServerInterceptor(nil, grpcgate.Options{}) })
}

// TestRetryPolicyObeys has a client with a retry policy for all codes here: it
// asks again when the gate is closed, and never when the call won't ever fit.
func TestRetryPolicyObeys(t *testing.T) {
	const policy = `{"methodConfig": [{"name": [{}], "retryPolicy": {
		"maxAttempts": 3, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1,
		"retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]}}]}`
	for _, row := range []struct {
		name     string
		seats    int
		attempts int
	}{{"closed", 1, 3}, {"never fits", 2, 1}} {
		t.Run(row.name, func(t *testing.T) {
			eachKind(t, func(t *testing.T, k kind) {
				s := start(t, drr.GateConfig{Slots: 1}, grpcgate.Options{
					Seats: func(context.Context, string, any) int { return row.seats },
				}, grpc.WithDefaultServiceConfig(policy))
				if row.seats == 1 {
					s.gate.Close()
				}
				_, err := k.call(s, t.Context())
				require.Error(t, err)
				require.Len(t, s.errs, row.attempts)
			})
		})
	}
}
