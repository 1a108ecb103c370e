package gateway

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fairlane-go/fairlane/drr"
)

// TestBody checks which bodies are read before the request waits, and that the
// handler gets them whole in any case.
func TestBody(t *testing.T) {
	const text = "0123456789"
	for _, c := range []struct {
		name   string
		limit  int64
		change func(*http.Request)
		read   int // by the middleware
	}{
		{"as a default", 0, nil, 10},
		{"at the limit", 10, nil, 10},
		{"above the limit", 9, nil, 0},
		{"not wanted", -1, nil, 0},
		{"length unknown", 0, func(r *http.Request) { r.ContentLength = -1 }, 0},
		{"HTTP/2", 0, func(r *http.Request) { r.ProtoMajor = 2 }, 0},
		{"longer than announced", 5, func(r *http.Request) { r.ContentLength = 2 }, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGate(t, drr.GateConfig{Slots: 1})
			body := strings.NewReader(text)
			r := httptest.NewRequest("POST", "/", body)
			if c.change != nil {
				c.change(r)
			}
			called := false
			h := wrap(t, g, Options{BufferBody: c.limit}, func(_ http.ResponseWriter, r *http.Request) {
				called = true
				require.Equal(t, c.read, len(text)-body.Len())
				got, err := io.ReadAll(r.Body)
				require.NoError(t, err)
				require.Equal(t, text, string(got))
				require.NoError(t, r.Body.Close())
			})
			do(t, h, r)
			require.True(t, called)
		})
	}
	for _, c := range []struct {
		err    error
		status int
	}{{io.ErrUnexpectedEOF, 400}, {&http.MaxBytesError{Limit: 1}, 413}, {context.DeadlineExceeded, 400}} {
		g := newGate(t, drr.GateConfig{Slots: 1})
		r := httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader("x"), errReader{c.err}))
		r.ContentLength = 2
		res, p := do(t, wrap(t, g, Options{}, never(t)), r)
		require.Equal(t, c.status, res.StatusCode)
		require.Equal(t, BadBody, p.Reason)
		require.Zero(t, g.Stats().Done)
		idle(t, g)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// TestServerSlowBody checks that a client which sends slowly holds no seat, and
// one that stops in the middle is answered when the server's patience ends.
func TestServerSlowBody(t *testing.T) {
	g := newGate(t, drr.GateConfig{Slots: 1})
	h := wrap(t, g, Options{}, never(t))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
			t.Error(err)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nX-Tenant: a\r\nContent-Length: 10\r\n\r\nhalf")
	require.NoError(t, err)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusRequestTimeout, res.StatusCode)
	require.Equal(t, drr.Stats{Slots: 1}, g.Stats(), "it never came to the gate")
}
