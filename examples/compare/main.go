// Compare sends one workload through several ways of sharing a pool of workers
// and prints, side by side, who got what: the scenario of the published
// four-policy comparison, another that ships with package sim, or one of your
// own.
//
//	go run ./examples/compare
//	go run ./examples/compare -scenario tiers -format markdown
//	go run ./examples/compare -scenario mine.json -policies fifo,drr -plot out
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/fairlane-go/fairlane/sim"
)

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// options are the command line's.
type options struct {
	scenario *sim.Scenario
	seeds    []uint64
	policies []string
	format   string
	plots    string
}

func run(args []string, out, errs io.Writer) error {
	o, err := parse(args, errs)
	if err != nil {
		return err
	}
	evaluations, err := o.evaluate(progress(errs))
	if err != nil {
		return err
	}
	var b bytes.Buffer // all or nothing
	if err := o.print(&b, evaluations); err != nil {
		return err
	}
	if _, err := b.WriteTo(out); err != nil {
		return err
	}
	if o.plots == "" {
		return nil
	}
	files, err := o.plot(evaluations)
	for _, f := range files {
		fmt.Fprintln(errs, "wrote", f)
	}
	return err
}

func parse(args []string, errs io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(errs)
	scenario := flags.String("scenario", "four-policies", "a scenario's `name` ("+strings.Join(sim.Names(), ", ")+") or file")
	seeds := flags.String("seeds", "", "random `seeds`, as in 1,2,3 (default: the scenario's)")
	policies := flags.String("policies", "", "`policies` to run, as in fifo,drr (default: all that the scenario has)")
	flags.StringVar(&o.format, "format", "table", "`format` of the output: table, markdown, json or csv")
	flags.StringVar(&o.plots, "plot", "", "also draw pictures, as PNG and SVG, into this `directory`")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q is not a flag; see -help", flags.Arg(0))
	}
	if !slices.Contains([]string{"table", "markdown", "json", "csv"}, o.format) {
		return nil, fmt.Errorf("-format is %q, want table, markdown, json or csv", o.format)
	}
	var err error
	if o.scenario, err = load(*scenario); err != nil {
		return nil, err
	}
	o.seeds = o.scenario.Seeds
	if *seeds != "" {
		o.seeds = nil
		for _, s := range strings.Split(*seeds, ",") {
			seed, err := strconv.ParseUint(strings.TrimSpace(s), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("-seeds has %q, want whole numbers from 0 to 2^64-1", s)
			}
			o.seeds = append(o.seeds, seed)
		}
	}
	o.policies = o.scenario.PolicyNames()
	if *policies != "" {
		o.policies = nil
		for _, p := range strings.Split(*policies, ",") {
			p = strings.TrimSpace(p)
			if !slices.Contains(o.scenario.PolicyNames(), p) {
				return nil, fmt.Errorf("-policies has %q, want some of %s", p, strings.Join(o.scenario.PolicyNames(), ", "))
			}
			o.policies = append(o.policies, p)
		}
	}
	return o, nil
}

// load returns the built-in scenario of that name, or else reads the file.
func load(name string) (*sim.Scenario, error) {
	if slices.Contains(sim.Names(), name) {
		return sim.Builtin(name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("-scenario is %q, neither a file (%w) nor one of %s", name, err, strings.Join(sim.Names(), ", "))
	}
	defer f.Close()
	sc, err := sim.Load(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return sc, nil
}

// evaluate runs each policy with each seed, two at a time, and returns the
// results in that order.
func (o *options) evaluate(done func(of int)) ([]*sim.Evaluation, error) {
	type task struct {
		policy string
		seed   uint64
	}
	var tasks []task
	for _, policy := range o.policies {
		for _, seed := range o.seeds {
			tasks = append(tasks, task{policy, seed})
		}
	}
	results := make([]*sim.Evaluation, len(tasks))
	failures := make([]error, len(tasks))
	todo := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range 2 {
		wg.Go(func() {
			for i := range todo {
				results[i], failures[i] = sim.Evaluate(o.scenario, tasks[i].policy, tasks[i].seed)
				mu.Lock()
				done(len(tasks))
				mu.Unlock()
			}
		})
	}
	for i := range tasks {
		todo <- i
	}
	close(todo)
	wg.Wait()
	return results, errors.Join(failures...)
}

// progress returns what to call after each run: it draws a bar if w is a
// terminal, and nothing otherwise.
func progress(w io.Writer) func(of int) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return func(int) {}
	}
	var bar *progressbar.ProgressBar
	return func(of int) {
		if bar == nil {
			bar = progressbar.NewOptions(of, progressbar.OptionSetWriter(w), progressbar.OptionClearOnFinish(),
				progressbar.OptionSetDescription("simulating"), progressbar.OptionShowCount())
		}
		bar.Add(1) // drawn or not, the results are the same
	}
}
