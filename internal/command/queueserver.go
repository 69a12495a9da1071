package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
)

// queueOptions are the server of a queue and the credentials for it.
type queueOptions struct {
	url, creds    string
	ca, cert, key string
	name          string // prefix of streams and buckets
}

const serverFlags = "SERVER FLAGS"

func (o *queueOptions) flags() []cli.Flag {
	text := func(name string, to *string, usage string) *cli.StringFlag {
		return &cli.StringFlag{Name: name, Category: serverFlags, Destination: to, Usage: usage}
	}
	url := text("url", &o.url, "Connect to the NATS server at `URL`, for example nats://queue.example.com:4222 or tls://queue.example.com:4222")
	url.EnvVars = []string{"NATS_URL"}
	creds := text("creds", &o.creds, "Use the NATS credentials in `FILE`")
	ca := text("tls-ca", &o.ca, "Trust the certificate authorities in `FILE`")
	cert := text("tls-cert", &o.cert, "Use the client certificate in `FILE`, with --tls-key")
	key := text("tls-key", &o.key, "Use the key of the client certificate in `FILE`")
	name := text("name", &o.name, "Use the streams and buckets whose names start with `PREFIX`")
	name.Value = "millhand"
	for _, f := range []*cli.StringFlag{creds, ca, cert, key, name} {
		f.EnvVars = []string{"NATS_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))}
	}
	return []cli.Flag{url, creds, ca, cert, key, name}
}

// check checks the flags of a command.
func (o *queueOptions) check(command string) error {
	switch {
	case o.url == "":
		return fmt.Errorf("%s requires --url URL of a NATS server, for example --url nats://127.0.0.1:4222", command)
	case (o.cert == "") != (o.key == ""):
		return errors.New("--tls-cert and --tls-key must be given together")
	case strings.ContainsAny(o.name, ".*> \t/\\") || o.name == "":
		return fmt.Errorf("--name %q must not be empty or contain any of . * > / \\ and spaces", o.name)
	}
	return nil
}

// open connects to the queue.
func (o *queueOptions) open(ctx context.Context, w world.World) (*queue.Queue, error) {
	q, err := queue.Open(ctx, queue.Options{URL: o.url, Token: w.Getenv("NATS_TOKEN"), Creds: o.creds, CA: o.ca, Cert: o.cert, Key: o.key, Name: o.name, Now: w.Now})
	if err != nil {
		return nil, fault.New(event.ExitUnavailable, "%w", err)
	}
	return q, nil
}

// oneRun returns the run that is the only argument of a command.
func oneRun(command string, args []string) (string, error) {
	if len(args) != 1 || args[0] == "" {
		return "", fmt.Errorf("%s requires the id of one run: millhand %[1]s RUN", command)
	}
	return args[0], nil
}

// queuedRun connects to a queue and returns a run of it.
func queuedRun(ctx context.Context, w world.World, o queueOptions, id string) (*queue.Queue, *queue.Run, error) {
	q, err := o.open(ctx, w)
	if err != nil {
		return nil, nil, err
	}
	r, err := q.Run(ctx, id)
	if err != nil {
		q.Close()
		exit := event.ExitUnavailable
		if errors.Is(err, queue.ErrNotFound) {
			exit = event.ExitUsage
		}
		return nil, nil, fault.New(exit, "%w", err)
	}
	return q, r, nil
}
