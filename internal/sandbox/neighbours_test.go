//go:build linux

package sandbox

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/dev/nightly"
)

// ordinary changes the owner of directories to an ordinary user, whom RLIMIT_NPROC
// binds, and returns the credentials of that user; nil if the tests run as one.
func ordinary(t *testing.T, dirs ...string) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	const uid, gid = 4242, 4243
	for _, dir := range dirs {
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	return &syscall.Credential{Uid: uid, Gid: gid}
}

// startNeighbours starts many processes of a user, and returns a function that
// kills them.
func startNeighbours(t *testing.T, as *syscall.Credential) (end func()) {
	t.Helper()
	cmd := exec.Command("bash", "-c", `for i in {1..200}; do sleep 1000 <&- & done; echo started; read; kill $(jobs -p); wait`)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = []string{searchPath}, "/", &syscall.SysProcAttr{Setpgid: true, Credential: as}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		in.Close()
		cmd.Wait() // it fails: the last that it waited for was killed
	})
	t.Cleanup(end)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("start neighbours: %q, %v", line, err)
	}
	return end
}

// forks starts processes until that fails, and prints how many were started.
const forks = `python3 -c '
import os,time
n=0
try:
  while n<400:
    if os.fork()==0: time.sleep(1000)
    n+=1
except BlockingIOError: pass
print("started",n)'`

// forked reads what forks printed.
func forked(t *testing.T, got outcome) int {
	t.Helper()
	_, after, _ := strings.Cut(got.output, "started ")
	n, err := strconv.Atoi(strings.TrimSpace(after))
	if err != nil || got.err != nil {
		t.Errorf("got %q, %v", got.output, got.err)
	}
	return n
}

// A limit for processes is in addition to what the user runs when a command starts:
// what was started since the sandbox was made does not use it up, and what has ended
// since does not raise it.
func TestProcessLimitIgnoresOtherProcesses(t *testing.T) {
	for i, level := range confining() {
		for _, when := range nightly.Sample([]string{"started later", "ended before"}, 2, i) {
			t.Run(string(level)+", "+when, func(t *testing.T) {
				p := newFixture(t)
				user := ordinary(t, p.workspace, p.home, p.tmp)
				spec := p.spec()
				spec.Limits.Pids = 60
				end := func() {}
				if when == "ended before" {
					end = startNeighbours(t, user)
				}
				s := inside(t, spec, level)
				end()
				if when == "started later" {
					startNeighbours(t, user)
				}
				if n := forked(t, bash(t, s, forks)); n < 30 || n > 120 {
					t.Errorf("%d processes were started", n)
				}
			})
		}
	}
}

// The error of a command that can't start because of the limit names it.
func TestProcessLimitTooLow(t *testing.T) {
	p := newFixture(t)
	ordinary(t, p.workspace, p.home, p.tmp)
	spec := p.spec()
	spec.Limits.Pids = 1
	s := inside(t, spec, Full)
	if s.group != nil {
		t.Skip("a control group has the limit")
	}
	if got := bash(t, s, "true"); !errors.Is(got.err, ErrRefused) || !errors.Is(got.err, unix.EAGAIN) || !strings.Contains(got.err.Error(), "limits.processes (1) exceeded") {
		t.Errorf("got %q, %v", got.output, got.err)
	}
}
