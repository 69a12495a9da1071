package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/millhand/millhand/report"
)

const (
	scopeName = "github.com/millhand/millhand"
	schemaURL = "https://opentelemetry.io/schemas/1.41.0" // of the semantic conventions
)

// source describes what has produced the telemetry of a run.
type source struct {
	run      ids
	version  string // of millhand
	resource attributes
	parent   trace.SpanContext
}

// res returns the resource. The configured attributes override those of millhand.
func (s source) res(ctx context.Context) (*resource.Resource, error) {
	a := attributes{}.text("service.name", "millhand").text("service.version", s.version).text("service.instance.id", string(s.run))
	return resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(append(a, s.resource...)...))
}

// tracer makes the spans of a run.
type tracer struct {
	*sdktrace.TracerProvider
	trace.Tracer
	parent trace.SpanContext // of the span of the run
	run    trace.SpanContext
}

// newTracer returns a tracer whose spans go to an exporter. Its queue blocks: the goroutine of
// the exporter waits, and the run does not.
func (s source) newTracer(ctx context.Context, to sdktrace.SpanExporter, more ...sdktrace.TracerProviderOption) (*tracer, error) {
	res, err := s.res(ctx)
	if err != nil {
		return nil, err
	}
	p := sdktrace.NewTracerProvider(append([]sdktrace.TracerProviderOption{
		sdktrace.WithResource(res), sdktrace.WithIDGenerator(s.run),
		sdktrace.WithBatcher(to, sdktrace.WithBlocking(), sdktrace.WithExportTimeout(0), sdktrace.WithBatchTimeout(time.Hour)),
	}, more...)...)
	t := &tracer{TracerProvider: p, Tracer: p.Tracer(scopeName, trace.WithInstrumentationVersion(s.version), trace.WithSchemaURL(schemaURL)), parent: s.parent}
	// Whether the run is sampled decides for all spans, and that of the run comes last.
	t.run = t.start(ctx, span{id: s.run.span("run"), name: runName}).SpanContext()
	return t, nil
}

func (t *tracer) start(ctx context.Context, s span) trace.Span {
	above := t.parent
	if s.parent.IsValid() {
		above = t.run.WithSpanID(s.parent)
	}
	ctx = context.WithValue(trace.ContextWithSpanContext(ctx, above), idKey{}, s.id)
	_, started := t.Start(ctx, s.name, trace.WithSpanKind(s.kind), trace.WithTimestamp(time.Unix(0, s.start)), trace.WithAttributes(s.attributes...))
	return started
}

// emit queues spans.
func (t *tracer) emit(ctx context.Context, spans ...span) {
	for _, s := range spans {
		started := t.start(ctx, s)
		if s.failed {
			started.SetStatus(codes.Error, s.message)
		}
		started.End(trace.WithTimestamp(time.Unix(0, s.end)))
	}
}

// writer is a transport that writes the bodies of requests as lines.
type writer struct{ io.Writer }

// RoundTrip responds as a server that accepts a request.
func (w writer) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer
	if err := json.Compact(&line, body); err != nil { // spaces of protojson differ between binaries
		return nil, err
	}
	line.WriteByte('\n')
	if _, err := w.Write(line.Bytes()); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// Write writes the spans and metrics of a run as lines of JSON, each a request of OTLP.
func Write(w io.Writer, r *report.Report) error {
	quiet(nil)
	ctx := context.Background() // nothing waits but the writer
	s := source{run: ids(r.Run.ID), version: r.Run.Version}
	l := &sender{endpoint: &endpoint{protocol: overJSON, address: "localhost", insecure: true, path: "/"}, next: writer{w}}
	spans, err := l.traces(ctx)
	if err != nil {
		return fmt.Errorf("write spans: %w", err)
	}
	var failed error
	t, err := s.newTracer(ctx, guard{spans, func(ctx context.Context, some []sdktrace.ReadOnlySpan) {
		failed = errors.Join(failed, spans.ExportSpans(ctx, some))
	}}, sdktrace.WithSampler(sdktrace.AlwaysSample()))
	if err != nil {
		return fmt.Errorf("write spans: %w", err)
	}
	t.emit(ctx, runSpan(r))
	for i := range r.Jobs {
		j, err := r.Jobs[i].Complete()
		if err != nil {
			failed = errors.Join(failed, err)
			break
		}
		t.emit(ctx, jobSpans(r.Run.ID, j)...)
	}
	if err := errors.Join(t.Shutdown(ctx), failed); err != nil {
		return fmt.Errorf("write spans: %w", err)
	}
	metrics, err := l.metrics(ctx)
	if err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	all, err := s.collect(ctx, r)
	if err == nil {
		err = metrics.Export(ctx, all)
	}
	if err = errors.Join(err, metrics.Shutdown(ctx)); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}
