package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
	"github.com/millhand/millhand/tasks/template"
)

// commandFile is a command in OpenCode's format, of a file or a manifest: a prompt with placeholders for arguments.
type commandFile struct {
	name   string
	src    *form.Source
	prompt string
	agent  *form.Text // of tasks without one; nil for none
	models ModelChain // likewise
	form.Flaws
}

var (
	commandFilesForm = form.Of[[]*commandFile]{Type: form.Type{Name: "string"}, Read: readCommandFiles}
	commandsForm     = form.MapOf("NAME", form.TypeOf((*commandFile).own), readCommands)
)

// readCommands reads the commands of a manifest.
func readCommands(v form.Value) ([]*commandFile, bool) {
	var all []*commandFile
	entries, ok := v.Entries()
	for _, e := range entries {
		c := &commandFile{name: e.Key.Value, src: e.Src}
		c.own().Read(e)
		c.prompt = strings.TrimSpace(c.prompt)
		all = append(all, c)
	}
	return all, ok
}

// readCommandFiles reads one entry of commands_from: a Markdown file, a directory of such
// files with its subdirectories, or a directory .opencode. A command is named after its
// file, with the subdirectories: git/commit.
func readCommandFiles(v form.Value) ([]*commandFile, bool) {
	t, info, ok := v.Existing()
	if !ok {
		return nil, false
	}
	if !info.IsDir() {
		c := commandFileOf(v, t.S, strings.TrimSuffix(filepath.Base(t.S), ".md"))
		return []*commandFile{c}, c != nil
	}
	dirs := []string{t.S}
	if filepath.Base(userfile.Resolve(v.Src.Dir, t.S)) == ".opencode" {
		dirs = []string{filepath.Join(t.S, "command"), filepath.Join(t.S, "commands")}
	}
	var all []*commandFile
	for _, dir := range dirs {
		names, err := markdownBelow(userfile.Resolve(v.Src.Dir, dir))
		if err != nil && (len(dirs) == 1 || !errors.Is(err, fs.ErrNotExist)) {
			v.Problem(fmt.Sprintf("directory %s: %s", problem.Quote(dir), userfile.Missing(err)), "check its path; it is relative to the manifest")
			return nil, false
		}
		for _, name := range names {
			c := commandFileOf(v, filepath.Join(dir, filepath.FromSlash(name)), strings.TrimSuffix(name, ".md"))
			if c == nil {
				return nil, false
			}
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		v.Problem("no commands found in "+problem.Quote(t.S), "name a directory of .md files, a file, or an .opencode directory with command/*.md")
	}
	return all, len(all) > 0
}

// markdownBelow lists the .md files below a directory, with slashes.
func markdownBelow(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() || filepath.Ext(path) != ".md":
			return nil
		case len(names) == form.MaxDefined:
			return fmt.Errorf("more than %d commands", form.MaxDefined)
		}
		name, err := filepath.Rel(dir, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	return names, err
}

// commandFileOf reads one file; nil after a problem. What is wrong in it is reported if a task
// uses it.
func commandFileOf(v form.Value, file, name string) *commandFile {
	src := v.MarkdownFile(file)
	if src == nil {
		return nil
	}
	c := &commandFile{name: name, src: src}
	c.Flaws = src.Forgiving(func() {
		if data, ok := src.Markdown(file); ok {
			c.readMarkdown(data)
		}
	})
	return c
}

func (c *commandFile) readMarkdown(data string) {
	c.prompt = data
	if strings.HasPrefix(strings.TrimPrefix(data, "\uFEFF"), "---") {
		root, body := c.src.Head(data)
		if root == nil {
			return
		}
		c.keys().Forgive(*root, restrictsCommand)
		c.prompt = body
	}
	c.models.OfCommand = true
	if c.prompt = strings.TrimSpace(c.prompt); c.prompt == "" {
		c.src.Report(1, 1, "the command has no prompt", "write it after the keys")
	}
}

// restrictsCommand reports whether an unknown key of a command may be a restriction. Those
// like allowed-tools give permissions in other programs, and a command has none to give.
func restrictsCommand(name string) bool {
	lower := strings.ToLower(name)
	known := slices.Contains([]string{"description", "agent", "model", "subagent", "subtask"}, lower)
	return !known && !strings.HasPrefix(lower, "allow") && restrictsAgent(name)
}

// resolveCommand makes the prompt of a task from its command. The command can't give the
// task more permissions: it has none of its own.
func (t *Task) resolveCommand() {
	if t.command == nil || t.Prompt.Src != nil {
		return
	}
	var names []string
	for _, c := range t.Manifest.Commands {
		if names = append(names, c.name); c.name == t.command.S {
			t.useCommand(c)
			return
		}
	}
	fix := "add it to commands, or commands_from: [.opencode]"
	if len(names) > 0 {
		slices.Sort(names)
		fix = "known here: " + strings.Join(slices.Compact(names), ", ")
	}
	t.command.Problem("unknown command "+problem.Quote(t.command.S), fix)
}

func (t *Task) useCommand(c *commandFile) {
	if c.Report(t.Src.Found); len(c.Faults) > 0 || c.prompt == "" { // which is reported where it is written
		return
	}
	arguments := ""
	if t.arguments != nil {
		arguments = t.arguments.S
	}
	expanded := *t.command
	expanded.S = expandCommand(c.prompt, arguments)
	if p, ok := commandPrompt(expanded, c); ok {
		t.Prompt = p
	}
	if c.agent != nil && (t.Agent == nil || t.Agent.Key == nil) {
		t.Agent = c.agent
	}
	if len(t.Models.Names) == 0 && !t.Models.Wrong && !c.models.Wrong {
		t.Models = c.models
	}
}

// commandPrompt is readTaskPrompt for the text of a command.
func commandPrompt(t form.Text, c *commandFile) (template.Template, bool) {
	if template.VariableInCommand(t.S) >= 0 {
		t.Problem(fmt.Sprintf("the command %s (%s) runs a !`...` command with a variable of the arguments: the shell would run its value", problem.Quote(c.name), c.src.Name), "write the value itself, or run the command under setup: with quotes around the variable")
		return template.Template{}, false
	}
	return template.ParseTemplate(t), true
}

// placeholder matches where a command has its arguments.
var placeholder = regexp.MustCompile(`\$(ARGUMENTS\b|[1-9][0-9]?)`)

// expandCommand fills in arguments as OpenCode does: $1, $2, ... are words, of which the
// highest number gets all that remain, $ARGUMENTS is all of them. Without either they
// follow the text. Variables of the text itself are none of millhand's.
func expandCommand(body, arguments string) string {
	body = strings.ReplaceAll(body, form.Opening, "$"+form.Opening)
	words, highest := commandWords(arguments), 0
	all := placeholder.FindAllStringSubmatch(body, -1)
	for _, m := range all {
		if n, err := strconv.Atoi(m[1]); err == nil {
			highest = max(highest, n)
		}
	}
	if len(all) == 0 && arguments != "" {
		return body + "\n\n" + arguments
	}
	return placeholder.ReplaceAllStringFunc(body, func(found string) string {
		n, err := strconv.Atoi(found[1:])
		switch {
		case err != nil:
			return arguments
		case n > len(words):
			return ""
		case n == highest:
			return strings.Join(words[n-1:], " ")
		}
		return words[n-1]
	})
}

// commandWords splits arguments at spaces, except within quotes, which are removed, and
// within variables.
func commandWords(arguments string) (words []string) {
	var word strings.Builder
	inWord, quoted := false, rune(0)
	for at := 0; at < len(arguments); {
		if end := strings.Index(arguments[at:], "}}"); strings.HasPrefix(arguments[at:], form.Opening) && end > 0 {
			word.WriteString(arguments[at : at+end+2])
			inWord, at = true, at+end+2
			continue
		}
		r := rune(arguments[at])
		switch {
		case quoted != 0 && r == quoted:
			quoted = 0
		case quoted == 0 && (r == '"' || r == '\''):
			quoted, inWord = r, true
		case quoted == 0 && unicode.IsSpace(r) && r < 0x80:
			if inWord {
				words = append(words, word.String())
			}
			inWord = false
			word.Reset()
		default:
			word.WriteByte(arguments[at])
			inWord = true
		}
		at++
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}

func (c *commandFile) keys() form.Table {
	return form.Table{
		{Name: "description", Field: form.Into(new(string), form.String), Doc: "What the command does"},
		{Name: "agent", Field: form.Into(&c.agent, form.Optional(form.Filled)), Doc: "Agent of tasks without one"},
		{Name: "model", Field: form.Into(&c.models, modelsForm), Doc: "Model of tasks without one"},
		{Name: "subtask", Field: form.Field{Type: form.Bool.Type, Read: ignored}, Doc: "Accepted and ignored"},
		{Name: "subagent", Field: form.Field{Type: form.Bool.Type, Read: ignored}, Doc: "Accepted and ignored"},
	}
}

// own are the keys of a command in a manifest.
func (c *commandFile) own() form.Table {
	return append(c.keys(), form.Row{Name: "template", Field: form.Required("template: TEXT", form.Into(&c.prompt, form.String)), Doc: "The prompt, with $ARGUMENTS, $1, ... for the arguments of the task"})
}
