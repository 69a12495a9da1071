package gitops

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// sandbox is a directory with a repository that the git program made, a home directory,
// and a clock that stands still.
type sandbox struct {
	t    *testing.T
	git  string
	home string
	root string
}

var testTime = time.Date(2024, 5, 6, 7, 8, 9, 0, time.FixedZone("", 2*60*60))

// gitProgram returns the git program, which is the oracle of these tests.
func gitProgram(tb testing.TB) string {
	tb.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		tb.Skip("the git program is not on PATH")
	}
	return git
}

func newSandbox(t *testing.T, initArgs ...string) *sandbox {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &sandbox{t: t, git: gitProgram(t), home: filepath.Join(dir, "home"), root: filepath.Join(dir, "repo")}
	must(t, os.MkdirAll(s.root, 0o755))
	must(t, os.MkdirAll(s.home, 0o755))
	s.run(append([]string{"init", "-q", "-b", "main"}, initArgs...)...)
	return s
}

// at returns the same sandbox with another directory as its work tree.
func (s *sandbox) at(root string) *sandbox {
	c := *s
	c.root = root
	return &c
}

func (s *sandbox) env() Env {
	return Env{Home: s.home, GitProgram: s.git, LockWait: 50 * time.Millisecond}
}

func (s *sandbox) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.git, args...)
	cmd.Dir = s.root
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=1700000000 +0000",
	}
	return cmd
}

// run runs git and returns its output without the last newline.
func (s *sandbox) run(args ...string) string {
	s.t.Helper()
	cmd := s.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSuffix(string(out), "\n")
}

// write writes files given as name, content, name, content...
func (s *sandbox) write(files ...string) {
	s.t.Helper()
	for pair := range slices.Chunk(files, 2) {
		name := filepath.Join(s.root, pair[0])
		must(s.t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(s.t, os.WriteFile(name, []byte(pair[1]), 0o644))
	}
}

func (s *sandbox) remove(names ...string) {
	s.t.Helper()
	for _, n := range names {
		must(s.t, os.RemoveAll(filepath.Join(s.root, n)))
	}
}

func (s *sandbox) link(target, name string) {
	s.t.Helper()
	must(s.t, os.MkdirAll(filepath.Dir(filepath.Join(s.root, name)), 0o755))
	must(s.t, os.Symlink(target, filepath.Join(s.root, name)))
}

// pipe makes a named pipe.
func (s *sandbox) pipe(name string) {
	s.t.Helper()
	if out, err := exec.Command("mkfifo", filepath.Join(s.root, name)).CombinedOutput(); err != nil {
		s.t.Skipf("mkfifo: %v %s", err, out)
	}
}

func (s *sandbox) chmod(mode os.FileMode, name string) {
	s.t.Helper()
	must(s.t, os.Chmod(filepath.Join(s.root, name), mode))
}

// commit commits everything with git and returns the hash.
func (s *sandbox) commit() string {
	s.t.Helper()
	s.run("add", "-A")
	s.run("commit", "-q", "--allow-empty", "-m", "base")
	return s.run("rev-parse", "HEAD")
}

// open opens the work tree.
func (s *sandbox) open() *Repo {
	s.t.Helper()
	r, err := Open(s.root, s.env())
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// addedTree returns the tree that git would commit, without touching the index.
func (s *sandbox) addedTree() string {
	s.t.Helper()
	private := filepath.Join(s.t.TempDir(), "index")
	gitDir := s.run("rev-parse", "--absolute-git-dir")
	if data, err := os.ReadFile(filepath.Join(gitDir, "index")); err == nil {
		must(s.t, os.WriteFile(private, data, 0o644))
		info, err := os.Stat(filepath.Join(gitDir, "index"))
		must(s.t, err)
		must(s.t, os.Chtimes(private, info.ModTime(), info.ModTime())) // by which git tells racy entries
	}
	var tree string
	for _, args := range [][]string{{"add", "-A"}, {"write-tree"}} {
		cmd := s.command(args...)
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+private)
		out, err := cmd.CombinedOutput()
		if err != nil {
			s.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		tree = strings.TrimSpace(string(out))
	}
	return tree
}

// clean checks that git sees no difference and no damage.
func (s *sandbox) clean() {
	s.t.Helper()
	if status := s.run("status", "--porcelain"); status != "" {
		s.t.Errorf("git status is not clean:\n%s", status)
	}
	s.fsck()
}

func (s *sandbox) fsck() {
	s.t.Helper()
	out, err := s.command("fsck", "--strict", "--no-dangling").CombinedOutput()
	if text := strings.TrimSpace(string(out)); err != nil || text != "" && !onlyNotices(text) {
		s.t.Errorf("git fsck: %v\n%s", err, out)
	}
}

func onlyNotices(text string) bool {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "notice:") {
			return false
		}
	}
	return true
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

var testAuthor = Signature{Name: "Jo", Email: "jo@example.com", When: testTime}

func options(parent string) CommitOptions {
	return CommitOptions{Parent: parent, Message: "change\n\nbody", Author: testAuthor, Committer: testAuthor}
}

// measure returns what differs from a commit.
func measure(t *testing.T, r *Repo, commit string, protect ...string) *ChangeSet {
	t.Helper()
	from, err := r.SnapshotOf(commit)
	must(t, err)
	cs, err := r.Changes(t.Context(), from, protect)
	must(t, err)
	return cs
}

func paths(cs *ChangeSet) []string {
	var list []string
	for _, c := range cs.Changes {
		list = append(list, c.Path)
	}
	return list
}
