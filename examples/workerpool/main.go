// Workerpool runs jobs that come over HTTP on a fixed pool of workers. With
// -fair=false the pool is fed by a buffered channel, as pools often are: then
// one tenant's flood delays everybody. With -fair, the default, a drr.Scheduler
// takes the channel's place.
//
//	go run ./examples/workerpool &
//	curl -H 'Tenant: a' 'http://127.0.0.1:8081/'
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
)

// A job takes a worker for a while.
type job struct {
	work time.Duration
	done chan struct{}
}

// A pool is between the handlers and the workers.
type pool interface {
	submit(tenant string, j *job) error
	next(ctx context.Context) (j *job, done func(), err error)
}

// fair is the pool this example is about.
type fair struct{ *drr.Scheduler[*job] }

func (p fair) submit(tenant string, j *job) error { return p.Submit(tenant, 1, j) }

func (p fair) next(ctx context.Context) (*job, func(), error) {
	next, err := p.Next(ctx)
	// The cost, in milliseconds of a worker, isn't known before: it is settled.
	return next.Value, func() { next.Done(next.Value.work.Milliseconds()) }, err
}

// channel is the pool to compare with.
type channel chan *job

func (c channel) submit(_ string, j *job) error {
	select {
	case c <- j:
		return nil
	default:
		return errors.New("the queue is full")
	}
}

func (c channel) next(ctx context.Context) (*job, func(), error) {
	select {
	case j := <-c:
		return j, func() {}, nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8081", "`address` to listen on")
	workers := flag.Int("workers", 8, "`number` of workers")
	work := flag.Duration("work", 10*time.Millisecond, "how long a job takes")
	useFair := flag.Bool("fair", true, "share the workers fairly among tenants")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	var p pool = make(channel, 1000)
	if *useFair {
		s, err := drr.NewScheduler(drr.SchedulerConfig[*job]{Limits: drr.Limits{
			Config: drr.Config{Quantum: 10, MaxDepth: 1000, MaxTenantDepth: 200},
		}})
		if err != nil {
			log.Fatal(err)
		}
		p = fair{s}
	}
	for range *workers {
		go func() {
			for {
				j, done, err := p.next(ctx)
				if err != nil {
					return
				}
				time.Sleep(j.work)
				close(j.done)
				done()
			}
		}()
	}
	server := &http.Server{Addr: *addr, ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		j := &job{*work, make(chan struct{})}
		if err := p.submit(r.Header.Get("Tenant"), j); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		<-j.done
		fmt.Fprintln(w, "done")
	})}
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}
