package worker

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/millhand/millhand/internal/event"
)

// lossy returns the URL of a proxy to a server that does not receive the first request for a job.
func lossy(t *testing.T, server string) string {
	t.Helper()
	at, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var lost atomic.Bool
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", at.Host)
			if err != nil {
				client.Close()
				continue
			}
			go func() {
				io.Copy(client, to)
				client.Close()
			}()
			go func() {
				defer to.Close()
				buf := make([]byte, 64<<10)
				for {
					n, err := client.Read(buf)
					if bytes.Contains(buf[:n], []byte("CONSUMER.MSG.NEXT")) && !lost.Swap(true) {
						continue
					}
					if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
						return
					}
				}
			}()
		}
	}()
	return "nats://" + l.Addr().String()
}

func TestAServerThatDoesNotRespondInTimeDoesNotEndAWorker(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.submit(1, "  - {id: a, prompt: Add a notice.}\n")
	s.server.URL = lossy(t, s.server.URL)
	log := s.worker()
	if end := s.result(r, "a"); end.End.Outcome != event.Passed {
		t.Errorf("%+v, log %s", end.End, log)
	}
}
