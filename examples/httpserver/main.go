// Httpserver is a service whose handler takes 10 ms of one of 8 slots. A gate in
// front of it shares the slots fairly among tenants; with -fair=false the slots
// are a plain semaphore, as limits on concurrency usually are, and one tenant's
// flood delays everybody.
//
//	go run ./examples/httpserver &
//	curl -i -H 'Tenant: a' 'http://127.0.0.1:8080/'
//
// examples/load.sh floods it and prints what the other tenants notice.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/fairlane-go/fairlane/drr"
	"github.com/fairlane-go/fairlane/gateway"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to listen on")
	slots := flag.Int("slots", 8, "`number` of requests that run at once")
	work := flag.Duration("work", 10*time.Millisecond, "how long a request takes")
	useFair := flag.Bool("fair", true, "share the slots fairly among tenants")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	var handler http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(*work)
		fmt.Fprintln(w, "done")
	})
	wrap := semaphore(*slots, 1000)
	if *useFair {
		// A tenant's header is only as good as the proxy that sets it.
		gate, err := drr.NewGate(drr.GateConfig{Slots: *slots, Limits: drr.Limits{
			Config: drr.Config{MaxDepth: 1000, MaxTenantDepth: 200}, MaxWait: 5 * time.Second,
		}})
		if err != nil {
			log.Fatal(err)
		}
		defer gate.Close()
		wrap, err = gateway.Middleware(gate, gateway.Options{Tenant: gateway.TenantHeader("Tenant")})
		if err != nil {
			log.Fatal(err)
		}
	}
	server := &http.Server{Addr: *addr, ReadHeaderTimeout: 5 * time.Second, Handler: wrap(handler)}
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

// semaphore is what to compare with: slots, and a bound on those that wait.
func semaphore(slots, waiting int) func(http.Handler) http.Handler {
	inside, running := make(chan struct{}, slots+waiting), make(chan struct{}, slots)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case inside <- struct{}{}:
				defer func() { <-inside }()
			default:
				http.Error(w, "too many requests wait", http.StatusServiceUnavailable)
				return
			}
			running <- struct{}{}
			defer func() { <-running }()
			next.ServeHTTP(w, r)
		})
	}
}
