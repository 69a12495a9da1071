package form

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
	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/text/frontmatter"
	"github.com/millhand/millhand/tasks/problem"
)

// maxMarkdown bounds the file of one agent or command, in bytes.
const maxMarkdown = 256 << 10

// PassedOver is a subdirectory whose agents an entry of agents_from does not include.
type PassedOver struct{ Path, Note string }

// NotePassedOver notes the subdirectories with agents that no entry of agents_from names.
func (s *Source) NotePassedOver() {
	for _, p := range s.Passed {
		if !slices.ContainsFunc(s.Entered, func(entry string) bool { return pathtree.Within(entry, p.Path) }) {
			s.Found.Note(p.Note)
		}
	}
}

// Existing reads the path of a file or directory that has to exist.
func (v Value) Existing() (Text, fs.FileInfo, bool) {
	t, ok := v.Filled()
	if !ok {
		return t, nil, false
	}
	path := userfile.Resolve(v.Src.Dir, t.S)
	if v.Outside(path, t.S) {
		return t, nil, false
	}
	v.Uses().Named(v, path, t.S)
	info, err := os.Stat(path)
	if err != nil {
		v.Problem(fmt.Sprintf("%s: %s", problem.Quote(t.S), userfile.Missing(err)), "check its path; it is relative to the manifest")
	}
	return t, info, err == nil
}

// Flaws are what is wrong with a file that OpenCode reads without complaint. None of it
// is a problem of the manifest until a task uses the file.
type Flaws struct {
	Notes  []string
	Faults []problem.Problem // why the file can't be used
}

// Report makes the flaws known: to a task that uses the file, faults are problems.
func (f Flaws) Report(to *problem.Collector) {
	for _, p := range f.Faults {
		to.Add(p)
	}
	for _, n := range f.Notes {
		to.Note(n)
	}
}

// Forgiving runs a reader of a file, and returns what it finds instead of recording it.
func (s *Source) Forgiving(read func()) Flaws {
	before := s.Found
	s.Found = problem.NewCollector()
	read()
	f := Flaws{s.Found.Notes, s.Found.List}
	s.Found = before
	return f
}

// MarkdownFile returns a Markdown file that a manifest names, and nil after a problem: a
// policy refuses its path.
func (o Origin) MarkdownFile(named string) *Source {
	if o.Outside(userfile.Resolve(o.Src.Dir, named), named) {
		return nil
	}
	o.Uses().Reads(userfile.Resolve(o.Src.Dir, named))
	src := &Source{
		File: problem.File{Name: filepath.Join(filepath.Dir(o.Src.Name), named), Found: o.Src.Found},
		Dir:  o.Src.Dir, Home: o.Src.Home, Inputs: o.Src.Inputs, Policies: o.Src.Policies,
	}
	if filepath.IsAbs(named) {
		src.Name = named
	}
	return src
}

// Markdown reads the text of a Markdown file.
func (s *Source) Markdown(file string) (string, bool) {
	data, err := userfile.ReadRegular(userfile.Resolve(s.Dir, file), maxMarkdown)
	switch {
	case errors.Is(err, userfile.ErrTooLarge):
		s.Report(1, 1, fmt.Sprintf("the file exceeds %d KiB", maxMarkdown>>10), "a prompt is sent with every request: shorten it")
	case err != nil:
		s.Unreadable(err)
	case !utf8.Valid(data):
		s.Report(1, 1, "the file is not UTF-8 text", "save it as UTF-8")
	default:
		return string(data), true
	}
	return "", false
}

// Head parses the head of a Markdown file, and returns the text after it; nil after a
// problem.
func (s *Source) Head(data string) (root *Value, body string) {
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
func (s *Source) headRoot(head string) *Value {
	if strings.TrimSpace(head) == "" {
		head = "{}"
	}
	root, ok := s.Parse([]byte("\n" + head))
	if !ok {
		return nil
	}
	if !root.IsMapping() {
		s.Report(2, 1, "frontmatter must be a mapping", "write KEY: VALUE")
		return nil
	}
	return &root
}

// Forgive reads front matter as OpenCode does: a key that is unknown, or whose value is not
// understood, is ignored with a note, unless it may restrict.
func (ks Table) Forgive(v Value, restricts func(name string) bool) {
	entries, _ := v.Entries()
	for _, e := range entries {
		name := e.Key.Value
		at := ks.Index(name)
		var f Flaws
		switch {
		case at >= 0 && e.Null():
		case at >= 0:
			f = v.Src.Forgiving(func() { ks[at].Read(e) })
		case restricts(name):
			f = v.Src.Forgiving(func() {
				e.KeyProblem("unknown key "+problem.Quote(name)+", which may be a restriction", v.Src.Found.Suggest(name, ks.names(), "known here: "))
			})
		default:
			v.Src.Found.Note(fmt.Sprintf("%s:%d: unknown key %s is ignored", v.Src.Name, e.Key.Line, problem.Quote(name)))
		}
		if !restricts(name) {
			for _, p := range f.Faults {
				f.Notes = append(f.Notes, fmt.Sprintf("%s:%d: %s; the key is ignored", p.File, p.Line, p.What))
			}
			f.Faults = nil
		}
		f.Report(v.Src.Found)
	}
}
