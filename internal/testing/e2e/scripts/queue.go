package scripts

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/millhand/millhand/internal/testing/queuetest"
)

// queueServer runs a NATS server with its store in a directory, until it is killed. It prints
// its URL to the file url there, whose port the next server with that directory uses.
func queueServer() {
	if len(os.Args) != 2 {
		fatal(errors.New("usage: queue-server DIR"))
	}
	dir, port := os.Args[1], -1
	file := filepath.Join(dir, "url")
	if text, err := os.ReadFile(file); err == nil {
		at, err := url.Parse(strings.TrimSpace(string(text)))
		fatal(err)
		port, err = strconv.Atoi(at.Port())
		fatal(err)
	} else if !errors.Is(err, fs.ErrNotExist) {
		fatal(err)
	}
	fatal(os.MkdirAll(dir, 0o755))
	out, err := os.Create(file)
	fatal(err)
	os.Stdout = out // where the server prints its URL
	fatal(queuetest.Run(filepath.Join(dir, "store"), port))
}

// fatal ends a program of scripts with an error.
func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// queueURL waits until the server of a directory accepts connections, and sets NATS_URL.
func queueURL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: queue-url DIR")
	}
	file := filepath.Join(ts.MkAbs(args[0]), "url")
	for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(file)
		at, complete := strings.CutSuffix(string(text), "\n")
		if err != nil || !complete {
			continue
		}
		conn, err := net.Dial("tcp", strings.TrimPrefix(at, "nats://"))
		if err == nil {
			conn.Close()
			ts.Setenv("NATS_URL", at)
			return
		}
	}
	ts.Fatalf("no server of %s", args[0])
}

// lastLine sets a variable to the last line of the standard output.
func lastLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: last-line VAR")
	}
	lines := strings.Split(strings.TrimSpace(ts.ReadFile("stdout")), "\n")
	ts.Setenv(args[0], lines[len(lines)-1])
}
