package tasks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/frontmatter"
	"github.com/millhand/millhand/tasks/problem"
)

// maxMarkdown bounds the file of one agent or command, in bytes.
const maxMarkdown = 256 << 10

// readAgentFiles reads one entry of agents_from: a Markdown file with front matter, as
// OpenCode defines agents, a directory of such files, or a directory .opencode. They
// are read because the caller names them, and only then: a repository's own are
// nobody's word.
func readAgentFiles(v value) ([]*agent, bool) {
	t, info, ok := v.existing()
	if !ok {
		return nil, false
	}
	files := []string{t.s}
	v.src.entered = append(v.src.entered, resolvePath(v.src.dir, t.s))
	if info.IsDir() {
		files, ok = v.agentsIn(t.s)
	}
	var all []*agent
	for _, file := range files {
		if a := v.agentFile(file); a != nil {
			all = append(all, a)
		}
	}
	return all, ok
}

// laterFiles returns one agent for each name: of several files the last one, as in OpenCode, with the
// restrictions of all of them.
func laterFiles(files []*agent) []*agent {
	var all []*agent
	for _, a := range files {
		at := slices.IndexFunc(all, func(before *agent) bool { return before.Name == a.Name })
		if at < 0 {
			all = append(all, a)
			continue
		}
		before := all[at]
		if before.src.Name != a.src.Name {
			a.layers = slices.Concat(before.layers, a.layers)
			a.found.faults = slices.Concat(before.found.faults, a.found.faults)
			if before.Turns > 0 && (a.Turns == 0 || before.Turns < a.Turns) {
				a.Turns = before.Turns
			}
			if before.mode == "primary" { // no model may start it
				a.mode = before.mode
			}
			a.src.Found.Note(fmt.Sprintf("%s:1: %s replaces the one of %s, whose restrictions still apply", a.src.Name, agentTitle(a.Name), before.src.Name))
		}
		all[at] = a
	}
	return all
}

// passedOver is a subdirectory whose agents an entry of agents_from does not include.
type passedOver struct{ path, note string }

// notePassedOver notes the subdirectories with agents that no entry of agents_from names.
func (s *source) notePassedOver() {
	for _, p := range s.passed {
		if !slices.ContainsFunc(s.entered, func(entry string) bool { return pathtree.Within(entry, p.path) }) {
			s.Found.Note(p.note)
		}
	}
}

// existing reads the path of a file or directory that has to exist.
func (v value) existing() (text, fs.FileInfo, bool) {
	t, ok := v.filled()
	if !ok {
		return t, nil, false
	}
	path := resolvePath(v.src.dir, t.s)
	if v.outside(path, t.s) {
		return t, nil, false
	}
	v.uses().named(v, path, t.s)
	info, err := os.Stat(path)
	if err != nil {
		v.problem(fmt.Sprintf("%s: %s", problem.Quote(t.s), missing(err)), "check its path; it is relative to the manifest")
	}
	return t, info, err == nil
}

// agentsIn lists the files of a directory of agents, as the entry spells it.
func (v value) agentsIn(directory string) ([]string, bool) {
	var files []string
	dirs := []string{directory}
	if filepath.Base(resolvePath(v.src.dir, directory)) == ".opencode" {
		dirs = []string{filepath.Join(directory, "agent"), filepath.Join(directory, "agents")}
	}
	for _, dir := range dirs {
		entries, err := os.ReadDir(resolvePath(v.src.dir, dir))
		if err != nil && (len(dirs) == 1 || !errors.Is(err, os.ErrNotExist)) {
			v.problem(fmt.Sprintf("directory %s: %s", problem.Quote(dir), missing(err)), "check its path; it is relative to the manifest")
			return nil, false
		}
		for _, e := range entries {
			switch file := filepath.Join(dir, e.Name()); {
			case e.IsDir():
				v.src.passed = append(v.src.passed, passedOver{
					resolvePath(v.src.dir, file), fmt.Sprintf("%s: agents in the subdirectory %s are ignored; add it to agents_from", v.source(), file),
				})
			case filepath.Ext(e.Name()) == ".md":
				files = append(files, file)
			}
		}
	}
	switch {
	case len(files) == 0:
		v.problem("no agents found in "+problem.Quote(directory), "name a directory of .md files, a file, or an .opencode directory with agent/*.md")
	case len(files) > maxDefined:
		v.problem(fmt.Sprintf("%s contains more than %d agents", problem.Quote(directory), maxDefined), "name the files that are needed")
	default:
		return files, true
	}
	return nil, false
}

// flaws are what is wrong with a file that OpenCode reads without complaint. None of it
// is a problem of the manifest until a task uses the file.
type flaws struct {
	notes  []string
	faults []problem.Problem // why the file can't be used
}

// report makes the flaws known: to a task that uses the file, faults are problems.
func (f flaws) report(to *problem.Collector) {
	for _, p := range f.faults {
		to.Add(p)
	}
	for _, n := range f.notes {
		to.Note(n)
	}
}

// forgiving runs a reader of a file, and returns what it finds instead of recording it.
func (s *source) forgiving(read func()) flaws {
	before := s.Found
	s.Found = problem.NewCollector()
	read()
	f := flaws{s.Found.Notes, s.Found.List}
	s.Found = before
	return f
}

// markdownFile returns a Markdown file that a manifest names, and nil after a problem: a
// policy refuses its path.
func (v value) markdownFile(named string) *source {
	if v.outside(resolvePath(v.src.dir, named), named) {
		return nil
	}
	v.uses().reads(resolvePath(v.src.dir, named))
	src := &source{
		File: problem.File{Name: filepath.Join(filepath.Dir(v.src.Name), named), Found: v.src.Found},
		dir:  v.src.dir, home: v.src.home, inputs: v.src.inputs, policies: v.src.policies,
	}
	if filepath.IsAbs(named) {
		src.Name = named
	}
	return src
}

// markdown reads the text of a Markdown file.
func (s *source) markdown(file string) (string, bool) {
	data, err := readRegular(resolvePath(s.dir, file), maxMarkdown)
	switch {
	case errors.Is(err, errTooLarge):
		s.Report(1, 1, fmt.Sprintf("the file exceeds %d KiB", maxMarkdown>>10), "a prompt is sent with every request: shorten it")
	case err != nil:
		s.unreadable(err)
	case !utf8.Valid(data):
		s.Report(1, 1, "the file is not UTF-8 text", "save it as UTF-8")
	default:
		return string(data), true
	}
	return "", false
}

// agentFile reads one file; nil for an agent that it switches off, or whose name no task
// can write.
func (v value) agentFile(file string) *agent {
	src := v.markdownFile(file)
	if src == nil {
		return nil
	}
	name := strings.TrimSuffix(filepath.Base(file), ".md")
	if !idForm.MatchString(name) {
		src.Found.Note(fmt.Sprintf("%s:1: invalid agent name %s: the agent is left out; name the file after the agent, with letters, digits, ., _ and -", src.Name, problem.Quote(name)))
		return nil
	}
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name, Line: 1, Column: 1}
	a := &agent{value: value{src: src, node: key, use: key, key: key}, Agent: Agent{Name: name}}
	off := false
	found := src.forgiving(func() {
		if data, ok := src.markdown(file); ok {
			off = a.readMarkdown(data)
		}
	})
	if off && len(found.faults) == 0 {
		return nil
	}
	a.found = &found
	return a
}

// head parses the head of a Markdown file, and returns the text after it; nil after a
// problem.
func (s *source) head(data string) (root *value, body string) {
	head, body, err := frontmatter.Head(data)
	if errors.Is(err, frontmatter.ErrNone) {
		s.Found.Note(s.Name + ":1: no front matter: all of the file is the prompt")
		head, body, err = "", data, nil
	}
	if err != nil {
		s.Report(1, 1, err.Error(), "start it with a line of ---, keys such as description:, and another line of ---")
		return nil, ""
	}
	return s.headRoot(head), body
}

// headRoot parses a head whose first line is the second of its file; an empty
// one is a mapping without keys.
func (s *source) headRoot(head string) *value {
	if strings.TrimSpace(head) == "" {
		head = "{}"
	}
	root, ok := s.parse([]byte("\n" + head))
	if !ok {
		return nil
	}
	if !root.isMapping() {
		s.Report(2, 1, "frontmatter must be a mapping", "write KEY: VALUE")
		return nil
	}
	return &root
}

var agentFilesForm = form[[]*agent]{Type{Name: "string"}, readAgentFiles}

// readMarkdown reads the text of an agent's file, and reports whether it switches the agent
// off.
func (a *agent) readMarkdown(data string) (off bool) {
	root, body := a.src.head(data)
	if root == nil {
		return false
	}
	root.key = a.key
	a.value = *root
	h := &agentHead{agent: a, body: &profileBody{value: a.value, title: agentTitle(a.Name)}}
	h.keys().forgive(a.value, restrictsAgent)
	a.body, a.layers = h.body, h.layers()
	if slices.ContainsFunc(a.layers, func(l []writtenRule) bool { return len(l) > maxEntries }) {
		a.keyProblem(fmt.Sprintf("the agent has more than %d rules", maxEntries), "use wildcards")
	}
	if words := strings.TrimSpace(body); words != "" {
		t := text{a.value, words}
		t.name = "the text"
		a.prompt = template{text: t, segments: []segment{{text: words}}}
	}
	return h.off
}

// forgive reads front matter as OpenCode does: a key that is unknown, or whose value is not
// understood, is ignored with a note, unless it may restrict.
func (ks keys) forgive(v value, restricts func(name string) bool) {
	entries, _ := v.entries()
	for _, e := range entries {
		name := e.key.Value
		at := ks.index(name)
		var f flaws
		switch {
		case at >= 0 && e.null():
		case at >= 0:
			f = v.src.forgiving(func() { ks[at].read(e) })
		case restricts(name):
			f = v.src.forgiving(func() {
				e.keyProblem("unknown key "+problem.Quote(name)+", which may be a restriction", v.src.Found.Suggest(name, ks.names(), "known here: "))
			})
		default:
			v.src.Found.Note(fmt.Sprintf("%s:%d: unknown key %s is ignored", v.src.Name, e.key.Line, problem.Quote(name)))
		}
		if !restricts(name) {
			for _, p := range f.faults {
				f.notes = append(f.notes, fmt.Sprintf("%s:%d: %s; the key is ignored", p.File, p.Line, p.What))
			}
			f.faults = nil
		}
		f.report(v.src.Found)
	}
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
