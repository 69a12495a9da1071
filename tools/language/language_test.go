package language_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/testing/lsptest"
	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"

	"github.com/millhand/millhand/internal/extension/lsp"
	"github.com/millhand/millhand/internal/proc"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "language-server" {
		os.Exit(lsptest.Main(os.Args[2:], os.Environ, os.Exit))
	}
	os.Exit(m.Run())
}

// setUp returns a stage with a language server for text files.
func setUp(t *testing.T, preset string, files map[string]string) *tooltest.Stage {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := tooltest.SetUp(t, preset, files)
	launched := make(chan lsp.Launched, 1)
	launched <- lsp.Launched{Command: proc.Command{Args: []string{self, "language-server"}, Dir: s.Dir, Grace: 100 * time.Millisecond}}
	server := lsp.New(t.Context(), lsp.Config{
		Name: "test", Version: "1", Extensions: []string{".txt"}, Root: s.Env.Workspace.Root(), Wait: time.Minute, Now: time.Now,
		Launched: launched, Notify: func(lsp.Notice) {},
	})
	t.Cleanup(server.Close)
	s.WithLanguages(server)
	return s
}

func TestErrorsAfterEditsAreThoseThatMayBeRead(t *testing.T) {
	s := setUp(t, "edit", map[string]string{"a.txt": "a\n", "b.txt": "b\n", ".env": ""})
	out := s.Call("write", tooltest.Args{"filePath": "a.txt", "content": "ERROR one\nELSEWHERE b.txt two\nELSEWHERE .env three\n"})
	want := "\n\nLSP errors detected in this file, please fix:\n<diagnostics file=\"a.txt\">\nERROR [1:7] one\n</diagnostics>" +
		"\n\nLSP errors detected in other files:\n<diagnostics file=\"b.txt\">\nERROR [1:7] two\n</diagnostics>"
	if !strings.HasSuffix(out.Output, want) || !out.Diagnosed {
		t.Errorf("got %s", out.Output)
	}
	if out := s.Call("edit", tooltest.Args{"filePath": "a.txt", "oldString": "absent", "newString": "y"}); strings.Contains(out.Text(), "LSP") {
		t.Errorf("a failed edit has errors: %s", out.Text())
	}
}

func TestLSPResultsObeyReadRules(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{"a.txt": "AT .env\nfound here\nAT " + strings.Repeat("../", 30) + "usr/include/x.h\n", ".env": "SECRET"})
	call := func(operation string, line int) tools.Outcome {
		return s.Call("lsp", tooltest.Args{"operation": operation, "filePath": "a.txt", "line": line, "character": 1})
	}
	out := call("findReferences", 1)
	if out.Status != tools.Completed || out.Extension != "test" || out.Output != "a.txt:1:1: AT .env\n(1 result in files that may not be read left out)" {
		t.Errorf("got %+v", out)
	}
	for line, want := range map[int]string{1: "defined in a file that may not be read", 2: "found", 3: "AT"} {
		if out := call("hover", line); !strings.Contains(out.Text(), want) || (line == 1) == (out.Status == tools.Completed) {
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
