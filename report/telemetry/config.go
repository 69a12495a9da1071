package telemetry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Config is where telemetry is sent, from the variables of the OpenTelemetry specification.
type Config struct {
	traces, metrics *endpoint // nil sends none
	resource        attributes
	parent          trace.SpanContext // of the caller; not valid without one
}

// endpoint receives one signal.
type endpoint struct {
	protocol string
	address  string // host and port; with gRPC any target
	insecure bool   // without TLS
	path     string // with HTTP
	query    string // with HTTP
	headers  map[string]string
	timeout  time.Duration // of a request
	gzip     bool
	tls      *tls.Config
}

// Values of OTEL_EXPORTER_OTLP_PROTOCOL.
const (
	overGRPC     = "grpc"
	overProtobuf = "http/protobuf"
	overJSON     = "http/json"
)

// samplers are the values of OTEL_TRACES_SAMPLER that the SDK reads.
var samplers = []string{"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"}

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
//
//nolint:contextcheck,nolintlint // the propagator reads a map, and never waits; the linter sees callers only
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
		carrier := propagation.MapCarrier{"traceparent": text, "tracestate": r.get("TRACESTATE")}
		c.parent = trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
		if !c.parent.IsValid() {
			r.ignore("TRACEPARENT", errors.New("not a W3C traceparent"))
		}
	}
	if name := r.get("OTEL_TRACES_SAMPLER"); name != "" && !slices.Contains(samplers, name) {
		r.ignore("OTEL_TRACES_SAMPLER", errors.New("supported are "+strings.Join(samplers, ", ")))
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
		for _, name := range slices.Sorted(maps.Keys(e.headers)) {
			all = append(all, [2]string{name, e.headers[name]})
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
	e := &endpoint{protocol: overProtobuf, timeout: defaultTimeout, headers: map[string]string{}}
	switch name, text := r.option(signal, "PROTOCOL"); text {
	case "":
	case overGRPC, overProtobuf, overJSON:
		e.protocol = text
	default:
		r.ignore(name, errors.New("supported are http/protobuf, http/json and grpc"))
	}
	u, ok := e.locate(address)
	if !ok {
		r.ignore(name, errors.New("not an http or https URL"))
		return nil
	}
	if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		e.path = strings.TrimSuffix(e.path, "/") + path
	}
	if _, text := r.option(signal, "INSECURE"); u.Scheme == "" {
		e.insecure = strings.EqualFold(text, "true")
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
	r.certificates(signal, e)
	name, text := r.option(signal, "HEADERS")
	headers, err := parseHeaders(text)
	if err != nil {
		r.ignore(name, err)
	}
	maps.Copy(e.headers, headers)
	return e
}

// locate sets the address; ok is false if it is invalid. With gRPC it may be any target of
// gRPC, and u has a scheme only if it is that of a URL of HTTP.
func (e *endpoint) locate(address string) (u *url.URL, ok bool) {
	u, err := url.Parse(address)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		e.address, e.insecure, e.path, e.query = u.Host, u.Scheme == "http", u.Path, u.RawQuery
		if password, _ := u.User.Password(); u.User != nil {
			e.headers["Authorization"] = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
		}
		return u, true
	}
	_, port, _ := net.SplitHostPort(address)
	_, bad := strconv.ParseUint(port, 10, 16)
	e.address = address
	return &url.URL{}, e.protocol == overGRPC && (bad == nil || err == nil && (u.Scheme == "dns" || u.Scheme == "unix"))
}

// certificates reads the files of certificates.
func (r *reader) certificates(signal string, e *endpoint) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if name, file := r.option(signal, "CERTIFICATE"); file != "" {
		text, err := os.ReadFile(file)
		pool := x509.NewCertPool()
		if err == nil && !pool.AppendCertsFromPEM(text) {
			err = fmt.Errorf("%s has no certificate in PEM", file)
		}
		if err != nil {
			r.ignore(name, err)
		} else {
			config.RootCAs = pool
		}
	}
	if name, file := r.option(signal, "CLIENT_CERTIFICATE"); file != "" {
		_, key := r.option(signal, "CLIENT_KEY")
		pair, err := tls.LoadX509KeyPair(file, key)
		if err != nil {
			r.ignore(name, fmt.Errorf("with %s_KEY: %w", strings.TrimSuffix(name, "_CERTIFICATE"), err))
		} else {
			config.Certificates = []tls.Certificate{pair}
		}
	}
	if !e.insecure {
		e.tls = config
	}
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
func parseHeaders(list string) (map[string]string, error) {
	pairs, err := parsePairs(list)
	if err != nil {
		return nil, err
	}
	h := map[string]string{}
	for _, p := range pairs {
		if !isToken(p[0]) || strings.ContainsFunc(p[1], func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			return nil, errors.New("not a list of HTTP headers")
		}
		h[http.CanonicalHeaderKey(p[0])] = p[1]
	}
	return h, nil
}

// isToken reports whether s is a name of HTTP.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}
