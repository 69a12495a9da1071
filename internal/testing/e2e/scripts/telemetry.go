package scripts

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/grpc"

	"github.com/millhand/millhand/internal/testing/telemetrytest"
)

// collectorKey is the key of a script's collector.
type collectorKey struct{}

// serveCollector starts a collector of OpenTelemetry, whose address is in COLLECTOR. It also
// serves HTTP and gRPC with TLS, at COLLECTOR_TLS with the certificate collector.pem.
func serveCollector(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: collector")
	}
	c := ts.Value(collectorKey{}).(*telemetrytest.Collector)
	listening := httptest.NewServer(c)
	ts.Defer(listening.Close)
	ts.Setenv("COLLECTOR", listening.URL)
	services := grpc.NewServer()
	c.Register(services)
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Type") == "application/grpc" {
			services.ServeHTTP(w, r)
			return
		}
		c.ServeHTTP(w, r)
	}))
	secure.EnableHTTP2 = true
	secure.StartTLS()
	ts.Defer(secure.Close)
	ts.Setenv("COLLECTOR_TLS", secure.URL)
	ts.Check(os.WriteFile(ts.MkAbs("collector.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600))
}

// spans prints the tree of the spans that the collector has, with some of their attributes,
// the metrics of the last request, and all headers. Below "-" the run's span has no parent.
// With "!" the collector must have received nothing.
func spans(ts *testscript.TestScript, neg bool, args []string) {
	c := ts.Value(collectorKey{}).(*telemetrytest.Collector)
	ts.Check(c.Err())
	if neg {
		if n := c.Requests(); n > 0 {
			ts.Fatalf("%d requests", n)
		}
		return
	}
	if len(args) == 0 {
		ts.Fatalf("usage: spans PARENT|- ATTRIBUTE...")
	}
	tree, err := c.Tree(strings.TrimPrefix(args[0], "-"), args[1:]...)
	ts.Check(err)
	fmt.Fprint(ts.Stdout(), tree, strings.Join(c.Metrics(), "\n"), "\n")
	for _, h := range c.Headers() {
		fmt.Fprintln(ts.Stdout(), h)
	}
}
