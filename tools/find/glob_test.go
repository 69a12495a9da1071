package find_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/gitops/ignore"
)

func TestGlob(t *testing.T) {
	s := tooltest.Project(t)
	for i, name := range []string{"main.go", "sub/deep/x_test.go", "sub/cart.go", ".hidden/h.go", ".env.example", "README.md", ".gitignore", "bin.dat"} {
		s.Age(name, i+1)
	}
	tests := []struct {
		in   tooltest.Args
		want string
	}{
		{tooltest.Args{"pattern": "*.go"}, "main.go\nsub/deep/x_test.go\nsub/cart.go\n.hidden/h.go\n\n(1 ignored file was skipped)"},
		{tooltest.Args{"pattern": "**/*.{go,md}"}, "main.go\nsub/deep/x_test.go\nsub/cart.go\n.hidden/h.go\nREADME.md\n\n(1 ignored file was skipped)"},
		{tooltest.Args{"pattern": "sub/*.go"}, "sub/cart.go\n"},
		{tooltest.Args{"pattern": "*.go", "path": "sub"}, "sub/deep/x_test.go\nsub/cart.go\n"},
		{tooltest.Args{"pattern": "deep/*", "path": s.Dir + "/sub"}, "sub/deep/x_test.go\n"},
		{tooltest.Args{"pattern": s.Dir + "/sub/*.go"}, "sub/cart.go\n"},
		{tooltest.Args{"pattern": s.Dir + "/{sub/deep,x}/*.go"}, "sub/deep/x_test.go\n"},
		{tooltest.Args{"pattern": s.Dir + "/sub/**/*_test.go", "path": "sub"}, "sub/deep/x_test.go\n"},
		{tooltest.Args{"pattern": s.Dir + "/sub/*.go, " + s.Dir + "/*.md"}, "sub/cart.go\nREADME.md\n"},
		{tooltest.Args{"pattern": "/sub/*.go"}, "sub/cart.go\n"},
		{tooltest.Args{"pattern": "/etc/*"}, "No files found\n(patterns match paths below the search directory; use path to search another directory)"},
		{tooltest.Args{"pattern": "*.env*"}, ".env.example\n"}, // what the read rules deny is not found
		{tooltest.Args{"pattern": "config"}, "No files found"},
		{tooltest.Args{"pattern": "key.go"}, "No files found"},
		{tooltest.Args{"pattern": "*", "path": "alias"}, "No files found"},
		{tooltest.Args{"pattern": "*.log"}, "No files found\n(1 ignored file was skipped)"},
		{tooltest.Args{"pattern": "o.go"}, "No files found\n(1 ignored file was skipped)"},
		{tooltest.Args{"pattern": `sub\*.go`}, "No files found\n(a backslash in a glob escapes the next character; use / between names)"},
		{tooltest.Args{"pattern": "secret"}, "No files found"}, // links out are not followed
	}
	for _, tt := range tests {
		out := s.Call("glob", tt.in)
		s.Want(out, tools.Completed)
		if diff := cmp.Diff(tt.want, out.Output); diff != "" {
			t.Errorf("%v: %s", tt.in, diff)
		}
	}
}

func TestGlobErrors(t *testing.T) {
	s := tooltest.Project(t)
	s.Want(s.Call("glob", tooltest.Args{"pattern": ""}), tools.Failed, "pattern is empty; specify a glob such as **/*.go")
	for _, pattern := range []string{"../*", "sub/../*.go", "!../x", s.Dir + "/../*"} {
		s.Want(s.Call("glob", tooltest.Args{"pattern": pattern}), tools.Failed, "never matches; set path to the directory to search")
	}
	s.Want(s.Call("glob", tooltest.Args{"pattern": "["}), tools.Failed, "glob [: invalid glob")
	s.Want(s.Call("glob", tooltest.Args{"pattern": "*", "path": "nope"}), tools.Failed, "file not found: nope; use glob or list to find it")
	s.Want(s.Call("glob", tooltest.Args{"pattern": "*", "path": "main.go"}), tools.Failed, "main.go: not a directory")
	s.Want(s.Call("glob", tooltest.Args{"pattern": "*", "path": ".."}), tools.Denied, "external_directory")
	s.Want(s.Call("glob", tooltest.Args{"pattern": "*", "path": "away"}), tools.Denied, "external_directory")
	s.Want(s.Call("glob", tooltest.Args{"pattern": "*", "path": "/etc"}), tools.Denied, "external_directory")
	s.Deny("glob", "*secret*")
	s.Want(s.Call("glob", tooltest.Args{"pattern": "*secret*"}), tools.Denied, `glob: {"*secret*": deny} (m.yaml:4)`)
}

func TestTruncatedSearchesAreMarked(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", nil)
	for i := range 130 {
		s.Put(fmt.Sprintf("f%03d.txt", i), "needle\n")
	}
	out := s.Call("glob", tooltest.Args{"pattern": "*.txt"})
	s.Want(out, tools.Completed, "\n(results truncated: showing the 100 newest of 130 files; use a narrower pattern or path)")
	if n := strings.Count(out.Output, ".txt\n"); n != 100 {
		t.Errorf("glob: %d files", n)
	}
	out = s.Call("grep", tooltest.Args{"pattern": "needle"})
	s.Want(out, tools.Completed, "Found 130 matches\n", "\n(results truncated: showing 100 of 130 matches; use a narrower pattern, path or include)")
	if n := strings.Count(out.Output, "Line 1: needle\n"); n != 100 {
		t.Errorf("grep: %d matches", n)
	}
	out = s.Call("list", tooltest.Args{})
	s.Want(out, tools.Completed, "\n(results truncated: showing 100 of 130 files; list a subdirectory instead)")
	if n := strings.Count(out.Output, ".txt\n"); n != 100 {
		t.Errorf("list: %d files", n)
	}
}

func TestSearchesReportSkippedFiles(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{"a.txt": "needle\n"})
	f, err := os.Create(filepath.Join(s.Dir, "huge.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(65 << 20); err != nil { // a hole: it costs no disk
		t.Fatal(err)
	}
	s.Want(s.Call("grep", tooltest.Args{"pattern": "needle"}), tools.Completed, "a.txt:\n  Line 1: needle\n", "files larger than 64 MiB skipped")
}

// Directories that a rule opens: their files are told under the names by which
// they can be read, and the read rules hold there too.
func TestReadRulesHoldInOpenedDirectories(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", nil)
	s.Put("../work-beside/.env", "s3cret key\n")
	s.Put("../work-beside/sub/b.txt", "no s3cret\n")
	s.Allow("external_directory", s.Outside+"/*")
	s.Age("../work-beside/sub/b.txt", 1)
	tests := []struct {
		tool string
		in   tooltest.Args
		want string
	}{
		{"glob", tooltest.Args{"pattern": "*", "path": s.Outside}, s.Outside + "/secret\n" + s.Outside + "/sub/b.txt\n"},
		{"glob", tooltest.Args{"pattern": "*", "path": s.Outside + "/sub"}, s.Outside + "/sub/b.txt\n"},
		{"grep", tooltest.Args{"pattern": "s3cret", "path": "../work-beside"}, "Found 2 matches\n\n" + s.Outside + "/secret:\n  Line 1: s3cret\n\n" + s.Outside + "/sub/b.txt:\n  Line 1: no s3cret\n"},
		{"grep", tooltest.Args{"pattern": "s3cret", "path": s.Outside + "/secret"}, "Found 1 match\n\n" + s.Outside + "/secret:\n  Line 1: s3cret\n"},
		{"list", tooltest.Args{"path": s.Outside}, s.Outside + "/\n  sub/\n    b.txt\n  secret\n"},
	}
	for _, tt := range tests {
		out := s.Call(tt.tool, tt.in)
		s.Want(out, tools.Completed)
		if diff := cmp.Diff(tt.want, out.Output); diff != "" {
			t.Errorf("%s %v: %s", tt.tool, tt.in, diff)
		}
	}
	s.Want(s.Call("glob", tooltest.Args{"pattern": "*", "path": s.Base}), tools.Denied)
	s.Want(s.Call("grep", tooltest.Args{"pattern": "s3cret", "path": s.Outside + "/.env"}), tools.Denied, "denied: read ")
}

func TestExternalIgnoreRulesApply(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{"a.txt": "needle\n", "b.tmp": "needle\n"})
	s.Env.Ignore.Rules = ignore.New(ignore.Parse([]byte("*.tmp\n")))
	for tool, want := range map[string]string{"glob": "a.txt\n", "grep": "Found 1 match\n\na.txt:\n  Line 1: needle\n", "list": "./\n  a.txt\n"} {
		in := tooltest.Args{"pattern": "*", "path": "."}
		if tool == "grep" {
			in["pattern"] = "needle"
		}
		if out := s.Call(tool, in.Only(tool)); out.Output != want+"\n(1 ignored file was skipped)" {
			t.Errorf("%s: %q", tool, out.Text())
		}
	}
}
