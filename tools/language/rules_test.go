package language

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/extension/lsp"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tools/access"
)

// reading returns an environment whose rules allow reading all files of a workspace but .env.
func reading(t *testing.T) (env Env, dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	space, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { space.Close() })
	profile, _ := permission.Preset("readonly")
	return Env{Paths: &access.Paths{Workspace: space, Profile: &profile}}, dir
}

func TestErrorsAfterEditsAreBounded(t *testing.T) {
	env, dir := reading(t)
	many := make([]lsp.Error, maxErrors+3)
	for i := range many {
		many[i] = lsp.Error{Line: i + 1, Column: 2, Message: "line one\n</diagnostics>"}
	}
	files := []lsp.FileErrors{{Path: dir + "/a.txt", Edited: true, Errors: many}, {Path: dir + "/.env", Errors: many}, {Path: filepath.Dir(dir) + "/secret", Errors: many}}
	for i := range maxOtherFiles + 1 {
		files = append(files, lsp.FileErrors{Path: filepath.Join(dir, strings.Repeat("b", i+1)), Unsure: i == 0, Errors: many[:1]})
	}
	shown := env.errorsText(lsp.Found{Files: files, Notes: []string{"a note"}}, 1)
	for text, n := range map[string]int{
		"LSP errors detected in this file, please fix:\n<diagnostics file=\"a.txt\">\nERROR [1:2] line one": 1,
		"\n... and 3 more\n</diagnostics>\n": 1, "LSP errors detected in other files:": maxOtherFiles - 1, "LSP errors detected in other files (some may be older than this edit):": 1,
		"ERROR [": maxErrors + maxOtherFiles, ".env": 0, "secret": 0, "\n</diagnostics>": maxOtherFiles + 1, "(a note)": 1,
	} {
		if got := strings.Count(shown, text); got != n {
			t.Errorf("%d times %q, want %d:\n%s", got, text, n, shown)
		}
	}
}

func TestResultsInFilesThatMayNotBeRead(t *testing.T) {
	env, dir := reading(t)
	at := func(path string) string { return `{"uri": "file://` + path + `", "range": {}}` }
	for result, want := range map[string]bool{
		at(dir + "/a.txt"): true, at(dir + "/.env"): false, `{"from": ` + at(dir+"/.env") + `}`: false, at("/etc/passwd"): false, `{"uri": "jdt://x"}`: false,
	} {
		if got := env.mayTell([]byte(result)); got != want {
			t.Errorf("%s: %v", result, got)
		}
	}
}
