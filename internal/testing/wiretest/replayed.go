package wiretest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/millhand/millhand/internal/model/script"
)

// Replayed returns a client that serves every request from memory, with the response of a
// server that plays s to its first request. Its allocations are those of the caller.
func Replayed(s *script.Script) *http.Client {
	return &http.Client{Transport: &replayed{server: New(s)}}
}

type replayed struct {
	server   *Server
	recorded *httptest.ResponseRecorder
}

// RoundTrip implements [http.RoundTripper].
func (r *replayed) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.recorded == nil {
		r.recorded = httptest.NewRecorder()
		r.server.ServeHTTP(r.recorded, req)
	}
	body := io.NopCloser(bytes.NewReader(r.recorded.Body.Bytes()))
	return &http.Response{StatusCode: r.recorded.Code, Header: r.recorded.Header(), Body: body, Request: req, ProtoMajor: 1, ProtoMinor: 1}, nil
}
