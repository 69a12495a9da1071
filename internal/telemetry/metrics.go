package telemetry

import (
	"slices"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/report"
)

// tokenBounds and secondBounds are the bounds of the GenAI conventions, jobBounds in
// seconds, too.
var (
	tokenBounds  = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	secondBounds = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	jobBounds    = []float64{1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400}
)

// gauges has the metrics of a run, from its start to its last event.
type gauges struct {
	start, end  int64
	all         []*metric
	points      map[string]*number
	populations map[string]*buckets
}

// metricsOf returns the metrics of a run: sums over all of its processes, so that those of a
// run that is resumed continue the earlier ones. Their attributes have few values: neither
// repositories nor jobs.
func metricsOf(r *report.Report) []metric {
	g := &gauges{start: nanos(r.Run.StartedAt.Time), end: nanos(r.Run.FinishedAt.Time), points: map[string]*number{}, populations: map[string]*buckets{}}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		of := slices.Clip(attributes{}.text(taskName, j.Task).text(outcome, string(j.Outcome)))
		g.add("millhand.jobs", "Jobs that ended, or were not started.", "{job}", 1, of.text(reasonCode, string(j.ReasonCode)))
		if j.CostUSD != nil {
			g.addUSD("millhand.cost", "Cost of the jobs whose cost is known.", *j.CostUSD, modelNames(of, j.Model, ""))
		}
		if !j.StartedAt.IsZero() {
			g.record("millhand.job.duration", "Duration of jobs.", "s", jobBounds, float64(j.ElapsedMS)/1000, of)
		}
		g.takeTurns(j)
		for k := range j.Calls {
			c := &j.Calls[k]
			g.add("millhand.tool.calls", "Tool calls.", "{call}", 1, attributes{}.text(toolName, toolOf(c)).text("millhand.call.status", string(c.Status)))
		}
	}
	out := make([]metric, 0, len(g.all))
	for _, m := range g.all {
		out = append(out, *m)
	}
	return out
}

// takeTurns adds the model calls of a job.
func (g *gauges) takeTurns(j *report.Job) {
	for _, s := range j.Sessions {
		for _, c := range s.TurnCosts {
			of := slices.Clip(modelNames(attributes{}.text(operation, "chat"), c.Model, c.Served))
			if c.Usage != (money.Usage{}) {
				const name, about = "gen_ai.client.token.usage", "Number of input and output tokens used."
				g.record(name, about, "{token}", tokenBounds, float64(c.Usage.Input), of.text("gen_ai.token.type", "input"))
				g.record(name, about, "{token}", tokenBounds, float64(c.Usage.Output), of.text("gen_ai.token.type", "output"))
			}
			if c.Error != "" {
				of = of.text(errorType, "_OTHER")
			}
			g.record("gen_ai.client.operation.duration", "GenAI operation duration.", "s", secondBounds, float64(c.ElapsedMS)/1000, of)
		}
	}
}

// metric returns the metric with a name, and adds it if it is new.
func (g *gauges) metric(name, about, unit string) *metric {
	for _, m := range g.all {
		if m.Name == name {
			return m
		}
	}
	m := &metric{Name: name, Description: about, Unit: unit}
	g.all = append(g.all, m)
	return m
}

// point returns the point of a sum with some attributes.
func (g *gauges) point(name, about, unit string, of attributes) *number {
	key := name + of.key()
	p, ok := g.points[key]
	if !ok {
		p = &number{Attributes: of, Start: g.start, Time: g.end}
		g.points[key] = p
		m := g.metric(name, about, unit)
		if m.Sum == nil {
			m.Sum = &sum{Temporality: cumulative, Monotonic: true}
		}
		m.Sum.Points = append(m.Sum.Points, p)
	}
	return p
}

// add adds to a sum of integers.
func (g *gauges) add(name, about, unit string, n int64, of attributes) {
	p := g.point(name, about, unit, of)
	if p.Int == nil {
		p.Int = new(int64)
	}
	*p.Int += n
}

// addUSD adds to a sum of money.
func (g *gauges) addUSD(name, about string, usd money.USD, of attributes) {
	p := g.point(name, about, "{USD}", of)
	p.usd = p.usd.Add(usd)
	p.Double = new(p.usd.Dollars())
}

// record adds a value to a histogram.
func (g *gauges) record(name, about, unit string, bounds []float64, x float64, of attributes) {
	key := name + of.key()
	b, ok := g.populations[key]
	if !ok {
		b = &buckets{Attributes: of, Start: g.start, Time: g.end, Min: x, Max: x, Bounds: bounds, Counts: make([]count, len(bounds)+1)}
		g.populations[key] = b
		m := g.metric(name, about, unit)
		if m.Histogram == nil {
			m.Histogram = &histogram{Temporality: cumulative}
		}
		m.Histogram.Points = append(m.Histogram.Points, b)
	}
	at, _ := slices.BinarySearch(bounds, x) // a bound belongs to the bucket below it
	b.Counts[at]++
	b.Count++
	b.Sum += x
	b.Min, b.Max = min(b.Min, x), max(b.Max, x)
}
