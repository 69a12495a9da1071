package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// BenchmarkStageAndCommit commits 20 changed files of 5,000 in 100 directories, with
// git (add -A and commit) and with this package (Changes and Commit). The target
// is at most three times git's time.
func BenchmarkStageAndCommit(b *testing.B) {
	git := gittest.GitProgram(b)
	b.Run("git", func(b *testing.B) {
		root := gittest.LargeRepository(b, git)
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			changeFiles(b, root, i)
			b.StartTimer()
			gittest.RunGitIn(b, git, root, "add", "-A")
			gittest.RunGitIn(b, git, root, "commit", "-q", "-m", "change")
		}
	})
	b.Run("gitops", func(b *testing.B) {
		root := gittest.LargeRepository(b, git)
		r, err := Open(root, gitdir.Env{Home: b.TempDir()})
		must(b, err)
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			head, err := r.Git.Head()
			must(b, err)
			from, err := r.SnapshotOf(head.Hash)
			must(b, err)
			changeFiles(b, root, i)
			b.StartTimer()
			cs, err := r.Changes(b.Context(), from)
			must(b, err)
			_, err = r.Commit(b.Context(), cs, options(head.Hash))
			must(b, err)
		}
	})
}

// BenchmarkNewFiles commits 20,000 new files, with git and with this package, which
// also creates the patch. The target is at most three times git's time.
func BenchmarkNewFiles(b *testing.B) {
	git := gittest.GitProgram(b)
	for _, name := range []string{"git", "gitops"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				root := b.TempDir()
				gittest.RunGitIn(b, git, root, "init", "-q")
				r, err := Open(root, gitdir.Env{Home: b.TempDir()})
				must(b, err)
				newFiles(b, root)
				b.StartTimer()
				if name == "git" {
					gittest.RunGitIn(b, git, root, "add", "-A")
					gittest.RunGitIn(b, git, root, "commit", "-q", "-m", "change")
					continue
				}
				cs, err := r.Changes(b.Context(), &state.Snapshot{})
				must(b, err)
				_, err = r.Patch(b.Context(), cs)
				must(b, err)
				_, err = r.Commit(b.Context(), cs, options(""))
				must(b, err)
			}
		})
	}
}

func newFiles(b *testing.B, root string) {
	b.Helper()
	for i := range 200 {
		dir := filepath.Join(root, fmt.Sprintf("dir%03d", i))
		must(b, os.Mkdir(dir, 0o755))
		for k := range 100 {
			text := fmt.Sprintf("file %d of directory %d\n%s", k, i, strings.Repeat("a line of text\n", k%30))
			must(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%02d.txt", k)), []byte(text), 0o644))
		}
	}
}

// BenchmarkPrepare measures the time before a job's agent starts.
func BenchmarkPrepare(b *testing.B) {
	git := gittest.GitProgram(b)
	root := gittest.LargeRepository(b, git)
	for name, program := range map[string]string{"AddWorktree with git": git, "AddWorktree without git": ""} {
		b.Run(name, func(b *testing.B) {
			r, err := Open(root, gitdir.Env{GitProgram: program})
			must(b, err)
			head, err := r.Git.Head()
			must(b, err)
			dir := b.TempDir() // nothing is removed on the way: some file systems are slow to use the room again
			for i := 0; b.Loop(); i++ {
				_, err := r.AddWorktree(b.Context(), filepath.Join(dir, fmt.Sprint("wt", i)), head.Hash)
				must(b, err)
			}
		})
	}
	r, err := Open(root, gitdir.Env{})
	must(b, err)
	head, err := r.Git.Head()
	must(b, err)
	b.Run("Open", func(b *testing.B) {
		for b.Loop() {
			_, err := Open(root, gitdir.Env{})
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

// BenchmarkSnapshot measures the snapshot of 2,000 files without changes, before and
// after a session.
func BenchmarkSnapshot(b *testing.B) {
	git, root := gittest.GitProgram(b), b.TempDir()
	for i := range 2000 {
		dir := filepath.Join(root, fmt.Sprintf("dir%02d", i%40))
		must(b, os.MkdirAll(dir, 0o755))
		must(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%04d.go", i)), fmt.Appendf(nil, "package p\n\nvar v = %d\n", i), 0o644))
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "base"}, {"gc", "-q"}} {
		gittest.RunGitIn(b, git, root, args...)
	}
	r, err := Open(root, gitdir.Env{})
	must(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_, err := r.Snapshot(b.Context())
		must(b, err)
	}
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

// BenchmarkConverted searches for filters in a tree without any, the common case.
func BenchmarkConverted(b *testing.B) {
	root := gittest.LargeRepository(b, gittest.GitProgram(b))
	r, err := Open(root, gitdir.Env{})
	must(b, err)
	head, err := r.Git.Head()
	must(b, err)
	for b.Loop() {
		if _, err := r.Converted(b.Context(), head.Hash, "", func(string) bool { return false }); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkKeep measures the work of a stopped run for a job with 20,000 new
// files: it determines the changes, searches the added text and creates the patch.
// git stages the files and creates the same patch.
func BenchmarkKeep(b *testing.B) {
	git := gittest.GitProgram(b)
	root := gittest.LargeRepository(b, git)
	r, err := Open(root, gitdir.Env{})
	must(b, err)
	head, err := r.Git.Head()
	must(b, err)
	from, err := r.SnapshotOf(head.Hash)
	must(b, err)
	for n := range 20_000 {
		dir := filepath.Join(root, "new", fmt.Sprint(n/100))
		must(b, os.MkdirAll(dir, 0o777))
		must(b, os.WriteFile(filepath.Join(dir, fmt.Sprint(n)), fmt.Appendln(nil, "file", n), 0o666))
	}
	patch := filepath.Join(b.TempDir(), "patch")
	b.Run("gitops", func(b *testing.B) {
		for b.Loop() {
			cs, err := r.Changes(b.Context(), from)
			must(b, err)
			must(b, r.Added(b.Context(), cs, func(state.Addition) error { return nil }))
			data, err := r.Patch(b.Context(), cs)
			must(b, err)
			must(b, os.WriteFile(patch, data, 0o666))
			if len(cs.Changes) != 20_000 {
				b.Fatalf("%d changes", len(cs.Changes))
			}
		}
	})
	b.Run("git", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			gittest.RunGitIn(b, git, root, "read-tree", "HEAD")
			b.StartTimer()
			gittest.RunGitIn(b, git, root, "add", "-A")
			gittest.RunGitIn(b, git, root, "diff", "--cached", "--output="+patch)
		}
	})
}
