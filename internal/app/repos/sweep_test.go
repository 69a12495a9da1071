package repos

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/sandbox"
)

// tree makes a worktree of the stage's repository, and removes its directory.
func (s *stage) tree(dir string) {
	s.T.Helper()
	s.Run("worktree", "add", "-q", "--detach", dir)
	if err := os.RemoveAll(filepath.Dir(filepath.Dir(dir))); err != nil {
		s.T.Fatal(err)
	}
}

func TestSweepRemovesWhatKilledRunsLeftAndNothingElse(t *testing.T) {
	s := newStage(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	mine, others := filepath.Join(t.TempDir(), "a", "mine"), filepath.Join(tmp, "millhand-00000002", "trees", "job")
	s.tree(mine)
	s.tree(others)
	out, err := rundir.Claim(t.Context(), t.TempDir(), "", "r-00000001", s.world.Clock())
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Begin("r-00000001", sandbox.None, nil, 1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(out.Close)
	own := filepath.Join(out.Work(), "trees", "job")
	s.Run("worktree", "add", "-q", "--detach", own)
	if err := os.RemoveAll(own); err != nil {
		t.Fatal(err)
	}
	left, broken := filepath.Join(tmp, "millhand-00000003"), filepath.Join(tmp, "millhand-00000004")
	for _, dir := range []string{left, filepath.Join(broken, "run.lock")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lock := filepath.Join(left, "run.lock")
	relock := func() {
		if err := os.WriteFile(lock, []byte(`{"holder": "run r-00000003"}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	relock()
	_, ready, err := s.check(t.Context(), s.plan("a"), Run{ID: "r-00000001"}, true)
	if err != nil {
		t.Fatal(err)
	}
	Sweep(t.Context(), s.world, out, ready, false)
	trees := s.Run("worktree", "list", "--porcelain")
	for tree, want := range map[string]bool{mine: true, others: false, own: false} {
		if strings.Contains(trees, "worktree "+tree+"\n") != want {
			t.Errorf("%s is registered: %t", tree, !want)
		}
	}
	for dir, want := range map[string]bool{left: false, broken: true, out.Work(): true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: %v", dir, err)
		}
	}
	log := s.log.String()
	for _, line := range []string{"removed " + left + ", left by run r-00000003, which was killed", "millhand: remove " + broken + " of a killed run: "} {
		if !strings.Contains(log, line) {
			t.Errorf("no line %q in %q", line, log)
		}
	}
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	relock()
	s.log.Reset()
	Sweep(t.Context(), s.world, out, ready, true)
	if _, err := os.Stat(left); err == nil || s.log.Len() > 0 {
		t.Errorf("quiet: %v, log %q", err, s.log)
	}
}
