package queue_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/testing/queuetest"
)

// TestServerThatIsStarting opens queues on servers that may be starting, and on others.
func TestServerThatIsStarting(t *testing.T) {
	for name, c := range map[string]struct {
		url      string // "" for that of a server with options
		options  func(*server.Options)
		starting bool
	}{
		"nobody listens":    {url: "nats://127.0.0.1:1", starting: true},
		"unknown host":      {url: "nats://queue.invalid:4222", starting: true},
		"token":             {options: func(o *server.Options) { o.Authorization = "token-4711" }},
		"without JetStream": {options: func(o *server.Options) { o.JetStream = false }},
		"invalid URL":       {url: "nats://127.0.0.1:port"},
		"file not found":    {url: "nats://127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			o := queue.Options{URL: c.url, Now: time.Now}
			if c.options != nil {
				options := queuetest.Options(t.TempDir(), server.RANDOM_PORT)
				c.options(options)
				started, err := server.NewServer(options)
				if err != nil {
					t.Fatal(err)
				}
				started.Start()
				t.Cleanup(func() { started.Shutdown(); started.WaitForShutdown() })
				if !started.ReadyForConnections(5 * time.Minute) {
					t.Fatal("the server does not start")
				}
				o.URL = started.ClientURL()
			}
			if name == "file not found" {
				o.CA = "nonesuch.pem"
			}
			_, err := queue.Open(t.Context(), o)
			if err == nil || queue.IsStarting(err) != c.starting {
				t.Errorf("error %v, starting: %v", err, queue.IsStarting(err))
			}
		})
	}
}
