package patterns

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/text/textcut"
)

// Common is the number of repositories from which on a shape is common. A rare shape is one
// of fewer repositories.
const Common = 3

// Limits of what is stored. A job that exceeds one is listed for reading.
const (
	maxShapes    = 1_000     // of one job
	maxAll       = 20_000    // shapes of all jobs
	maxReasons   = 200       // of one job
	maxVersion   = 512 << 10 // bytes of one version of a test file
	maxSnippet   = 1 << 10   // bytes of an example
	maxRows      = 12        // lines of an example
	maxListed    = 20        // names in one reason
	maxNameBytes = 300
)

// Change identifies the changes of a job.
type Change struct {
	Job, Repo string
	URL       string // of the pull request; empty without one
	Partial   bool   // the patch lacks earlier changes of the job
}

// Pattern is a shape and where it is.
type Pattern struct {
	Number       int      `json:"number"` // from 1, the most frequent first; 0 for a rare one
	Shape        string   `json:"shape"`
	Language     string   `json:"language"`
	Edits        int      `json:"edits"`
	Rare         bool     `json:"rare"`
	Repositories []string `json:"repositories"`
	Jobs         []string `json:"jobs"`
	Example      Example  `json:"example"`

	found []found // one for each job
}

// Has reports whether a job has edits of the pattern.
func (p *Pattern) Has(job string) bool { return slices.Contains(p.Jobs, job) }

// Example is one of the edits of a pattern.
type Example struct {
	Job  string `json:"job"`
	Repo string `json:"repo"`
	URL  string `json:"url,omitempty"` // of the pull request
	Path string `json:"path"`
	Line int    `json:"line"` // 0 for the file as such
	Diff string `json:"diff"` // its start if it is long
}

// Reason is why a job is listed for reading.
type Reason struct {
	Kind   Kind   `json:"kind"`
	Detail string `json:"detail"`
	Path   string `json:"path"`
	Line   int    `json:"line"` // 0 for the file as such
}

// Reading is a job whose changes a person has to read.
type Reading struct {
	Job     string   `json:"job"`
	Repo    string   `json:"repo"`
	URL     string   `json:"url,omitempty"` // of the pull request
	Reasons []Reason `json:"reasons"`       // at most 200
}

// Location returns the path of the reason with its line.
func (r Reason) Location() string { return location(r.Path, r.Line) }

// Location returns the path of the example with its line.
func (e Example) Location() string { return location(e.Path, e.Line) }

func location(path string, line int) string {
	if line == 0 {
		return cmp.Or(path, "all files")
	}
	return fmt.Sprintf("%s:%d", path, line)
}

// Result is the patterns of a run.
type Result struct {
	Jobs         int       `json:"jobs"`         // with changes
	Repositories int       `json:"repositories"` // that they changed
	OtherJobs    int       `json:"other_jobs"`   // without changes to review; set by the caller
	Compared     bool      `json:"compared"`     // false for fewer than 3 repositories, in which no shape is called rare
	Common       int       `json:"common"`       // patterns that are not rare, which are the first ones
	Patterns     []Pattern `json:"patterns"`
	Reading      []Reading `json:"reading"`
	ToRead       int       `json:"repositories_to_read"`
}

// found is the first edit of a job with a shape.
type found struct {
	job  int
	path string
	line int
}

// stored is a shape that is being collected.
type stored struct {
	Pattern
	order int // of its first edit
	rows  int // lines of the example
	kind  Kind
	risk  string
}

// Collector collects changes. The zero value is ready to use.
type Collector struct {
	changes []Change
	reasons [][]Reason // by change
	shapes  map[shapeKey]*stored
	order   []*stored
	lines   *bufio.Reader // for all patches, because a buffer is larger than most of them
}

// Add adds the changes of a job. An error of the patch is a reason to read the job.
func (c *Collector) Add(change Change, patch io.Reader) {
	if c.shapes == nil {
		c.shapes, c.lines = map[shapeKey]*stored{}, newLines()
	}
	c.changes = append(c.changes, change)
	c.reasons = append(c.reasons, nil)
	j := &job{c: c, index: len(c.changes) - 1, shapes: map[shapeKey]bool{}, once: map[string]bool{}, manifests: map[string]bool{}}
	if change.Partial {
		j.unread(nil, 0, "a patch that lacks earlier changes of the job: read its pull request")
	}
	if err := read(patch, c.lines, j); err != nil {
		j.unread(nil, 0, "a patch that can't be read: "+err.Error())
	}
	j.finish()
}

// Result returns the patterns of the changes so far.
func (c *Collector) Result() *Result {
	r := &Result{Jobs: len(c.changes), Repositories: len(c.repos(nil)), Patterns: []Pattern{}, Reading: []Reading{}}
	r.Compared = r.Repositories >= Common
	all := make([]*stored, len(c.order))
	repos := map[*stored][]string{}
	for i, s := range c.order {
		all[i] = s
		repos[s] = c.repos(s.found)
	}
	slices.SortStableFunc(all, func(a, b *stored) int {
		return cmp.Or(cmp.Compare(len(repos[b]), len(repos[a])), cmp.Compare(b.Edits, a.Edits), cmp.Compare(a.Shape, b.Shape), cmp.Compare(a.order, b.order))
	})
	reasons := make([][]Reason, len(c.changes))
	for i := range c.changes {
		reasons[i] = slices.Clone(c.reasons[i])
	}
	for _, s := range all {
		p := s.Pattern
		p.Repositories, p.Jobs = repos[s], []string{}
		for _, f := range s.found {
			p.Jobs = append(p.Jobs, c.changes[f.job].Job)
		}
		if p.Rare = r.Compared && len(p.Repositories) < Common; !p.Rare {
			r.Common++
			p.Number = r.Common
		}
		kind, detail := s.listed(len(p.Repositories), r)
		for _, f := range s.found {
			if kind != "" && len(reasons[f.job]) < maxReasons {
				reasons[f.job] = append(reasons[f.job], Reason{kind, detail, f.path, f.line})
			}
		}
		r.Patterns = append(r.Patterns, p)
	}
	read := map[string]bool{}
	for i, change := range c.changes {
		if len(reasons[i]) > 0 {
			slices.SortStableFunc(reasons[i], func(a, b Reason) int {
				return cmp.Or(cmp.Compare(a.Kind.rank(), b.Kind.rank()), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
			})
			read[change.Repo] = true
			r.Reading = append(r.Reading, Reading{change.Job, change.Repo, change.URL, reasons[i]})
		}
	}
	r.ToRead = len(read)
	return r
}

// listed returns why the jobs with a shape are listed; an empty kind if they are not.
func (s *stored) listed(repos int, r *Result) (Kind, string) {
	few := repos*10 < r.Repositories // a shape of many is what the task asked for
	switch {
	case s.risk != "" && r.Compared && (few || repos < Common):
		return s.kind, s.risk + ": " + s.Shape
	case r.Compared && repos < Common:
		return Rare, s.Shape
	}
	return "", ""
}

// rank is the position of a kind among the reasons of a job.
func (k Kind) rank() int {
	return slices.Index([]Kind{Unread, Tests, Modes, Dependencies, Suppressions, Binary, Conditions, Errors, Rare}, k)
}

// repos returns the repositories of the changes at indexes, all for nil, in their order.
func (c *Collector) repos(at []found) []string {
	all := []string{}
	seen := map[string]bool{}
	add := func(i int) {
		if repo := c.changes[i].Repo; !seen[repo] {
			seen[repo] = true
			all = append(all, repo)
		}
	}
	if at == nil {
		for i := range c.changes {
			add(i)
		}
	}
	for _, f := range at {
		add(f.job)
	}
	return all
}

// add stores an edit of a job. It returns false if there are too many.
func (c *Collector) add(f found, e *edit, family string, example func() string, rows int) bool {
	s := c.shapes[e.key]
	if s == nil {
		if len(c.order) >= maxAll {
			return false
		}
		s = &stored{Pattern: Pattern{Shape: clean(e.text), Language: family}, order: len(c.order)}
		s.kind, s.risk = e.risk()
		c.shapes[e.key] = s
		c.order = append(c.order, s)
	}
	s.Edits++
	if last := len(s.found) - 1; last < 0 || s.found[last].job != f.job {
		s.found = append(s.found, f)
	}
	if s.Edits == 1 || rows < s.rows {
		change := c.changes[f.job]
		s.rows = rows
		s.Example = Example{Job: change.Job, Repo: change.Repo, URL: change.URL, Path: f.path, Line: f.line, Diff: clean(example())}
	}
	return true
}

// clean returns a text of a patch as valid UTF-8.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// shorten cuts a text.
func shorten(s string, limit int) string { return textcut.Head(s, limit, " …") }

// snippet returns the start of a block as a diff.
func (b *block) snippet() string {
	var out strings.Builder
	rows := 0
	for _, version := range []struct {
		sign  byte
		lines []string
	}{{'-', b.old}, {'+', b.new}} {
		for i, line := range version.lines {
			if rows++; rows > maxRows || out.Len() > maxSnippet || i > maxRows/2 && version.sign == '-' && len(b.new) > 0 {
				out.WriteString(" …\n")
				break
			}
			out.WriteByte(version.sign)
			out.WriteString(shorten(line, maxNameBytes))
			out.WriteByte('\n')
		}
	}
	return out.String()
}
