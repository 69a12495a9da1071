package patterns

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/millhand/millhand/internal/ecosystem/testcases"
	"github.com/millhand/millhand/internal/text/unidiff"
)

// job visits the patch of a job.
type job struct {
	c      *Collector
	index  int
	shapes map[shapeKey]bool
	once   map[string]bool // reasons that were given

	tests     []testcases.File
	manifests map[string]bool // names of changed files
	locks     []*unidiff.File

	// Of the current file:
	family      *family
	deps        *regexp.Regexp
	named       tally          // dependencies
	switches    tally          // directives
	lines       map[string]int // first lines of both
	before      strings.Builder
	after       strings.Builder
	isTest      bool
	blocks      int
	imports     imported
	importing   *block // the first with imports
	longVersion bool
}

func (j *job) reason(r Reason) {
	r.Path, r.Detail = clean(shorten(r.Path, maxNameBytes)), clean(shorten(r.Detail, maxShape))
	key := string(r.Kind) + "\x00" + r.Detail + "\x00" + r.Path
	if all := &j.c.reasons[j.index]; !j.once[key] && len(*all) < maxReasons {
		j.once[key] = true
		*all = append(*all, r)
	}
}

func (j *job) unread(f *unidiff.File, line int, what string) {
	name := ""
	if f != nil {
		name = f.Path
	}
	j.reason(Reason{Unread, what, name, line})
}

func (j *job) begin(f *unidiff.File) {
	j.manifests[f.Path] = true
	j.family, j.deps = familyOf(f.Path), dependencyLine(f.Path)
	j.named, j.switches, j.lines = tally{}, tally{}, map[string]int{}
	j.before.Reset()
	j.after.Reset()
	j.isTest = testcases.IsTest(f.Path) || testcases.IsTest(f.Old) || strings.HasSuffix(f.Path, ".rs")
	j.blocks, j.longVersion = 0, false
	j.imports, j.importing = imported{}, nil
}

func (j *job) context(_ *unidiff.File, line string) {
	j.version(&j.before, line)
	j.version(&j.after, line)
}

// version adds a line to a version of a test.
func (j *job) version(to *strings.Builder, line string) {
	switch {
	case !j.isTest:
	case to.Len()+len(line) > maxVersion:
		j.longVersion = true
	default:
		to.WriteString(line)
		to.WriteByte('\n')
	}
}

func (j *job) block(b *block) {
	j.blocks++
	for _, line := range b.old {
		j.version(&j.before, line)
		j.count(line, 0, -1)
	}
	for i, line := range b.new {
		j.version(&j.after, line)
		j.count(line, b.line+i, 1)
	}
	base := path.Base(b.file.Path)
	if _, lock := lockfiles[base]; lock {
		return
	}
	if how := widened(b); how != "" {
		j.reason(Reason{Modes, how, b.file.Path, b.line})
	}
	for _, e := range b.edits(j.family, &j.imports) {
		j.edit(b.file, b.line+e.line, &e, b.snippet, len(b.old)+len(b.new))
	}
	if j.importing == nil && len(j.imports.old)+len(j.imports.new) > 0 {
		j.importing = b
	}
}

func (j *job) count(line string, at, by int) {
	add := func(to tally, name string) {
		to[name] += by
		if by > 0 && j.lines[name] == 0 {
			j.lines[name] = at
		}
	}
	for _, d := range directives(line) {
		add(j.switches, d)
	}
	if j.deps != nil {
		if name := dependency(line, j.deps); name != "" {
			add(j.named, name)
		}
	}
}

// edit stores an edit, as far as there are not too many.
func (j *job) edit(f *unidiff.File, line int, e *edit, example func() string, rows int) {
	if !j.shapes[e.key] {
		if len(j.shapes) >= maxShapes {
			j.unread(nil, 0, fmt.Sprintf("more than %d different edits", maxShapes))
			return
		}
		j.shapes[e.key] = true
	}
	at := found{j.index, clean(shorten(f.Path, maxNameBytes)), line}
	if !j.c.add(at, e, j.family.name, example, rows) {
		j.unread(nil, 0, fmt.Sprintf("more than %d different edits in all jobs", maxAll))
	}
}

// as stores a change of a file as such.
func (j *job) as(f *unidiff.File, what string) {
	e := edit{}
	e.set(&family{name: "file"}, what)
	j.edit(f, 0, &e, func() string { return "" }, 0)
}

func (j *job) end(f *unidiff.File) {
	if how := widenedFile(f); how != "" {
		j.reason(Reason{Modes, how, f.Path, 0})
	}
	if f.Binary {
		j.reason(Reason{Binary, "binary content", f.Path, 0})
	}
	for _, d := range j.switches.more() {
		j.reason(Reason{Suppressions, "added " + d, f.Path, j.lines[d]})
	}
	if more := j.named.more(); len(more) > 0 {
		j.reason(Reason{Dependencies, "new: " + listed(more), f.Path, j.lines[more[0]]})
	}
	for _, e := range j.imports.edits(j.family) {
		j.edit(f, j.importing.line, &e, j.importing.snippet, len(j.importing.old)+len(j.importing.new))
	}
	j.shape(f)
	if j.isTest {
		j.test(f)
	}
}

// shape stores the changes of a file that its lines don't have.
func (j *job) shape(f *unidiff.File) {
	ext := cleanExt(f.Path)
	lock := ""
	if _, ok := lockfiles[path.Base(f.Path)]; ok {
		lock = path.Base(f.Path)
		j.locks = append(j.locks, f)
	}
	switch {
	case f.Binary:
		j.as(f, "binary content of "+ext)
	case lock != "":
		j.as(f, "changed "+lock)
	case f.Deleted && j.blocks == 0:
		j.as(f, "deleted an empty "+ext)
	case f.Created && j.blocks == 0:
		j.as(f, "created an empty "+ext)
	}
	if f.Old != f.Path && !f.Created && !f.Deleted {
		j.as(f, "renamed "+cleanExt(f.Old)+" to "+ext)
	}
	if f.OldMode != "" && f.Mode != "" && f.OldMode != f.Mode {
		j.as(f, "mode "+shorten(f.OldMode, 10)+" → "+shorten(f.Mode, 10))
	}
}

// cleanExt returns the kind of a file by its extension, or its name without one.
func cleanExt(name string) string {
	if ext := path.Ext(name); ext != "" {
		return shorten(ext, 20) + " file"
	}
	return shorten(path.Base(name), 40)
}

// test stores the versions of a test as far as the patch has them.
func (j *job) test(f *unidiff.File) {
	name := f.Path
	if f.Old != f.Path && testcases.IsTest(f.Old) && !testcases.IsTest(f.Path) {
		j.reason(Reason{Tests, "test file renamed to " + f.Path, f.Old, 0})
		name = f.Old
	}
	if j.longVersion {
		j.unread(f, 0, "a test of more than 512 KiB")
	}
	t := testcases.File{Path: name}
	if !f.Created {
		t.Before = testcases.Read(name, []byte(j.before.String()))
	}
	if !f.Deleted {
		t.After = testcases.Read(name, []byte(j.after.String()))
	}
	if f.Created || f.Deleted || j.blocks > 0 {
		j.tests = append(j.tests, t)
	}
}

// finish gives the reasons that need all files of the patch.
func (j *job) finish() {
	for _, l := range testcases.Losses(j.tests) {
		j.reason(Reason{Tests, l.What, l.Path, 0})
	}
	for _, f := range j.locks {
		of := lockfiles[path.Base(f.Path)]
		if of != "" && !j.manifests[path.Join(path.Dir(f.Path), of)] {
			j.reason(Reason{Dependencies, "changed without " + of, f.Path, 0})
		}
	}
}

// listed joins names.
func listed(names []string) string {
	text := strings.Join(names[:min(len(names), maxListed)], ", ")
	if more := len(names) - maxListed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
