//go:build linux

package sandbox

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
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

// A limit for processes counts the command's own: other processes of the user do not
// use it up, and do not raise it when they have ended.
func TestALimitForProcessesIgnoresNeighbours(t *testing.T) {
	for _, level := range confining() {
		for _, when := range []string{"started later", "ended before"} {
			t.Run(string(level)+", "+when, func(t *testing.T) {
				p := newPlace(t)
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

// Where the supervisor can't count, the limit is in addition to the processes that
// the user has when a command starts.
func TestALimitForProcessesWithoutAGate(t *testing.T) {
	t.Run("system calls are supervised already", func(t *testing.T) {
		p := newPlace(t)
		user := ordinary(t, p.workspace, p.home, p.tmp)
		spec := p.spec()
		spec.Limits.Pids = 60
		s := inside(t, spec, Partial)
		startNeighbours(t, user)
		superviseThread(t)
		if n := forked(t, bash(t, s, forks)); n < 30 || n > 120 {
			t.Errorf("%d processes were started", n)
		}
	})
	t.Run("processes hide", func(t *testing.T) {
		if os.Getenv("MILLHAND_TEST_HIDEPID") == "" {
			const hide = `mount -t proc -o hidepid=2 proc /proc`
			if out, err := exec.Command("unshare", "-m", "sh", "-c", hide).CombinedOutput(); err != nil {
				t.Skipf("a mount is not permitted here: %v %s", err, out)
			}
			cmd := exec.Command("unshare", "-m", "sh", "-c", hide+` && exec "$0" "$@"`, self(t), "-test.v", "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
			cmd.Env = append(os.Environ(), "MILLHAND_TEST_HIDEPID=1")
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
				t.Errorf("%v: %s", err, out)
			}
			return
		}
		p := newPlace(t)
		ordinary(t, p.workspace, p.home, p.tmp)
		spec := p.spec()
		spec.Limits.Pids = 60
		got := bash(t, inside(t, spec, Partial), py2("libc.prctl(4,0,0,0,0)\n"+forksMany))
		if got.err != nil || !strings.Contains(got.output, "no more") {
			t.Errorf("got %q, %v", got.output, got.err)
		}
	})
}

// self returns the path of this program.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// superviseThread supervises a system call of the calling thread and its children,
// as a container's manager may do. The thread ends with the test.
func superviseThread(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_LOOKUP_DCOOKIE, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	f := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&f)))
	if errno != 0 {
		t.Skip(errno)
	}
	t.Cleanup(func() { unix.Close(int(fd)) })
}

// The error of a command that can't start because of the limit names it.
func TestALimitForProcessesThatIsTooLow(t *testing.T) {
	p := newPlace(t)
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
