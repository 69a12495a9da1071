package tasks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// TaskScript is a program that does the work of a job without a model. If it fails, a
// session does the work. It is read with the manifest, so that nothing in a job's
// repository can replace it.
type TaskScript struct {
	File   string // as in the manifest
	SHA256 string // of Text
	Text   string

	MustChange bool // a script that changes nothing has failed
	Alone      bool // no session follows a script that fails
}

// MaxScript is the maximum size of a script, in bytes.
const MaxScript = 256 << 10

// NewTaskScript returns the script with a content.
func NewTaskScript(file string, data []byte) *TaskScript {
	sum := sha256.Sum256(data)
	return &TaskScript{File: file, SHA256: hex.EncodeToString(sum[:]), Text: string(data)}
}

// Fault describes why a script can't be run; "" if it can.
func (s *TaskScript) Fault() string {
	switch {
	case strings.TrimSpace(s.Text) == "":
		return "is empty"
	case !utf8.ValidString(s.Text) || bytes.IndexByte([]byte(s.Text), 0) >= 0:
		return "is not a text"
	case strings.HasPrefix(s.Text, "#!") && interpreter(s.Text) == nil:
		return "has an empty first line #!"
	}
	return ""
}

// ScriptLanguage is a language that scripts can be written in without a first line that
// names an interpreter.
type ScriptLanguage struct {
	Name       string
	Extensions []string // the first is that of new scripts
	Command    []string // followed by the path of the script
}

// ScriptLanguages returns the languages of scripts.
func ScriptLanguages() []ScriptLanguage {
	return []ScriptLanguage{
		{"bash", []string{".sh", ".bash"}, []string{"bash"}},
		{"python", []string{".py"}, []string{"python3"}},
		{"javascript", []string{".mjs", ".js", ".cjs"}, []string{"node"}},
		{"ruby", []string{".rb"}, []string{"ruby"}},
		{"perl", []string{".pl"}, []string{"perl"}},
		{"php", []string{".php"}, []string{"php"}},
		{"go", []string{".go"}, []string{"go", "run"}},
	}
}

// Command returns the program that runs the script, with the script at a path: that of its
// first line, else that of its extension, else bash.
func (s *TaskScript) Command(path string) []string {
	if named := interpreter(s.Text); named != nil {
		return append(named, path)
	}
	for _, l := range ScriptLanguages() {
		if slices.Contains(l.Extensions, strings.ToLower(filepath.Ext(s.File))) {
			return append(slices.Clone(l.Command), path)
		}
	}
	return []string{"bash", path}
}

// interpreter returns the program of a first line such as "#!/usr/bin/env python3", with at
// most one argument, as the kernel runs it; nil without one.
func interpreter(text string) []string {
	line, _, _ := strings.Cut(text, "\n")
	line, found := strings.CutPrefix(strings.TrimRight(line, "\r"), "#!")
	program, argument, more := strings.Cut(strings.TrimSpace(line), " ")
	switch {
	case !found || program == "":
		return nil
	case more:
		return []string{program, strings.TrimSpace(argument)}
	}
	return []string{program}
}
