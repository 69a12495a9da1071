package mcp

import (
	"bufio"
	"bytes"
	"context"
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

// conn is a connection to a server through its standard input and output: a message is a
// line with a JSON object. It implements the SDK's Transport, too.
type conn struct {
	service *proc.Service
	lines   *bufio.Reader
	inbox   *inbox

	closing sync.Once
	writing chan struct{} // has one element while nobody writes

	mu     sync.Mutex
	broken bool  // the server ended, or closed its input or output
	closed bool  // by Close
	failed error // why the connection was closed; nil if the server ended
}

func newConn(service *proc.Service, notify func(Notice)) *conn {
	c := &conn{service: service, lines: bufio.NewReaderSize(service, 64<<10), inbox: newInbox(notify), writing: make(chan struct{}, 1)}
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
		message, refusal := c.inbox.take(line)
		if refusal != nil {
			c.refuse(ctx, refusal)
		}
		if message != nil {
			return message, nil
		}
	}
}

// refusalTimeout is how long a server may take to read a refusal.
const refusalTimeout = 5 * time.Second

// refuse answers a request of the server with an error.
func (c *conn) refuse(ctx context.Context, refusal *jsonrpc.Response) {
	ctx, cancel := context.WithTimeout(ctx, refusalTimeout)
	defer cancel()
	c.Write(ctx, refusal) //nolint:errcheck // the server can't be told
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
	c.inbox.note(message)
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

// works reports whether the server runs and is connected.
func (c *conn) works() bool {
	select {
	case <-c.service.Ended():
		return false
	default:
		c.mu.Lock()
		defer c.mu.Unlock()
		return !c.broken && c.failed == nil
	}
}

// cause returns why the connection was lost, after the end of the server; nil if it was not.
func (c *conn) cause() error {
	c.mu.Lock()
	broken, why := c.broken, c.failed
	c.mu.Unlock()
	if broken && why == nil { // the server ended by itself
		c.Close() //nolint:errcheck // always nil; waits for the end
		return &endedError{proc.Ended(c.service.Result())}
	}
	return why
}

// log returns the end of the standard error.
func (c *conn) log() []byte { return c.service.Stderr() }

// endedError is why a connection was lost whose server ended by itself.
type endedError struct{ how error }

func (e *endedError) Error() string { return e.how.Error() }
func (e *endedError) Unwrap() error { return e.how }
