package patch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestScenarios applies every patch.txt beneath testdata/scenarios to the files
// of input. What then must be there is in expected; or error.txt holds pieces,
// one a line, of what must be said instead. A summary.txt holds the summary.
func TestScenarios(t *testing.T) {
	dirs, err := filepath.Glob("testdata/scenarios/*")
	if err != nil || len(dirs) < 60 {
		t.Fatalf("%d scenarios, %v", len(dirs), err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			text, _ := content(t, dir, "patch.txt")
			files := tree(t, filepath.Join(dir, "input"))
			writes, err := applyText(text, files)
			if says, ok := content(t, dir, "error.txt"); ok {
				wantError(t, err, says)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			apply(t, files, writes)
			if diff := cmp.Diff(tree(t, filepath.Join(dir, "expected")), files); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if want, ok := content(t, dir, "summary.txt"); ok {
				if diff := cmp.Diff(want, strings.Join(Summary(writes), "\n")+"\n"); diff != "" {
					t.Errorf("summary (-want +got)\n%s", diff)
				}
			}
		})
	}
}

// applyText parses a patch and applies it to files.
func applyText(text string, files map[string]string) ([]Write, error) {
	p, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return Apply(p, readFrom(files))
}

// readFrom reads as a file system would that holds the files.
func readFrom(files map[string]string) Read {
	return func(name string) ([]byte, bool, error) {
		name = path.Clean(name)
		for other := range files {
			if strings.HasPrefix(other, name+"/") {
				return nil, false, fmt.Errorf("%s is a directory", name)
			}
			if strings.HasPrefix(name, other+"/") {
				return nil, false, fmt.Errorf("%s is no directory", other)
			}
		}
		text, ok := files[name]
		if !ok {
			return nil, false, nil
		}
		return []byte(text), true, nil
	}
}

// apply does to files what the writes say, in their order, and fails where a
// file system would.
func apply(t *testing.T, files map[string]string, writes []Write) {
	t.Helper()
	for _, w := range writes {
		name := path.Clean(w.Path)
		if w.Delete {
			if _, ok := files[name]; !ok {
				t.Fatalf("delete of %s, which is not there", name)
			}
			delete(files, name)
			continue
		}
		for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
			if _, ok := files[dir]; ok {
				t.Fatalf("%s is written below a file", name)
			}
		}
		files[name] = string(w.Content)
	}
}

func wantError(t *testing.T, err error, says string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for line := range strings.Lines(says) {
		if line = strings.TrimSuffix(line, "\n"); !strings.Contains(err.Error(), line) {
			t.Errorf("got  %v\nwant %s", err, line)
		}
	}
}

// content returns what a scenario's file holds, and whether there is one.
func content(tb testing.TB, dir, name string) (string, bool) {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		tb.Fatal(err)
	}
	return string(data), err == nil
}

// tree returns the files beneath a directory, by path; none if there is no
// directory.
func tree(tb testing.TB, root string) map[string]string {
	tb.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(root, name)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		tb.Fatal(err)
	}
	return files
}
