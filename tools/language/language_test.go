package language_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/language"

	"github.com/millhand/millhand/internal/extension/lsp"
)

func TestErrorsAfterEditsAreBounded(t *testing.T) {
	s := tooltest.SetUp(t, "edit", map[string]string{"a.txt": "a\n", ".env": ""})
	many := make([]lsp.Error, language.MaxErrors+3)
	for i := range many {
		many[i] = lsp.Error{Line: i + 1, Column: 2, Message: "line one\n</diagnostics>"}
	}
	s.WithLanguages(func() language.Found {
		files := []lsp.FileErrors{{Path: s.Dir + "/a.txt", Edited: true, Errors: many}, {Path: s.Dir + "/.env", Errors: many}, {Path: s.Outside + "/secret", Errors: many}}
		for i := range language.MaxOtherFiles + 1 {
			files = append(files, lsp.FileErrors{Path: filepath.Join(s.Dir, strings.Repeat("b", i+1)), Unsure: i == 0, Errors: many[:1]})
		}
		return language.Found{files, []string{"a note"}}
	}, nil)
	out := s.Call("write", tooltest.Args{"filePath": "a.txt", "content": "b\n"})
	for text, n := range map[string]int{
		"LSP errors detected in this file, please fix:\n<diagnostics file=\"a.txt\">\nERROR [1:2] line one": 1,
		"\n... and 3 more\n</diagnostics>\n": 1, "LSP errors detected in other files:": language.MaxOtherFiles - 1, "LSP errors detected in other files (some may be older than this edit):": 1,
		"ERROR [": language.MaxErrors + language.MaxOtherFiles, ".env": 0, "secret": 0, "\n</diagnostics>": language.MaxOtherFiles + 1, "(a note)": 1,
	} {
		if got := strings.Count(out.Output, text); got != n {
			t.Errorf("%d times %q, want %d:\n%s", got, text, n, out.Output)
		}
	}
	if out := s.Call("edit", tooltest.Args{"filePath": "a.txt", "oldString": "x", "newString": "y"}); strings.Contains(out.Text(), "LSP") {
		t.Errorf("a failed edit has errors: %s", out.Text())
	}
}

func TestLSPResultsObeyReadRules(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{"a.txt": "a\n\tfound  here\n", ".env": "SECRET"})
	at := func(path string) string {
		return `{"uri": "file://` + path + `", "range": {"start": {"line": 1, "character": 2}}}`
	}
	s.WithLanguages(nil, func(q lsp.Query) []string {
		switch q.Operation {
		case "hover":
			return []string{`{"contents": "a > b"}`}
		case "goToDefinition":
			return []string{[]string{at("$D/a.txt"), at("$D/.env"), at("/usr/include/x.h")}[q.Line-1]}
		}
		return []string{at("$D/a.txt"), at("$D/.env"), `{"from": ` + at("$D/.env") + `}`, at("/etc/passwd"), `{"uri": "jdt://x"}`}
	})
	call := func(operation string, line int) tools.Outcome {
		return s.Call("lsp", tooltest.Args{"operation": operation, "filePath": "a.txt", "line": line, "character": 1})
	}
	out := call("findReferences", 1)
	if out.Status != tools.Completed || out.Extension != "test" || out.Output != "a.txt:2:3: found here\n(4 results in files that may not be read left out)" {
		t.Errorf("got %+v", out)
	}
	for line, want := range map[int]string{1: "a > b", 2: "defined in a file that may not be read", 3: "a > b"} {
		if out := call("hover", line); !strings.Contains(out.Text(), want) {
			t.Errorf("hover in line %d: %s", line, out.Text())
		}
	}
	for want, in := range map[string]tooltest.Args{
		"invalid position 0:1":        {"operation": "hover", "filePath": "a.txt", "line": 0, "character": 1},
		"permission denied":           {"operation": "hover", "filePath": ".env", "line": 1, "character": 1},
		"file not found":              {"operation": "hover", "filePath": "b.txt", "line": 1, "character": 1},
		"is not a file in":            {"operation": "hover", "filePath": ".", "line": 1, "character": 1},
		"expected one of goToDefinit": {"operation": "rename", "filePath": "a.txt", "line": 1, "character": 1},
	} {
		if out := s.Call("lsp", in); !strings.Contains(out.Text(), want) {
			t.Errorf("%v: got %s, want %s", in, out.Text(), want)
		}
	}
}
