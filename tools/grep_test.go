package tools

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGrep(t *testing.T) {
	s := project(t)
	for i, name := range []string{"main.go", "sub/cart.go", "sub/deep/x_test.go", ".hidden/h.go", ".env.example", "README.md"} {
		s.age(name, i+1)
	}
	tests := []struct {
		name string
		in   args
		want string
	}{
		{"newest files first, hidden ones too", args{"pattern": "total"}, "Found 3 matches\n\nmain.go:\n  Line 1: package main // total\n\nsub/deep/x_test.go:\n  Line 1: // total\n\n.hidden/h.go:\n  Line 1: // total\n\n(2 ignored files were skipped)"},
		{"whatever the case", args{"pattern": "(?i)^total", "path": "README.md"}, "Found 1 match\n\nREADME.md:\n  Line 1: Total\n"},
		{"below a directory", args{"pattern": "func T.*l", "path": "sub"}, "Found 1 match\n\nsub/cart.go:\n  Line 3: func Total() {}\n"},
		{"in files of a name", args{"pattern": "(?i)total", "include": "*_test.go"}, "Found 1 match\n\nsub/deep/x_test.go:\n  Line 1: // total\n"},
		{"in files of several names", args{"pattern": "(?i)total", "include": "*_test.go,*.md"}, "Found 2 matches\n\nsub/deep/x_test.go:\n  Line 1: // total\n\nREADME.md:\n  Line 1: Total\n"},
		{"in one file, even if git ignores it", args{"pattern": "total", "path": "a.log"}, "Found 1 match\n\na.log:\n  Line 1: total\n"},
		{"no match", args{"pattern": "nowhere"}, "No files found\n(2 ignored files were skipped)"},
		{"what the read rules deny", args{"pattern": "total", "path": "secret"}, "No files found"},
		{"what a rule of the manifest denies", args{"pattern": "total", "path": "secret"}, "No files found"},
		{"a binary file", args{"pattern": "total", "path": "bin.dat"}, "No files found"},
		{"git's own files", args{"pattern": "total", "include": "config"}, "No files found\n(no file that was searched matches include)"},
		{"where no file has the name", args{"pattern": "total", "include": "*.rs"}, "No files found\n(no file that was searched matches include)"},
		{"a path of Windows", args{"pattern": "total", "include": `sub\*.go`}, "No files found\n(no file that was searched matches include)\n(a backslash in a glob escapes the next character; use / between names)"},
		{"in one file, whatever the include", args{"pattern": "nowhere", "include": "*.rs", "path": "main.go"}, "No files found"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := s.call("grep", tt.in)
			s.want(out, Completed)
			if diff := cmp.Diff(tt.want, out.Output); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGrepErrors(t *testing.T) {
	s := project(t)
	s.want(s.call("grep", args{"pattern": ""}), Failed, "pattern is empty; specify a regular expression")
	s.want(s.call("grep", args{"pattern": "("}), Failed, "grep (: invalid regular expression")
	s.want(s.call("grep", args{"pattern": "(?=x)"}), Failed, "invalid regular expression")
	s.want(s.call("grep", args{"pattern": "x", "include": "["}), Failed, "invalid glob")
	s.want(s.call("grep", args{"pattern": "x", "path": "nope"}), Failed, "file not found: nope; use glob or list to find it")
	s.want(s.call("grep", args{"pattern": "x", "path": "main.go/x"}), Failed, "file not found: main.go/x; use glob or list to find it")
	s.want(s.call("grep", args{"pattern": "s3cret", "path": "../work-beside/secret"}), Denied, "external_directory")
	s.want(s.call("grep", args{"pattern": "TOTAL", "path": ".env"}), Denied, `denied: read ".env"`)
	s.want(s.call("grep", args{"pattern": "total", "path": "alias/key.go"}), Denied, `denied: read "secret/key.go"`)
	s.want(s.call("grep", args{"pattern": "s3cret", "path": "away"}), Denied, "external_directory")
	s.deny("grep", "pass*")
	s.want(s.call("grep", args{"pattern": "password"}), Denied, `grep: {"pass*": deny} (m.yaml:4)`)
}

func TestGrepOutputIsTruncated(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{"a.txt": strings.Repeat("needle "+strings.Repeat("\x01", 3000)+"\n", 100)})
	out := s.call("grep", args{"pattern": "needle"})
	s.want(out, Completed, "Found 100 matches\n", "full output saved to "+s.env.Outputs.Path())
	if jsonSize(out.Output) > defaultBytes+500 || !out.Truncated || out.Metadata.OutputPath == "" {
		t.Errorf("%d bytes, %v", jsonSize(out.Output), out.Metadata)
	}
}

func TestGrepShowsTheMatchOfALongLine(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{"min.js": strings.Repeat("x", 5000) + "needle" + strings.Repeat("y", 5000) + "\n"})
	out := s.call("grep", args{"pattern": "needle"})
	want := "  Line 1: (4800 bytes omitted) ..." + strings.Repeat("x", 200) + "needle" + strings.Repeat("y", 1794) + "... (line truncated)\n"
	s.want(out, Completed, want)
	s.want(s.call("grep", args{"pattern": "^x"}), Completed, "  Line 1: "+strings.Repeat("x", 2000)+"... (line truncated)\n")
	s.want(s.call("grep", args{"pattern": "y$"}), Completed, strings.Repeat("y", 201)+"\n")
}
