package expand

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/problem"
)

// Bounds of notes about what profiles bar, which look at one word after another.
const (
	maxCompared  = 5_000_000 // of rules with names
	maxNamedJobs = 20        // of one task: their prompts differ only by variables
	maxNamedText = 64 << 10  // bytes of a prompt
	maxNamedWord = 200
)

// barNotes notes what a plan asks of jobs although their profiles bar it.
type barNotes struct {
	found    *problem.Collector
	compared int                    // rules with names so far
	looked   map[*manifest.Task]int // prompts of each task
}

// named records which paths that a prompt names the job's profile may not edit: the
// agent would fail to change them, or the job at its end.
func (n *barNotes) named(t *manifest.Task, j *tasks.Job) {
	if n.looked[t]++; n.looked[t] > maxNamedJobs || j.Profile.Hides("edit") || !j.Profile.BarsAny() {
		return
	}
	_, all := j.Profile.Bars("\x00") // an allow-list, which bars most words
	text := j.Prompt[:min(len(j.Prompt), maxNamedText)]
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("`\"'()<>[]{},;|", r) }) {
		word = strings.TrimRight(strings.TrimPrefix(strings.TrimPrefix(word, "@"), "./"), ".:!?")
		if len(word) > maxNamedWord || !mayBeFile(word) || all && !fileForm.MatchString(word) {
			continue
		}
		if d, barred := n.bars(j.Profile, word); barred {
			text := fmt.Sprintf("%s: the prompt of task %s names %s, which its profile may not edit: rule %s", t.Prompt.Position(), problem.Quote(t.ID.S), word, d.By())
			if strings.HasPrefix(d.Source, "preset ") {
				text += fmt.Sprintf("; if the task should change it, allow it in a profile that extends the preset: edit: {%q: allow}", word)
			}
			n.found.Note(text)
		}
	}
}

// bars is Bars of a profile for notes about a plan, until they have needed too many comparisons.
func (n *barNotes) bars(p permission.Profile, name string) (d permission.Decision, barred bool) {
	for limit := &p; limit != nil; limit = limit.Max {
		n.compared += len(limit.Rules)
	}
	if n.compared > maxCompared {
		return d, false
	}
	return p.Bars(name)
}

// mayBeFile reports whether a word may be the name of a file: it contains a slash, a dot
// or an upper-case letter.
func mayBeFile(word string) bool {
	return strings.ContainsFunc(word, func(r rune) bool { return r == '/' || r == '.' || unicode.IsUpper(r) })
}

// fileForm is what paths of files look like.
var fileForm = regexp.MustCompile(`^[^/].*/[^/]*\.[A-Za-z][A-Za-z0-9]{0,7}$`)

var (
	unclearGlob = regexp.MustCompile(`[[{\\]`)
	wildcards   = regexp.MustCompile(`[*?]+`)
)

// change notes globs of change.paths that match only paths which the job's profile may
// not edit. A glob with brackets, braces or escapes is not examined.
func (n *barNotes) change(t *manifest.Task, j tasks.Job) {
	if n.compared > maxCompared || !j.Profile.BarsAny() {
		return
	}
	for i, glob := range j.Change.Paths {
		if unclearGlob.MatchString(glob) {
			continue
		}
		some := wildcards.ReplaceAllString(glob, "qzjxv") // what no rule names
		if d, barred := n.bars(j.Profile, some); barred {
			n.found.Note(fmt.Sprintf("%s: change.paths of task %s has %s, which its profile may not edit: rule %s", t.Change.Globs[i].Position(), problem.Quote(t.ID.S), problem.Quote(glob), d.By()))
		}
	}
}
