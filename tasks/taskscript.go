package tasks

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
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

// NewTaskScript returns the script with a content.
func NewTaskScript(file string, data []byte) *TaskScript {
	sum := sha256.Sum256(data)
	return &TaskScript{File: file, SHA256: hex.EncodeToString(sum[:]), Text: string(data)}
}

// ScriptLanguage is a language that scripts can be written in without a first line that
// names an interpreter.
type ScriptLanguage struct {
	Name       string
	Extensions []string // the first is that of new scripts
	Command    []string // followed by the path of the script
	Files      []string // globs of files that a repository in this language has; nil for any repository
}

// ScriptLanguages returns the languages of scripts.
func ScriptLanguages() []ScriptLanguage {
	return []ScriptLanguage{
		{"bash", []string{".sh", ".bash"}, []string{"bash"}, nil},
		{"python", []string{".py"}, []string{"python3"}, []string{"*.py"}},
		{"javascript", []string{".mjs", ".js", ".cjs"}, []string{"node"}, []string{"package.json", "*.js", "*.ts"}},
		{"ruby", []string{".rb"}, []string{"ruby"}, []string{"Gemfile", "*.rb"}},
		{"perl", []string{".pl"}, []string{"perl"}, []string{"*.pl", "*.pm"}},
		{"php", []string{".php"}, []string{"php"}, []string{"composer.json", "*.php"}},
		{"go", []string{".go"}, []string{"go", "run"}, []string{"go.mod"}},
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
