package tasks

import (
	"slices"
	"testing"
)

func TestScriptCommand(t *testing.T) {
	for _, c := range []struct {
		file, text string
		want       []string
	}{
		{"fix", "true\n", []string{"bash", "/s"}},
		{"fix.sh", "true\n", []string{"bash", "/s"}},
		{"fix.txt", "true\n", []string{"bash", "/s"}},
		{"fix.PY", "pass\n", []string{"python3", "/s"}},
		{"fix.mjs", "\n", []string{"node", "/s"}},
		{"fix.go", "package main\n", []string{"go", "run", "/s"}},
		{"fix.sh", "#!/usr/bin/env python3\r\n", []string{"/usr/bin/env", "python3", "/s"}},
		{"fix", "#! /bin/sh -e -u\n", []string{"/bin/sh", "-e -u", "/s"}},
		{"fix", "#!/bin/sh", []string{"/bin/sh", "/s"}},
		{"fix.py", " #!/bin/sh\n", []string{"python3", "/s"}},
	} {
		if got := NewTaskScript(c.file, []byte(c.text)).Command("/s"); !slices.Equal(got, c.want) {
			t.Errorf("%s %q: %q, want %q", c.file, c.text, got, c.want)
		}
	}
}

func TestScriptFault(t *testing.T) {
	for text, want := range map[string]string{
		"true\n": "", "": "is empty", " \n": "is empty", "a\x00b": "is not a text", "\xff": "is not a text", "#!\n": "has an empty first line #!", "#!  \ntrue": "has an empty first line #!",
	} {
		if got := NewTaskScript("x", []byte(text)).Fault(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
