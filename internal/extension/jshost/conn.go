package jshost

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/proc"
)

// Limits of what the process makes of memory.
const (
	maxMessage = 32 << 20 // bytes of a message
	maxUnread  = 10_000   // messages that it has not read
	maxAsked   = 10_000   // decisions in progress
)

// CallError is the error of a function of a tool file or a plugin.
type CallError struct{ Message string }

// Error is what the function threw, with its location.
func (e *CallError) Error() string { return e.Message }

// message is a line of the process.
type message struct {
	ID     int64           `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
	Ask    int64           `json:"ask"`
	For    int64           `json:"for"`
	Params json.RawMessage `json:"params"`
}

// request is a request in progress.
type request struct {
	done chan message
	ask  func(json.RawMessage) error
	asks sync.WaitGroup // decisions that the function waits for
}

// conn is the connection to one process.
type conn struct {
	service *proc.Service
	grace   time.Duration // for a call to end after its abort
	read    chan struct{} // closed after the last message
	unread  chan []byte
	written chan struct{} // closed after the last message to the process

	mu      sync.Mutex
	last    int64
	asked   int // decisions in progress
	waiting map[int64]*request
	failed  error // why the connection is of no use
}

// newConn starts to read the messages of a process.
func newConn(service *proc.Service) *conn {
	c := &conn{service: service, grace: abortGrace, read: make(chan struct{}), unread: make(chan []byte, maxUnread), written: make(chan struct{}), waiting: map[int64]*request{}}
	go c.receive()
	go c.write()
	return c
}

// receive reads messages until the process closes its end, or the connection fails.
func (c *conn) receive() {
	defer close(c.read)
	lines := bufio.NewScanner(c.service)
	lines.Buffer(make([]byte, 64<<10), maxMessage)
	for lines.Scan() {
		m, err := decode(lines.Bytes())
		if err != nil {
			c.fail(err)
			return
		}
		if c.take(m); !c.works() {
			return
		}
	}
	err := lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("its message exceeds %d MiB", maxMessage>>20)
	} else {
		err = errEnded
	}
	c.fail(err)
}

// decode reads a message. Each is of one kind.
func decode(line []byte) (m message, err error) {
	if err := json.Unmarshal(bytes.ToValidUTF8(line, []byte("\uFFFD")), &m); err != nil {
		return m, errors.New("it sent an invalid message")
	}
	if m.Ask == 0 && m.ID == 0 {
		return m, errors.New("it sent a message of an unknown kind")
	}
	return m, nil
}

// take handles a message.
func (c *conn) take(m message) {
	if m.Ask != 0 {
		c.decide(m)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.waiting[m.ID]; ok {
		delete(c.waiting, m.ID)
		r.done <- m
	}
}

// decide decides what the function of a request asks for, and sends the decision.
func (c *conn) decide(m message) {
	response := map[string]any{"response": m.Ask}
	c.mu.Lock()
	r := c.waiting[m.For]
	available := r != nil && r.ask != nil
	if available {
		c.asked++
		r.asks.Go(func() { // hooks of the same process decide, too
			if err := r.ask(m.Params); err != nil {
				response["error"] = map[string]string{"message": err.Error()}
			}
			c.mu.Lock()
			c.asked--
			c.mu.Unlock()
			c.send(response) //nolint:errcheck // it can be encoded
		})
	}
	many := c.asked > maxAsked
	c.mu.Unlock()
	switch {
	case many:
		c.fail(fmt.Errorf("it asked for more than %d decisions at once", maxAsked))
	case !available:
		response["error"] = map[string]string{"message": "ask is not available here"}
		c.send(response) //nolint:errcheck // it can be encoded
	}
}

// fail ends all requests in progress.
func (c *conn) fail(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = why
	}
	for id, r := range c.waiting {
		close(r.done)
		delete(c.waiting, id)
	}
}

// works reports whether the process can be called.
func (c *conn) works() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed == nil
}

// send sends a message without waiting for the process, which may send messages and read none meanwhile.
func (c *conn) send(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	select {
	case c.unread <- append(line, '\n'):
	default:
		c.fail(fmt.Errorf("it has not read %d messages", maxUnread))
	}
	return nil
}

// write writes messages until reading ends. A process that does not read blocks it until it is killed.
func (c *conn) write() {
	defer close(c.written)
	for {
		select {
		case line := <-c.unread:
			c.service.Write(line) //nolint:errcheck // the end of the process is noticed by reading
		case <-c.read:
			return
		}
	}
}

// call sends a request and waits for its response, and for the decisions that it asked for. If ctx ends
// first, the request is aborted, and a process that continues it is killed.
func (c *conn) call(ctx context.Context, method string, params any, ask func(json.RawMessage) error) (json.RawMessage, error) {
	r := &request{done: make(chan message, 1), ask: ask}
	defer r.asks.Wait()
	c.mu.Lock()
	if c.failed != nil {
		c.mu.Unlock()
		return nil, c.why()
	}
	c.last++
	id := c.last
	c.waiting[id] = r
	c.mu.Unlock()
	if err := c.send(map[string]any{"id": id, "method": method, "params": params}); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, id)
		return nil, err
	}
	select {
	case m, ok := <-r.done:
		switch {
		case !ok:
			return nil, c.why()
		case m.Error != nil:
			return nil, &CallError{m.Error.Message}
		}
		return m.Result, nil
	case <-ctx.Done():
	}
	aborted := time.NewTimer(c.grace)
	defer aborted.Stop()
	c.send(map[string]any{"cancel": id}) //nolint:errcheck // it can be encoded
	select {
	case <-r.done:
	case <-aborted.C:
		c.fail(errors.New("it was ended because it did not end a call that was aborted"))
		c.kill()
	}
	return nil, context.Cause(ctx)
}

// errEnded is why the connection to a process failed that ended.
var errEnded = errors.New("it ended")

// why returns why the connection failed.
func (c *conn) why() error {
	c.mu.Lock()
	failed := c.failed
	c.mu.Unlock()
	if errors.Is(failed, errEnded) {
		c.service.Close() // waits for the end
		return proc.Ended(c.service.Result())
	}
	return failed
}

// close ends the process and waits for its end.
func (c *conn) close() {
	c.fail(errors.New("it was closed"))
	c.service.Close()
	<-c.read
	<-c.written
}

// kill ends the process without waiting for it to end itself.
func (c *conn) kill() {
	c.service.Kill()
	c.close()
}
