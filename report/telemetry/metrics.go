package telemetry

import (
	"context"
	"errors"
	"slices"
	"sort"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

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

// gauges has the instruments of a run.
type gauges struct {
	jobs, calls              metric.Int64Counter
	cost                     metric.Float64Counter
	duration, tokens, client metric.Float64Histogram
	costs                    map[attribute.Distinct]*taskCost // before they are rounded
}

type taskCost struct {
	of  attribute.Set
	usd money.USD
}

func newGauges(m metric.Meter) (*gauges, error) {
	g := &gauges{costs: map[attribute.Distinct]*taskCost{}}
	var errs [6]error
	g.jobs, errs[0] = m.Int64Counter("millhand.jobs", metric.WithDescription("Jobs that ended, or were not started."), metric.WithUnit("{job}"))
	g.calls, errs[1] = m.Int64Counter("millhand.tool.calls", metric.WithDescription("Tool calls."), metric.WithUnit("{call}"))
	g.cost, errs[2] = m.Float64Counter("millhand.cost", metric.WithDescription("Cost of the jobs whose cost is known."), metric.WithUnit("{USD}"))
	g.duration, errs[3] = m.Float64Histogram("millhand.job.duration", metric.WithDescription("Duration of jobs."), metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(jobBounds...))
	g.tokens, errs[4] = m.Float64Histogram("gen_ai.client.token.usage", metric.WithDescription("Number of input and output tokens used."), metric.WithUnit("{token}"), metric.WithExplicitBucketBoundaries(tokenBounds...))
	g.client, errs[5] = m.Float64Histogram("gen_ai.client.operation.duration", metric.WithDescription("GenAI operation duration."), metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(secondBounds...))
	return g, errors.Join(errs[:]...)
}

// collect returns the metrics of a run: sums over all of its processes, so that those of a
// run that is resumed continue the earlier ones. Their attributes have few values: neither
// repositories nor jobs.
func (s source) collect(ctx context.Context, r *report.Report, options ...sdkmetric.ManualReaderOption) (*metricdata.ResourceMetrics, error) {
	res, err := s.res(ctx)
	if err != nil {
		return nil, err
	}
	reader := sdkmetric.NewManualReader(options...)
	p := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(res), sdkmetric.WithCardinalityLimit(0))
	g, err := newGauges(p.Meter(scopeName, metric.WithInstrumentationVersion(s.version), metric.WithSchemaURL(schemaURL)))
	if err != nil {
		return nil, err
	}
	for i := range r.Jobs {
		j, err := r.Jobs[i].Complete()
		if err != nil {
			return nil, errors.Join(err, p.Shutdown(ctx))
		}
		g.takeJob(ctx, j)
	}
	for _, c := range g.costs {
		g.cost.Add(ctx, c.usd.Dollars(), metric.WithAttributeSet(c.of))
	}
	out := &metricdata.ResourceMetrics{}
	if err := reader.Collect(ctx, out); err != nil {
		return nil, err
	}
	setTimes(out, time.Unix(0, nanos(r.Run.StartedAt.Time)), time.Unix(0, nanos(r.Run.FinishedAt.Time)))
	return out, p.Shutdown(ctx)
}

// set returns attributes of metrics.
func (a attributes) set() metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(a...))
}

func (g *gauges) takeJob(ctx context.Context, j *report.Job) {
	of := slices.Clip(attributes{}.text(taskName, j.Task).text(outcome, string(j.Outcome)))
	g.jobs.Add(ctx, 1, of.text(reasonCode, string(j.ReasonCode)).set())
	if j.CostUSD != nil {
		model := attribute.NewSet(modelNames(of, j.Model, "")...)
		c, ok := g.costs[model.Equivalent()]
		if !ok {
			c = &taskCost{of: model}
			g.costs[model.Equivalent()] = c
		}
		c.usd = c.usd.Add(*j.CostUSD)
	}
	if !j.StartedAt.IsZero() {
		g.duration.Record(ctx, float64(j.ElapsedMS)/1000, of.set())
	}
	g.takeTurns(ctx, j)
	for k := range j.Calls {
		c := &j.Calls[k]
		g.calls.Add(ctx, 1, attributes{}.text(toolName, toolOf(c)).text("millhand.call.status", string(c.Status)).set())
	}
}

// takeTurns adds the model calls of a job.
func (g *gauges) takeTurns(ctx context.Context, j *report.Job) {
	for _, s := range j.Sessions {
		for _, c := range s.TurnCosts {
			of := slices.Clip(modelNames(attributes{}.text(operation, "chat"), c.Model, c.Served))
			if c.Usage != (money.Usage{}) {
				g.tokens.Record(ctx, float64(c.Usage.Input), of.text("gen_ai.token.type", "input").set())
				g.tokens.Record(ctx, float64(c.Usage.Output), of.text("gen_ai.token.type", "output").set())
			}
			if c.Error != "" {
				of = of.text(errorType, "_OTHER")
			}
			g.client.Record(ctx, float64(c.ElapsedMS)/1000, of.set())
		}
	}
}

// setTimes replaces the times of recording by those of the run, and sorts the points, whose
// order is random.
func setTimes(all *metricdata.ResourceMetrics, start, end time.Time) {
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				each(data.DataPoints, func(p *metricdata.DataPoint[int64]) *attribute.Set {
					p.StartTime, p.Time = start, end
					return &p.Attributes
				})
			case metricdata.Sum[float64]:
				each(data.DataPoints, func(p *metricdata.DataPoint[float64]) *attribute.Set {
					p.StartTime, p.Time = start, end
					return &p.Attributes
				})
			case metricdata.Histogram[float64]:
				each(data.DataPoints, func(p *metricdata.HistogramDataPoint[float64]) *attribute.Set {
					p.StartTime, p.Time = start, end
					return &p.Attributes
				})
			case metricdata.ExponentialHistogram[float64]:
				each(data.DataPoints, func(p *metricdata.ExponentialHistogramDataPoint[float64]) *attribute.Set {
					p.StartTime, p.Time = start, end
					return &p.Attributes
				})
			}
		}
	}
}

// each calls visit for each point, and sorts the points by the attributes that it returns.
func each[P any](points []P, visit func(*P) *attribute.Set) {
	order := attribute.DefaultEncoder()
	sort.Slice(points, func(i, j int) bool {
		return visit(&points[i]).Encoded(order) < visit(&points[j]).Encoded(order)
	})
	for i := range points {
		visit(&points[i])
	}
}
