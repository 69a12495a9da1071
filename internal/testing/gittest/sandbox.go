// Package gittest makes repositories with the git program, which is the oracle of
// the tests of git directories, repositories and remotes.
package gittest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Sandbox is a directory with a repository that the git program made, and a home
// directory.
type Sandbox struct {
	T    *testing.T
	Git  string
	Home string
	Root string
}

// TestTime is the time of commits that the code under test makes.
var TestTime = time.Date(2024, 5, 6, 7, 8, 9, 0, time.FixedZone("", 2*60*60))

// GitProgram returns the git program, which is the oracle of these tests.
func GitProgram(tb testing.TB) string {
	tb.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		tb.Skip("the git program is not on PATH")
	}
	return git
}

// NewSandbox creates an empty repository, with initArgs for git init.
func NewSandbox(t *testing.T, initArgs ...string) *Sandbox {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &Sandbox{T: t, Git: GitProgram(t), Home: filepath.Join(dir, "home"), Root: filepath.Join(dir, "repo")}
	check(t, os.MkdirAll(s.Root, 0o755))
	check(t, os.MkdirAll(s.Home, 0o755))
	s.Run(append([]string{"init", "-q", "-b", "main"}, initArgs...)...)
	return s
}

// At returns the same sandbox with another directory as its work tree.
func (s *Sandbox) At(root string) *Sandbox {
	c := *s
	c.Root = root
	return &c
}

// Command prepares to run git in the work tree, with an environment of its own.
func (s *Sandbox) Command(args ...string) *exec.Cmd {
	args = append([]string{"-c", "maintenance.auto=false"}, args...) // a process less at each commit
	cmd := exec.CommandContext(s.T.Context(), s.Git, args...)
	cmd.Dir = s.Root
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.Home, "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1", "LC_ALL=C",
		"GIT_TEMPLATE_DIR=", // no samples of hooks: 15 files less in each repository
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=1700000000 +0000",
	}
	return cmd
}

// Run runs git and returns its output without the last newline.
func (s *Sandbox) Run(args ...string) string {
	s.T.Helper()
	cmd := s.Command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.T.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSuffix(string(out), "\n")
}

// Write writes files given as name, content, name, content...
func (s *Sandbox) Write(files ...string) {
	s.T.Helper()
	for pair := range slices.Chunk(files, 2) {
		name := filepath.Join(s.Root, pair[0])
		check(s.T, os.MkdirAll(filepath.Dir(name), 0o755))
		check(s.T, os.WriteFile(name, []byte(pair[1]), 0o644))
	}
}

// Remove deletes files and directories of the work tree.
func (s *Sandbox) Remove(names ...string) {
	s.T.Helper()
	for _, n := range names {
		check(s.T, os.RemoveAll(filepath.Join(s.Root, n)))
	}
}

// Symlink creates a symlink in the work tree.
func (s *Sandbox) Symlink(target, name string) {
	s.T.Helper()
	check(s.T, os.MkdirAll(filepath.Dir(filepath.Join(s.Root, name)), 0o755))
	check(s.T, os.Symlink(target, filepath.Join(s.Root, name)))
}

// Pipe makes a named pipe.
func (s *Sandbox) Pipe(name string) {
	s.T.Helper()
	if out, err := exec.CommandContext(s.T.Context(), "mkfifo", filepath.Join(s.Root, name)).CombinedOutput(); err != nil {
		s.T.Skipf("mkfifo: %v %s", err, out)
	}
}

// Chmod changes the mode of a file of the work tree.
func (s *Sandbox) Chmod(mode os.FileMode, name string) {
	s.T.Helper()
	check(s.T, os.Chmod(filepath.Join(s.Root, name), mode))
}

// Commit commits everything with git and returns the hash.
func (s *Sandbox) Commit() string {
	s.T.Helper()
	s.Run("add", "-A")
	s.Run("commit", "-q", "--allow-empty", "-m", "base")
	return s.head()
}

// head returns the hash of HEAD; where files of the repository contain it, without a process.
func (s *Sandbox) head() string {
	s.T.Helper()
	dir := filepath.Join(s.Root, ".git")
	if head, err := os.ReadFile(filepath.Join(dir, "HEAD")); err == nil {
		if ref, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: "); ok {
			if hash, err := os.ReadFile(filepath.Join(dir, ref)); err == nil {
				return strings.TrimSpace(string(hash))
			}
		}
	}
	return s.Run("rev-parse", "HEAD")
}

// AddedTree returns the tree that git would commit, without touching the index.
func (s *Sandbox) AddedTree() string {
	s.T.Helper()
	private := filepath.Join(s.T.TempDir(), "index")
	gitDir := s.Run("rev-parse", "--absolute-git-dir")
	if data, err := os.ReadFile(filepath.Join(gitDir, "index")); err == nil {
		check(s.T, os.WriteFile(private, data, 0o644))
		info, err := os.Stat(filepath.Join(gitDir, "index"))
		check(s.T, err)
		check(s.T, os.Chtimes(private, info.ModTime(), info.ModTime())) // by which git tells racy entries
	}
	var tree string
	for _, args := range [][]string{{"add", "-A"}, {"write-tree"}} {
		cmd := s.Command(args...)
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+private)
		out, err := cmd.CombinedOutput()
		if err != nil {
			s.T.Fatalf("git %v: %v\n%s", args, err, out)
		}
		tree = strings.TrimSpace(string(out))
	}
	return tree
}

// Clean checks that git sees no difference and no damage.
func (s *Sandbox) Clean() {
	s.T.Helper()
	if status := s.Run("status", "--porcelain"); status != "" {
		s.T.Errorf("git status is not clean:\n%s", status)
	}
	s.Fsck()
}

// Fsck checks that git finds no damage in the repository.
func (s *Sandbox) Fsck() {
	s.T.Helper()
	out, err := s.Command("fsck", "--strict", "--no-dangling").CombinedOutput()
	if text := strings.TrimSpace(string(out)); err != nil || text != "" && !onlyNotices(text) {
		s.T.Errorf("git fsck: %v\n%s", err, out)
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

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// LargeRepository creates a repository with 5,000 files and returns its work tree.
func LargeRepository(b *testing.B, git string) string {
	b.Helper()
	root := b.TempDir()
	RunGitIn(b, git, root, "init", "-q", "-b", "main")
	for d := range 100 {
		dir := filepath.Join(root, fmt.Sprintf("pkg%02d", d))
		check(b, os.MkdirAll(dir, 0o755))
		for f := range 50 {
			text := fmt.Appendf(nil, "package p%d\n\n// file %d\n", d, f)
			for line := range 200 {
				text = fmt.Appendf(text, "var v%d = %d\n", line, line*d*f)
			}
			check(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%02d.go", f)), text, 0o644))
		}
	}
	RunGitIn(b, git, root, "add", "-A")
	RunGitIn(b, git, root, "commit", "-q", "-m", "base")
	RunGitIn(b, git, root, "gc", "-q")
	return root
}

// RunGitIn runs git in a directory, for benchmarks.
func RunGitIn(b *testing.B, git, root string, args ...string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), git, args...)
	cmd.Dir = root
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// StatusPaths returns the sorted paths that git status lists.
func (s *Sandbox) StatusPaths() []string {
	s.T.Helper()
	var list []string
	out := s.Run("status", "--porcelain", "-z", "-uall", "--no-renames", "--ignore-submodules=dirty")
	for entry := range strings.SplitSeq(out, "\x00") {
		if len(entry) > 3 {
			list = append(list, entry[3:])
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
