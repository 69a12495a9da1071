package telemetry

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Config is where telemetry is sent, from the variables of the OpenTelemetry specification.
type Config struct {
	traces, metrics *endpoint // nil sends none
	resource        attributes
	parent          caller
}

// endpoint receives one signal.
type endpoint struct {
	url     *url.URL
	header  http.Header
	timeout time.Duration // of a request
	gzip    bool
}

// defaultTimeout is that of the specification.
const defaultTimeout = 10 * time.Second

// reader reads variables, and collects warnings about those that it ignores. Their values
// may have credentials and are not in the warnings.
type reader struct {
	getenv   func(string) string
	warnings []string
}

// ReadConfig returns the configuration, nil if nothing is to be sent, and warnings about
// invalid variables, which are ignored as the specification requires.
func ReadConfig(getenv func(string) string) (*Config, []string) {
	r := &reader{getenv: getenv}
	if strings.EqualFold(r.get("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	c := &Config{traces: r.endpoint("TRACES", "/v1/traces"), metrics: r.endpoint("METRICS", "/v1/metrics")}
	if c.traces == nil && c.metrics == nil {
		return nil, r.warnings
	}
	if text := r.get("TRACEPARENT"); text != "" {
		var ok bool
		if c.parent, ok = parseParent(text); !ok {
			r.ignore("TRACEPARENT", errors.New("not a W3C traceparent"))
		}
	}
	if c.parent.Unsampled {
		c.traces = nil
	}
	pairs, err := parsePairs(r.get("OTEL_RESOURCE_ATTRIBUTES"))
	if err != nil {
		r.ignore("OTEL_RESOURCE_ATTRIBUTES", err)
	}
	for _, p := range pairs {
		c.resource = c.resource.replace(p[0], p[1])
	}
	if name := r.get("OTEL_SERVICE_NAME"); name != "" {
		c.resource = c.resource.replace("service.name", name)
	}
	return c, r.warnings
}

// Headers returns the headers that are sent to the endpoints: names and values. Some values
// are credentials.
func (c *Config) Headers() [][2]string {
	var all [][2]string
	if c == nil {
		return nil
	}
	for _, e := range []*endpoint{c.traces, c.metrics} {
		if e == nil {
			continue
		}
		for name, values := range e.header {
			all = append(all, [2]string{name, values[0]})
		}
	}
	return all
}

func (r *reader) get(name string) string { return strings.TrimSpace(r.getenv(name)) }

func (r *reader) ignore(name string, err error) {
	if text := fmt.Sprintf("%s is ignored: %v", name, err); !slices.Contains(r.warnings, text) {
		r.warnings = append(r.warnings, text)
	}
}

// option returns an option of the exporter of a signal, and the variable that sets it.
func (r *reader) option(signal, option string) (name, value string) {
	name = "OTEL_EXPORTER_OTLP_" + signal + "_" + option
	if value = r.get(name); value != "" {
		return name, value
	}
	name = "OTEL_EXPORTER_OTLP_" + option
	return name, r.get(name)
}

// endpoint returns the endpoint of a signal; nil if nothing is sent.
func (r *reader) endpoint(signal, path string) *endpoint {
	name, address := r.option(signal, "ENDPOINT")
	if address == "" || !r.exported(signal) {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		r.ignore(name, errors.New("not an http or https URL"))
		return nil
	}
	if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/")+path, ""
	}
	e := &endpoint{url: u, timeout: defaultTimeout}
	if name, protocol := r.option(signal, "PROTOCOL"); protocol != "" && protocol != "http/json" {
		r.ignore(name, errors.New("millhand sends http/json, to the port of OTLP over HTTP (4318 by default)"))
	}
	if name, text := r.option(signal, "TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err == nil && ms > 0 && ms <= int(time.Hour.Milliseconds()) {
			e.timeout = time.Duration(ms) * time.Millisecond
		} else {
			r.ignore(name, errors.New("not a number of milliseconds"))
		}
	}
	switch name, text := r.option(signal, "COMPRESSION"); text {
	case "", "none":
	case "gzip":
		e.gzip = true
	default:
		r.ignore(name, errors.New("supported are gzip and none"))
	}
	if name, text := r.option(signal, "CERTIFICATE"); text != "" {
		r.ignore(name, errors.New("not supported; use SSL_CERT_FILE"))
	}
	name, text := r.option(signal, "HEADERS")
	if e.header, err = parseHeaders(text); err != nil {
		r.ignore(name, err)
	}
	return e
}

// exported reports whether the exporter of a signal is OTLP, which is the default.
func (r *reader) exported(signal string) bool {
	name := "OTEL_" + signal + "_EXPORTER"
	list := strings.FieldsFunc(r.get(name), func(c rune) bool { return c == ',' || c == ' ' })
	if len(list) == 0 || slices.Contains(list, "otlp") {
		return true
	}
	if !slices.Contains(list, "none") {
		r.ignore(name, errors.New("supported are otlp and none; nothing is sent for this signal"))
	}
	return false
}

// parsePairs reads a list like a=b,c=d, with percent-encoded values.
func parsePairs(list string) (pairs [][2]string, err error) {
	for item := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		key, text, ok := strings.Cut(item, "=")
		key = strings.TrimSpace(key)
		text, bad := url.PathUnescape(strings.TrimSpace(text))
		if !ok || key == "" || bad != nil {
			return nil, errors.New("not a list of KEY=VALUE, with percent-encoded values")
		}
		pairs = append(pairs, [2]string{key, text})
	}
	return pairs, nil
}

// parseHeaders returns no headers for a list with an invalid one.
func parseHeaders(list string) (http.Header, error) {
	h := http.Header{}
	pairs, err := parsePairs(list)
	if err != nil {
		return h, err
	}
	for _, p := range pairs {
		if !isToken(p[0]) || strings.ContainsFunc(p[1], func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			return http.Header{}, errors.New("not a list of HTTP headers")
		}
		h.Set(p[0], p[1])
	}
	return h, nil
}

// isToken reports whether s is a name of HTTP.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}
