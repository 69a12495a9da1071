package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// errExpired is the error of a request that the server rejected because it has ended the
// session.
var errExpired = &statusError{"the session has expired"}

// errSession is why a connection is not used for further requests.
var errSession = errors.New("the server has ended the session")

// lostError is the error of a request that the server may have accepted.
type lostError struct{ why error }

func (e *lostError) Error() string { return e.why.Error() }
func (e *lostError) Unwrap() error { return e.why }

// codeLost is the code of the response that a *lostError becomes which is found after the start of a stream.
const codeLost = -32098

// statusError is the error of a request that the server did not accept.
type statusError struct{ text string }

func (e *statusError) Error() string { return e.text }

// check returns the error in the status of a response, given the method of the message and whether it was one of a session. It contains nothing of the body except the
// message of a JSON-RPC error, because errors of proxies are long pages.
func check(resp *http.Response, method string, session bool) error {
	code := resp.StatusCode
	text := strings.TrimSpace(fmt.Sprintf("HTTP %d %s", code, http.StatusText(code)))
	switch {
	case code >= 200 && code < 300:
		return nil
	case code >= 300 && code < 400:
		return &statusError{text + redirection(resp)}
	case code == http.StatusNotFound && session:
		return errExpired
	}
	if said := faultText(resp.Body); said != "" {
		text += ": " + said
	}
	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		text += "; check its headers: the key may be missing or invalid"
	case method == "initialize" && (code == http.StatusNotFound || code == http.StatusMethodNotAllowed):
		text += "; check its url: servers of the older transport HTTP+SSE are not supported"
	case code >= 500:
		return &lostError{errors.New(text)}
	}
	return &statusError{text}
}

// redirection returns to what a response redirects that was not followed.
func redirection(resp *http.Response) string {
	to, err := resp.Location()
	switch {
	case err != nil:
		return ""
	case origin(to) != origin(resp.Request.URL):
		return "; the redirect to another origin (" + origin(to) + ") is not followed: if you trust it, change url"
	}
	return "; the redirect to " + to.EscapedPath() + " is not followed: change url"
}

// faultText returns the message of the JSON-RPC error in a body, in one line; "" without one.
func faultText(body io.Reader) string {
	text, err := io.ReadAll(io.LimitReader(body, maxFault))
	if err != nil {
		return ""
	}
	var fault struct {
		Error struct{ Message string }
	}
	if json.Unmarshal(text, &fault) != nil {
		return ""
	}
	line := strings.Join(strings.Fields(fault.Error.Message), " ")
	return strings.ToValidUTF8(line[:min(len(line), 200)], "")
}
