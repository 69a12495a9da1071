// Package telemetrytest is a loopback collector of OpenTelemetry for tests. It decodes requests
// with the official protobuf types, which reject unknown fields and values of other types.
package telemetrytest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Collector is an [http.Handler] that keeps what it receives. It is safe for concurrent use.
type Collector struct {
	// Status returns the status of a response, for the numbers of the request, from 1; nil
	// accepts all.
	Status func(n int, r *http.Request) int

	mu       sync.Mutex
	requests int
	headers  []http.Header
	spans    []*trace.ResourceSpans
	metrics  []*metrics.ResourceMetrics
	errs     []error
}

// ServeHTTP decodes a request.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.requests++
	n := c.requests
	c.headers = append(c.headers, r.Header.Clone())
	c.mu.Unlock()
	if c.Status != nil {
		if status := c.Status(n, r); status != http.StatusOK {
			w.WriteHeader(status)
			return
		}
	}
	if err := c.take(r); err != nil {
		c.mu.Lock()
		c.errs = append(c.errs, err)
		c.mu.Unlock()
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
	if r.Header.Get("Content-Type") == jsonType {
		fmt.Fprint(w, "{}")
	}
}

// Types of requests.
const (
	jsonType     = "application/json"
	protobufType = "application/x-protobuf"
)

func (c *Collector) take(r *http.Request) error {
	got := r.Header.Get("Content-Type")
	if r.Method != http.MethodPost || got != jsonType && got != protobufType {
		return fmt.Errorf("%s of %q", r.Method, got)
	}
	var in io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return fmt.Errorf("uncompress: %w", err)
		}
		in = z
	}
	body, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	switch {
	case r.URL.Path != "/v1/traces" && r.URL.Path != "/v1/metrics":
		return fmt.Errorf("unknown path %s", r.URL.Path)
	case got == jsonType:
		return c.Take(body)
	case r.URL.Path == "/v1/traces":
		var spans trace.TracesData
		if err := proto.Unmarshal(body, &spans); err != nil {
			return fmt.Errorf("decode spans: %w", err)
		}
		c.add(spans.ResourceSpans, nil)
	default:
		var all metrics.MetricsData
		if err := proto.Unmarshal(body, &all); err != nil {
			return fmt.Errorf("decode metrics: %w", err)
		}
		c.add(nil, all.ResourceMetrics)
	}
	return nil
}

func (c *Collector) add(spans []*trace.ResourceSpans, all []*metrics.ResourceMetrics) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spans, c.metrics = append(c.spans, spans...), append(c.metrics, all...)
}

// Take decodes a request of either signal.
func (c *Collector) Take(body []byte) error {
	text, err := withBase64(body)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(text, []byte(`{"resourceMetrics"`)) {
		var got metrics.MetricsData
		if err := protojson.Unmarshal(text, &got); err != nil {
			return fmt.Errorf("decode metrics: %w", err)
		}
		c.add(nil, got.ResourceMetrics)
		return nil
	}
	var got trace.TracesData
	if err := protojson.Unmarshal(text, &got); err != nil {
		return fmt.Errorf("decode spans: %w", err)
	}
	c.add(got.ResourceSpans, nil)
	return nil
}

// withBase64 converts the ids of spans from OTLP's hexadecimal to protobuf's own form.
func withBase64(body []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("decode a request: %w", err)
	}
	if err := convertIDs(doc); err != nil {
		return nil, err
	}
	return json.Marshal(doc)
}

func convertIDs(doc any) error {
	switch at := doc.(type) {
	case []any:
		for _, e := range at {
			if err := convertIDs(e); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, e := range at {
			if size := map[string]int{"traceId": 16, "spanId": 8, "parentSpanId": 8}[key]; size > 0 {
				text, _ := e.(string)
				id, err := hex.DecodeString(text)
				if err != nil || len(id) != size {
					return fmt.Errorf("invalid %s %q", key, text)
				}
				at[key] = base64.StdEncoding.EncodeToString(id)
			} else if err := convertIDs(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// Requests returns the number of requests, also of those that were not accepted.
func (c *Collector) Requests() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests
}

// Headers returns the headers of the requests.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]http.Header{}, c.headers...)
}

// Err returns the first error of decoding.
func (c *Collector) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.errs) > 0 {
		return c.errs[0]
	}
	return nil
}

// ResourceSpans returns the accepted spans with their resources.
func (c *Collector) ResourceSpans() []*trace.ResourceSpans {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*trace.ResourceSpans{}, c.spans...)
}

// ResourceMetrics returns the accepted metrics with their resources.
func (c *Collector) ResourceMetrics() []*metrics.ResourceMetrics {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*metrics.ResourceMetrics{}, c.metrics...)
}
