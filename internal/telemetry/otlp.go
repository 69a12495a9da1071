package telemetry

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/printable"
)

// The JSON form of OTLP: ids are hexadecimal, 64-bit integers are strings, enums numbers.

type tracesData struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   resource     `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
	SchemaURL  string       `json:"schemaUrl"`
}

type scopeSpans struct {
	Scope     scope  `json:"scope"`
	Spans     []span `json:"spans"`
	SchemaURL string `json:"schemaUrl"`
}

type metricsData struct {
	ResourceMetrics []resourceMetrics `json:"resourceMetrics"`
}

type resourceMetrics struct {
	Resource     resource       `json:"resource"`
	ScopeMetrics []scopeMetrics `json:"scopeMetrics"`
	SchemaURL    string         `json:"schemaUrl"`
}

type scopeMetrics struct {
	Scope     scope    `json:"scope"`
	Metrics   []metric `json:"metrics"`
	SchemaURL string   `json:"schemaUrl"`
}

type resource struct {
	Attributes attributes `json:"attributes"`
}

type scope struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// Kinds of spans.
const (
	internalKind = 1
	clientKind   = 3
)

type span struct {
	TraceID      string     `json:"traceId"`
	SpanID       string     `json:"spanId"`
	ParentSpanID string     `json:"parentSpanId,omitempty"`
	Flags        uint32     `json:"flags,omitempty"`
	Name         string     `json:"name"`
	Kind         int        `json:"kind"`
	Start        int64      `json:"startTimeUnixNano,string"`
	End          int64      `json:"endTimeUnixNano,string"`
	Attributes   attributes `json:"attributes,omitempty"`
	Status       *status    `json:"status,omitempty"`
}

// failed is the code of a status.
const failed = 2

type status struct {
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
}

type metric struct {
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Unit        string     `json:"unit"`
	Sum         *sum       `json:"sum,omitempty"`
	Histogram   *histogram `json:"histogram,omitempty"`
}

// cumulative is an aggregation temporality: from the start of the run.
const cumulative = 2

type sum struct {
	Points      []*number `json:"dataPoints"`
	Temporality int       `json:"aggregationTemporality"`
	Monotonic   bool      `json:"isMonotonic"`
}

type number struct {
	Attributes attributes `json:"attributes,omitempty"`
	Start      int64      `json:"startTimeUnixNano,string"`
	Time       int64      `json:"timeUnixNano,string"`
	Double     *float64   `json:"asDouble,omitempty"`
	Int        *int64     `json:"asInt,omitempty,string"`

	usd money.USD // exact value of Double
}

type histogram struct {
	Points      []*buckets `json:"dataPoints"`
	Temporality int        `json:"aggregationTemporality"`
}

type buckets struct {
	Attributes attributes `json:"attributes,omitempty"`
	Start      int64      `json:"startTimeUnixNano,string"`
	Time       int64      `json:"timeUnixNano,string"`
	Count      uint64     `json:"count,string"`
	Sum        float64    `json:"sum"`
	Min        float64    `json:"min"`
	Max        float64    `json:"max"`
	Counts     []count    `json:"bucketCounts"`
	Bounds     []float64  `json:"explicitBounds"`
}

// count is a 64-bit integer in a list.
type count uint64

// MarshalJSON never fails.
func (c count) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatUint(uint64(c), 10)), nil
}

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

type value struct {
	String *string  `json:"stringValue,omitempty"`
	Bool   *bool    `json:"boolValue,omitempty"`
	Int    *int64   `json:"intValue,omitempty,string"`
	Double *float64 `json:"doubleValue,omitempty"`
	Array  *array   `json:"arrayValue,omitempty"`
}

type array struct {
	Values []value `json:"values"`
}

// attributes are built by its methods, which return the extended list.
type attributes []attribute

// maxText is the maximum length of a text, in characters: names of tools are a model's.
const maxText = 256

// text adds a text as one printable line, unless it is empty.
func (a attributes) text(key, s string) attributes {
	if s = printable.Line(s, maxText); s == "" {
		return a
	}
	return append(a, attribute{key, value{String: &s}})
}

func (a attributes) texts(key, s string) attributes {
	if s = printable.Line(s, maxText); s == "" {
		return a
	}
	return append(a, attribute{key, value{Array: &array{[]value{{String: &s}}}}})
}

func (a attributes) int(key string, n int64) attributes {
	return append(a, attribute{key, value{Int: &n}})
}

// some adds a number unless it is 0.
func (a attributes) some(key string, n int64) attributes {
	if n == 0 {
		return a
	}
	return a.int(key, n)
}

func (a attributes) double(key string, f float64) attributes {
	return append(a, attribute{key, value{Double: &f}})
}

func (a attributes) bool(key string, b bool) attributes {
	return append(a, attribute{key, value{Bool: &b}})
}

// replace sets an attribute to a text, removing earlier ones with the key.
func (a attributes) replace(key, s string) attributes {
	return slices.DeleteFunc(a, func(b attribute) bool { return b.Key == key }).text(key, s)
}

func (a attributes) has(key string) bool {
	return slices.ContainsFunc(a, func(b attribute) bool { return b.Key == key })
}

// key identifies a list of attributes.
func (a attributes) key() string {
	text, err := json.Marshal(a)
	if err != nil {
		return "" // unreachable: all values can be encoded
	}
	return string(text)
}

// nanos is a time in OTLP; 0 if it is unknown.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(0, t.UnixNano())
}
