package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/queue"
)

const serverFlags = "SERVER FLAGS"

// serverFlagsOf are the flags of the server of a queue and the credentials for it.
func serverFlagsOf(o *queue.Options) []cli.Flag {
	text := func(name string, to *string, usage string) *cli.StringFlag {
		return &cli.StringFlag{Name: name, Category: serverFlags, Destination: to, Usage: usage}
	}
	url := text("url", &o.URL, "Connect to the NATS server at `URL`, for example nats://queue.example.com:4222 or tls://queue.example.com:4222")
	url.EnvVars = []string{"NATS_URL"}
	creds := text("creds", &o.Creds, "Use the NATS credentials in `FILE`")
	ca := text("tls-ca", &o.CA, "Trust the certificate authorities in `FILE`")
	cert := text("tls-cert", &o.Cert, "Use the client certificate in `FILE`, with --tls-key")
	key := text("tls-key", &o.Key, "Use the key of the client certificate in `FILE`")
	name := text("name", &o.Name, "Use the streams and buckets whose names start with `PREFIX`")
	name.Value = "millhand"
	for _, f := range []*cli.StringFlag{creds, ca, cert, key, name} {
		f.EnvVars = []string{"NATS_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))}
	}
	return []cli.Flag{url, creds, ca, cert, key, name}
}

// checkServer checks the flags of a command.
func checkServer(o queue.Options, command string) error {
	switch {
	case o.URL == "":
		return fmt.Errorf("%s requires --url URL of a NATS server, for example --url nats://127.0.0.1:4222", command)
	case (o.Cert == "") != (o.Key == ""):
		return errors.New("--tls-cert and --tls-key must be given together")
	case strings.ContainsAny(o.Name, ".*> \t/\\") || o.Name == "":
		return fmt.Errorf("--name %q must not be empty or contain any of . * > / \\ and spaces", o.Name)
	}
	return nil
}

// oneRun returns the run that is the only argument of a command.
func oneRun(command string, args []string) (string, error) {
	if len(args) != 1 || args[0] == "" {
		return "", fmt.Errorf("%s requires the id of one run: millhand %[1]s RUN", command)
	}
	return args[0], nil
}
