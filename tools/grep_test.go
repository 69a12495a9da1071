package tools

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/proc"
)

func TestGrep(t *testing.T) {
	s := project(t)
	setPath(s, t.TempDir())
	for i, name := range []string{"main.go", "sub/cart.go", "sub/deep/x_test.go", ".hidden/h.go", ".env.example", "README.md"} {
		s.age(name, i+1)
	}
	tests := []struct {
		name string
		in   args
		want string
	}{
		{"newest files first, hidden ones too", args{"pattern": "total"}, "Found 3 matches\n\nmain.go:\n  Line 1: package main // total\n\nsub/deep/x_test.go:\n  Line 1: // total\n\n.hidden/h.go:\n  Line 1: // total\n"},
		{"whatever the case", args{"pattern": "(?i)^total", "path": "README.md"}, "Found 1 matches\n\nREADME.md:\n  Line 1: Total\n"},
		{"below a folder", args{"pattern": "func T.*l", "path": "sub"}, "Found 1 matches\n\nsub/cart.go:\n  Line 3: func Total() {}\n"},
		{"in files of a name", args{"pattern": "(?i)total", "include": "*_test.go"}, "Found 1 matches\n\nsub/deep/x_test.go:\n  Line 1: // total\n"},
		{"in one file, even if git ignores it", args{"pattern": "total", "path": "a.log"}, "Found 1 matches\n\na.log:\n  Line 1: total\n"},
		{"no match", args{"pattern": "nowhere"}, "No files found"},
		{"what the read rules deny", args{"pattern": "total", "path": "secret"}, "No files found"},
		{"what a rule of the manifest denies", args{"pattern": "total", "path": "secret"}, "No files found"},
		{"a binary file", args{"pattern": "total", "path": "bin.dat"}, "No files found"},
		{"git's own files", args{"pattern": "total", "include": "config"}, "No files found"},
		{"where no file has the name", args{"pattern": "total", "include": "*.rs"}, "No files found"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := s.call("grep", tt.in)
			s.want(out, Completed)
			if out.Metadata["engine"] != "built-in" || out.Metadata["engine_note"] != nil {
				t.Errorf("%v", out.Metadata)
			}
			if diff := cmp.Diff(tt.want, out.Output); diff != "" {
				t.Error(diff)
			}
			if n := strings.Count(tt.want, "  Line "); out.Metadata["matches"] != n || out.Metadata["truncated"] != false {
				t.Errorf("%v", out.Metadata)
			}
			if ripgrep := withRipgrep(t, s, tt.in); ripgrep.Output != out.Output || tt.in["path"] == nil && ripgrep.Metadata["engine"] != "ripgrep" {
				t.Errorf("ripgrep: %v, %s", ripgrep.Metadata, cmp.Diff(out.Output, ripgrep.Output))
			}
		})
	}
}

func TestGrepSaysWhyItCanNot(t *testing.T) {
	s := project(t)
	s.want(s.call("grep", args{"pattern": ""}), Failed, "pattern is empty: give a regular expression")
	s.want(s.call("grep", args{"pattern": "("}), Failed, "grep (: invalid regular expression")
	s.want(s.call("grep", args{"pattern": "(?=x)"}), Failed, "invalid regular expression")
	s.want(s.call("grep", args{"pattern": "x", "include": "["}), Failed, "invalid glob")
	s.want(s.call("grep", args{"pattern": "x", "path": "nope"}), Failed, "there is no file nope: look with glob or list")
	s.want(s.call("grep", args{"pattern": "x", "path": "main.go/x"}), Failed, "there is no file main.go/x: look with glob or list")
	s.want(s.call("grep", args{"pattern": "s3cret", "path": "../work-beside/secret"}), Denied, "external_directory")
	s.want(s.call("grep", args{"pattern": "TOTAL", "path": ".env"}), Denied, `denied: read ".env"`)
	s.want(s.call("grep", args{"pattern": "total", "path": "alias/key.go"}), Denied, `denied: read "secret/key.go"`)
	s.want(s.call("grep", args{"pattern": "s3cret", "path": "away"}), Denied, "external_directory")
	s.deny("grep", "pass*")
	s.want(s.call("grep", args{"pattern": "password"}), Denied, `grep: {"pass*": deny} (m.yaml:4)`)
}

func TestAGrepOfMuchTextIsBounded(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{"a.txt": strings.Repeat("needle "+strings.Repeat("\x01", 3000)+"\n", 100)})
	out := s.call("grep", args{"pattern": "needle"})
	s.want(out, Completed, "Found 100 matches\n", "the whole output is in "+s.env.Outputs)
	if jsonSize(out.Output) > defaultBytes+500 || !out.Truncated || out.Metadata["output_path"] == nil {
		t.Errorf("%d bytes, %v", jsonSize(out.Output), out.Metadata)
	}
}

// setPath gives a stage's commands another PATH.
func setPath(s *stage, dirs ...string) {
	s.env.ChildEnv = proc.Set(s.env.ChildEnv, "PATH", strings.Join(dirs, ":"))
}

// withRipgrep makes a call of grep that can find ripgrep. Where there is none,
// but on a CI, the test ends.
func withRipgrep(t *testing.T, s *stage, in args) Outcome {
	t.Helper()
	before := s.env.ChildEnv
	defer func() { s.env.ChildEnv = before }()
	setPath(s, os.Getenv("PATH"))
	if s.env.findRipgrep() == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("ripgrep is not installed")
		}
		t.Skip("ripgrep is not installed")
	}
	return s.call("grep", in)
}

func TestGrepSaysWhyItDidWithoutRipgrep(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{"a.c": "needle\n", ".gitignore": "*.{c,h}\n"})
	out := withRipgrep(t, s, args{"pattern": "needle"})
	s.want(out, Completed, "a.c:\n  Line 1: needle\n")
	if out.Metadata["engine"] != "built-in" || out.Metadata["engine_note"] != "not ripgrep: an ignore file has rules that ripgrep reads in another way" {
		t.Errorf("%v", out.Metadata)
	}
}

// A repository must not be able to bring its own ripgrep, nor to configure the
// user's.
func TestAWorkspaceBringsNoRipgrep(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{"a.txt": "needle\n", ".ripgreprc": "--files-without-match\n"})
	tools := filepath.Join(s.base, "tools")
	for _, name := range []string{"../tools/good/rg", "../tools/plain/rg", "bin/rg", "../work-beside/evil/rg"} {
		s.put(name, "#!/bin/sh\necho ran >"+s.base+"/ran\n")
		if name != "../tools/plain/rg" {
			if err := os.Chmod(filepath.Join(s.dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.put("../tools/linked/", "")
	s.put("lead/", "")
	s.link("../work/bin", "../tools/alias")
	s.link("../work/lead", "../tools/lead")
	s.link("../../work/bin/rg", "../tools/linked/rg")
	s.link("../../work-beside/evil/rg", "lead/rg")
	good := filepath.Join(tools, "good", "rg")
	t.Chdir(s.dir)
	for path, want := range map[string]string{
		tools + "/good":                            good,
		s.dir + "/bin:" + tools + "/good":          good,
		s.dir + "//bin/../bin/:" + tools + "/good": good,
		"bin:./bin::.:" + tools + "/good":          good,
		tools + "/alias":                           "",
		tools + "/lead":                            "",
		tools + "/linked":                          "",
		tools + "/plain:" + tools:                  "",
		"../tools/good":                            "",
		"":                                         "",
		s.dir:                                      "",
	} {
		setPath(s, path)
		if got := s.env.findRipgrep(); got != want {
			t.Errorf("%q: found %q, want %q", path, got, want)
		}
	}
	setPath(s, s.dir+"/bin", "bin")
	s.want(s.call("grep", args{"pattern": "needle"}), Completed, "a.txt:\n  Line 1: needle\n")
	if _, err := os.Stat(filepath.Join(s.base, "ran")); err == nil {
		t.Error("the workspace's own program was run")
	}
	s.env.ChildEnv = append(s.env.ChildEnv, "RIPGREP_CONFIG_PATH="+s.dir+"/.ripgreprc")
	if out := withRipgrep(t, s, args{"pattern": "needle", "include": "*.txt"}); out.Output != "Found 1 matches\n\na.txt:\n  Line 1: needle\n" {
		t.Errorf("configured by the workspace: %q", out.Output)
	}
}

func TestARipgrepThatFailsOrHangs(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{"a.txt": "needle\n"})
	dir := filepath.Join(s.base, "tools")
	setPath(s, dir)
	for script, note := range map[string]string{
		"#!/bin/sh\nexit 2\n":             "not ripgrep: ripgrep ended with code 2",
		"#!/bin/sh\nkill -SEGV $$\n":      "not ripgrep: ripgrep ended with code -1",
		"#!/bin/sh\necho what >&2\n":      `not ripgrep: ripgrep printed "what\n"`,
		"#!/nowhere/to/be/found\n":        "not ripgrep: run ripgrep: start",
		"#!/bin/sh\nprintf a; exec env\n": `not ripgrep: ripgrep printed "a`,
	} {
		s.put("../tools/rg", script)
		if err := os.Chmod(filepath.Join(dir, "rg"), 0o755); err != nil {
			t.Fatal(err)
		}
		out := s.call("grep", args{"pattern": "needle"})
		s.want(out, Completed, "a.txt:\n  Line 1: needle\n")
		if got, _ := out.Metadata["engine_note"].(string); out.Metadata["engine"] != "built-in" || !strings.HasPrefix(got, note) || strings.Contains(got, "HOME") {
			t.Errorf("%q: %v", script, out.Metadata)
		}
	}
	pipe := filepath.Join(s.base, "begun")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	s.put("../tools/rg", "#!/bin/sh\necho begun >"+pipe+"; /bin/sleep 1000 & wait\n")
	ctx, cancel := context.WithCancel(t.Context())
	var watch sync.WaitGroup
	watch.Go(func() {
		defer cancel()
		if _, err := os.ReadFile(pipe); err != nil { // waits for the program
			t.Error(err)
		}
	})
	defer watch.Wait()
	out := s.tools.Dispatch(ctx, s.env, Call{Name: "grep", Input: `{"pattern": "needle"}`}, nil)
	s.want(out, Failed, "the call was interrupted")
}

func TestGrepShowsTheMatchOfALongLine(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{"min.js": strings.Repeat("x", 5000) + "needle" + strings.Repeat("y", 5000) + "\n"})
	out := s.call("grep", args{"pattern": "needle"})
	want := "  Line 1: (4800 bytes before) ..." + strings.Repeat("x", 200) + "needle" + strings.Repeat("y", 1794) + "... (the line goes on)\n"
	s.want(out, Completed, want)
	s.want(s.call("grep", args{"pattern": "^x"}), Completed, "  Line 1: "+strings.Repeat("x", 2000)+"... (the line goes on)\n")
	s.want(s.call("grep", args{"pattern": "y$"}), Completed, strings.Repeat("y", 201)+"\n")
}
