package scripts

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// provided are the servers of one script of testscript, by name.
type provided struct {
	mu      sync.Mutex
	servers map[string]*wiretest.Server
}

type providedKey struct{}

func serversOf(ts *testscript.TestScript) *provided { return ts.Value(providedKey{}).(*provided) }

// provide serves a script under a name: $NAME_URL is where. Nothing else of
// the environment changes. How it fails is a fault by its
// name in package wiretest, or
//
//	dies-N   its N-th response breaks off in the middle, and it is gone for good
//	stalls   its answers stop in the middle, and the connections stay
//	greedy   it charges for more output than was asked for
//	cuts-N   its N-th response breaks off in the middle
func provide(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: provider NAME FILE [FAULT]")
	}
	s, err := script.Parse([]byte(ts.ReadFile(args[1])), args[1])
	ts.Check(err)
	server := wiretest.New(s)
	listening := httptest.NewUnstartedServer(server)
	server.Obey = len(args) < 3 || args[2] != "greedy"
	if len(args) == 3 && server.Obey {
		server.Fault = breakAt(ts, args[2], listening.Listener)
	}
	listening.Start()
	ts.Defer(func() {
		listening.CloseClientConnections()
		listening.Close()
		for _, p := range server.Problems() {
			ts.Logf("%s met: %v", args[0], p)
		}
	})
	all := serversOf(ts)
	all.mu.Lock()
	defer all.mu.Unlock()
	all.servers[args[0]] = server
	ts.Setenv(args[0]+"_URL", listening.URL+"/v1")
}

// breakAt returns a fault of a server that listens at a place.
func breakAt(ts *testscript.TestScript, name string, at net.Listener) func(int) wiretest.Fault {
	kind, number, _ := strings.Cut(name, "-")
	when, err := strconv.Atoi(number)
	if name == "stalls" {
		return func(int) wiretest.Fault { return wiretest.Fault{Rewrite: half, Hold: true} }
	}
	if err != nil || kind != "dies" && kind != "cuts" {
		return faultOf(ts, []string{name})
	}
	return func(n int) wiretest.Fault {
		if n+1 != when {
			return wiretest.Fault{}
		}
		if kind == "dies" {
			at.Close() // whoever comes next finds nobody
		}
		return wiretest.Fault{Rewrite: half, Header: map[string]string{"Connection": "close"}, Cut: 1 << 30}
	}
}

// half is the first half of a stream: its usage, which comes last, is not told.
func half(stream []byte) []byte { return stream[:len(stream)/2] }

// hole listens and never answers: not even the head of a request is read.
func hole(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hole NAME")
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	ts.Check(err)
	var held []net.Conn
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			held = append(held, c)
		}
	}()
	ts.Defer(func() {
		l.Close()
		<-done
		for _, c := range held {
			c.Close()
		}
	})
	ts.Setenv(args[0]+"_URL", "http://"+l.Addr().String()+"/v1")
}

// charged holds the totals of a report to the ledgers of servers: what they
// have charged for, whatever millhand made of it.
func charged(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: charged DIR NAME...")
	}
	var doc struct {
		Run struct {
			Totals struct {
				Usage money.Usage
			}
		}
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(filepath.Join(args[0], "report.json"))), &doc))
	var sum money.Usage
	for _, name := range args[1:] {
		u := serversOf(ts).servers[name].Usage()
		sum.Input, sum.Output, sum.Reasoning = sum.Input+u.Input, sum.Output+u.Output, sum.Reasoning+u.Reasoning
		sum.CacheRead, sum.CacheWrite = sum.CacheRead+u.CacheRead, sum.CacheWrite+u.CacheWrite
	}
	if diff := gocmp.Diff(sum, doc.Run.Totals.Usage); diff != "" {
		ts.Fatalf("the report differs from what was charged (-charged +reported):\n%s", diff)
	}
	fmt.Fprintln(ts.Stdout(), sum.Input, sum.Output)
}

// costs holds the cost of a run to lying between two sums, in USD.
func costs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: costs DIR LEAST MOST")
	}
	var doc struct {
		Run struct {
			Totals struct {
				CostUSD *float64 `json:"cost_usd"`
			}
		}
		Jobs []struct {
			CostUSD *float64 `json:"cost_usd"`
		}
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(filepath.Join(args[0], "report.json"))), &doc))
	least, err := strconv.ParseFloat(args[1], 64)
	ts.Check(err)
	most, err := strconv.ParseFloat(args[2], 64)
	ts.Check(err)
	const noise = 1e-9
	total := doc.Run.Totals.CostUSD
	if total == nil {
		ts.Fatalf("nobody knows what the run cost")
	}
	if *total < least-noise || *total > most+noise {
		ts.Fatalf("the run cost %g, not between %g and %g", *total, least, most)
	}
	sum := 0.0
	for _, j := range doc.Jobs {
		if j.CostUSD != nil {
			sum += *j.CostUSD
		}
	}
	if sum < *total-noise || sum > *total+noise {
		ts.Fatalf("the run cost %g, and its jobs %g", *total, sum)
	}
	fmt.Fprintf(ts.Stdout(), "%g\n", *total)
}

// passing are the parts of a report that are others in every run: times, and
// what is made of times and of the run's id.
var passing = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`\b\d{8}-\d{6}-[0-9a-f]{8}\b`), "RUN"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT[0-9:.]+Z?`), "TIME"},
	{regexp.MustCompile(`"elapsed_ms": \d+`), "ELAPSED"},
	{regexp.MustCompile(`time="[0-9.]+"`), "SECONDS"},
	{regexp.MustCompile(`\b[0-9.]+(ms|s)\b`), "SPAN"},
	{regexp.MustCompile(`\b[0-9a-f]{40}\b|\b[0-9a-f]{10}\b|` + "`[0-9a-f]{7}`"), "COMMIT"},
}

// sameBytes compares the reports of two runs, except for times.
func sameBytes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: same-bytes DIR DIR")
	}
	for _, name := range []string{"report.json", "junit.xml", "summary.md"} {
		var texts []string
		for _, dir := range args {
			text := ts.ReadFile(filepath.Join(dir, name))
			for _, p := range passing {
				text = p.pattern.ReplaceAllString(text, p.name)
			}
			texts = append(texts, text)
		}
		if diff := gocmp.Diff(texts[0], texts[1]); diff != "" {
			ts.Fatalf("%s differs:\n%s", name, diff)
		}
	}
}
