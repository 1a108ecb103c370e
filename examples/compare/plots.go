package main

import (
	"cmp"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/fairlane-go/fairlane/sim"
)

// palette is that of Okabe and Ito, which people with any kind of colour vision
// can tell apart; lines also differ in their dashes.
var palette = []color.NRGBA{
	{R: 0xd5, G: 0x5e, A: 0xff}, // vermilion
	{G: 0x72, B: 0xb2, A: 0xff}, // blue
	{G: 0x9e, B: 0x73, A: 0xff}, // green
	{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff},
	{R: 0xe6, G: 0x9f, A: 0xff},
	{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff},
	{A: 0xff},
}

var dashes = [][]vg.Length{nil, {vg.Points(7), vg.Points(3)}, {vg.Points(2), vg.Points(2)}, {vg.Points(8), vg.Points(3), vg.Points(2), vg.Points(3)}}

// plot draws the pictures of the first seed into the directory and returns the
// files it wrote.
func (o *options) plot(evaluations []*sim.Evaluation) ([]string, error) {
	if err := os.MkdirAll(o.plots, 0o755); err != nil {
		return nil, err
	}
	var runs []*sim.Result
	for _, e := range evaluations {
		if e.Run.Seed == o.seeds[0] {
			runs = append(runs, e.Run)
		}
	}
	floor := o.floor(runs)
	shares := make([]*plot.Plot, len(runs))
	for i, r := range runs {
		var err error
		if shares[i], err = o.sharePlot(r, floor, i == 0); err != nil {
			return nil, err
		}
	}
	waits, err := o.waitPlot(runs)
	if err != nil {
		return nil, err
	}
	var files []string
	for name, plots := range map[string][]*plot.Plot{"shares": shares, "queueing": {waits}} {
		if len(plots) == 1 && plots[0] == nil {
			continue
		}
		written, err := save(filepath.Join(o.plots, o.fileName()+"-"+name), plots)
		files = append(files, written...)
		if err != nil {
			return files, err
		}
	}
	slices.Sort(files)
	return files, nil
}

// fileName is the scenario's name with nothing in it that a path could mind.
func (o *options) fileName() string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_') {
			return r
		}
		return '_'
	}, o.scenario.Name)
}

const binsPerPoint = 4 // a tenant finishes few requests in one bin

// sharePlot draws, for each tenant, what part of the requests finished were its
// own, over time. Of a group it draws a band from the tenth to the ninetieth
// percentile, and the mean.
func (o *options) sharePlot(r *sim.Result, floor float64, legend bool) (*plot.Plot, error) {
	p := newPlot(r.Policy + ": mean of a group, and its middle 80 %")
	p.X.Label.Text = "time (s)"
	p.Y.Label.Text = "share of one tenant (%)"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	points := sim.BinsPerRun / binsPerPoint
	totals := make([]float64, points)
	for _, t := range r.Tenants {
		for b, n := range t.Bins {
			totals[b/binsPerPoint] += float64(n)
		}
	}
	p.Y.Min, p.Y.Max = floor, 100
	p.X.Min, p.X.Max = 0, o.scenario.Duration.Seconds()
	p.Add(window(o.scenario.Window, floor))

	at := 0
	for g, group := range o.scenario.Tenants {
		tenants := r.Tenants[at : at+group.Count]
		at += group.Count
		var mean, low, high plotter.XYs
		for k := range points {
			if totals[k] == 0 {
				continue
			}
			values := make([]float64, len(tenants))
			sum := 0.0
			for i, t := range tenants {
				for _, n := range t.Bins[k*binsPerPoint : (k+1)*binsPerPoint] {
					values[i] += float64(n)
				}
				values[i] *= 100 / totals[k]
				sum += values[i]
			}
			slices.Sort(values)
			x := (float64(k) + 0.5) * binsPerPoint * r.Bin.Seconds()
			mean = append(mean, plotter.XY{X: x, Y: max(floor, sum/float64(len(values)))})
			low = append(low, plotter.XY{X: x, Y: max(floor, values[len(values)/10])})
			high = append(high, plotter.XY{X: x, Y: max(floor, values[len(values)-1-len(values)/10])})
		}
		c := palette[g%len(palette)]
		if len(tenants) > 1 && len(mean) > 0 {
			slices.Reverse(high)
			band, err := plotter.NewPolygon(append(low, high...))
			if err != nil {
				return nil, err
			}
			pale := c
			pale.A = 0x40
			band.Color, band.LineStyle.Width = pale, 0
			p.Add(band)
		}
		if len(mean) == 0 {
			continue
		}
		line, err := newLine(mean, g)
		if err != nil {
			return nil, err
		}
		p.Add(line)
		if legend {
			p.Legend.Add(group.Name, line)
		}
	}
	return p, nil
}

// floor is where the axis of the shares starts, in per cent; nothing served at
// all is drawn there. It is the power of ten at least a factor of three below
// what a tenant of the smallest group gets in the mean.
func (o *options) floor(runs []*sim.Result) float64 {
	least := 100.0
	for _, r := range runs {
		at, total := 0, 0
		of := make([]int, len(o.scenario.Tenants))
		for g, group := range o.scenario.Tenants {
			for _, t := range r.Tenants[at : at+group.Count] {
				of[g] += t.Run.Completed
			}
			at += group.Count
			total += of[g]
		}
		for g, n := range of {
			if n > 0 {
				least = min(least, 100*float64(n)/float64(total)/float64(o.scenario.Tenants[g].Count))
			}
		}
	}
	return math.Pow(10, math.Floor(math.Log10(least/3)))
}

// window shades the time in which results are measured.
func window(w sim.Window, floor float64) *plotter.Polygon {
	from, to := w.From.Seconds(), w.To.Seconds()
	shade, err := plotter.NewPolygon(plotter.XYs{{X: from, Y: floor}, {X: to, Y: floor}, {X: to, Y: 100}, {X: from, Y: 100}})
	if err != nil {
		panic(err) // four finite points
	}
	shade.Color, shade.LineStyle.Width = color.Gray{0xee}, 0
	return shade
}

// waitPlot draws the distribution of the queueing times of tenants within their
// share. It returns nil if no run has any.
func (o *options) waitPlot(runs []*sim.Result) (*plot.Plot, error) {
	p := newPlot("queueing time of tenants within their share")
	p.X.Label.Text = "queueing time (ms)"
	p.Y.Label.Text = "requests that waited no longer (%)"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	const floor = 0.1 // ms
	p.X.Min, p.X.Max = floor, 1
	p.Y.Min, p.Y.Max = 0, 100
	drawn := false
	for i, r := range runs {
		n := len(r.Queueing)
		if n == 0 {
			continue
		}
		drawn = true
		var xys plotter.XYs
		for k := 0; k <= 1000; k++ {
			rank := min(n-1, k*n/1000)
			x := max(floor, float64(r.Queueing[rank])/float64(time.Millisecond))
			xys = append(xys, plotter.XY{X: x, Y: 100 * float64(rank+1) / float64(n)})
		}
		p.X.Max = max(p.X.Max, math.Pow(10, math.Ceil(math.Log10(xys[len(xys)-1].X))))
		line, err := newLine(xys, i)
		if err != nil {
			return nil, err
		}
		p.Add(line)
		p.Legend.Add(r.Policy, line)
	}
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.XOffs, p.Legend.YOffs = vg.Points(8), -vg.Points(8)
	if !drawn {
		return nil, nil
	}
	return p, nil
}

func newLine(xys plotter.XYs, i int) (*plotter.Line, error) {
	line, err := plotter.NewLine(xys)
	if err != nil {
		return nil, err
	}
	line.Width = vg.Points(2)
	line.Color = palette[i%len(palette)]
	line.Dashes = dashes[i%len(dashes)]
	return line, nil
}

func newPlot(title string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	for _, style := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.Legend.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label} {
		style.Font.Size = vg.Points(12)
	}
	p.Legend.XOffs, p.Legend.YOffs = -vg.Points(8), vg.Points(8)
	p.Legend.Padding, p.Legend.ThumbnailWidth = vg.Points(3), vg.Points(36)
	p.Add(plotter.NewGrid())
	return p
}

// save draws the plots side by side, two in a row, as PNG and as SVG.
func save(path string, plots []*plot.Plot) (files []string, err error) {
	columns := min(2, len(plots))
	rows := (len(plots) + columns - 1) / columns
	width, height := vg.Length(columns)*5.5*vg.Inch, vg.Length(rows)*4*vg.Inch
	grid := make([][]*plot.Plot, rows)
	for i := range grid {
		grid[i] = make([]*plot.Plot, columns)
		copy(grid[i], plots[i*columns:min(len(plots), (i+1)*columns)])
	}
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: vg.Points(12), PadY: vg.Points(12), PadTop: vg.Points(8), PadBottom: vg.Points(8), PadLeft: vg.Points(8), PadRight: vg.Points(16)}
	paint := func(c draw.Canvas) {
		for i, row := range plot.Align(grid, tiles, c) {
			for k, canvas := range row {
				if grid[i][k] != nil {
					grid[i][k].Draw(canvas)
				}
			}
		}
	}
	img := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(110))
	paint(draw.New(img))
	svg := vgsvg.New(width, height)
	paint(draw.New(svg))
	for _, out := range []struct {
		path string
		vg.CanvasWriterTo
	}{{path + ".png", vgimg.PngCanvas{Canvas: img}}, {path + ".svg", svg}} {
		f, err := os.Create(out.path)
		if err != nil {
			return files, err
		}
		_, err = out.WriteTo(f)
		if err := cmp.Or(err, f.Close()); err != nil {
			return files, err
		}
		files = append(files, out.path)
	}
	return files, nil
}
