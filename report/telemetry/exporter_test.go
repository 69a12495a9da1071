package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/grpc"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/telemetrytest"
	"github.com/millhand/millhand/report/telemetry"
)

// export runs a run whose exporter is configured by variables, and returns the warning.
func export(t *testing.T, patience time.Duration, list ...string) string {
	t.Helper()
	c, warnings := telemetry.ReadConfig(variables(list...))
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	fold := withSubagent()
	x := telemetry.New(t.Context(), telemetry.Options{Config: c, Run: "r1", Version: "1.2.3", Fold: fold, Patience: patience})
	for _, job := range []string{"fix", "unknown"} {
		x.Emit(event.Event{Type: event.JobEnded, Job: job})
	}
	return x.Finish(t.Context())
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// serveGRPC serves a collector without TLS.
func serveGRPC(t *testing.T, c *telemetrytest.Collector, options ...grpc.ServerOption) string {
	t.Helper()
	listening, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(options...)
	c.Register(s)
	go s.Serve(listening)
	t.Cleanup(s.Stop)
	return "http://" + listening.Addr().String()
}

// The exporter sends what Write writes, below the parent that the caller's trace has.
func TestTheExporterSendsWhatWriteWrites(t *testing.T) {
	for _, test := range []struct{ protocol, compression string }{
		{"", "none"}, {"http/protobuf", "gzip"}, {"http/json", "none"}, {"http/json", "gzip"}, {"grpc", "none"}, {"grpc", "gzip"},
	} {
		t.Run(test.protocol+"_"+test.compression, func(t *testing.T) {
			c := &telemetrytest.Collector{}
			address := serve(t, c) + "/"
			if test.protocol == "grpc" {
				address = serveGRPC(t, c)
			}
			warning := export(t, time.Minute, "OTEL_EXPORTER_OTLP_ENDPOINT="+address, "OTEL_EXPORTER_OTLP_PROTOCOL="+test.protocol, "OTEL_EXPORTER_OTLP_HEADERS=api-key=abc%3D1, x=y", "OTEL_EXPORTER_OTLP_COMPRESSION="+test.compression,
				"TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "OTEL_RESOURCE_ATTRIBUTES=team=a%2Cb,service.name=no", "OTEL_SERVICE_NAME=mine")
			if warning != "" || c.Err() != nil || c.Requests() != 3 {
				t.Fatal(warning, c.Err(), c.Requests())
			}
			got, err := c.Tree("b7ad6b7169203331", attributesOfTrees...)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "testdata/subagent.tree", got+"\n"+strings.Join(c.Metrics(), "\n")+"\n")
			if got := fmt.Sprintf("%x", c.Spans()[0].TraceId); got != "0af7651916cd43dd8448eb211c80319c" {
				t.Error(got)
			}
			res := c.ResourceSpans()[0].Resource.Attributes
			for key, want := range map[string]string{"service.name": "mine", "service.version": "1.2.3", "service.instance.id": "r1", "team": "a,b"} {
				if got := telemetrytest.Text(res, key); got != want {
					t.Errorf("%s is %q, not %q", key, got, want)
				}
			}
			for _, h := range c.Headers() {
				if h.Get("api-key") != "abc=1" || h.Get("x") != "y" || !strings.HasPrefix(h.Get("User-Agent"), "millhand/1.2.3") {
					t.Errorf("headers: %v", h)
				}
			}
		})
	}
}

// What a busy server did not accept is sent again, also at the end of the run.
func TestWhatABusyServerDidNotAcceptIsSentAgain(t *testing.T) {
	for _, protocol := range []string{"http/protobuf", "http/json", "grpc"} {
		c := &telemetrytest.Collector{Status: func(n int, _ *http.Request) int {
			if n <= 2 {
				return http.StatusServiceUnavailable
			}
			return http.StatusOK
		}}
		address := serve(t, c)
		if protocol == "grpc" {
			address = serveGRPC(t, c)
		}
		if warning := export(t, time.Minute, "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol, "OTEL_EXPORTER_OTLP_ENDPOINT="+address); warning != "" || len(c.Spans()) != 14 || len(c.Metrics()) == 0 {
			t.Error(protocol, warning, len(c.Spans()), c.Metrics())
		}
	}
}

// deaf is a listener that closes its first connections.
type deaf struct {
	net.Listener
	times int
}

func (d *deaf) Accept() (net.Conn, error) {
	for ; d.times > 0; d.times-- {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c.Close()
	}
	return d.Listener.Accept()
}

// A collector that can be reached later gets everything.
func TestACollectorThatIsReachedLaterGetsAllSpans(t *testing.T) {
	c := &telemetrytest.Collector{}
	s := httptest.NewUnstartedServer(c)
	s.Listener = &deaf{Listener: s.Listener, times: 1}
	s.Start()
	defer s.Close()
	if warning := export(t, time.Minute, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+s.URL+"/v1/traces"); warning != "" || len(c.Spans()) != 14 {
		t.Error(warning, len(c.Spans()))
	}
}

// No number of jobs waits for a collector.
func TestNoNumberOfJobsWaitsForACollector(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		c, _ := telemetry.ReadConfig(variables("OTEL_EXPORTER_OTLP_ENDPOINT=http://"+silent.Addr().String(), "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol))
		fold := withSubagent()
		x := telemetry.New(t.Context(), telemetry.Options{Config: c, Run: "r1", Fold: fold, Patience: time.Millisecond})
		for range 10_000 {
			x.Emit(event.Event{Type: event.JobEnded, Job: "fix"})
		}
		if warning := x.Finish(t.Context()); !strings.Contains(warning, " jobs were not sent: the queue was full") {
			t.Error(protocol, warning)
		}
	}
}

// A failure is a warning without credentials; it does not prevent other requests.
func TestAFailureIsAWarningWithoutCredentials(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	refusing := serve(t, &telemetrytest.Collector{Status: func(_ int, r *http.Request) int {
		if r.URL.Path == "/v1/metrics" {
			return http.StatusOK
		}
		return http.StatusUnauthorized
	}})
	partial := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/v1/metrics" {
			fmt.Fprint(w, `{"partialSuccess":{"rejectedDataPoints":"4","errorMessage":"SECRET"}}`)
			return
		}
		fmt.Fprint(w, `{"partialSuccess":{"rejectedSpans":"3","errorMessage":"SECRET"}}`)
	}))
	refusingGRPC := serveGRPC(t, &telemetrytest.Collector{Status: func(int, *http.Request) int { return http.StatusUnauthorized }})
	moved := serve(t, http.RedirectHandler(refusing, http.StatusPermanentRedirect))
	grpcOnly := []string{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}
	for _, test := range []struct {
		name, url, want string
		patience        time.Duration
		variables       []string
	}{
		{"closed grpc", closed.URL, "3 requests not accepted: 127.0.0.1", time.Minute, grpcOnly},
		{"silent grpc", "http://" + silent.Addr().String(), "not finished 10ms after the run", 10 * time.Millisecond, grpcOnly},
		{"refusing grpc", refusingGRPC, "3 requests not accepted: 127.0.0.1", time.Minute, grpcOnly},
		{"closed", closed.URL, "3 requests not accepted: 127.0.0.1", time.Minute, nil},
		{"silent", "http://" + silent.Addr().String(), "not finished 10ms after the run", 10 * time.Millisecond, nil},
		{"silent, without time", "http://" + silent.Addr().String(), "not finished 1ns after the run", time.Nanosecond, nil},
		{"refusing", refusing, "2 requests not accepted: 127.0.0.1", time.Minute, nil},
		{"partial", partial, "partially rejected: 3 spans or data points", time.Minute, []string{"OTEL_METRICS_EXPORTER=none"}},
		{"partial metrics", partial, "partially rejected: 4 spans or data points", time.Minute, []string{"OTEL_TRACES_EXPORTER=none", "OTEL_EXPORTER_OTLP_PROTOCOL=http/json"}},
		{"redirect", moved, "status 308", time.Minute, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			url := strings.Replace(test.url, "http://", "http://user:SECRET@", 1) + "/x?key=SECRET"
			warning := export(t, test.patience, append(test.variables, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+strings.Replace(url, "/x", "/v1/traces", 1),
				"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="+strings.Replace(url, "/x", "/v1/metrics", 1), "OTEL_EXPORTER_OTLP_HEADERS=authorization=SECRET")...)
			if !strings.HasPrefix(warning, "OpenTelemetry: ") || !strings.Contains(warning, test.want) || strings.Contains(warning, "SECRET") {
				t.Error(warning)
			}
		})
	}
}

// A signal ends the wait at the end of a run. One that has ended the run does not prevent that
// its spans are sent.
func TestASignalEndsTheWaitForACollector(t *testing.T) {
	hanging := make(chan struct{}, 10) // one for each request; only the first is waited for
	c, fold := &telemetrytest.Collector{}, withSubagent()
	addresses := []string{serve(t, c), serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // the end of the connection is noticed after it
		hanging <- struct{}{}
		<-r.Context().Done()
	}))}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-hanging
		cancel(errors.New("SIGINT"))
	}()
	for i, want := range []string{"", "OpenTelemetry: 2 requests not accepted: SIGINT"} {
		config, _ := telemetry.ReadConfig(variables("OTEL_EXPORTER_OTLP_ENDPOINT=" + addresses[i]))
		during := ctx
		if i == 0 {
			ended, end := context.WithCancel(t.Context())
			end()
			during = ended
		}
		x := telemetry.New(during, telemetry.Options{Config: config, Fold: fold, Patience: time.Hour})
		host := strings.TrimPrefix(addresses[i], "http://") + ": "
		if got := strings.Replace(x.Finish(during), host, "", 1); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	if len(c.Spans()) != 1 {
		t.Errorf("%d spans", len(c.Spans()))
	}
}

// Without a configuration New returns nil.
func TestWithoutAnEndpointNothingIsSent(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"
	for _, list := range [][]string{
		{},
		{"OTEL_EXPORTER_OTLP_HEADERS=a=b", "OTEL_SERVICE_NAME=x"},
		{endpoint, "OTEL_SDK_DISABLED=TRUE"},
		{endpoint, "OTEL_TRACES_EXPORTER=none", "OTEL_METRICS_EXPORTER=none"},
	} {
		if warning := export(t, time.Minute, list...); warning != "" {
			t.Errorf("%q: %s", list, warning)
		}
		if c, _ := telemetry.ReadConfig(variables(list...)); c != nil || telemetry.New(t.Context(), telemetry.Options{Config: c}) != nil {
			t.Errorf("%q: an exporter", list)
		}
	}
}

// One signal may be sent alone.
func TestSpansOrMetricsMayBeSentAlone(t *testing.T) {
	for _, test := range []struct {
		list           []string
		spans, metrics bool
	}{
		{[]string{"OTEL_TRACES_EXPORTER=none"}, false, true},
		{[]string{"OTEL_METRICS_EXPORTER=none"}, true, false},
		{[]string{"OTEL_METRICS_EXPORTER=console,otlp"}, true, true},
		{[]string{"TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}, false, true},
	} {
		c := &telemetrytest.Collector{}
		warning := export(t, time.Minute, append(test.list, "OTEL_EXPORTER_OTLP_ENDPOINT="+serve(t, c))...)
		if warning != "" || (len(c.Spans()) > 0) != test.spans || (len(c.Metrics()) > 0) != test.metrics {
			t.Errorf("%q: %s, %d spans, %d metrics", test.list, warning, len(c.Spans()), len(c.Metrics()))
		}
	}
}

// The SDK reads the sampler and the temporality.
func TestVariablesOfSDK(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta")
	c := &telemetrytest.Collector{}
	if warning := export(t, time.Minute, "OTEL_EXPORTER_OTLP_ENDPOINT="+serve(t, c)); warning != "" || len(c.Spans()) > 0 {
		t.Errorf("%s, %d spans", warning, len(c.Spans()))
	}
	for _, m := range c.ResourceMetrics()[0].ScopeMetrics[0].Metrics {
		if m.GetSum() != nil && m.GetSum().AggregationTemporality != metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA {
			t.Errorf("%s: %v", m.Name, m.GetSum().AggregationTemporality)
		}
	}
}
