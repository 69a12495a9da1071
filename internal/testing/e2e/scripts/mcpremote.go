package scripts

import (
	"net/http/httptest"
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/millhand/millhand/internal/testing/mcptest"
)

// serveMCP serves an MCP server over HTTP until the script ends, whose requests need a key
// ("" for none), and stores its URL in a variable.
func serveMCP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: mcp-remote VAR KEY [FLAG]...")
	}
	r, err := mcptest.NewRemote(os.Environ, args[2:]...)
	ts.Check(err)
	r.Key = args[1]
	server := httptest.NewServer(r)
	ts.Defer(func() {
		server.CloseClientConnections() // streams
		server.Close()
	})
	ts.Setenv(args[0], server.URL+"/mcp")
}
