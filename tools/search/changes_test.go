package search

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// results returns what all searches of a tree find.
func results(t *testing.T, scope Scope) string {
	t.Helper()
	var b strings.Builder
	for _, q := range []Query{{Pattern: "needle"}, {Pattern: "(?i)needles?|other"}, {Pattern: "secon."}, {Pattern: "zweite", Include: "*.txt"}, {Pattern: "[0-9]"}} {
		r, err := Grep(t.Context(), scope, q)
		fmt.Fprintln(&b, q, r, err)
	}
	files, err := Glob(t.Context(), scope, "**/*.txt", 0)
	fmt.Fprintln(&b, files, err)
	tree, err := List(t.Context(), scope, ListQuery{})
	fmt.Fprintln(&b, tree, err)
	return b.String()
}

// rewrite overwrites the content of a file, with the same size and modification time.
func rewrite(t *testing.T, name, text string) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() != int64(len(text)) {
		t.Fatalf("%s has %d bytes, not %d", name, info.Size(), len(text))
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	check(t, err)
	_, err = f.WriteString(text)
	check(t, err)
	check(t, f.Close())
	check(t, os.Chtimes(name, info.ModTime(), info.ModTime()))
}

// TestCachedSearchesFindEveryChange compares searches with and without a cache after
// changes that leave as much as possible as it was.
func TestCachedSearchesFindEveryChange(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string){
		"nothing": func(*testing.T, string) {},
		"overwritten, same size and time": func(t *testing.T, dir string) {
			t.Helper()
			rewrite(t, filepath.Join(dir, "a/one.txt"), "1 needle\n")
		},
		"overwritten, found before": func(t *testing.T, dir string) {
			t.Helper()
			rewrite(t, filepath.Join(dir, "a/two.txt"), "2 poodle\n")
		},
		"by another name": func(t *testing.T, dir string) {
			t.Helper()
			rewrite(t, filepath.Join(dir, "same"), "3 needle\n")
		},
		"replaced file": func(t *testing.T, dir string) {
			t.Helper()
			info, err := os.Stat(filepath.Join(dir, "a/one.txt"))
			check(t, err)
			check(t, os.WriteFile(filepath.Join(dir, "new"), []byte("1 needle\n"), 0o600))
			check(t, os.Chtimes(filepath.Join(dir, "new"), info.ModTime(), info.ModTime()))
			check(t, os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "a/one.txt")))
		},
		"exchanged files": func(t *testing.T, dir string) {
			t.Helper()
			check(t, os.Rename(filepath.Join(dir, "a/one.txt"), filepath.Join(dir, "a/x")))
			check(t, os.Rename(filepath.Join(dir, "a/two.txt"), filepath.Join(dir, "a/one.txt")))
			check(t, os.Rename(filepath.Join(dir, "a/x"), filepath.Join(dir, "a/two.txt")))
		},
		"exchanged directories": func(t *testing.T, dir string) {
			t.Helper()
			check(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "x")))
			check(t, os.Rename(filepath.Join(dir, "b"), filepath.Join(dir, "a")))
			check(t, os.Rename(filepath.Join(dir, "x"), filepath.Join(dir, "b")))
		},
		"directory to symlink": func(t *testing.T, dir string) {
			t.Helper()
			check(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "b/deep/a")))
			check(t, os.Symlink("b/deep/a", filepath.Join(dir, "a")))
		},
		"file to symlink": func(t *testing.T, dir string) {
			t.Helper()
			check(t, os.Remove(filepath.Join(dir, "a/two.txt")))
			check(t, os.Symlink("one.txt", filepath.Join(dir, "a/two.txt")))
		},
		"file to directory": func(t *testing.T, dir string) {
			t.Helper()
			check(t, os.Remove(filepath.Join(dir, "a/two.txt")))
			writeFile(t, dir, "a/two.txt/in.txt", "needle 9\n")
		},
		"new file":     func(t *testing.T, dir string) { t.Helper(); writeFile(t, dir, "b/deep/new.txt", "needle\n") },
		"removed file": func(t *testing.T, dir string) { t.Helper(); check(t, os.Remove(filepath.Join(dir, "a/two.txt"))) },
		"longer": func(t *testing.T, dir string) {
			t.Helper()
			f, err := os.OpenFile(filepath.Join(dir, "a/one.txt"), os.O_APPEND|os.O_WRONLY, 0)
			check(t, err)
			_, err = f.WriteString("second needle\n")
			check(t, err)
			check(t, f.Close())
		},
		"overwritten ignore file": func(t *testing.T, dir string) {
			t.Helper()
			rewrite(t, filepath.Join(dir, "b/.gitignore"), "/deep\n")
		},
		"ignore file of the base": func(t *testing.T, dir string) {
			t.Helper()
			rewrite(t, filepath.Join(dir, ".gitignore"), "one.t\n")
		},
		"new ignore file":     func(t *testing.T, dir string) { t.Helper(); writeFile(t, dir, "a/.gitignore", "two*\n") },
		"removed ignore file": func(t *testing.T, dir string) { t.Helper(); check(t, os.Remove(filepath.Join(dir, "b/.gitignore"))) },
		"unreadable": func(t *testing.T, dir string) {
			t.Helper()
			check(t, os.Chmod(filepath.Join(dir, "a/one.txt"), 0))
		},
		"binary": func(t *testing.T, dir string) {
			t.Helper()
			rewrite(t, filepath.Join(dir, "a/two.txt"), "2 needle\x00")
		},
		"no longer binary": func(t *testing.T, dir string) {
			t.Helper()
			rewrite(t, filepath.Join(dir, "binary"), "\nneedle\n")
		},
	} {
		for _, where := range tempDirs(t) {
			t.Run(name+" in "+where, func(t *testing.T) {
				dir, err := os.MkdirTemp(where, "search-") //nolint:usetesting // on a certain file system
				check(t, err)
				t.Cleanup(func() { check(t, os.RemoveAll(dir)) })
				for name, text := range map[string]string{
					".gitignore": "build\n", "a/one.txt": "1 nothin\n", "a/two.txt": "2 needle\n", "a/three.txt": "3 nothin\n", "b/deep/four.txt": "4 needle\n", "b/five.txt": "zweite\n",
					"b/.gitignore": "/five\n", "b/utf16.txt": "\xff\xfe2\x00n\x00e\x00e\x00d\x00l\x00e\x00", "kelvin": "needle\u017f\n", "binary": "\x00needle\n", "build/out.txt": "needle\n",
				} {
					writeFile(t, dir, name, text)
				}
				check(t, os.Link(filepath.Join(dir, "a/three.txt"), filepath.Join(dir, "same")))
				settle(t)
				root := openRoot(t, dir)
				scope := Scope{Root: root, Cache: NewCache(1 << 20)}
				want := results(t, Scope{Root: root})
				for range 3 {
					if d := cmp.Diff(want, results(t, scope)); d != "" {
						t.Fatalf("before the change (-without +with a cache):\n%s", d)
					}
				}
				change(t, dir)
				want = results(t, Scope{Root: root})
				for range 2 {
					if d := cmp.Diff(want, results(t, scope)); d != "" {
						t.Errorf("(-without +with a cache):\n%s", d)
					}
					settle(t)
				}
			})
		}
	}
}

// tempDirs returns directories for temporary files on file systems of several types.
func tempDirs(t *testing.T) []string {
	t.Helper()
	var dirs []string
	for _, dir := range []string{os.TempDir(), "/dev/shm", "/tmp"} {
		if _, err := os.Stat(dir); err == nil && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
