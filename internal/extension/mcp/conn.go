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
// line with a JSON object. It is that of the SDK's IOTransport, which reads through a filter,
// because one line that is not a message ends its connection, and which writes with the time
// that a context leaves, because it waits for a server that does not read. It implements the SDK's Transport, too.
type conn struct {
	sdk.Connection
	service *proc.Service
	life    context.Context //nolint:containedctx // of the server
	lines   *bufio.Reader
	inbox   *inbox
	writing chan struct{} // has one element while nobody writes
	sent    int           // bytes of the message that is written

	mu     sync.Mutex
	broken bool  // the server ended, or closed its input or output
	closed bool  // by Close
	failed error // why the connection was closed; nil if the server ended
}

func newConn(life context.Context, service *proc.Service, notify func(Notice)) (c *conn, err error) {
	c = &conn{service: service, life: life, lines: bufio.NewReaderSize(service, 64<<10), inbox: newInbox(notify), writing: make(chan struct{}, 1)}
	c.writing <- struct{}{}
	pipe := &messages{conn: c}
	c.Connection, err = (&sdk.IOTransport{Reader: pipe, Writer: pipe, MaxLineLength: -1}).Connect(life)
	return c, err
}

// Connect implements the SDK's Transport.
func (c *conn) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// Close ends the server.
func (c *conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return c.Connection.Close()
}

// messages are the standard output of a server without the lines that are not messages, and
// its standard input, for the SDK.
type messages struct {
	conn *conn
	rest []byte // of a message
}

// Read returns the next bytes of a message, each of which is a line.
func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		var err error
		if m.rest, err = m.conn.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// Write writes a message.
func (m *messages) Write(line []byte) (n int, err error) {
	m.conn.sent, err = m.conn.service.Write(line)
	return m.conn.sent, err
}

// Close ends the server.
func (m *messages) Close() error {
	m.conn.service.Close()
	return nil
}

// next returns the next line of the server for the SDK; nil for a line that the SDK does not get.
func (c *conn) next() ([]byte, error) {
	line, err := readLine(c.lines)
	if err != nil {
		c.lost()
		if errors.Is(err, errMessageSize) {
			c.fail(err)
		}
		return nil, err
	}
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return nil, nil
	}
	message, refusal := c.inbox.take(line)
	if refusal != nil {
		c.refuse(refusal)
	}
	if message == nil {
		return nil, nil
	}
	line, err = jsonrpc.EncodeMessage(message)
	return append(line, '\n'), err
}

// refusalTimeout is how long a server may take to read a refusal.
const refusalTimeout = 5 * time.Second

// refuse answers a request of the server with an error.
func (c *conn) refuse(refusal *jsonrpc.Response) {
	ctx, cancel := context.WithTimeout(c.life, refusalTimeout)
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
	c.inbox.note(message)
	select {
	case <-c.writing:
		defer func() { c.writing <- struct{}{} }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	c.sent = 0
	late := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		c.service.SetWriteDeadline(time.Unix(1, 0)) //nolint:errcheck // pipes have deadlines
		close(late)
	})
	err := c.Connection.Write(ctx, message)
	if !stop() {
		<-late
		c.service.SetWriteDeadline(time.Time{}) //nolint:errcheck // pipes have deadlines
	}
	if err != nil && c.sent > 0 && ctx.Err() != nil {
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
