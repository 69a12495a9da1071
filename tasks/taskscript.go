package tasks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
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

// maxScript is the maximum size of a script, in bytes.
const maxScript = 256 << 10

var taskScriptForm = form.Of[*TaskScript]{Type: form.Type{Name: "string"}, Read: readTaskScript}

// readTaskScript reads the path of a script next to the manifest. Policies limit it as
// setup commands: both are commands of the manifest's author.
func readTaskScript(v form.Value) (*TaskScript, bool) {
	t, ok := v.Filled()
	if !ok {
		return nil, false
	}
	path := form.ResolvePath(v.Src.Dir, t.S)
	if v.Refused(policy.Setup, "scripts", string(policy.Setup)) || v.Outside(path, t.S) {
		return nil, false
	}
	v.Uses().Named(v, path, t.S)
	data, err := form.ReadRegular(path, maxScript)
	if errors.Is(err, form.ErrTooLarge) {
		v.Problem(fmt.Sprintf("script %s exceeds %d KiB", problem.Quote(t.S), maxScript>>10), "write a shorter script")
		return nil, false
	}
	if err != nil {
		v.Problem(fmt.Sprintf("script %s: %s", problem.Quote(t.S), form.Missing(err)), "check its path; it is relative to the manifest")
		return nil, false
	}
	s := NewTaskScript(t.S, data)
	if fault := s.fault(); fault != "" {
		v.Problem(fmt.Sprintf("script %s %s", problem.Quote(t.S), fault), "write a bash script, or name its interpreter in a first line such as #!/usr/bin/env python3")
		return nil, false
	}
	return s, true
}

// NewTaskScript returns the script with a content.
func NewTaskScript(file string, data []byte) *TaskScript {
	sum := sha256.Sum256(data)
	return &TaskScript{File: file, SHA256: hex.EncodeToString(sum[:]), Text: string(data)}
}

// fault describes why a script can't be run; "" if it can.
func (s *TaskScript) fault() string {
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

// scriptOf returns the script of a task; nil without one.
func (t *task) scriptOf() *TaskScript {
	if t.script == nil {
		return nil
	}
	s := *t.script
	s.MustChange = t.requireChanges || t.condition != nil
	return &s
}
