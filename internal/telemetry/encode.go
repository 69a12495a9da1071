package telemetry

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/millhand/millhand/report"
)

// maxSpans is the maximum number of spans in one request, as in the official SDKs.
const maxSpans = 512

const (
	scopeName = "github.com/millhand/millhand"
	schemaURL = "https://opentelemetry.io/schemas/1.41.0" // of the semantic conventions
)

// source describes what has produced the telemetry of a run.
type source struct {
	run      string // id
	version  string // of millhand
	resource attributes
	parent   caller
}

// res returns the resource. The configured attributes override those of millhand.
func (s source) res() resource {
	var a attributes
	for _, of := range []struct{ key, text string }{{"service.name", "millhand"}, {"service.version", s.version}, {"service.instance.id", s.run}} {
		if !s.resource.has(of.key) {
			a = a.text(of.key, of.text)
		}
	}
	return resource{append(a, s.resource...)}
}

// traces returns spans as requests.
func (s source) traces(spans []span) []tracesData {
	var all []tracesData
	for some := range slices.Chunk(spans, maxSpans) {
		all = append(all, tracesData{[]resourceSpans{{
			Resource: s.res(), SchemaURL: schemaURL,
			ScopeSpans: []scopeSpans{{Scope: scope{scopeName, s.version}, SchemaURL: schemaURL, Spans: some}},
		}}})
	}
	return all
}

func (s source) metrics(metrics []metric) metricsData {
	return metricsData{[]resourceMetrics{{
		Resource: s.res(), SchemaURL: schemaURL,
		ScopeMetrics: []scopeMetrics{{Scope: scope{scopeName, s.version}, SchemaURL: schemaURL, Metrics: metrics}},
	}}}
}

// Write writes the spans and metrics of a run as lines of JSON, each a request of OTLP.
func Write(w io.Writer, r *report.Report) error {
	s := source{run: r.Run.ID, version: r.Run.Version}
	spans := []span{runSpan(r, s.parent)}
	for i := range r.Jobs {
		spans = append(spans, jobSpans(s.run, s.parent, &r.Jobs[i])...)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, t := range s.traces(spans) {
		if err := enc.Encode(t); err != nil {
			return fmt.Errorf("write spans: %w", err)
		}
	}
	if err := enc.Encode(s.metrics(metricsOf(r))); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}
