package command

import (
	"bytes"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/millhand/millhand/internal/app/world"
)

// failing fails each write after the first n with an error, as a file does.
type failing struct {
	n   int
	err error
}

func (f *failing) Write(p []byte) (int, error) {
	if f.n--; f.n >= 0 {
		return len(p), nil
	}
	return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: f.err}
}

func TestNoCommandSucceedsWithoutItsResult(t *testing.T) {
	for _, line := range []string{
		"version", "version --json", "--version", "--help", "run --help", "help run", "explain limits", "explain verify", "schema", "schema report", "models openai", "models openai --json",
		"policy explain --profile build bash ls", "policy explain --profile readonly read README", "man", "completion bash", "tools", "tools --json", "tool read --help", "plan --help",
	} {
		run := func(out io.Writer) (int, string) {
			var errs bytes.Buffer
			exit := Main(t.Context(), append([]string{"millhand"}, strings.Fields(line)...), world.World{In: strings.NewReader(""), Out: out, Err: &errs, Getenv: func(string) string { return "" }, Now: noon})
			return exit, errs.String()
		}
		usual, _ := run(io.Discard)
		if exit, text := run(&failing{err: syscall.ENOSPC}); exit != 70 || strings.Count(text, "no space left on device") != 1 {
			t.Errorf("%s on a full disk: exit code %d: %s", line, exit, text)
		}
		for _, left := range []error{syscall.EPIPE, syscall.ECONNRESET} {
			if exit, text := run(&failing{err: left}); exit != usual || strings.Contains(text, left.Error()) {
				t.Errorf("%s after its reader left: exit code %d, want %d: %s", line, exit, usual, text)
			}
		}
	}
}

func TestStandardErrorDecidesNoExitCode(t *testing.T) {
	w := world.World{In: strings.NewReader(""), Out: io.Discard, Err: &failing{err: syscall.ENOSPC}, Names: []string{"MILLHAND_MAXCOST"}, Getenv: func(string) string { return "" }}
	if exit := Main(t.Context(), []string{"millhand", "version"}, w); exit != 0 {
		t.Errorf("exit code %d", exit)
	}
}
