package scripts

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/testing/logintest"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// served is the key of the server that a script talks to.
type served struct{}

func serverOf(ts *testscript.TestScript) **wiretest.Server {
	at, ok := ts.Value(served{}).(**wiretest.Server)
	if !ok {
		ts.Fatalf("the setup of scripts makes no room for a server")
	}
	return at
}

// wire serves a script on loopback, on every wire, and points the environment at
// it.
func wire(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 3 {
		ts.Fatalf("usage: wire FILE [FAULT [FIRST-LAST]]")
	}
	s, err := script.Parse([]byte(ts.ReadFile(args[0])), args[0])
	ts.Check(err)
	server := wiretest.New(s)
	server.Keep = true
	if len(args) > 1 {
		server.Fault = faultOf(ts, args[1:])
	}
	*serverOf(ts) = server
	clouds := logintest.New(server)
	listening := httptest.NewServer(clouds)
	ts.Defer(func() {
		listening.CloseClientConnections()
		listening.Close()
		for _, p := range append(server.Problems(), clouds.Problems()...) {
			ts.Logf("the endpoint met: %v", p)
		}
	})
	ts.Setenv("ENDPOINT", listening.URL+"/v1")
	ts.Setenv("CLOUD", listening.URL)
	for _, provider := range []string{"OPENAI", "ANTHROPIC"} {
		ts.Setenv(provider+"_BASE_URL", listening.URL+"/v1")
		ts.Setenv(provider+"_API_KEY", "sk-test-key-of-the-endpoint")
	}
}

// faultOf returns a fault of package wiretest for requests of some numbers, from
// 1, or for all.
func faultOf(ts *testscript.TestScript, args []string) func(int) wiretest.Fault {
	c, ok := wiretest.CaseOf(args[0])
	if !ok {
		ts.Fatalf("there is no fault %s", args[0])
	}
	first, last := 1, 1<<30
	if len(args) > 1 {
		from, to, _ := strings.Cut(args[1], "-")
		var err error
		first, err = strconv.Atoi(from)
		ts.Check(err)
		if to != "" {
			last, err = strconv.Atoi(to)
			ts.Check(err)
		}
	}
	return func(n int) wiretest.Fault {
		if n+1 < first || n+1 > last {
			return wiretest.Fault{}
		}
		return c.Fault
	}
}

// asked holds the server to a number of requests.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: asked N")
	}
	if n := (*serverOf(ts)).Served(); strconv.Itoa(n) != args[0] {
		ts.Fatalf("%d requests came, want %s", n, args[0])
	}
}

// sent prints a part of a request: of its body, or of its header or query behind
// a path that begins so. What is not there is printed as nothing.
func sent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sent N PATH")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	all := (*serverOf(ts)).Requests()
	if n < 1 || n > len(all) {
		ts.Fatalf("%d requests came", len(all))
	}
	got, path := all[n-1], args[1]
	if name, ok := strings.CutPrefix(path, "header."); ok {
		fmt.Fprintln(ts.Stdout(), got.Header.Get(name))
		return
	}
	if name, ok := strings.CutPrefix(path, "query."); ok {
		query, err := url.ParseQuery(got.Query)
		ts.Check(err)
		fmt.Fprintln(ts.Stdout(), query.Get(name))
		return
	}
	var body any
	ts.Check(json.Unmarshal(got.Body, &body))
	if path != "." {
		for name := range strings.SplitSeq(path, ".") {
			body = within(body, name)
		}
	}
	out, err := json.Marshal(body)
	ts.Check(err)
	fmt.Fprintln(ts.Stdout(), string(out))
}

// within returns the member of an object, or the element of a list by its
// number, -1 for the last one; nil if it is missing.
func within(v any, name string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[name]
	case []any:
		i, err := strconv.Atoi(name)
		if i < 0 {
			i += len(v)
		}
		if err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}
