//go:build !windows

package command_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/command"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/proc/signals/early"
)

// asMain makes the test binary the program.
const asMain = "MILLHAND_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		command.Start(early.Caught, command.SameSignal) // as main does
	}
	signal.Reset() // package early has caught them
	os.Exit(m.Run())
}

// Signals have their exit codes before main runs: as soon as package early is initialized, which the trace of
// the runtime shows. The manifest is a pipe that stays empty, so the program does not end by itself.
func TestSignalsBeforeMain(t *testing.T) {
	manifest := filepath.Join(t.TempDir(), "millhand.yaml")
	if err := syscall.Mkfifo(manifest, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(manifest, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	for sig, want := range map[syscall.Signal]event.Exit{syscall.SIGINT: event.ExitInterrupt, syscall.SIGTERM: event.ExitTerminate, syscall.SIGHUP: event.ExitTerminate} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "run", manifest)
		cmd.Env = append(os.Environ(), asMain+"=1", "GODEBUG=inittrace=1")
		stderr, err := cmd.StderrPipe()
		if err := errors.Join(err, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		caught := false
		var rest bytes.Buffer
		for lines := bufio.NewReader(stderr); ; {
			line, err := lines.ReadString('\n')
			switch {
			case strings.HasPrefix(line, "init ") && strings.Contains(line, "/internal/proc/signals/early "):
				caught = true
				if err := cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
			case strings.HasPrefix(line, "init ") && strings.Contains(line, "/internal/command ") && !caught:
				t.Fatal("package early is initialized after the program's larger packages")
			case !strings.HasPrefix(line, "init "):
				rest.WriteString(line)
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				break
			}
		}
		if cmd.Wait(); cmd.ProcessState.ExitCode() != int(want) || !strings.Contains(rest.String(), "interrupted by "+unix.SignalName(sig)+"; nothing was run") {
			t.Errorf("%s: exit code %d, want %d: %s", sig, cmd.ProcessState.ExitCode(), want, rest.String())
		}
	}
}
