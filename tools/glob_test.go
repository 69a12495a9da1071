package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/gitops/ignore"
)

// project is a stage of many kinds of files.
func project(t *testing.T) *stage {
	t.Helper()
	s := setUp(t, "readonly", map[string]string{
		"main.go": "package main // total\n", "sub/cart.go": "package sub\n\nfunc Total() {}\n", "sub/deep/x_test.go": "// total\n", "README.md": "Total\n",
		".hidden/h.go": "// total\n", ".env": "TOTAL=total\n", "sub/.env.local": "total\n", ".env.example": "TOTAL=\n",
		".git/config": "total\n", ".gitignore": "*.log\n/out/\n", "a.log": "total\n", "out/o.go": "total\n", "bin.dat": "total\x00\n",
		"secret/key.go": "total\n",
	})
	s.deny("read", "secret/*")
	s.symlink(s.outside, "away")
	s.symlink("secret", "alias")
	return s
}

// age makes a file older by so many hours.
func (s *stage) age(name string, hours int) {
	s.Helper()
	then := time.Now().Add(-time.Duration(hours) * time.Hour)
	if err := os.Chtimes(filepath.Join(s.dir, name), then, then); err != nil {
		s.Fatal(err)
	}
}

func TestGlob(t *testing.T) {
	s := project(t)
	for i, name := range []string{"main.go", "sub/deep/x_test.go", "sub/cart.go", ".hidden/h.go", ".env.example", "README.md", ".gitignore", "bin.dat"} {
		s.age(name, i+1)
	}
	tests := []struct {
		in   args
		want string
	}{
		{args{"pattern": "*.go"}, "main.go\nsub/deep/x_test.go\nsub/cart.go\n.hidden/h.go\n\n(1 ignored file was skipped)"},
		{args{"pattern": "**/*.{go,md}"}, "main.go\nsub/deep/x_test.go\nsub/cart.go\n.hidden/h.go\nREADME.md\n\n(1 ignored file was skipped)"},
		{args{"pattern": "sub/*.go"}, "sub/cart.go\n"},
		{args{"pattern": "*.go", "path": "sub"}, "sub/deep/x_test.go\nsub/cart.go\n"},
		{args{"pattern": "deep/*", "path": s.dir + "/sub"}, "sub/deep/x_test.go\n"},
		{args{"pattern": s.dir + "/sub/*.go"}, "sub/cart.go\n"},
		{args{"pattern": s.dir + "/{sub/deep,x}/*.go"}, "sub/deep/x_test.go\n"},
		{args{"pattern": s.dir + "/sub/**/*_test.go", "path": "sub"}, "sub/deep/x_test.go\n"},
		{args{"pattern": s.dir + "/sub/*.go, " + s.dir + "/*.md"}, "sub/cart.go\nREADME.md\n"},
		{args{"pattern": "/sub/*.go"}, "sub/cart.go\n"},
		{args{"pattern": "/etc/*"}, "No files found\n(patterns match paths below the search directory; use path to search another directory)"},
		{args{"pattern": "*.env*"}, ".env.example\n"}, // what the read rules deny is not found
		{args{"pattern": "config"}, "No files found"},
		{args{"pattern": "key.go"}, "No files found"},
		{args{"pattern": "*", "path": "alias"}, "No files found"},
		{args{"pattern": "*.log"}, "No files found\n(1 ignored file was skipped)"},
		{args{"pattern": "o.go"}, "No files found\n(1 ignored file was skipped)"},
		{args{"pattern": `sub\*.go`}, "No files found\n(a backslash in a glob escapes the next character; use / between names)"},
		{args{"pattern": "secret"}, "No files found"}, // links out are not followed
	}
	for _, tt := range tests {
		out := s.call("glob", tt.in)
		s.want(out, Completed)
		if diff := cmp.Diff(tt.want, out.Output); diff != "" {
			t.Errorf("%v: %s", tt.in, diff)
		}
	}
}

func TestGlobErrors(t *testing.T) {
	s := project(t)
	s.want(s.call("glob", args{"pattern": ""}), Failed, "pattern is empty; specify a glob such as **/*.go")
	for _, pattern := range []string{"../*", "sub/../*.go", "!../x", s.dir + "/../*"} {
		s.want(s.call("glob", args{"pattern": pattern}), Failed, "never matches; set path to the directory to search")
	}
	s.want(s.call("glob", args{"pattern": "["}), Failed, "glob [: invalid glob")
	s.want(s.call("glob", args{"pattern": "*", "path": "nope"}), Failed, "file not found: nope; use glob or list to find it")
	s.want(s.call("glob", args{"pattern": "*", "path": "main.go"}), Failed, "main.go: not a directory")
	s.want(s.call("glob", args{"pattern": "*", "path": ".."}), Denied, "external_directory")
	s.want(s.call("glob", args{"pattern": "*", "path": "away"}), Denied, "external_directory")
	s.want(s.call("glob", args{"pattern": "*", "path": "/etc"}), Denied, "external_directory")
	s.deny("glob", "*secret*")
	s.want(s.call("glob", args{"pattern": "*secret*"}), Denied, `glob: {"*secret*": deny} (m.yaml:4)`)
}

func TestTruncatedSearchesAreMarked(t *testing.T) {
	s := setUp(t, "readonly", nil)
	for i := range 130 {
		s.put(fmt.Sprintf("f%03d.txt", i), "needle\n")
	}
	out := s.call("glob", args{"pattern": "*.txt"})
	s.want(out, Completed, "\n(results truncated: showing the 100 newest of 130 files; use a narrower pattern or path)")
	if n := strings.Count(out.Output, ".txt\n"); n != 100 {
		t.Errorf("glob: %d files", n)
	}
	out = s.call("grep", args{"pattern": "needle"})
	s.want(out, Completed, "Found 130 matches\n", "\n(results truncated: showing 100 of 130 matches; use a narrower pattern, path or include)")
	if n := strings.Count(out.Output, "Line 1: needle\n"); n != 100 {
		t.Errorf("grep: %d matches", n)
	}
	out = s.call("list", args{})
	s.want(out, Completed, "\n(results truncated: showing 100 of 130 files; list a subdirectory instead)")
	if n := strings.Count(out.Output, ".txt\n"); n != 100 {
		t.Errorf("list: %d files", n)
	}
}

func TestSearchesReportSkippedFiles(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{"a.txt": "needle\n"})
	f, err := os.Create(filepath.Join(s.dir, "huge.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(65 << 20); err != nil { // a hole: it costs no disk
		t.Fatal(err)
	}
	s.want(s.call("grep", args{"pattern": "needle"}), Completed, "a.txt:\n  Line 1: needle\n", "files larger than 64 MiB skipped")
}

// Directories that a rule opens: their files are told under the names by which
// they can be read, and the read rules hold there too.
func TestSearchesOutside(t *testing.T) {
	s := setUp(t, "readonly", nil)
	s.put("../work-beside/.env", "s3cret key\n")
	s.put("../work-beside/sub/b.txt", "no s3cret\n")
	s.allow("external_directory", s.outside+"/*")
	s.age("../work-beside/sub/b.txt", 1)
	tests := []struct {
		tool string
		in   args
		want string
	}{
		{"glob", args{"pattern": "*", "path": s.outside}, s.outside + "/secret\n" + s.outside + "/sub/b.txt\n"},
		{"glob", args{"pattern": "*", "path": s.outside + "/sub"}, s.outside + "/sub/b.txt\n"},
		{"grep", args{"pattern": "s3cret", "path": "../work-beside"}, "Found 2 matches\n\n" + s.outside + "/secret:\n  Line 1: s3cret\n\n" + s.outside + "/sub/b.txt:\n  Line 1: no s3cret\n"},
		{"grep", args{"pattern": "s3cret", "path": s.outside + "/secret"}, "Found 1 match\n\n" + s.outside + "/secret:\n  Line 1: s3cret\n"},
		{"list", args{"path": s.outside}, s.outside + "/\n  sub/\n    b.txt\n  secret\n"},
	}
	for _, tt := range tests {
		out := s.call(tt.tool, tt.in)
		s.want(out, Completed)
		if diff := cmp.Diff(tt.want, out.Output); diff != "" {
			t.Errorf("%s %v: %s", tt.tool, tt.in, diff)
		}
	}
	s.want(s.call("glob", args{"pattern": "*", "path": s.base}), Denied)
	s.want(s.call("grep", args{"pattern": "s3cret", "path": s.outside + "/.env"}), Denied, "denied: read ")
}

func TestExternalIgnoreRulesApply(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{"a.txt": "needle\n", "b.tmp": "needle\n"})
	s.env.Ignore.Rules = ignore.New(ignore.Parse([]byte("*.tmp\n")))
	for tool, want := range map[string]string{"glob": "a.txt\n", "grep": "Found 1 match\n\na.txt:\n  Line 1: needle\n", "list": "./\n  a.txt\n"} {
		in := args{"pattern": "*", "path": "."}
		if tool == "grep" {
			in["pattern"] = "needle"
		}
		if out := s.call(tool, in.only(tool)); out.Output != want+"\n(1 ignored file was skipped)" {
			t.Errorf("%s: %q", tool, out.Text())
		}
	}
}
