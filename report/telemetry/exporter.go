package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/report"
)

// Options are those of an [Exporter].
type Options struct {
	Config  *Config
	Run     string // id
	Version string // of millhand
	Proxy   func(*http.Request) (*url.URL, error)

	// Fold has the jobs, and gets each event before the exporter.
	Fold *report.Fold

	// Patience limits the wait for the endpoints at the end of the run.
	Patience time.Duration
}

// maxQueue is the maximum number of jobs that have ended and were not sent.
const maxQueue = 4096

// Exporter sends the telemetry of a run: the spans of a job after it has ended, the span of
// the run and the metrics after the run. It never delays the run: jobs wait in a queue, and
// what does not fit in it is lost. It is an [event.Sink] after the fold that has the jobs.
// The nil Exporter sends nothing.
type Exporter struct {
	Options
	source source
	queue  chan string   // ids of jobs that have ended
	ended  chan struct{} // closed at the end of the run
	last   *report.Report
	cancel context.CancelCauseFunc
	done   sync.WaitGroup

	lost int // jobs that were not queued; guarded by the stream

	mu      sync.Mutex
	dropped int   // requests
	fault   error // the first
}

// New returns an exporter, which is finished by Finish; nil without a configuration. The end
// of the context does not stop it: the spans of jobs that a signal ends are sent.
func New(ctx context.Context, o Options) *Exporter {
	if o.Config == nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	x := &Exporter{
		Options: o, source: source{ids(o.Run), o.Version, o.Config.resource, o.Config.parent},
		queue: make(chan string, maxQueue), ended: make(chan struct{}), cancel: cancel,
	}
	quiet(x.note)
	if o.Config.traces != nil {
		x.done.Go(func() { x.sendSpans(ctx) })
	}
	if o.Config.metrics != nil {
		x.done.Go(func() { x.sendMetrics(ctx) })
	}
	return x
}

// quiet keeps OpenTelemetry from writing to stderr. Its log quotes values of variables, for
// which ReadConfig has warnings; other errors are reported. This
// state is that of the process: OpenTelemetry has no other.
func quiet(report func(error)) {
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if escape := url.EscapeError(""); report != nil && !errors.Is(err, resource.ErrPartialResource) && !errors.As(err, &escape) {
			report(err)
		}
	}))
}

// Emit queues a job that has ended.
func (x *Exporter) Emit(e event.Event) error {
	if x == nil || e.Type != event.JobEnded || x.Config.traces == nil {
		return nil
	}
	select {
	case x.queue <- e.Job:
	default:
		x.lost++
	}
	return nil
}

// Finish sends what is left and the run, and waits until it was sent or the patience is
// exhausted, or the context ends that had not ended before. It returns a warning, "" if
// everything was accepted. No event may follow.
func (x *Exporter) Finish(ctx context.Context) (warning string) {
	if x == nil {
		return ""
	}
	x.last = x.Fold.Report() // of many jobs it needs time
	defer x.cancel(nil)
	defer time.AfterFunc(x.Patience, func() { x.cancel(fmt.Errorf("not finished %v after the run", x.Patience)) }).Stop()
	if ctx.Err() == nil {
		defer context.AfterFunc(ctx, func() { x.cancel(context.Cause(ctx)) })()
	}
	close(x.queue)
	close(x.ended)
	x.done.Wait()
	x.mu.Lock() // the handler of errors stays registered
	defer x.mu.Unlock()
	switch {
	case x.lost > 0:
		return "OpenTelemetry: the spans of " + figures.Count(x.lost, "job") + " were not sent: the queue was full"
	case x.dropped > 0:
		return fmt.Sprintf("OpenTelemetry: %s not accepted: %v", figures.Count(x.dropped, "request"), x.fault)
	case x.fault != nil:
		return "OpenTelemetry: " + x.fault.Error()
	}
	return ""
}

// note keeps the first error.
func (x *Exporter) note(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.fault == nil {
		x.fault = err
	}
}

// result counts a request that was not accepted.
func (x *Exporter) result(err error) {
	if err == nil {
		return
	}
	x.note(err)
	if !errors.Is(err, errPartial) {
		x.mu.Lock()
		x.dropped++
		x.mu.Unlock()
	}
}

func (x *Exporter) senderTo(to *endpoint) *sender {
	return &sender{endpoint: to, next: transport(to, x.Proxy), agent: "millhand/" + x.Version}
}

// guard is an exporter of spans that reports its errors to a function and not to the SDK.
// Its exports end with a context of its own, because that of the SDK never ends.
type guard struct {
	sdktrace.SpanExporter
	export func(context.Context, []sdktrace.ReadOnlySpan)
}

// ExportSpans never fails.
func (g guard) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	g.export(ctx, spans)
	return nil
}

// sendSpans sends the jobs that are queued, until the queue is closed, and then the run.
func (x *Exporter) sendSpans(ctx context.Context) {
	l := x.senderTo(x.Config.traces)
	to, err := l.traces(ctx)
	if err != nil {
		x.result(ended(ctx, err))
		return
	}
	t, err := x.source.newTracer(ctx, guard{to, func(_ context.Context, spans []sdktrace.ReadOnlySpan) {
		x.result(l.send(ctx, x.ended, func(ctx context.Context) error { return to.ExportSpans(ctx, spans) }))
	}})
	if err != nil {
		x.result(ended(ctx, err))
		return
	}
	for id := range x.queue {
		if ctx.Err() != nil {
			x.result(context.Cause(ctx))
		} else if j, ok := x.Fold.Job(id); ok {
			t.emit(ctx, jobSpans(x.Run, &j)...)
			t.ForceFlush(context.WithoutCancel(ctx)) //nolint:errcheck // guard has the errors
		}
	}
	t.emit(ctx, runSpan(x.last))
	if err := t.Shutdown(context.WithoutCancel(ctx)); err != nil { // each request ends with ctx
		x.note(err)
	}
}

// sendMetrics sends the metrics after the end of the run.
func (x *Exporter) sendMetrics(ctx context.Context) {
	<-x.ended
	l := x.senderTo(x.Config.metrics)
	to, err := l.metrics(ctx)
	if err != nil {
		x.result(ended(ctx, err))
		return
	}
	all, err := x.source.collect(ctx, x.last, metric.WithTemporalitySelector(to.Temporality), metric.WithAggregationSelector(to.Aggregation))
	if err == nil {
		err = l.send(ctx, x.ended, func(ctx context.Context) error { return to.Export(ctx, all) })
	}
	x.result(ended(ctx, err))
	if err := to.Shutdown(context.WithoutCancel(ctx)); err != nil {
		x.note(err)
	}
}

// ended returns why the context ended instead of an error that followed from it: the SDK's say only that it has.
func ended(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
