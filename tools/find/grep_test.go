package find_test

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/cut"
	"github.com/millhand/millhand/tools/outputs"

	"github.com/google/go-cmp/cmp"
)

func TestGrep(t *testing.T) {
	s := tooltest.Project(t)
	for i, name := range []string{"main.go", "sub/cart.go", "sub/deep/x_test.go", ".hidden/h.go", ".env.example", "README.md"} {
		s.Age(name, i+1)
	}
	tests := []struct {
		name string
		in   tooltest.Args
		want string
	}{
		{"newest files first, hidden ones too", tooltest.Args{"pattern": "total"}, "Found 3 matches\n\nmain.go:\n  Line 1: package main // total\n\nsub/deep/x_test.go:\n  Line 1: // total\n\n.hidden/h.go:\n  Line 1: // total\n\n(2 ignored files were skipped)"},
		{"whatever the case", tooltest.Args{"pattern": "(?i)^total", "path": "README.md"}, "Found 1 match\n\nREADME.md:\n  Line 1: Total\n"},
		{"below a directory", tooltest.Args{"pattern": "func T.*l", "path": "sub"}, "Found 1 match\n\nsub/cart.go:\n  Line 3: func Total() {}\n"},
		{"in files of a name", tooltest.Args{"pattern": "(?i)total", "include": "*_test.go"}, "Found 1 match\n\nsub/deep/x_test.go:\n  Line 1: // total\n"},
		{"in files of several names", tooltest.Args{"pattern": "(?i)total", "include": "*_test.go,*.md"}, "Found 2 matches\n\nsub/deep/x_test.go:\n  Line 1: // total\n\nREADME.md:\n  Line 1: Total\n"},
		{"in one file, even if git ignores it", tooltest.Args{"pattern": "total", "path": "a.log"}, "Found 1 match\n\na.log:\n  Line 1: total\n"},
		{"no match", tooltest.Args{"pattern": "nowhere"}, "No files found\n(2 ignored files were skipped)"},
		{"what the read rules deny", tooltest.Args{"pattern": "total", "path": "secret"}, "No files found"},
		{"what a rule of the manifest denies", tooltest.Args{"pattern": "total", "path": "secret"}, "No files found"},
		{"a binary file", tooltest.Args{"pattern": "total", "path": "bin.dat"}, "No files found"},
		{"git's own files", tooltest.Args{"pattern": "total", "include": "config"}, "No files found\n(no file that was searched matches include)"},
		{"where no file has the name", tooltest.Args{"pattern": "total", "include": "*.rs"}, "No files found\n(no file that was searched matches include)"},
		{"a path of Windows", tooltest.Args{"pattern": "total", "include": `sub\*.go`}, "No files found\n(no file that was searched matches include)\n(a backslash in a glob escapes the next character; use / between names)"},
		{"in one file, whatever the include", tooltest.Args{"pattern": "nowhere", "include": "*.rs", "path": "main.go"}, "No files found"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := s.Call("grep", tt.in)
			s.Want(out, tools.Completed)
			if diff := cmp.Diff(tt.want, out.Output); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGrepRefusesInvalidPatternsAndDeniedPaths(t *testing.T) {
	s := tooltest.Project(t)
	s.Want(s.Call("grep", tooltest.Args{"pattern": ""}), tools.Failed, "pattern is empty; specify a regular expression")
	s.Want(s.Call("grep", tooltest.Args{"pattern": "("}), tools.Failed, "grep (: invalid regular expression")
	s.Want(s.Call("grep", tooltest.Args{"pattern": "(?=x)"}), tools.Failed, "invalid regular expression")
	s.Want(s.Call("grep", tooltest.Args{"pattern": "x", "include": "["}), tools.Failed, "invalid glob")
	s.Want(s.Call("grep", tooltest.Args{"pattern": "x", "path": "nope"}), tools.Failed, "file not found: nope; use glob or list to find it")
	s.Want(s.Call("grep", tooltest.Args{"pattern": "x", "path": "main.go/x"}), tools.Failed, "file not found: main.go/x; use glob or list to find it")
	s.Want(s.Call("grep", tooltest.Args{"pattern": "s3cret", "path": "../work-beside/secret"}), tools.Denied, "external_directory")
	s.Want(s.Call("grep", tooltest.Args{"pattern": "TOTAL", "path": ".env"}), tools.Denied, `denied: read ".env"`)
	s.Want(s.Call("grep", tooltest.Args{"pattern": "total", "path": "alias/key.go"}), tools.Denied, `denied: read "secret/key.go"`)
	s.Want(s.Call("grep", tooltest.Args{"pattern": "s3cret", "path": "away"}), tools.Denied, "external_directory")
	s.Deny("grep", "pass*")
	s.Want(s.Call("grep", tooltest.Args{"pattern": "password"}), tools.Denied, `grep: {"pass*": deny} (m.yaml:4)`)
}

func TestGrepOutputIsTruncated(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{"a.txt": strings.Repeat("needle "+strings.Repeat("\x01", 3000)+"\n", 100)})
	out := s.Call("grep", tooltest.Args{"pattern": "needle"})
	s.Want(out, tools.Completed, "Found 100 matches\n", "full output saved to "+s.Env.Outputs.Path())
	if cut.Size(out.Output) > outputs.DefaultBytes+500 || !out.Truncated || out.Metadata.OutputPath == "" {
		t.Errorf("%d bytes, %v", cut.Size(out.Output), out.Metadata)
	}
}

func TestGrepShowsTheMatchOfALongLine(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{"min.js": strings.Repeat("x", 5000) + "needle" + strings.Repeat("y", 5000) + "\n"})
	out := s.Call("grep", tooltest.Args{"pattern": "needle"})
	want := "  Line 1: (4800 bytes omitted) ..." + strings.Repeat("x", 200) + "needle" + strings.Repeat("y", 1794) + "... (line truncated)\n"
	s.Want(out, tools.Completed, want)
	s.Want(s.Call("grep", tooltest.Args{"pattern": "^x"}), tools.Completed, "  Line 1: "+strings.Repeat("x", 2000)+"... (line truncated)\n")
	s.Want(s.Call("grep", tooltest.Args{"pattern": "y$"}), tools.Completed, strings.Repeat("y", 201)+"\n")
}
