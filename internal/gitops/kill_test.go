package gitops

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// killedRoot names the repository in which a copy of the test program commits
// until it is killed.
const killedRoot = "GITOPS_TEST_KILLED_ROOT"

// TestKilledCommitIsAtomic kills a commit at the nth rename
// and at the nth fsync of any of its threads, for each n that occurs.
func TestKilledCommitIsAtomic(t *testing.T) {
	if root := os.Getenv(killedRoot); root != "" {
		commitForKilling(t, root)
		return
	}
	strace, err := exec.LookPath("strace")
	if err != nil || testing.Short() {
		t.Skip("strace is not on PATH, or the test is to be short")
	}
	self, err := os.Executable()
	must(t, err)
	for _, call := range []string{"/^rename", "fsync"} {
		finished := false
		for nth := 1; !finished; nth++ {
			s := gittest.NewSandbox(t)
			s.Write("a", "1\n", "d/b", "1\n")
			base := s.Commit()
			s.Write("a", "2\n", "d/b", "2\n", "d/n", "n\n")
			cmd := exec.CommandContext(t.Context(), strace, "-f", "-qq", "-o", "/dev/null",
				fmt.Sprintf("--inject=%s:signal=SIGKILL:when=%d", call, nth),
				self, "-test.run=^"+t.Name()+"$")
			cmd.Env = append(os.Environ(), killedRoot+"="+s.Root)
			out, err := cmd.CombinedOutput()
			finished = err == nil
			if err != nil && !killed(err) {
				t.Skipf("strace can't kill here: %v\n%s", err, out)
			}
			checkKilled(s, base, finished)
			if nth > 200 {
				t.Fatalf("%s: the commit never finishes", call)
			}
		}
	}
}

func commitForKilling(t *testing.T, root string) {
	t.Helper()
	r, err := Open(root, gitdir.Env{})
	must(t, err)
	head, err := r.Git.Head()
	must(t, err)
	_, err = r.Commit(t.Context(), measure(t, r, head.Hash), options(head.Hash))
	must(t, err)
}

// killed reports whether a program, or strace on its behalf, was killed by SIGKILL.
func killed(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && (status.Signaled() && status.Signal() == syscall.SIGKILL || status.ExitStatus() == 128+int(syscall.SIGKILL))
}

// checkKilled checks the state after a killed commit, and that the repository still
// works.
func checkKilled(s *gittest.Sandbox, base string, finished bool) {
	s.T.Helper()
	s.Fsck()
	locks, err := filepath.Glob(filepath.Join(s.Root, ".git/*.lock"))
	must(s.T, err)
	more, err := filepath.Glob(filepath.Join(s.Root, ".git/refs/heads/*.lock"))
	must(s.T, err)
	for _, l := range append(locks, more...) {
		must(s.T, os.Remove(l))
	}
	head := s.Run("rev-parse", "HEAD")
	if finished && head == base {
		s.T.Error("it finished without a commit")
	}
	if head != base {
		if parent := s.Run("rev-parse", "HEAD^"); parent != base {
			s.T.Errorf("parent is %s", parent)
		}
		s.Run("reset", "-q") // the index may still be the old one
		if status := s.Run("status", "--porcelain"); status != "" {
			s.T.Errorf("the commit is not complete:\n%s", status)
		}
		return
	}
	if status := s.Run("status", "--porcelain"); strings.Count(status, "\n") != 2 {
		s.T.Errorf("the work is not complete:\n%s", status)
	}
	commitForKilling(s.T, s.Root)
	s.Clean()
}
