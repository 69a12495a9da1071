package search

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestListDrawsATree(t *testing.T) {
	root := openTree(t, map[string]string{
		"b.go": "", "a.go": "", ".env": "", "src/z.go": "", "src/b/x.go": "", "src/b/w.go": "", "src/a/deep/y.go": "", "empty/": "", "Zeta/f": "", ".gitignore": "*.log\n", "x.log": "",
		"node_modules/m/index.js": "", "src/node_modules/m/index.js": "", "dist/x.js": "", "src/dist/kept.go": "", "vendor/v.go": "", "src/__pycache__/m.pyc": "",
		".git/config": "", ".vscode/settings.json": "", "src/bin/kept.go": "", "bin": "a file", "docs/a.md": "", "docs/b.txt": "",
	})
	for _, c := range []struct {
		name, base string
		ignore     []string
		want       []string
	}{
		{"all", "", nil, []string{
			"  Zeta/", "    f", "  docs/", "    a.md", "    b.txt", "  src/", "    a/", "      deep/", "        y.go", "    b/", "      w.go", "      x.go",
			"    bin/", "      kept.go", "    dist/", "      kept.go", "    z.go", "  .env", "  .gitignore", "  a.go", "  b.go", "  bin",
		}},
		{"a directory", "src/b", nil, []string{"  w.go", "  x.go"}},
		{"a directory that is left out elsewhere", "dist", nil, []string{"  x.js"}},
		{"without names and directories", "", []string{"*.go", "docs/", "Zeta/**"}, []string{"  .env", "  .gitignore", "  bin"}},
		{"without paths relative to the base", "src", []string{"b", "/a/**/*.go", "{bin,dist}"}, []string{"  z.go"}},
		{"an empty directory", "empty", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := List(t.Context(), Scope{Root: root, Base: c.base}, ListQuery{Ignore: c.ignore})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Split(strings.TrimSuffix(r.Text, "\n"), "\n")
			if r.Text == "" {
				got = nil
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if r.Truncated || r.Files != r.Total {
				t.Errorf("%d of %d files", r.Files, r.Total)
			}
		})
	}
}

func TestListPrefersPathsNearTheBase(t *testing.T) {
	files := map[string]string{"top": "", "a/one": "", "a/b/c/d": "", "z/two": ""}
	for i := range 20 {
		files[fmt.Sprintf("m/n/f%02d", i)] = ""
	}
	root := openTree(t, files)
	for _, c := range []struct {
		limit int
		want  string
	}{
		{1, "  a/ (2 more)\n  top\n"},
		{2, "  a/ (1 more)\n    one\n  m/ (20 more)\n  top\n"},
		{3, "  a/ (1 more)\n    one\n  m/ (20 more)\n  z/\n    two\n  top\n"},
		{5, "  a/ (1 more)\n    one\n  m/ (18 more)\n    n/\n      f00\n      f01\n  z/\n    two\n  top\n"},
	} {
		r, err := List(t.Context(), Scope{Root: root}, ListQuery{Limit: c.limit})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, r.Text); d != "" {
			t.Errorf("limit %d (-want +got):\n%s", c.limit, d)
		}
		if r.Files != c.limit || r.Total != 24 || !r.Truncated {
			t.Errorf("limit %d: %d of %d files, truncated %v", c.limit, r.Files, r.Total, r.Truncated)
		}
	}
}

func TestListRefusesMalformedGlobs(t *testing.T) {
	if _, err := List(t.Context(), Scope{Root: openTree(t, nil)}, ListQuery{Ignore: []string{"ok", "{"}}); err == nil || !strings.Contains(err.Error(), `"{"`) {
		t.Errorf("got error %v", err)
	}
}
