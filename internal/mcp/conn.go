package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/millhand/millhand/internal/proc"
)

// maxMessage is the maximum size of a message of a server in bytes.
const maxMessage = 32 << 20

// errMessageSize is the error of a connection whose server sent a larger message.
var errMessageSize = fmt.Errorf("message exceeds %d MiB", maxMessage>>20)

// The methods whose results are repaired before the SDK reads them.
const (
	listTools = "tools/list"
	callTool  = "tools/call"
)

// conn is a connection to a server through its standard input and output: a message is a
// line with a JSON object. It implements the SDK's Transport, too.
type conn struct {
	service *proc.Service
	lines   *bufio.Reader
	notify  func(Notice)

	closing sync.Once
	writing chan struct{} // has one element while nobody writes

	mu     sync.Mutex
	sent   map[string]string // methods of requests in progress, by id
	noise  bool              // output that is not a message was reported
	broken bool              // the server ended, or closed its input or output
	closed bool              // by Close
	failed error             // why the connection was closed; nil if the server ended
}

func newConn(service *proc.Service, notify func(Notice)) *conn {
	c := &conn{service: service, lines: bufio.NewReaderSize(service, 64<<10), notify: notify, writing: make(chan struct{}, 1), sent: map[string]string{}}
	c.writing <- struct{}{}
	return c
}

// Connect implements the SDK's Transport.
func (c *conn) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID implements the SDK's Connection.
func (c *conn) SessionID() string { return "" }

// Close ends the server.
func (c *conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.closing.Do(c.service.Close)
	return nil
}

// Read returns the next message.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		line, err := readLine(c.lines)
		if err != nil {
			c.lost()
			if errors.Is(err, errMessageSize) {
				c.fail(err)
			}
			return nil, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		switch message := decode(line).(type) {
		case *jsonrpc.Response:
			return c.repaired(message), nil
		case *jsonrpc.Request:
			if message.IsCall() && message.Method != "ping" {
				c.refuse(ctx, message)
				continue
			}
			return message, nil
		}
		c.mu.Lock()
		first := !c.noise
		c.noise = true
		c.mu.Unlock()
		if first {
			c.notify(Notice{Kind: Noise, Text: string(line[:min(len(line), 200)])})
		}
	}
}

// decode decodes a message; nil for other lines.
func decode(line []byte) jsonrpc.Message {
	if line[0] != '{' {
		return nil
	}
	message, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil
	}
	return message
}

// refusalTimeout is how long a server may take to read a refusal.
const refusalTimeout = 5 * time.Second

// refuse answers a request of the server with an error.
func (c *conn) refuse(ctx context.Context, r *jsonrpc.Request) {
	c.notify(Notice{Kind: Refused, Text: r.Method})
	ctx, cancel := context.WithTimeout(ctx, refusalTimeout)
	defer cancel()
	c.Write(ctx, &jsonrpc.Response{ID: r.ID, Error: &jsonrpc.Error{ //nolint:errcheck // the server can't be told
		Code: jsonrpc.CodeMethodNotFound, Message: r.Method + " is not supported: this is an unattended run",
	}})
}

// readLine reads a line of at most maxMessage bytes.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		chunk, err := r.ReadSlice('\n')
		if len(line)+len(chunk) > maxMessage {
			return nil, errMessageSize
		}
		line = append(line, chunk...)
		switch {
		case err == nil:
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) > 0:
			return line, nil
		default:
			return nil, err
		}
	}
}

// Write sends a message. If ctx ends while the server does not read, the connection is
// closed, because the server may have received a substring of the message.
func (c *conn) Write(ctx context.Context, message jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	if request, ok := message.(*jsonrpc.Request); ok && (request.Method == listTools || request.Method == callTool) {
		c.mu.Lock()
		c.sent[idText(request.ID)] = request.Method
		c.mu.Unlock()
	}
	select {
	case <-c.writing:
		defer func() { c.writing <- struct{}{} }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	stop := context.AfterFunc(ctx, func() { c.service.SetWriteDeadline(time.Unix(1, 0)) }) //nolint:errcheck // pipes have deadlines
	n, err := c.service.Write(append(line, '\n'))
	if !stop() {
		c.service.SetWriteDeadline(time.Time{}) //nolint:errcheck // pipes have deadlines
	}
	if err != nil && n > 0 && ctx.Err() != nil {
		c.fail(errors.New("it does not read its input"))
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		c.lost()
	}
	return err
}

// lost notes that reading or writing failed, unless because the connection was closed.
func (c *conn) lost() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = c.broken || !c.closed
}

// fail closes the connection in the background.
func (c *conn) fail(why error) {
	c.mu.Lock()
	if c.failed == nil {
		c.failed = why
	}
	c.mu.Unlock()
	go c.Close() //nolint:errcheck // always nil; the owner of the server closes it, too, and waits
}

// state returns whether the connection is broken, and why it was closed: nil if the server
// closed it.
func (c *conn) state() (broken bool, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken || c.failed != nil, c.failed
}

func idText(id jsonrpc.ID) string { return fmt.Sprint(id.Raw()) }

// repaired returns a message with the invalid values removed that would make the SDK
// reject all of it.
func (c *conn) repaired(response *jsonrpc.Response) jsonrpc.Message {
	c.mu.Lock()
	method := c.sent[idText(response.ID)]
	delete(c.sent, idText(response.ID))
	c.mu.Unlock()
	switch {
	case response.Error != nil:
	case method == listTools:
		response.Result = withoutInvalidTools(response.Result, c.notify)
	case method == callTool:
		response.Result = withKnownContent(response.Result)
	}
	return response
}

// withoutInvalidTools removes the tools of a list that can't be read.
func withoutInvalidTools(result json.RawMessage, notify func(Notice)) json.RawMessage {
	var list map[string]json.RawMessage
	var tools []json.RawMessage
	if json.Unmarshal(result, &list) != nil || json.Unmarshal(list["tools"], &tools) != nil {
		return result
	}
	valid := []json.RawMessage{}
	for i, text := range tools {
		var t sdk.Tool
		if err := json.Unmarshal(text, &t); err != nil || t.Name == "" {
			notify(Notice{Kind: InvalidTool, Text: fmt.Sprintf("tool %d of the list is invalid", i+1)})
			continue
		}
		valid = append(valid, text)
	}
	return replaced(result, list, "tools", valid)
}

// withKnownContent replaces content of unknown kinds with texts that name them.
func withKnownContent(result json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	var content []json.RawMessage
	if json.Unmarshal(result, &fields) != nil || json.Unmarshal(fields["content"], &content) != nil {
		return result
	}
	for i, text := range content {
		if json.Unmarshal([]byte(`{"content":[`+string(text)+`]}`), &sdk.CallToolResult{}) == nil {
			continue
		}
		var kind struct {
			Type string `json:"type"`
		}
		json.Unmarshal(text, &kind) //nolint:errcheck // "" is named as unknown
		if kind.Type == "" {
			kind.Type = "unknown"
		}
		content[i], _ = json.Marshal(map[string]string{"type": "text", "text": fmt.Sprintf("(%s content of %d bytes, not supported)", kind.Type, len(text))})
	}
	return replaced(result, fields, "content", content)
}

// replaced returns an object with another value of one key, or unchanged if that fails.
func replaced(original json.RawMessage, object map[string]json.RawMessage, key string, value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		return original
	}
	object[key] = text
	all, err := json.Marshal(object)
	if err != nil {
		return original
	}
	return all
}
