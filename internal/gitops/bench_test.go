package gitops

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkStageAndCommit commits 20 changed files of 5,000 in 100 directories, with
// git (add -A and commit) and with this package (Changes and Commit). The target
// is to take no more than three times git's time.
func BenchmarkStageAndCommit(b *testing.B) {
	git := gitProgram(b)
	b.Run("git", func(b *testing.B) {
		root := largeRepository(b, git)
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			changeFiles(b, root, i)
			b.StartTimer()
			runGitIn(b, git, root, "add", "-A")
			runGitIn(b, git, root, "commit", "-q", "-m", "change")
		}
	})
	b.Run("gitops", func(b *testing.B) {
		root := largeRepository(b, git)
		r, err := Open(root, Env{Home: b.TempDir()})
		must(b, err)
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			head, err := r.Head()
			must(b, err)
			from, err := r.SnapshotOf(head.Hash)
			must(b, err)
			changeFiles(b, root, i)
			b.StartTimer()
			cs, err := r.Changes(b.Context(), from, nil)
			must(b, err)
			_, err = r.Commit(b.Context(), cs, options(head.Hash))
			must(b, err)
		}
	})
}

// BenchmarkPrepare measures what a job costs before its agent starts.
func BenchmarkPrepare(b *testing.B) {
	git := gitProgram(b)
	root := largeRepository(b, git)
	for name, program := range map[string]string{"AddWorktree with git": git, "AddWorktree without git": ""} {
		b.Run(name, func(b *testing.B) {
			r, err := Open(root, Env{GitProgram: program})
			must(b, err)
			head, err := r.Head()
			must(b, err)
			dir := b.TempDir() // nothing is removed on the way: some file systems are slow to use the room again
			for i := 0; b.Loop(); i++ {
				_, err := r.AddWorktree(b.Context(), filepath.Join(dir, fmt.Sprint("wt", i)), head.Hash)
				must(b, err)
			}
		})
	}
	r, err := Open(root, Env{})
	must(b, err)
	head, err := r.Head()
	must(b, err)
	b.Run("Open", func(b *testing.B) {
		for b.Loop() {
			_, err := Open(root, Env{})
			must(b, err)
		}
	})
	b.Run("SnapshotOf", func(b *testing.B) {
		for b.Loop() {
			_, err := r.SnapshotOf(head.Hash)
			must(b, err)
		}
	})
	b.Run("Dirty", func(b *testing.B) {
		for b.Loop() {
			_, err := r.Dirty(b.Context())
			must(b, err)
		}
	})
}

func largeRepository(b *testing.B, git string) string {
	b.Helper()
	root := b.TempDir()
	runGitIn(b, git, root, "init", "-q", "-b", "main")
	for d := range 100 {
		dir := filepath.Join(root, fmt.Sprintf("pkg%02d", d))
		must(b, os.MkdirAll(dir, 0o755))
		for f := range 50 {
			text := fmt.Appendf(nil, "package p%d\n\n// file %d\n", d, f)
			for line := range 200 {
				text = fmt.Appendf(text, "var v%d = %d\n", line, line*d*f)
			}
			must(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%02d.go", f)), text, 0o644))
		}
	}
	runGitIn(b, git, root, "add", "-A")
	runGitIn(b, git, root, "commit", "-q", "-m", "base")
	runGitIn(b, git, root, "gc", "-q")
	return root
}

func changeFiles(b *testing.B, root string, round int) {
	b.Helper()
	for i := range 20 {
		name := filepath.Join(root, fmt.Sprintf("pkg%02d", i*5), fmt.Sprintf("file%02d.go", i))
		data, err := os.ReadFile(name)
		must(b, err)
		must(b, os.WriteFile(name, fmt.Appendf(data, "var extra%d = %d\n", round, i), 0o644))
	}
}

func runGitIn(b *testing.B, git, root string, args ...string) {
	b.Helper()
	cmd := exec.Command(git, args...)
	cmd.Dir = root
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// BenchmarkFilteredPaths looks for filters where there are none, the common case.
func BenchmarkFilteredPaths(b *testing.B) {
	root := largeRepository(b, gitProgram(b))
	r, err := Open(root, Env{})
	must(b, err)
	head, err := r.Head()
	must(b, err)
	for b.Loop() {
		if _, err := r.FilteredPaths(b.Context(), head.Hash, nil, 10); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMirror makes a mirror, and brings one up to date that is.
func BenchmarkMirror(b *testing.B) {
	git := gitProgram(b)
	root := largeRepository(b, git)
	for name, program := range map[string]string{"with git": git, "without git": ""} {
		b.Run("new "+name, func(b *testing.B) {
			dir := b.TempDir()
			for i := 0; b.Loop(); i++ {
				_, err := Mirror(b.Context(), filepath.Join(dir, fmt.Sprint("m", i)), Remote{URL: root}, MirrorOptions{}, Env{GitProgram: program})
				must(b, err)
			}
		})
	}
	b.Run("again", func(b *testing.B) {
		dir := filepath.Join(b.TempDir(), "m")
		for b.Loop() {
			_, err := Mirror(b.Context(), dir, Remote{URL: root}, MirrorOptions{}, Env{GitProgram: git})
			must(b, err)
		}
	})
}
