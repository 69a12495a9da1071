package scripts

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// endpoint serves a script from its start, on all three wires, and keeps the
// bodies of the requests in files.
func endpoint(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: endpoint FILE")
	}
	s, err := script.Parse([]byte(ts.ReadFile(args[0])), args[0])
	ts.Check(err)
	dir := ts.MkAbs("requests")
	ts.Check(os.RemoveAll(dir))
	ts.Check(os.Mkdir(dir, 0o755))
	server := wiretest.New(s)
	server.Keep = true
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server.ServeHTTP(w, r)
		for i, req := range server.Requests() {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.json", i+1)), req.Body, 0o644); err != nil {
				ts.Logf("keep a request: %v", err)
			}
		}
	}))
	ts.Defer(func() {
		listening.CloseClientConnections()
		listening.Close()
		for _, p := range server.Problems() {
			ts.Logf("the endpoint met: %v", p)
		}
	})
	for _, provider := range []string{"OPENAI", "ANTHROPIC"} {
		ts.Setenv(provider+"_API_KEY", "sk-test-key-of-the-endpoint")
	}
	ts.Setenv("OPENAI_BASE_URL", listening.URL+"/v1")
	ts.Setenv("ANTHROPIC_BASE_URL", listening.URL)
}

// smaller holds a file to a size.
func smaller(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: smaller FILE BYTES")
	}
	most, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	st, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Logf("%s has %d bytes", args[0], st.Size())
	if st.Size() >= most {
		ts.Fatalf("%s has %d bytes: that is too many", args[0], st.Size())
	}
}
