package ablation

import (
	"fmt"
	"strings"
	"testing"
)

// A block starts where a | is: after an empty line, with code or its comment, that is not indented.
func TestAddedFilesAreDividedIntoBlocks(t *testing.T) {
	for name, marked := range map[string]string{
		"a.go":        "|// Package a is documented.\npackage a\n\n|import (\n\t\"os\"\n\n\t\"fmt\"\n)\n\n|// B does.\nfunc B() {\n\n\tfmt.Println(`\n\nnot code\n\n`)\n}\n\n|var x = 1\nvar y = 2\n\n|func D() {}\n\n// the end\n",
		"header.go":   "|// A licence.\n\n// Package a.\npackage a\n\n|func B() {}\n",
		"a.py":        "|\"\"\"Documentation.\n\nOf the file.\n\"\"\"\nimport os\n\n\n|@cached\ndef a():\n    return 1\n\n    # more\n\n\n|class B:\n    x = 1\n\n    def c(self):\n        pass\n\n\n|if x:\n    pass\n\nelse:\n    pass\n",
		"strings.py":  "|A = \"\"\"\n\n# no comment of code\n\ndef f():\n\n\"\"\"\n\n|def f():\n    pass\n",
		"a.ts":        "|'use strict';\n\nimport { a } from 'a';\n\n|/** Documented.\n *\n * At length. */\nexport function b() {\n  return {\n\n  };\n}\n\n|const c = [\n1,\n\n2,\n];\n",
		"a.sh":        "|#!/bin/bash\n\n# comment\nset -e\n\n|f() {\n  echo\n\n}\n\n|if true; then\n  f\n\nelse\n  f\n\nfi\n\n|f\n",
		"a.pl":        "|use strict;\n\n|sub a {\n  1;\n}\n\n|1;\n",
		"a.rb":        "|require 'a'\n\n|class B\n  def c\n  end\n\nend\n\n|D = 1\n",
		"a.rs":        "|use std::fmt;\n\n|/// Documented.\n#[derive(Debug)]\nstruct A;\n\n|impl A {\n\n}\n",
		"tests.rs":    "use a;\n\nfn f() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() {}\n}\n",
		"A.java":      "|package a;\n\n|class A {\n\n  void b() {}\n\n}\n",
		"a.c":         "|#include <a.h>\n\n|static int f(void)\n{\n\n}\n",
		"README.md":   "one\n\ntwo\n",
		"a.json":      "{\n\n}\n",
		"one.go":      "|package a\n",
		"comments.py": "# a\n\n# b\n",
	} {
		text := strings.ReplaceAll(marked, "|", "")
		var got strings.Builder
		lines := split([]byte(text))
		all := blocks(name, lines)
		at := 0
		for _, b := range all {
			if b.NewFrom != at || b.NewTo <= at && len(lines) > 0 {
				t.Errorf("%s: block %+v starts at line %d", name, b, at)
			}
			got.WriteString("|" + strings.Join(lines[b.NewFrom:b.NewTo], ""))
			at = b.NewTo
		}
		if want := marked; strings.Contains(want, "|") && got.String() != want || !strings.Contains(want, "|") && len(all) > 1 {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got.String(), want)
		}
	}
}

func TestAFileHasAMaximumOfBlocks(t *testing.T) {
	var text strings.Builder
	for i := range 3 * maxBlocks {
		fmt.Fprintf(&text, "x%d = 1\n\n", i)
	}
	lines := split([]byte(text.String()))
	all := blocks("a.py", lines)
	if len(all) > maxBlocks || len(all) < maxBlocks/2 || all[len(all)-1].NewTo != len(lines) {
		t.Errorf("%d blocks, the last one is %v", len(all), all[len(all)-1])
	}
}

// Dead code in an added file that is needed is found; a file of which everything has the same verdict is one hunk.
func TestDeadCodeInAnAddedFileIsFound(t *testing.T) {
	added := func(path string, parts ...string) File {
		return File{path, Content{}, text(strings.Join(parts, "\n\n") + "\n")}
	}
	for name, c := range map[string]struct {
		files []File
		pass  func(string) bool
		want  string
	}{
		"a block":       {[]File{file("a", "A"), added("b.py", "B = 1", "X = 1", "C = 1")}, hasAll("A", "B", "C"), "a:2 needed, b.py:1 needed, b.py:3 unneeded, b.py:5 needed"},
		"a needed file": {[]File{file("a", "A"), added("b.py", "B = 1", "C = 1")}, hasAll("A", "B", "C"), "a:2 needed, b.py:0 needed"},
		"a file":        {[]File{file("a", "A"), added("b.py", "X = 1", "Y = 1")}, hasAll("A"), "a:2 needed, b.py:0 unneeded"},
		"a helper of dead code": {[]File{added("b.py", "def helper(): 1", "B = 1", "def dead(): helper()")}, func(s string) bool {
			return hasAll("B")(s) && (hasAll("def helper")(s) || !strings.Contains(s, "dead"))
		}, "b.py:1 unneeded, b.py:3 needed, b.py:5 unneeded"},
		"an import of dead code": {
			[]File{added("b.go", "package b", `import "os"`, "func B() {}", "func dead() { os.Exit(1) }")},
			func(s string) bool {
				return hasAll("package", "B()")(s) && strings.Contains(s, "import") == strings.Contains(s, "dead")
			},
			"b.go:1 needed, b.go:3 unneeded, b.go:5 needed, b.go:7 unneeded",
		},
		"a test file": {[]File{file("a", "A"), added("test_b.py", "def test_b(): 1", "def test_c(): 1")}, hasAll("A"), "a:2 needed"},
	} {
		change := Read(c.files)
		v := &verifier{pass: c.pass}
		var got []string
		for _, r := range change.Results(change.Search(v.try)) {
			got = append(got, fmt.Sprintf("%s:%d %s", r.Path, r.Line, r.State))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: got %s, want %s", name, strings.Join(got, ", "), c.want)
		}
		if len(v.runs) > change.MaxTrials() {
			t.Errorf("%s: %d trials, more than %d", name, len(v.runs), change.MaxTrials())
		}
	}
}

// An interrupted search has tried all files and other hunks before blocks, and claims nothing of what it has not tried.
func TestBlocksAreTriedLast(t *testing.T) {
	files := []File{{"a.py", Content{}, text("A = 1\n\nX = 1\n\nB = 1\n")}, file("b", "C", "Y")}
	all := &verifier{pass: hasAll("A", "B", "C")}
	Read(files).Search(all.try)
	const want = "a.py:0 needed, b:2 needed, b:4 unneeded"
	seen := false
	for stop := range len(all.runs) {
		change := Read(files)
		v := &verifier{pass: all.pass, stop: max(stop, 1)}
		var got []string
		for _, r := range change.Results(change.Search(v.try)) {
			got = append(got, fmt.Sprintf("%s:%d %s", r.Path, r.Line, r.State))
			if r.State == Unneeded && !strings.Contains("b:4 a.py:3", fmt.Sprintf("%s:%d", r.Path, r.Line)) || (r.By == "tests") != (r.State == Needed) {
				t.Errorf("after %d trials: %+v", stop, r)
			}
		}
		seen = seen || strings.Join(got, ", ") == want
	}
	if !seen {
		t.Errorf("at no time it is %s", want)
	}
}
