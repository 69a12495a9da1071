package telemetrytest

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Spans returns the accepted spans, each id once.
func (c *Collector) Spans() []*trace.Span {
	var all []*trace.Span
	seen := map[string]bool{}
	for _, r := range c.ResourceSpans() {
		for _, scope := range r.ScopeSpans {
			for _, s := range scope.Spans {
				if !seen[string(s.SpanId)] {
					seen[string(s.SpanId)] = true
					all = append(all, s)
				}
			}
		}
	}
	return all
}

// Tree returns the spans as lines, indented below their parents and ordered by start and
// name, with some of their attributes. It fails if the spans are not one trace with one
// root, whose parent is the given span ("" for none), or if a span ends before it starts.
func (c *Collector) Tree(parent string, keys ...string) (string, error) {
	below := map[string][]*trace.Span{}
	ids := map[string]bool{}
	spans := c.Spans()
	for _, s := range spans {
		if string(s.TraceId) != string(spans[0].TraceId) {
			return "", errors.New("spans of several traces")
		}
		if s.EndTimeUnixNano < s.StartTimeUnixNano || s.StartTimeUnixNano == 0 {
			return "", fmt.Errorf("span %s: invalid times", s.Name)
		}
		ids[string(s.SpanId)] = true
		below[string(s.ParentSpanId)] = append(below[string(s.ParentSpanId)], s)
	}
	for _, s := range spans {
		if !ids[string(s.ParentSpanId)] && hex.EncodeToString(s.ParentSpanId) != parent {
			return "", fmt.Errorf("span %s: the parent %x does not exist", s.Name, s.ParentSpanId)
		}
	}
	root, err := hex.DecodeString(parent)
	if err != nil || len(below[string(root)]) != 1 {
		return "", fmt.Errorf("%d roots", len(below[string(root)]))
	}
	var out strings.Builder
	var write func(of, indent string)
	write = func(of, indent string) {
		children := below[of]
		slices.SortStableFunc(children, func(a, b *trace.Span) int {
			return cmp.Or(cmp.Compare(a.StartTimeUnixNano, b.StartTimeUnixNano), cmp.Compare(a.Name, b.Name))
		})
		for _, s := range children {
			out.WriteString(indent + s.Name)
			for _, key := range keys {
				if text := Text(s.Attributes, key); text != "" {
					out.WriteString(" " + text)
				}
			}
			if s.GetStatus().GetCode() == trace.Status_STATUS_CODE_ERROR {
				out.WriteString(" ERROR")
			}
			out.WriteString("\n")
			write(string(s.SpanId), indent+"  ")
		}
	}
	write(string(root), "")
	return out.String(), nil
}

// Text returns the value of an attribute as text, "" if it does not exist.
func Text(attributes []*common.KeyValue, key string) string {
	for _, a := range attributes {
		if a.Key != key {
			continue
		}
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			return v.StringValue
		case *common.AnyValue_IntValue:
			return fmt.Sprint(v.IntValue)
		case *common.AnyValue_DoubleValue:
			return fmt.Sprint(v.DoubleValue)
		case *common.AnyValue_BoolValue:
			return fmt.Sprint(v.BoolValue)
		case *common.AnyValue_ArrayValue:
			var all []string
			for _, e := range v.ArrayValue.Values {
				all = append(all, e.GetStringValue())
			}
			return strings.Join(all, ",")
		}
	}
	return ""
}

// Metrics returns the points of the last metrics as lines: name, attributes, and the sum;
// for histograms also the count.
func (c *Collector) Metrics() []string {
	var lines []string
	all := c.ResourceMetrics()
	if len(all) == 0 {
		return nil
	}
	for _, scope := range all[len(all)-1].ScopeMetrics {
		for _, m := range scope.Metrics {
			lines = append(lines, points(m)...)
		}
	}
	slices.Sort(lines)
	return lines
}

func points(m *metrics.Metric) (lines []string) {
	for _, p := range m.GetSum().GetDataPoints() {
		sum := fmt.Sprint(p.GetAsInt())
		if _, ok := p.Value.(*metrics.NumberDataPoint_AsDouble); ok {
			sum = fmt.Sprint(p.GetAsDouble())
		}
		lines = append(lines, m.Name+" "+values(p.Attributes)+" "+sum)
	}
	for _, p := range m.GetHistogram().GetDataPoints() {
		var n uint64
		for _, c := range p.BucketCounts {
			n += c
		}
		if n != p.Count || len(p.BucketCounts) != len(p.ExplicitBounds)+1 {
			lines = append(lines, m.Name+" has invalid buckets")
		}
		sum := ""
		if m.Unit != "s" { // times differ
			sum = fmt.Sprintf(" %v", p.GetSum())
		}
		lines = append(lines, fmt.Sprintf("%s %s %d%s", m.Name, values(p.Attributes), p.Count, sum))
	}
	return lines
}

func values(attributes []*common.KeyValue) string {
	var all []string
	for _, a := range attributes {
		all = append(all, Text([]*common.KeyValue{a}, a.Key))
	}
	return strings.Join(all, " ")
}
