package wiretest

import (
	"net/http/httptest"
	"testing"
)

// Serve starts s on a loopback port for the length of the test and returns the
// base URL for a client. The test fails if a request was not as the script
// expects.
func Serve(tb testing.TB, s *Server) string {
	tb.Helper()
	url := serve(tb, s)
	tb.Cleanup(func() {
		for _, problem := range s.Problems() {
			tb.Errorf("scripted provider: %v", problem)
		}
	})
	return url
}

// serve starts s without the check that nothing unexpected came.
func serve(tb testing.TB, s *Server) string {
	tb.Helper()
	server := httptest.NewServer(s)
	tb.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL + "/v1"
}
