//go:build unix

package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fairlane-go/fairlane/drr"
)

// connections is how many are open at once in TestServerManyConnections.
var connections = 10_000

const loadAddress = "FAIRLANE_GATEWAY_LOAD_ADDRESS"

// TestServerManyConnections has 10,000 clients wait at once, all but 100 of them
// of one tenant. Half of that tenant's go away: their places are free, and they
// are never served. The 100 get every second turn. The clients run in a process of
// their own, so that each has its own limit on open files.
func TestServerManyConnections(t *testing.T) {
	const quiet = 100
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	limit.Cur = limit.Max
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	n := connections
	if most := limit.Max - min(limit.Max, 200); uint64(n) > most {
		n = int(most)
	}
	if n < 4*quiet {
		t.Skipf("the limit of %d open files is too low", limit.Max)
	}
	t.Logf("%d connections, limit of open files %d", n, limit.Max)

	g := newGate(t, drr.GateConfig{Slots: 1, Limits: drr.Limits{Config: drr.Config{Quantum: 1}}})
	var mu sync.Mutex
	var order []string
	s := httptest.NewServer(wrap(t, g, Options{}, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, Tenant(r.Context()))
	}))
	t.Cleanup(s.Close)
	holder, granted := g.TryAcquire(drr.Request{Tenant: "busy"})
	require.True(t, granted)
	defer holder.Release()

	exe, err := os.Executable()
	require.NoError(t, err)
	clients := exec.CommandContext(t.Context(), exe, "-test.run=^TestLoadClients$", "-test.timeout=100s")
	clients.Env = append(os.Environ(), loadAddress+"="+s.Listener.Addr().String(),
		fmt.Sprintf("LOAD_HEAVY=%d", n-quiet), fmt.Sprintf("LOAD_QUIET=%d", quiet))
	clients.Stderr = os.Stderr
	in, err := clients.StdinPipe()
	require.NoError(t, err)
	out, err := clients.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, clients.Start())
	told := bufio.NewReader(out)

	eventually(t, "all wait", func() bool { return g.Stats().Waiting == n })
	_, err = io.WriteString(in, "leave\n")
	require.NoError(t, err)
	stay := n - (n-quiet)/2
	eventually(t, "half have gone", func() bool { return g.Stats().Waiting == stay })
	require.Equal(t, uint64(n-stay), g.Stats().Cancelled)
	require.Empty(t, order)
	_, err = io.WriteString(in, "read\n")
	require.NoError(t, err)
	holder.Release()
	line, err := told.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("served %d\n", stay), line)
	_, _ = io.Copy(io.Discard, told)
	require.NoError(t, clients.Wait())

	mu.Lock()
	defer mu.Unlock()
	require.Len(t, order, stay)
	seen := 0
	for i, tenant := range order {
		if tenant == "quiet" {
			seen++
			require.LessOrEqual(t, i, 2*seen, "place of the quiet tenant's %dth", seen)
		}
	}
	require.Equal(t, quiet, seen)
	eventually(t, "all released", func() bool { return g.Stats().Running == 0 })
	idle(t, g)
}

// TestLoadClients is the process of the clients.
func TestLoadClients(t *testing.T) {
	address := os.Getenv(loadAddress)
	if address == "" {
		t.Skip("TestServerManyConnections starts it")
	}
	var heavy, quiet int
	_, err := fmt.Sscan(os.Getenv("LOAD_HEAVY")+" "+os.Getenv("LOAD_QUIET"), &heavy, &quiet)
	require.NoError(t, err)
	connect := func(tenant string, n int) (all []net.Conn) {
		for range n {
			c, err := net.Dial("tcp", address)
			require.NoError(t, err)
			_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nX-Tenant: "+tenant+"\r\n\r\n")
			require.NoError(t, err)
			all = append(all, c)
		}
		return all
	}
	all := append(connect("heavy", heavy), connect("quiet", quiet)...)
	commands := bufio.NewReader(os.Stdin)
	command := func(want string) {
		line, err := commands.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, want, strings.TrimSpace(line))
	}
	command("leave")
	for _, c := range all[:heavy/2] {
		require.NoError(t, c.Close())
	}
	command("read")
	served := 0
	for _, c := range all[heavy/2:] {
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		require.Equal(t, 200, res.StatusCode)
		require.NoError(t, c.Close())
		served++
	}
	fmt.Printf("served %d\n", served)
}
