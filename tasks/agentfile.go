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

	"github.com/millhand/millhand/internal/frontmatter"
)

// maxMarkdown bounds the file of one agent or command, in bytes.
const maxMarkdown = 256 << 10

// readAgentFiles reads one entry of agents_from: a Markdown file with a head, as
// OpenCode defines agents, a directory of such files, or a directory .opencode. They
// are read because the caller names them, and only then: a repository's own are
// nobody's word.
func readAgentFiles(v value) ([]*agent, bool) {
	t, info, ok := v.existing()
	if !ok {
		return nil, false
	}
	if !info.IsDir() {
		a, ok := v.agentFile(t.s)
		return []*agent{a}, ok && a != nil
	}
	files, ok := v.agentsIn(t.s)
	var all []*agent
	for _, file := range files {
		if a, ok := v.agentFile(file); ok && a != nil {
			all = append(all, a)
		}
	}
	return all, ok
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
		v.problem(fmt.Sprintf("%s: %s", quote(t.s), missing(err)), "check its path; it is relative to the manifest")
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
			v.problem(fmt.Sprintf("directory %s: %s", quote(dir), missing(err)), "check its path; it is relative to the manifest")
			return nil, false
		}
		for _, e := range entries {
			switch file := filepath.Join(dir, e.Name()); {
			case e.IsDir():
				v.src.found.note(fmt.Sprintf("%s: agents in the subdirectory %s are ignored; add it to agents_from", v.source(), file))
			case filepath.Ext(e.Name()) == ".md":
				files = append(files, file)
			}
		}
	}
	switch {
	case len(files) == 0:
		v.problem("no agents found in "+quote(directory), "name a directory of .md files, a file, or an .opencode directory with agent/*.md")
	case len(files) > maxDefined:
		v.problem(fmt.Sprintf("%s contains more than %d agents", quote(directory), maxDefined), "name the files that are needed")
	default:
		return files, true
	}
	return nil, false
}

// markdownFile reads a Markdown file that a manifest names.
func (v value) markdownFile(file string) (*source, string, bool) {
	if v.outside(resolvePath(v.src.dir, file), file) {
		return nil, "", false
	}
	v.uses().reads(resolvePath(v.src.dir, file))
	data, err := readRegular(resolvePath(v.src.dir, file), maxMarkdown)
	src := &source{
		name: filepath.Join(filepath.Dir(v.src.name), file), dir: v.src.dir, home: v.src.home,
		found: v.src.found, inputs: v.src.inputs, policies: v.src.policies,
	}
	if filepath.IsAbs(file) {
		src.name = file
	}
	switch {
	case errors.Is(err, errTooLarge):
		src.report(1, 1, fmt.Sprintf("the file exceeds %d KiB", maxMarkdown>>10), "a prompt is sent with every request: shorten it")
	case err != nil:
		src.unreadable(err)
	case !utf8.Valid(data):
		src.report(1, 1, "the file is not UTF-8 text", "save it as UTF-8")
	default:
		return src, string(data), true
	}
	return nil, "", false
}

// agentFile reads one file, and nil for an agent that it switches off.
func (v value) agentFile(file string) (*agent, bool) {
	src, data, ok := v.markdownFile(file)
	if !ok {
		return nil, false
	}
	name := strings.TrimSuffix(filepath.Base(file), ".md")
	if !idForm.MatchString(name) {
		src.report(1, 1, "invalid agent name "+quote(name), "name the file after the agent, with letters, digits, ., _ and -")
		return nil, false
	}
	root, body := src.head(data)
	if root == nil {
		return nil, false
	}
	root.key = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name, Line: 1, Column: 1}
	return readAgentOfFile(*root, strings.TrimSpace(body))
}

// head parses the head of a Markdown file, and returns the text after it; nil after a
// problem.
func (s *source) head(data string) (root *value, body string) {
	head, body, err := frontmatter.Head(data)
	if err != nil {
		s.report(1, 1, err.Error(), "start it with a line of ---, keys such as description:, and another line of ---")
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
		s.report(2, 1, "frontmatter must be a mapping", "write KEY: VALUE")
		return nil
	}
	return &root
}

var agentFilesForm = form[[]*agent]{Type{Name: "string"}, readAgentFiles}

// readAgentOfFile reads the head of an agent's file; words is the text after it.
func readAgentOfFile(v value, words string) (*agent, bool) {
	a := &agent{value: v, Agent: Agent{Name: v.key.Value}}
	h := &agentHead{agent: a, body: &profileBody{value: v, title: agentTitle(a.Name)}}
	h.keys().read(v)
	a.body, a.layers = h.body, h.layers()
	if slices.ContainsFunc(a.layers, func(l []writtenRule) bool { return len(l) > maxEntries }) {
		v.keyProblem(fmt.Sprintf("the agent has more than %d rules", maxEntries), "use wildcards")
		return nil, false
	}
	if words != "" {
		t := text{v, words}
		t.name = "the text"
		a.prompt = template{text: t, segments: []segment{{text: words}}}
	}
	if h.off {
		return nil, true
	}
	return a, true
}
