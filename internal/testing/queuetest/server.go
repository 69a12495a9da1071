// Package queuetest starts NATS servers for tests.
package queuetest

import (
	"fmt"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Server is a NATS server with JetStream in this process.
type Server struct {
	URL string

	options *server.Options
	server  *server.Server
}

// Options returns the options of a server with JetStream on the loopback interface. Port -1
// chooses a free one.
func Options(store string, port int) *server.Options {
	return &server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: store, NoLog: true, NoSigs: true, SyncInterval: time.Second}
}

// Start starts a server, which stops with the test.
func Start(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{options: Options(tb.TempDir(), server.RANDOM_PORT)}
	s.start(tb)
	tb.Cleanup(s.Stop)
	return s
}

func (s *Server) start(tb testing.TB) {
	tb.Helper()
	started, err := server.NewServer(s.options)
	if err != nil {
		tb.Fatal(err)
	}
	started.Start()
	if !started.ReadyForConnections(5 * time.Minute) {
		tb.Fatal("the NATS server does not start")
	}
	s.server, s.URL = started, started.ClientURL()
	if at, err := url.Parse(s.URL); err == nil { // the same port after a restart
		s.options.Port, _ = strconv.Atoi(at.Port())
	}
}

// Stop stops the server.
func (s *Server) Stop() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
}

// Restart stops the server and starts it again with the same store and port.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	s.Stop()
	s.start(tb)
}

// Run runs a server until the process is killed: for tests that kill it.
func Run(store string, port int) error {
	started, err := server.NewServer(Options(store, port))
	if err != nil {
		return err
	}
	started.Start()
	if !started.ReadyForConnections(5 * time.Minute) {
		return fmt.Errorf("the NATS server does not start on port %d", port)
	}
	fmt.Println(started.ClientURL())
	started.WaitForShutdown()
	return nil
}
