package pathglob

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree makes files, and directories where a name ends with a slash, in a new directory.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o755)
		} else {
			err = os.WriteFile(path, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFind(t *testing.T) {
	dir := tree(t, "a.md", ".h.md", "docs/b.md", "docs/c/d.md", ".git/e.md", "src/f.go", "x,y/g.md", "empty/", "docs/[z].md")
	if err := os.Symlink("docs", filepath.Join(dir, "sym")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pattern string
		search  Search
		want    []string
	}{
		{"*.md", Search{Files: true}, []string{"a.md"}},
		{"*.md", Search{Files: true, Hidden: true}, []string{".h.md", "a.md"}},
		{"**/*.md", Search{Files: true}, []string{"a.md", "docs/[z].md", "docs/b.md", "docs/c/d.md", "x,y/g.md"}},
		{"docs/**", Search{Files: true}, []string{"docs/[z].md", "docs/b.md", "docs/c/d.md"}},
		{"{docs/b,a,a}.md", Search{Files: true}, []string{"a.md", "docs/b.md"}},
		{"{,docs/}{a,b}.md", Search{Files: true}, []string{"a.md", "docs/b.md"}},
		{"x[,]y/*", Search{Files: true}, []string{"x,y/g.md"}},
		{`docs/\[z\].md`, Search{Files: true}, []string{"docs/[z].md"}},
		{"./docs/../*.md", Search{Files: true}, []string{"a.md"}},
		{"sy*/b.md", Search{Files: true}, nil},
		{"sy*/b.md", Search{Files: true, Follow: true}, []string{"sym/b.md"}},
		{"sym/b.md", Search{Files: true}, []string{"sym/b.md"}},
		{"*", Search{}, []string{"docs", "empty", "src", "x,y"}},
		{"*", Search{Follow: true}, []string{"docs", "empty", "src", "sym", "x,y"}},
		{"**", Search{}, []string{".", "docs", "docs/c", "empty", "src", "x,y"}},
		{"docs/*/", Search{}, []string{"docs/c"}},
		{"none/*", Search{Files: true}, nil},
	} {
		p, err := Parse(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		c.search.Dir, c.search.Limit = dir, 1000
		got, err := p.Find(t.Context(), c.search)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q with %+v (-want +got):\n%s", c.pattern, c.search, d)
		}
		absolute, err := Parse(dir + "/" + c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		all, err := absolute.Find(t.Context(), c.search)
		if err != nil || len(all) != len(c.want) {
			t.Errorf("%q below %s: %q, error %v", c.pattern, dir, all, err)
		}
	}
}

func TestASearchEnds(t *testing.T) {
	dir := tree(t, "a/b/c/d", "e/f/g")
	find := func(ctx context.Context, pattern string, limit int) error {
		p, err := Parse(pattern)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Find(ctx, Search{Dir: dir, Files: true, Limit: limit})
		return err
	}
	if err := find(t.Context(), "**", 3); !errors.Is(err, TooManyFiles{3}) {
		t.Errorf("beyond the limit: %v", err)
	}
	if err := find(t.Context(), "**", 100); err != nil {
		t.Errorf("within the limit: %v", err)
	}
	if err := find(t.Context(), "a[b/c]", 100); !errors.Is(err, errSlash) {
		t.Errorf("a slash in brackets: %v", err)
	}
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := find(ctx, "**", 100); !errors.Is(err, cause) {
		t.Errorf("of a context that has ended: %v", err)
	}
}
