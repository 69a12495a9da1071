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

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/text/frontmatter"
	"github.com/millhand/millhand/tasks/problem"
)

// maxMarkdown bounds the file of one agent or command, in bytes.
const maxMarkdown = 256 << 10

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
