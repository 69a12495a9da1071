package scripts

import (
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/millhand/millhand/internal/telemetry/fake"
)

// collectorKey is the key of a script's collector.
type collectorKey struct{}

// serveCollector starts a collector of OpenTelemetry, whose address is in COLLECTOR.
func serveCollector(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: collector")
	}
	c := ts.Value(collectorKey{}).(*fake.Collector)
	listening := httptest.NewServer(c)
	ts.Defer(listening.Close)
	ts.Setenv("COLLECTOR", listening.URL)
}

// spans prints the tree of the spans that the collector has, with some of their attributes,
// the metrics of the last request, and all headers. Below "-" the run's span has no parent.
// With "!" the collector must have received nothing.
func spans(ts *testscript.TestScript, neg bool, args []string) {
	c := ts.Value(collectorKey{}).(*fake.Collector)
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
