package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fairlane-go/fairlane/drr"
)

// patience is how long a test waits for what must happen before it fails.
const patience = 20 * time.Second

// onServers runs test with a real server and client for each version of HTTP.
func onServers(t *testing.T, test func(t *testing.T, major int, serve func(http.Handler) (*http.Client, string))) {
	for major := 1; major <= 2; major++ {
		t.Run(fmt.Sprint("http=", major), func(t *testing.T) {
			test(t, major, func(h http.Handler) (*http.Client, string) {
				s := httptest.NewUnstartedServer(h)
				s.Config.ErrorLog = log.New(io.Discard, "", 0) // panics are meant
				if major == 2 {
					s.EnableHTTP2 = true
					s.StartTLS()
				} else {
					s.Start()
				}
				t.Cleanup(s.Close)
				c := s.Client()
				c.Timeout = patience
				return c, s.URL
			})
		})
	}
}

func request(t testing.TB, ctx context.Context, method, url, tenant string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	require.NoError(t, err)
	r.Header.Set("X-Tenant", tenant)
	return r
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	require.Eventually(t, is, patience, time.Millisecond, what)
}

func TestServerAdmitsAndRefuses(t *testing.T) {
	onServers(t, func(t *testing.T, major int, serve func(http.Handler) (*http.Client, string)) {
		g := newGate(t, drr.GateConfig{Slots: 1})
		c, url := serve(wrap(t, g, Options{}, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			fmt.Fprintf(w, "%d %s %s", r.ProtoMajor, Tenant(r.Context()), body)
		}))
		res, err := c.Do(request(t, t.Context(), "POST", url, "a", strings.NewReader("text")))
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, fmt.Sprintf("%d a text", major), string(body))

		g.Close()
		for _, method := range []string{"GET", "HEAD", "POST"} {
			res, err := c.Do(request(t, t.Context(), method, url, "a", strings.NewReader("text")))
			require.NoError(t, err)
			body, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, 503, res.StatusCode)
			require.Equal(t, "application/problem+json", res.Header.Get("Content-Type"))
			require.Equal(t, method == "HEAD", len(body) == 0)
		}
		idle(t, g)
	})
}

// TestServerStreams checks that what a handler writes and flushes arrives while it
// runs, and that it can charge meanwhile.
func TestServerStreams(t *testing.T) {
	onServers(t, func(t *testing.T, _ int, serve func(http.Handler) (*http.Client, string)) {
		costs := make(chan int64, 1)
		limits := drr.Limits{Hooks: drr.Hooks{Done: func(_ string, cost int64) { costs <- cost }}}
		g := newGate(t, drr.GateConfig{Slots: 1, Limits: limits})
		next := make(chan struct{})
		c, url := serve(wrap(t, g, Options{}, func(w http.ResponseWriter, r *http.Request) {
			if _, ok := w.(http.Flusher); !ok {
				t.Error("no Flusher")
			}
			for i := range 3 {
				fmt.Fprintln(w, "line", i)
				if err := http.NewResponseController(w).Flush(); err != nil {
					t.Error(err)
				}
				if err := Grant(r.Context()).Charge(10); err != nil {
					t.Error(err)
				}
				<-next
			}
		}))
		res, err := c.Do(request(t, t.Context(), "GET", url, "a", nil))
		require.NoError(t, err)
		lines := bufio.NewReader(res.Body)
		for i := range 3 {
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintln("line", i), line)
			require.Equal(t, 1, g.Stats().Running)
			next <- struct{}{}
		}
		_, err = lines.ReadByte()
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, res.Body.Close())
		require.Equal(t, int64(31), <-costs)
		idle(t, g)
	})
}

// TestServerClientGone checks that the place of a client that goes away while it
// waits is free at once, while nothing else happens, and nothing executed.
func TestServerClientGone(t *testing.T) {
	bodies := map[string]func() io.Reader{
		"none":  func() io.Reader { return nil },
		"small": func() io.Reader { return strings.NewReader("small") },
		"large": func() io.Reader { return strings.NewReader(strings.Repeat("x", 1<<20)) },
	}
	onServers(t, func(t *testing.T, major int, serve func(http.Handler) (*http.Client, string)) {
		for name, body := range bodies {
			if name == "large" && major == 1 {
				continue // not noticed, as documented
			}
			t.Run("body="+name, func(t *testing.T) {
				g := newGate(t, drr.GateConfig{Slots: 1, Limits: drr.Limits{Config: drr.Config{MaxTenantDepth: 1}}})
				var calls atomic.Int32
				c, url := serve(wrap(t, g, Options{}, func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
				holder, granted := g.TryAcquire(drr.Request{Tenant: "busy"})
				require.True(t, granted)
				ctx, leave := context.WithCancel(t.Context())
				left := make(chan error, 1)
				go func() {
					res, err := c.Do(request(t, ctx, "POST", url, "a", body()))
					if err == nil {
						err = errors.New(res.Status)
						_ = res.Body.Close()
					}
					left <- err
				}()
				eventually(t, "waiting", func() bool { return g.Stats().Waiting == 1 })
				leave()
				require.ErrorIs(t, <-left, context.Canceled)
				eventually(t, "the place is free", func() bool { s := g.Stats(); return s.Waiting == 0 && s.Cancelled == 1 })
				holder.Release()
				require.Zero(t, calls.Load())

				res, err := c.Do(request(t, t.Context(), "GET", url, "a", nil))
				require.NoError(t, err)
				require.NoError(t, res.Body.Close())
				require.Equal(t, int32(1), calls.Load())
				idle(t, g)
			})
		}
	})
}

func TestServerPanicReleases(t *testing.T) {
	onServers(t, func(t *testing.T, _ int, serve func(http.Handler) (*http.Client, string)) {
		for _, v := range []any{http.ErrAbortHandler, "boom"} {
			g := newGate(t, drr.GateConfig{Slots: 1})
			inner := wrap(t, g, Options{}, func(http.ResponseWriter, *http.Request) { panic(v) })
			seen := make(chan any, 10)
			c, url := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer func() {
					p := recover()
					seen <- p
					panic(p)
				}()
				inner.ServeHTTP(w, r)
			}))
			res, err := c.Do(request(t, t.Context(), "POST", url, "a", strings.NewReader("not retried")))
			if err == nil {
				_ = res.Body.Close()
			}
			require.Error(t, err)
			require.Equal(t, v, <-seen)
			idle(t, g)
			require.Equal(t, uint64(1), g.Stats().Done)
		}
	})
}

// TestServerHijack has a handler that takes the connection over.
func TestServerHijack(t *testing.T) {
	g := newGate(t, drr.GateConfig{Slots: 1})
	s := httptest.NewServer(wrap(t, g, Options{}, func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = c.Close() }()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString(line)
		_ = rw.Flush()
	}))
	t.Cleanup(s.Close)
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nX-Tenant: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	require.NoError(t, err)
	in := bufio.NewReader(c)
	res, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.Equal(t, 101, res.StatusCode)
	require.Equal(t, 1, g.Stats().Running, "for as long as the handler runs")
	_, err = io.WriteString(c, "hello\n")
	require.NoError(t, err)
	line, err := in.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "hello\n", line)
	eventually(t, "released", func() bool { return g.Stats().Running == 0 })
	idle(t, g)
}

// TestSameResponseWriter is why nothing that a ResponseWriter can do gets lost.
func TestSameResponseWriter(t *testing.T) {
	g := newGate(t, drr.GateConfig{Slots: 1})
	w := &pusher{ResponseRecorder: httptest.NewRecorder()}
	wrap(t, g, Options{ActualCost: func(*http.Request) int64 { return 1 }}, func(got http.ResponseWriter, _ *http.Request) {
		require.Same(t, w, got)
		require.NoError(t, got.(http.Pusher).Push("/style.css", nil))
	}).ServeHTTP(w, get("a"))
	require.Equal(t, []string{"/style.css"}, w.pushed)
}

type pusher struct {
	*httptest.ResponseRecorder
	pushed []string
}

func (p *pusher) Push(target string, _ *http.PushOptions) error {
	p.pushed = append(p.pushed, target)
	return nil
}
