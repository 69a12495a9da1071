package search

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSymlinksAreNotFollowed(t *testing.T) {
	outside := t.TempDir()
	writeFile(t, outside, "o/secret", "x")
	root := openTree(t, map[string]string{"a/f": "x", "a/b/": ""})
	for name, target := range map[string]string{
		"self": ".", "a/b/up": "../..", "a/b/loop": "loop", "file": "a/f", "dangling": "nothing",
		"out": outside, "outfile": filepath.Join(outside, "o/secret"), "a/rel": "../../" + filepath.Base(outside), ".gitignore": "a/f",
	} {
		if err := os.Symlink(target, filepath.Join(root.Name(), name)); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]string{"a/f"}, globPaths(t, Scope{Root: root}, "*")); d != "" {
		t.Errorf("glob (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"a/f:1:x"}, grepLines(t, Scope{Root: root}, Query{Pattern: "x"})); d != "" {
		t.Errorf("grep (-want +got):\n%s", d)
	}
	for _, base := range []string{"self", "file", "out", "out/o/secret", "a/b/up/a", "outfile", "dangling"} {
		if _, err := Grep(t.Context(), Scope{Root: root, Base: base}, Query{Pattern: "x"}); err == nil || !strings.Contains(err.Error(), "links are not followed") {
			t.Errorf("base %s: error %v", base, err)
		}
	}
}

func TestSpecialFilesAreLeftAlone(t *testing.T) {
	root := openTree(t, map[string]string{"f": "x"})
	if err := syscall.Mkfifo(filepath.Join(root.Name(), "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"f"}, globPaths(t, Scope{Root: root}, "*")); d != "" {
		t.Errorf("glob (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"f:1:x"}, grepLines(t, Scope{Root: root}, Query{Pattern: "x"})); d != "" {
		t.Errorf("grep (-want +got):\n%s", d)
	}
	if _, err := Grep(t.Context(), Scope{Root: root, Base: "pipe"}, Query{Pattern: "x"}); !errors.Is(err, errSpecial) {
		t.Errorf("base that is a pipe: error %v", err)
	}
}

// What a pipe that comes into a file's or directory's place after it was listed
// would meet.
func TestPipesDoNotBlockOpening(t *testing.T) {
	root := openTree(t, nil)
	if err := syscall.Mkfifo(filepath.Join(root.Name(), "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	own, err := openHandle(root)
	if err != nil {
		t.Fatal(err)
	}
	f := newDirectory(own, "", nil)
	defer f.release()
	if _, err := f.child("pipe"); err == nil {
		t.Error("a pipe was opened as a directory")
	}
	if _, _, err := f.open("pipe"); !errors.Is(err, errSpecial) {
		t.Errorf("open: error %v", err)
	}
}

func TestUnreadablePathsAreCounted(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can read everything")
	}
	root := openTree(t, map[string]string{"a": "x", "closed/b": "x", "d/secret": "x", "e/.gitignore": "*", "e/f": "x"})
	for _, name := range []string{"closed", "d/secret", "e/.gitignore"} {
		p := filepath.Join(root.Name(), name)
		if err := os.Chmod(p, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.Chmod(p, 0o700); err != nil {
				t.Error(err)
			}
		})
	}
	r, err := Grep(t.Context(), Scope{Root: root}, Query{Pattern: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a:1:x", "e/f:1:x"}, asLines(r)); d != "" {
		t.Errorf("grep (-want +got):\n%s", d)
	}
	// the directory, the file, and the ignore file as such and as a file to search
	if r.Skipped.Unreadable != 4 || r.Skipped.String() != "files or directories that could not be read: 4" {
		t.Errorf("skipped %q", r.Skipped)
	}
	if _, err := Glob(t.Context(), Scope{Root: root, Base: "closed"}, "*", 0); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("base that can't be read: error %v", err)
	}
}

func TestDirectoriesTooDeepAreCounted(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	root := openTree(t, map[string]string{"top": "x"})
	dir, err := root.OpenRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	for range maxDepth + 3 {
		if err := dir.Mkdir("d", 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := dir.OpenRoot("d")
		if err != nil {
			t.Fatal(err)
		}
		if err := dir.Close(); err != nil {
			t.Fatal(err)
		}
		dir = next
	}
	if err := errors.Join(dir.WriteFile("f", nil, 0o644), dir.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := Glob(t.Context(), Scope{Root: root}, "*", 0)
	if err != nil {
		t.Fatal(err)
	}
	if r.Total != 1 || r.Skipped.Unreadable != 1 {
		t.Errorf("total %d, skipped %q", r.Total, r.Skipped)
	}
}

func TestHugeIgnoreFileIsTruncatedAtALine(t *testing.T) {
	text := "a\n" + strings.Repeat("#", maxRules-10) + "\nb*c\nlong*\n"
	root := openTree(t, map[string]string{".gitignore": text, "a": "", "b": "", "bxc": "", "long": ""})
	r, err := Glob(t.Context(), Scope{Root: root}, "*", 0)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{".gitignore", "b", "long"}, pathsOf(r)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if r.Skipped.Unreadable != 1 {
		t.Errorf("skipped %q", r.Skipped)
	}
}

func TestUnsearchableBases(t *testing.T) {
	root := openTree(t, map[string]string{"a/f": "x"})
	for _, c := range []struct{ base, want string }{
		{"..", "path is not below the root"},
		{"a/../..", "path is not below the root"},
		{"/etc", "path is not below the root"},
		{"nothing", "search nothing: no such file or directory"},
		{"a/nothing/x", "search a/nothing: no such file or directory"},
		{"a/f/x", "search a/f: not a directory"},
	} {
		_, err := Grep(t.Context(), Scope{Root: root, Base: c.base}, Query{Pattern: "x"})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("base %s: error %v, want %s", c.base, err, c.want)
		}
	}
	if _, err := Glob(t.Context(), Scope{Root: root, Base: "a/f"}, "*", 0); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("glob in a file: error %v", err)
	}
	if _, err := List(t.Context(), Scope{Root: root, Base: "a/f"}, ListQuery{}); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("list of a file: error %v", err)
	}
}

func TestSearchesEndWithTheContext(t *testing.T) {
	root := openRoot(t, growTree(t, 500))
	for name, search := range map[string]func(context.Context, Scope) error{
		"glob": func(ctx context.Context, s Scope) error { _, err := Glob(ctx, s, "*", 0); return err },
		"grep": func(ctx context.Context, s Scope) error { _, err := Grep(ctx, s, Query{Pattern: "[a-z]+"}); return err },
		"list": func(ctx context.Context, s Scope) error { _, err := List(ctx, s, ListQuery{}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := search(ctx, Scope{Root: root}); !errors.Is(err, context.Canceled) {
				t.Errorf("ended before: error %v", err)
			}
			ctx, cancel = context.WithCancel(t.Context())
			defer cancel()
			var asked atomic.Int64
			scope := Scope{Root: root, Visible: func(string) bool {
				if asked.Add(1) == 100 {
					cancel()
				}
				return true
			}}
			if err := search(ctx, scope); !errors.Is(err, context.Canceled) {
				t.Errorf("ended within: error %v", err)
			}
		})
	}
}

func TestSearchesLeaveNothingOpen(t *testing.T) {
	root := openRoot(t, growTree(t, 300))
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	for range 3 {
		globPaths(t, Scope{Root: root}, "*")
		grepLines(t, Scope{Root: root}, Query{Pattern: "func"})
		ctx, cancel := context.WithCancel(t.Context())
		scope := Scope{Root: root, Visible: func(string) bool { cancel(); return true }}
		if _, err := Grep(ctx, scope, Query{Pattern: "x"}); !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v", err)
		}
	}
	// A goroutine that was waited for is counted until the scheduler has ended it.
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, before %d", n, goroutines)
	}
	if n := openFiles(t); n > files {
		t.Errorf("%d open files, before %d", n, files)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("open files can't be counted: %v", err)
	}
	return len(entries)
}

func TestPanicPropagatesToCaller(t *testing.T) {
	root := openTree(t, map[string]string{"a": ""})
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), "broken rule") {
			t.Errorf("recovered %v", r)
		}
	}()
	_, err := Glob(t.Context(), Scope{Root: root, Visible: func(string) bool { panic("broken rule") }}, "*", 0)
	t.Errorf("Glob returned %v", err)
}

func TestPoolRunsEveryTaskOnce(t *testing.T) {
	var p pool
	var ran atomic.Int64
	var grow func(depth int)
	grow = func(depth int) {
		ran.Add(1)
		if depth > 0 {
			p.add(func() { grow(depth - 1) }, func() { grow(depth - 1) })
		}
	}
	p.add(func() { grow(10) })
	p.run()
	if n := ran.Load(); n != 1<<11-1 {
		t.Errorf("%d tasks ran", n)
	}
}
