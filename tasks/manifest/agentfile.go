package manifest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/profiles"
	"github.com/millhand/millhand/tasks/problem"
	"github.com/millhand/millhand/tasks/template"
)

// readAgentFiles reads one entry of agents_from: a Markdown file with front matter, as
// OpenCode defines agents, a directory of such files, or a directory .opencode. They
// are read because the caller names them, and only then: a repository's own are
// nobody's word.
func readAgentFiles(v form.Value) ([]*Agent, bool) {
	t, info, ok := v.Existing()
	if !ok {
		return nil, false
	}
	files := []string{t.S}
	v.Src.Entered = append(v.Src.Entered, userfile.Resolve(v.Src.Dir, t.S))
	if info.IsDir() {
		files, ok = agentsIn(v, t.S)
	}
	var all []*Agent
	for _, file := range files {
		if a := agentFileOf(v, file); a != nil {
			all = append(all, a)
		}
	}
	return all, ok
}

// laterFiles returns one agent for each name: of several files the last one, as in OpenCode, with the
// restrictions of all of them.
func laterFiles(files []*Agent) []*Agent {
	var all []*Agent
	for _, a := range files {
		at := slices.IndexFunc(all, func(before *Agent) bool { return before.Name == a.Name })
		if at < 0 {
			all = append(all, a)
			continue
		}
		before := all[at]
		if before.Src.Name != a.Src.Name {
			a.layers = slices.Concat(before.layers, a.layers)
			a.Flaws.Faults = slices.Concat(before.Flaws.Faults, a.Flaws.Faults)
			if before.Turns > 0 && (a.Turns == 0 || before.Turns < a.Turns) {
				a.Turns = before.Turns
			}
			if before.Mode == "primary" { // no model may start it
				a.Mode = before.Mode
			}
			a.Src.Found.Note(fmt.Sprintf("%s:1: %s replaces the one of %s, whose restrictions still apply", a.Src.Name, AgentTitle(a.Name), before.Src.Name))
		}
		all[at] = a
	}
	return all
}

// agentsIn lists the files of a directory of agents, as the entry spells it.
func agentsIn(v form.Value, directory string) ([]string, bool) {
	var files []string
	dirs := []string{directory}
	if filepath.Base(userfile.Resolve(v.Src.Dir, directory)) == ".opencode" {
		dirs = []string{filepath.Join(directory, "agent"), filepath.Join(directory, "agents")}
	}
	for _, dir := range dirs {
		entries, err := os.ReadDir(userfile.Resolve(v.Src.Dir, dir))
		if err != nil && (len(dirs) == 1 || !errors.Is(err, os.ErrNotExist)) {
			v.Problem(fmt.Sprintf("directory %s: %s", problem.Quote(dir), userfile.Missing(err)), "check its path; it is relative to the manifest")
			return nil, false
		}
		for _, e := range entries {
			switch file := filepath.Join(dir, e.Name()); {
			case e.IsDir():
				v.Src.Passed = append(v.Src.Passed, form.PassedOver{
					Path: userfile.Resolve(v.Src.Dir, file), Note: fmt.Sprintf("%s: agents in the subdirectory %s are ignored; add it to agents_from", v.Position(), file),
				})
			case filepath.Ext(e.Name()) == ".md":
				files = append(files, file)
			}
		}
	}
	switch {
	case len(files) == 0:
		v.Problem("no agents found in "+problem.Quote(directory), "name a directory of .md files, a file, or an .opencode directory with agent/*.md")
	case len(files) > form.MaxDefined:
		v.Problem(fmt.Sprintf("%s contains more than %d agents", problem.Quote(directory), form.MaxDefined), "name the files that are needed")
	default:
		return files, true
	}
	return nil, false
}

// agentFileOf reads one file; nil for an agent that it switches off, or whose name no task
// can write.
func agentFileOf(v form.Value, file string) *Agent {
	src := v.MarkdownFile(file)
	if src == nil {
		return nil
	}
	name := strings.TrimSuffix(filepath.Base(file), ".md")
	if !form.Identifier.MatchString(name) {
		src.Found.Note(fmt.Sprintf("%s:1: invalid agent name %s: the agent is left out; name the file after the agent, with letters, digits, ., _ and -", src.Name, problem.Quote(name)))
		return nil
	}
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name, Line: 1, Column: 1}
	a := &Agent{Value: form.Value{Origin: form.Origin{Src: src, Use: key, Key: key}, Node: key}, Agent: tasks.Agent{Name: name}}
	off := false
	found := src.Forgiving(func() {
		if data, ok := src.Markdown(file); ok {
			off = a.readMarkdown(data)
		}
	})
	if off && len(found.Faults) == 0 {
		return nil
	}
	a.Flaws = &found
	return a
}

var agentFilesForm = form.Of[[]*Agent]{Type: form.Type{Name: "string"}, Read: readAgentFiles}

// readMarkdown reads the text of an agent's file, and reports whether it switches the agent
// off.
func (a *Agent) readMarkdown(data string) (off bool) {
	root, body := a.Src.Head(data)
	if root == nil {
		return false
	}
	root.Key = a.Key
	a.Value = *root
	h := &agentHead{agent: a, body: &profiles.Body{Value: a.Value, Title: AgentTitle(a.Name)}}
	h.keys().Forgive(a.Value, restrictsAgent)
	a.Body, a.layers = h.body, h.layers()
	if slices.ContainsFunc(a.layers, func(l []profiles.Rule) bool { return len(l) > profiles.MaxEntries }) {
		a.KeyProblem(fmt.Sprintf("the agent has more than %d rules", profiles.MaxEntries), "use wildcards")
	}
	if words := strings.TrimSpace(body); words != "" {
		t := form.Text{Value: a.Value, S: words}
		t.Label = "the text"
		a.Text = template.Template{Text: t, Segments: []template.Segment{{Text: words}}}
	}
	return h.off
}

// restrictsAgent reports whether a key of an agent's file may restrict it, by its name: one
// that does, that resembles one, or the name of a permission. mode restricts who may start the agent.
func restrictsAgent(name string) bool {
	lower := strings.ToLower(name)
	for _, word := range []string{"permi", "tool", "allow", "deny", "denied", "disable", "enable", "restrict", "forbid", "block", "readonly", "read_only", "read-only", "sandbox", "step", "turns"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	known, _ := ruleName(name)
	return name == "mode" || slices.Contains(permission.Known(), known) || problem.Nearest(name, []string{"permission", "permissions", "disable", "steps"}, min(problem.AllowedEdits(name), 2)) != ""
}
