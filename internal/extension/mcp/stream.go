package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// stream is the body of a response for the SDK: events with the messages of a server until the
// response to a request, checked and repaired. The SDK closes it, and resumes it if it ends with the id of an event.
type stream struct {
	events

	conn  *httpConn
	ctx   context.Context //nolint:containedctx // of the requests
	leave func()
	id    string        // of the request; "" for the optional stream
	from  string        // id of the event after which the stream is resumed
	body  io.ReadCloser // of the server's response; nil for none
	rest  bytes.Buffer  // not read yet
	done  bool
}

// newStream returns the stream of a request. The connection is open, and its end waits for that of the stream.
func (c *httpConn) newStream(ctx context.Context, id string) *stream {
	c.group.Add(1)
	ctx, leave := c.within(ctx)
	return &stream{conn: c, ctx: ctx, id: id, leave: sync.OnceFunc(func() { leave(); c.group.Done() })}
}

// Close implements io.Closer.
func (s *stream) Close() error {
	if s.body != nil {
		s.body.Close()
	}
	s.leave()
	return nil
}

// exchange sends the request, and returns the server's response for the SDK.
func (s *stream) exchange(r *http.Request, method string, text []byte) (*http.Response, error) {
	resp, err := s.conn.do(s.ctx, r, text, "")
	if err != nil {
		return nil, &lostError{err}
	}
	s.body = resp.Body
	if err := check(resp, method, r.Header.Get(sessionHeader) != ""); err != nil {
		return nil, err
	}
	out := response(r, http.StatusOK, eventsType, s)
	if id := resp.Header.Get(sessionHeader); id != "" && method == "initialize" {
		if len(id) > maxSessionID || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, &statusError{"the server's session ID is invalid"}
		}
		out.Header.Set(sessionHeader, id)
	}
	switch kind := mediaType(resp); kind {
	case eventsType:
		s.open(s.body)
	case jsonType:
		body, err := io.ReadAll(io.LimitReader(s.body, maxMessage+1))
		switch {
		case err != nil:
			return nil, &lostError{err}
		case len(body) > maxMessage:
			return nil, &lostError{errMessageSize}
		}
		if s.deliver(bytes.TrimSpace(body)); !s.done {
			return nil, &lostError{errors.New("the body of the response is not a message")}
		}
	case "":
		return nil, &lostError{errors.New("the response has no message")}
	default:
		return nil, &lostError{fmt.Errorf("the response has the type %.100q; check the URL", kind)}
	}
	return out, nil
}

// open starts to read a body with events.
func (s *stream) open(body io.ReadCloser) {
	s.body, s.done = body, false
	s.read(body)
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	for s.rest.Len() == 0 {
		if s.done {
			return 0, io.EOF
		}
		text, err := s.next()
		switch {
		case err == nil:
			s.deliver(text)
		case s.id == "":
			return 0, err
		case errors.Is(err, errMessageSize):
			s.conn.fail(err)
			s.lose(err)
		case s.last != s.from: // each time, more have arrived
			s.done = true
			fmt.Fprintf(&s.rest, "id: %s/%s\nretry: %d\n\n", s.id, s.last, s.retry.Milliseconds())
		default:
			s.lose(errors.New("the connection ended before the response"))
		}
	}
	return s.rest.Read(p)
}

// deliver adds the message in a text, and refuses a request.
func (s *stream) deliver(text []byte) {
	message, refusal := s.conn.inbox.take(text)
	if refusal != nil {
		s.conn.Write(s.ctx, refusal) //nolint:errcheck // the server can't be told
	}
	if message == nil {
		return
	}
	line, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return
	}
	fmt.Fprintf(&s.rest, "data: %s\n\n", line)
	r, ok := message.(*jsonrpc.Response)
	s.done = ok && s.id != "" && idText(r.ID) == s.id
}

// lose ends the stream with an error as the response.
func (s *stream) lose(why error) {
	s.done = true
	text, _ := json.Marshal(why.Error())
	fmt.Fprintf(&s.rest, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,\"message\":%s}}\n\n", s.id, codeLost, text)
}
