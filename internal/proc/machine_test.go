package proc

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestStartsThatTheMachineRefuses(t *testing.T) {
	for _, test := range []struct {
		err     error
		machine bool
	}{
		{syscall.EMFILE, true},
		{fmt.Errorf("clone: %w", syscall.EAGAIN), true},
		{&fs.PathError{Op: "mkdir", Path: "x", Err: syscall.ENOSPC}, true},
		{syscall.ENOENT, false},
		{syscall.EACCES, false},
		{syscall.E2BIG, false},
	} {
		tries := 0
		confine := func([]string, []string, string) (*Confined, error) {
			tries++
			return nil, test.err
		}
		_, err := Run(t.Context(), Command{Args: []string{"true"}, Output: io.Discard, Confine: confine})
		if IsMachine(err) != test.machine || !errors.Is(err, test.err) || tries > 1 != test.machine {
			t.Errorf("%v: got %v after %d tries", test.err, err, tries)
		}
		if test.machine && !strings.Contains(err.Error(), "the machine refused it: ") {
			t.Error(err)
		}
		explained := error(nil)
		explain := func(err error) error {
			explained = err
			return err
		}
		if _, err := StartService(t.Context(), Command{Args: []string{"true"}, Confine: confine, Explain: explain}); IsMachine(err) != test.machine || !errors.Is(err, explained) {
			t.Errorf("service: %v, explained %v", err, explained)
		}
	}
}

func TestAStartIsTriedAgain(t *testing.T) {
	tries := 0
	res, err := Run(t.Context(), Command{Args: []string{"true"}, Output: io.Discard, Confine: func(args, _ []string, _ string) (*Confined, error) {
		if tries++; tries < 3 {
			return nil, syscall.EMFILE
		}
		return &Confined{
			Start: func(files [3]*os.File) (*os.Process, error) {
				return os.StartProcess("/bin/true", args, &os.ProcAttr{Files: files[:], Sys: &syscall.SysProcAttr{Setpgid: true}})
			},
			Kill:  func() {},
			Ended: func() (Result, error) { return Result{}, nil },
		}, nil
	}})
	if err != nil || res.ExitCode != 0 || tries != 3 {
		t.Errorf("%+v, %v after %d tries", res, err, tries)
	}
}

func TestOnlySomeErrorsOfOtherCallsAreTheMachines(t *testing.T) {
	for err, want := range map[error]bool{
		syscall.ENFILE: true, syscall.ENOMEM: true, syscall.EAGAIN: false, syscall.ENOSPC: false, os.ErrNotExist: false,
	} {
		if got := IsMachine(fmt.Errorf("open x: %w", err)); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
	for err, want := range map[error]bool{syscall.EAGAIN: true, syscall.ENOSPC: true, syscall.ENOENT: false} {
		if got := IsMachine(fmt.Errorf("run git: %w", &fs.PathError{Op: "fork/exec", Path: "/usr/bin/git", Err: err})); got != want {
			t.Errorf("start: %v: %v", err, got)
		}
	}
	if IsMachine(nil) {
		t.Error("nil")
	}
}

// TestPageOfRemedies compares the table of docs/troubleshooting.md with the remedies.
func TestPageOfRemedies(t *testing.T) {
	page, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range remedies {
		row := fmt.Sprintf("| %s, %s | %s |", unix.ErrnoName(r.errno), r.errno, r.text)
		if !strings.Contains(string(page), row) {
			t.Errorf("the page lacks %s", row)
		}
	}
}
