package scripts

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/millhand/millhand/internal/testing/mcptest"
)

// serveMCP serves an MCP server over HTTP until the script ends, whose requests need a key
// ("" for none; client:ID:SECRET for tokens that ID gets at /token), and stores its URL in a variable.
func serveMCP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: mcp-remote VAR KEY [FLAG]...")
	}
	r, err := mcptest.NewRemote(os.Environ, args[2:]...)
	ts.Check(err)
	mux := http.NewServeMux()
	mux.Handle("/", r)
	if client, ok := strings.CutPrefix(args[1], "client:"); ok {
		id, secret, _ := strings.Cut(client, ":")
		r.Key = "not issued yet"
		mux.Handle("/token", &mcptest.Authority{ID: id, Secret: secret, Remote: r})
	} else {
		r.Key = args[1]
	}
	server := httptest.NewServer(mux)
	ts.Defer(func() {
		server.CloseClientConnections() // streams
		server.Close()
	})
	ts.Setenv(args[0], server.URL+"/mcp")
}
