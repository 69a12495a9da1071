package proc

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func exchange(ctx context.Context, t *testing.T, input []byte, line string) (string, Result, *Service, error) {
	t.Helper()
	s, err := StartService(ctx, Command{Args: []string{"bash", "-c", line}, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	out, res, err := s.Exchange(input, 100)
	return string(out), res, s, err
}

func TestExchange(t *testing.T) {
	large := bytes.Repeat([]byte("x"), 1<<20)
	for name, c := range map[string]struct {
		input        []byte
		line, output string
		code         int
	}{
		"input and output":                     {[]byte("hello"), "cat; exit 3", "hello", 3},
		"unread input":                         {large, "echo done", "done\n", 0},
		"input that is read after closing out": {large, "exec >&-; wc -c >&2", "", 0},
		"long output":                          {nil, "head -c 1000000 /dev/zero | tr '\\0' y", strings.Repeat("y", 100), 0},
	} {
		out, res, s, err := exchange(t.Context(), t, c.input, c.line)
		if out != c.output || res.ExitCode != c.code || err != nil {
			t.Errorf("%s: output %q, exit code %d, error %v", name, out, res.ExitCode, err)
		}
		if name == "input that is read after closing out" && strings.TrimSpace(string(s.Stderr())) != "1048576" {
			t.Errorf("%s: it read %s bytes", name, s.Stderr())
		}
	}
}

func TestExchangeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, _, _, err := exchange(ctx, t, nil, "sleep 600"); err == nil {
		t.Error("no error after the context was cancelled")
	}
}

// A process that left the group and has the pipes open does not block.
func TestExchangeWithStrays(t *testing.T) {
	here := filepath.Join(t.TempDir(), "here") // the process ends when it is removed
	if err := os.WriteFile(here, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, res, _, err := exchange(t.Context(), t, bytes.Repeat([]byte("x"), 1<<20), "setsid bash -c 'while [ -e "+here+" ]; do sleep 0.1; done' <&0 & echo left")
	if out != "left\n" || res.ExitCode != 0 || err != nil {
		t.Errorf("output %q, exit code %d, error %v", out, res.ExitCode, err)
	}
}
