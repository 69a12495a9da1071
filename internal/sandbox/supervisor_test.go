//go:build linux

package sandbox

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// ahead starts the process for the next command, and waits until it runs.
func ahead(t *testing.T, s *Sandbox) *supervisor {
	t.Helper()
	if _, err := s.planned(); err != nil {
		t.Fatal(err)
	}
	s.StartAhead()
	s.StartAhead() // one is enough
	sup := <-s.ahead
	if sup == nil {
		t.Fatal("no process was started")
	}
	s.ahead <- sup
	waitFor(t, func() bool { // the process prepares itself
		score, err := os.ReadFile("/proc/" + strconv.Itoa(sup.process.Pid) + "/oom_score_adj")
		return err != nil || string(score) == "900\n"
	})
	return sup
}

// exited reports whether a process was waited for.
func exited(sup *supervisor) bool { return sup.process.Signal(syscall.Signal(0)) != nil }

// A command that a process runs which was started before it sees what has changed since, and ends
// like any other.
func TestCommandsOfProcessesThatWaited(t *testing.T) {
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			p := newFixture(t)
			spec := p.spec()
			spec.Locked = []string{filepath.Join(p.workspace, "locked")}
			s := inside(t, spec, level)
			if err := s.Try(t.Context()); err != nil || s.ahead != nil {
				t.Fatalf("%v; a process waits: %v", err, s.ahead != nil)
			}
			sup := ahead(t, s)
			if err := os.WriteFile(spec.Locked[0], []byte("new\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			cmd, l := start(t, s, &out, []string{"MARK=x"}, p.workspace, "bash", "-c", `cat locked; echo "$MARK $0 $1"; pwd; echo y >>locked || :; exit 3`, "a\nb", "")
			end, err := finish(t, cmd, l)
			if cmd.Pid != sup.process.Pid {
				t.Errorf("process %d ran the command instead of %d", cmd.Pid, sup.process.Pid)
			}
			if want := "new\nx a\nb \n" + p.workspace + "\n"; err != nil || end.ExitCode != 3 || !strings.HasPrefix(out.String(), want) {
				t.Errorf("got %+v, %v, %q; want %q", end, err, &out, want)
			}
			if text, err := os.ReadFile(spec.Locked[0]); level == Full && string(text) != "new\n" {
				t.Errorf("a file that was locked later has %q, %v", text, err)
			}
		})
	}
}

// A process that waits has no files, variables or directory of anybody.
func TestProcessesThatWaitHaveNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can look at a process that is not dumpable")
	}
	t.Setenv("MILLHAND_SECRET", "x")
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			p := newFixture(t)
			s := inside(t, p.spec(), level)
			bash(t, s, "true", "MILLHAND_SECRET=x")
			proc := "/proc/" + strconv.Itoa(ahead(t, s).process.Pid)
			env, err := os.ReadFile(proc + "/environ")
			if names := strings.Split(string(env), "\x00"); err != nil || len(names) != 3 || names[0] != "TMPDIR="+p.tmp || names[1] != "GOMAXPROCS=2" {
				t.Errorf("environment %q, %v", env, err)
			}
			if dir, err := os.Readlink(proc + "/cwd"); err != nil || dir != "/" {
				t.Errorf("working directory %s, %v", dir, err)
			}
			files, err := filepath.Glob(proc + "/fd/*")
			for _, f := range files {
				name, err := os.Readlink(f)
				if errors.Is(err, os.ErrNotExist) {
					continue // it was closed since
				}
				if own, err := os.Readlink("/proc/self/fd/" + filepath.Base(f)); err == nil && own == name && name[0] != '/' {
					continue // the test has inherited it itself
				}
				if !slices.ContainsFunc([]string{"/dev/null", "/memfd:millhand-plan", "socket:", "/sys/fs/cgroup/"}, func(known string) bool { return strings.HasPrefix(name, known) }) {
					t.Errorf("file %s is %s", filepath.Base(f), name)
				}
			}
			if err != nil || len(files) < 5 {
				t.Errorf("files %v, %v", files, err)
			}
		})
	}
}

// A process that is not needed any more ends with its sandbox; one that was killed is replaced.
func TestProcessesThatWaitEnd(t *testing.T) {
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			s := inside(t, newFixture(t).spec(), level)
			sup := ahead(t, s)
			sup.process.Kill()
			waitFor(t, func() bool { return sup.send(nil) != nil })
			if got := bash(t, s, "echo works"); got.err != nil || got.output != "works\n" || !exited(sup) {
				t.Errorf("got %+v; the killed process was waited for: %v", got, exited(sup))
			}
			sup = ahead(t, s)
			if err := s.Close(); err != nil || !exited(sup) {
				t.Errorf("%v; the process was waited for: %v", err, exited(sup))
			}
		})
	}
}

// A process that has the mounts of an earlier time is not used.
func TestProcessesThatWaitNoticeMounts(t *testing.T) {
	const variable = "MILLHAND_TEST_MOUNTS"
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	if os.Getenv(variable) == "" {
		cmd := exec.Command("/proc/self/exe", "-test.v", "-test.run=^TestProcessesThatWaitNoticeMounts$")
		cmd.Env = append(os.Environ(), variable+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	p := newFixture(t)
	dir := filepath.Join(p.workspace, "mounted")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := inside(t, p.spec(), Full)
	for range 2 {
		sup := ahead(t, s)
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
			t.Skip(err)
		}
		defer syscall.Unmount(dir, syscall.MNT_DETACH)
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte("new"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := bash(t, s, "cat mounted/f"); got.err != nil || got.output != "new" || !exited(sup) {
			t.Errorf("got %+v; the old process has ended: %v", got, exited(sup))
		}
	}
	sup := ahead(t, s)
	if cmd, l := start(t, s, &bytes.Buffer{}, nil, p.workspace, "true"); cmd.Pid != sup.process.Pid {
		t.Error("the mounts have not changed")
	} else if _, err := finish(t, cmd, l); err != nil {
		t.Error(err)
	}
}
