package scripts

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

var fenced = regexp.MustCompile("(?ms)^```\\w+\n(.*?)^```$")

// block writes a code block of a Markdown document to a file: the only one with a text.
func block(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: block DOCUMENT TEXT FILE")
	}
	var found []string
	for _, match := range fenced.FindAllStringSubmatch(ts.ReadFile(args[0]), -1) {
		if strings.Contains(match[1], args[1]) {
			found = append(found, match[1])
		}
	}
	if len(found) != 1 {
		ts.Fatalf("%s has %d code blocks with %q, want 1", args[0], len(found), args[1])
	}
	file := ts.MkAbs(args[2])
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
	ts.Check(os.WriteFile(file, []byte(found[0]), 0o644))
}
