package excerpt

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/expand"
	"github.com/millhand/millhand/tasks/problem"
)

// excerptsOf loads a manifest and returns the excerpts of its problems.
func excerptsOf(t *testing.T, manifest string) []string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "m.yaml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := expand.Load(t.Context(), []string{"m.yaml"}, tasks.Options{Dir: dir, Getenv: func(string) string { return "" }})
	var problems problem.List
	if !errors.As(err, &problems) {
		t.Fatalf("the manifest has no problems: %v", err)
	}
	shown := Lines{Known: redact.New([]string{"held-secret-of-nine-9"})}
	list := make([]string, len(problems))
	for i, p := range problems {
		list[i] = shown.Of(p)
	}
	return list
}

func TestExcerpts(t *testing.T) {
	const head = "version: 1\nmodel: openai/m\ntasks: [{id: a, prompt: p}]\n"
	pem := "MIIEpAIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gun"
	for name, c := range map[string]struct{ manifest, want string }{
		"a key":              {head + "modul: x", "    4 | modul: x\n      | ^\n"},
		"a tab":              {head + "vars: {a: b,\tc: [1]}", "    4 | vars: {a: b,\tc: [1]}\n      |             \t   ^\n"},
		"wide characters":    {head + "vars: {a: 漢字e\u0301, c: [1]}", "    4 | vars: {a: 漢字e\u0301, c: [1]}\n      |                     ^\n"},
		"reordering":         {head + "vars: {a: '\u202e', c: [1]}", "    4 | vars: {a: '\uFFFD', c: [1]}\n      |                   ^\n"},
		"a known secret":     {head + "vars: {a: held-secret-of-nine-9, c: [1]}", "    4 | vars: {a: [redacted], c: [1]}\n      |                          ^\n"},
		"at a known secret":  {head + "modul-held-secret-of-nine-9: x", "    4 | modul-[redacted]: x\n      | ^\n"},
		"a named secret":     {head + "vars: {password: hunter2, c: [1]}", "    4 | vars: {password: [redacted]\n      |                  ^\n"},
		"a reference":        {head + "vars: {password: $X, c: [1]}", "    4 | vars: {password: $X, c: [1]}\n      |                         ^\n"},
		"a private key":      {head + "vars: {a: \"-----BEGIN RSA PRIVATE KEY-----\n  " + pem + "\n  " + pem + "\n  -----END RSA PRIVATE KEY-----\", c: [1]}", ""},
		"a long line":        {head + "vars: {a: " + strings.Repeat("x", 100) + ", c: [1], d: " + strings.Repeat("y", 100) + "}", "    4 | …" + strings.Repeat("x", 55) + ", c: [1], d: " + strings.Repeat("y", 52) + "…\n      | " + strings.Repeat(" ", 61) + "^\n"},
		"a workflow command": {head + "vars: {c: [1]} ##[error]x", "    4 | vars: {c: [1]} ## [error]x\n      |           ^\n"},
		"not UTF-8":          {"a\xff", ""},
		"an empty file":      {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := excerptsOf(t, c.manifest)
			if len(got) != 1 || got[0] != c.want {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), c.want)
			}
		})
	}
}

// Lines of a key are not shown, wherever in it a problem is.
func TestProblemsWithoutAColumnHaveNoExcerpt(t *testing.T) {
	shown := Lines{Known: redact.New(nil)}
	for _, p := range []problem.Problem{{File: "--model"}, {File: "m.yaml", Line: 1, Column: 1}, {File: "m.yaml", Line: 9, Column: 2}} {
		if got := shown.Of(p); got != "" {
			t.Errorf("%+v: %q", p, got)
		}
	}
}
