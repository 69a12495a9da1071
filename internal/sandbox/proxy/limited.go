package proxy

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
)

// maxConnections limits the connections of a job at the same time. Each has up to two open files of this
// process, which all jobs share: without a limit one job could use them up.
const maxConnections = 512

// limited is a listener that refuses connections beyond the limit.
type limited struct {
	net.Listener
	open *atomic.Int64
}

// Accept returns the next connection within the limit. It does not wait for others to end: a client would see no
// reason.
func (l limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= maxConnections {
			return &counted{Conn: conn, open: l.open}, nil
		}
		l.open.Add(-1)
		// It can't block: a new connection has room for it.
		fmt.Fprintf(conn, "HTTP/1.1 503 Service Unavailable (millhand: more than %d connections of the job)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", maxConnections)
		conn.Close() //nolint:errcheck // nothing was accepted
	}
}

// counted is a connection within the limit.
type counted struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

// Close closes the connection, and makes room for another.
func (c *counted) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { c.open.Add(-1) })
	return err
}

// CloseWrite ends what is sent, which tunnels need.
func (c *counted) CloseWrite() error {
	closeWrite(c.Conn)
	return nil
}
