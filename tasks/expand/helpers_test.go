package expand

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/problem"
)

// dirWith makes a directory with these files; a name that ends in "/" is a directory.
func dirWith(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "shop")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		parent := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			parent = path
		}
		if err := os.MkdirAll(parent, 0o755); err != nil {
			tb.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			continue
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// options are those of a user in a directory whose home is /home/ann.
func options(dir string) tasks.Options {
	return tasks.Options{Dir: dir, Getenv: func(name string) string {
		return map[string]string{"HOME": "/home/ann", "BUILD": "17"}[name]
	}}
}

// loadText loads one manifest, m.yaml, with some files beside it.
func loadText(tb testing.TB, manifest string, files map[string]string, o tasks.Overrides) (*tasks.Plan, error) {
	tb.Helper()
	all := map[string]string{"m.yaml": manifest}
	maps.Copy(all, files)
	dir := dirWith(tb, all)
	opts := options(dir)
	opts.Overrides = o
	p, err := Load(tb.Context(), []string{"m.yaml"}, opts)
	return p, err
}

// mustLoad is loadText for manifests that are in order.
func mustLoad(tb testing.TB, manifest string, o tasks.Overrides) *tasks.Plan {
	tb.Helper()
	p, err := loadText(tb, manifest, nil, o)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// lines returns the problems of an error, one a line; the test fails if it is
// another error.
func lines(tb testing.TB, err error) []string {
	tb.Helper()
	if err == nil {
		return nil
	}
	var ps problem.List
	if !errors.As(err, &ps) {
		tb.Fatalf("not problems: %v", err)
	}
	return strings.Split(ps.Error(), "\n")
}

// replaceOnce changes a text that has to be there.
func replaceOnce(tb testing.TB, s, old, change string) string {
	tb.Helper()
	if !strings.Contains(s, old) {
		tb.Fatalf("missing %q", old)
	}
	return strings.Replace(s, old, change, 1)
}
