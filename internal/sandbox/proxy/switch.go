package proxy

import (
	"net"
	"sync"
)

// Switch closes proxies that serve: all that share it deny every host from then on, and close their connections.
// A nil Switch is never off. It is safe for concurrent use.
type Switch struct {
	mu     sync.Mutex
	reason error // nil while it is on
	open   map[*watched]bool
}

// NewSwitch returns a Switch that is on.
func NewSwitch() *Switch { return &Switch{open: map[*watched]bool{}} }

// Off closes the proxies, for a reason that clients and reports get. Further calls do nothing.
func (s *Switch) Off(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason != nil {
		return
	}
	s.reason = reason
	for conn := range s.open {
		conn.TCPConn.Close() //nolint:errcheck // its tunnel ends in any case
	}
	s.open = nil
}

// Reason returns why the proxies are closed; nil if they are not.
func (s *Switch) Reason() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

// watch returns a connection that is closed when the switch is off, also if it is off already.
func (s *Switch) watch(conn net.Conn) net.Conn {
	tcp, ok := conn.(*net.TCPConn)
	if s == nil || !ok {
		return conn
	}
	w := &watched{tcp, s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason != nil {
		tcp.Close() //nolint:errcheck // nothing was written
		return w
	}
	s.open[w] = true
	return w
}

// watched is a connection that a Switch closes.
type watched struct {
	*net.TCPConn
	by *Switch
}

// Close closes the connection.
func (w *watched) Close() error {
	w.by.mu.Lock()
	delete(w.by.open, w)
	w.by.mu.Unlock()
	return w.TCPConn.Close()
}
