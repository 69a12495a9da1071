package ignore

import (
	"strings"
	"testing"

	"github.com/go-git/go-billy/v5/memfs"
	"github.com/go-git/go-billy/v5/util"
	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// goGitIgnores returns the result of go-git for a path below an ignore file, asked as a walk asks, from
// the root down.
func goGitIgnores(t *testing.T, file, path string, isDir bool) bool {
	t.Helper()
	fs := memfs.New()
	if err := util.WriteFile(fs, ".gitignore", []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	patterns, err := gitignore.ReadPatterns(fs, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, names := gitignore.NewMatcher(patterns), strings.Split(path, "/")
	for n := range names {
		if m.Match(names[:n+1], isDir || n < len(names)-1) {
			return true
		}
	}
	return false
}

// TestWhatGoGitLoses compares the ignore rules of go-git with the table that TestOneLineMatchesGit compares with
// git. If go-git has changed, record the new number; if it is zero, its matcher can replace this package.
func TestWhatGoGitLoses(t *testing.T) {
	const cases, differ = 124, 23
	n := 0
	for _, c := range lineCases {
		path, isDir := split(c.path)
		want := walkIgnored(New().Descend("", []byte(c.file)), path, isDir)
		if got := goGitIgnores(t, c.file, path, isDir); got != want {
			n++
			t.Logf("%s: for go-git %q is ignored with %q: %v", c.name, c.path, c.file, got)
		}
	}
	if len(lineCases) != cases || n != differ {
		t.Errorf("%d of %d results differ from those of git, not %d of %d", n, len(lineCases), differ, cases)
	}
}
