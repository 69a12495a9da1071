package changes

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tools/change"
)

// Differences are what differs in the workspace of a job since its start, and who made it. Files that
// setup, the baseline, hooks or verify left are in no change of the job while they stay as they were
// left; a file that the agent changes afterwards, or had changed before, is the agent's.
type Differences struct {
	At      *WorkTree
	Include []string // see tasks.Commit
	Emit    func(event.Event)
	found   *Found          // at the end of the last attempt; nil if files can have changed since
	Tree    *change.Tracker // of the sessions; nil before them
	watched watched

	files map[string]leftover    // that others than the agent left
	dirs  map[string]event.Maker // build artifacts that an earlier process recorded without their files, by their paths with a slash
	wrote map[string]bool        // files that file tools have written where programs leave artifacts
}

type leftover struct {
	by    event.Maker
	state string // see [state.States]
}

// base is the state of a path that is again as the job found it.
const base = "base"

// note records what has changed between two states of the workspace, of which by is the cause, and returns
// the files that are recorded.
func (d *Differences) note(by event.Maker, before, after state.States) []event.LeftFile {
	var changed []event.LeftFile
	moved := map[string]bool{} // states of the agent's files that are elsewhere now
	for path, was := range before {
		if was != after[path] && state.HasContent(was) && !d.Has(path, was) {
			moved[was] = true
		}
	}
	for path, state := range after {
		was, known := before[path]
		if was == state || known && !d.Has(path, was) || !known && moved[state] { // the agent's, and stays so
			continue
		}
		changed = append(changed, event.LeftFile{Path: path, State: state})
	}
	for path := range before {
		if _, ok := after[path]; !ok && d.files[path] != (leftover{}) {
			changed = append(changed, event.LeftFile{Path: path, State: base})
		}
	}
	slices.SortFunc(changed, func(a, b event.LeftFile) int { return strings.Compare(a.Path, b.Path) })
	d.add(by, changed)
	return changed
}

// add adds files that were recorded.
func (d *Differences) add(by event.Maker, files []event.LeftFile) {
	if d.files == nil {
		d.files, d.dirs = map[string]leftover{}, map[string]event.Maker{}
	}
	for _, f := range files {
		switch first := d.files[f.Path].by; {
		case strings.HasSuffix(f.Path, "/"):
			d.dirs[f.Path] = by
		case f.State == base:
			delete(d.files, f.Path)
		case first != "":
			d.files[f.Path] = leftover{first, f.State}
		default:
			d.files[f.Path] = leftover{by, f.State}
		}
	}
}

// Has reports whether a path is as something else than the agent left it.
func (d *Differences) Has(path, state string) bool { return d.maker(path, state) != "" }

// maker returns what left a path as it is; "" if that was the agent.
func (d *Differences) maker(path, state string) event.Maker {
	if at, ok := d.files[path]; ok && at.state == state {
		return at.by
	}
	return makerOf(d.dirs, path)
}

// makerOf returns what made a directory that a path is in; "" for none.
func makerOf(dirs map[string]event.Maker, path string) event.Maker {
	for i := range len(path) {
		if by, ok := dirs[path[:i]+"/"]; ok && path[i] == '/' {
			return by
		}
	}
	return ""
}

// states returns how the workspace differs from the start of the job.
func (d *Differences) states(ctx context.Context) (state.States, *ending.Stop) {
	now, err := d.At.Tree.Snapshot(ctx)
	if err != nil {
		return nil, ending.OfGit(ctx, "find the job's changes", err)
	}
	return now.Since(d.At.Before), nil
}

// By runs something that is not the agent's, and records what it leaves in the workspace. fresh means that
// nothing differs from the start yet.
func (d *Differences) By(ctx context.Context, by event.Maker, fresh bool, run func(context.Context) *ending.Stop) (end *ending.Stop) {
	before := state.States{}
	if !fresh {
		if before, end = d.states(ctx); end != nil {
			return end
		}
	}
	end = run(ctx)
	after, failed := d.states(context.WithoutCancel(ctx))
	if failed == nil {
		d.record(by, before, after)
	}
	return ending.First(ctx, func(context.Context) *ending.Stop { return end }, func(context.Context) *ending.Stop { return failed })
}

// Except runs something whose changes are the job's, except those of files that others left.
func (d *Differences) Except(ctx context.Context, run func(context.Context) *ending.Stop) *ending.Stop {
	if len(d.files) == 0 {
		return run(ctx)
	}
	before, end := d.states(ctx)
	if end != nil {
		return end
	}
	if end := run(ctx); end != nil {
		return end
	}
	after, end := d.states(ctx)
	if end != nil {
		return end
	}
	maps.DeleteFunc(after, func(path, _ string) bool { return !d.Has(path, before[path]) })
	maps.DeleteFunc(before, func(path, _ string) bool { _, ok := after[path]; return !ok })
	d.record(event.ByHook, before, after)
	return nil
}

// record records what has changed, and reports it as an event, from which a process that resumes the
// run knows it.
func (d *Differences) record(by event.Maker, before, after state.States) {
	d.found = nil
	files := d.note(by, before, after)
	if len(files) == 0 {
		return
	}
	artifacts := NewArtifacts(d.At.Tree.Root(), d.At.ComparedWith())
	var brief []event.LeftFile // of a directory of artifacts only the directory
	for _, f := range files {
		if dir := artifacts.dir(f.Path); dir != "" && f.State != base {
			f = event.LeftFile{Path: dir}
			if len(brief) > 0 && brief[len(brief)-1] == f {
				continue
			}
		}
		brief = append(brief, f)
	}
	d.Emit(event.Event{Type: event.FilesLeft, Left: &event.Left{By: by, Files: brief}})
}

// Recall adds to what is recorded what earlier processes, or the run that this one is a fork of, have found
// in the state that the job continues from. It is often an earlier one than their last, so all states that were left count.
func (d *Differences) Recall(ctx context.Context, past *history.Facts) *ending.Stop {
	left := map[string]map[string]event.Maker{} // by paths and states
	note := func(path string) {
		if f := d.files[path]; f.by != "" {
			if left[path] == nil {
				left[path] = map[string]event.Maker{}
			}
			left[path][f.state] = f.by
		}
	}
	for path := range d.files {
		note(path)
	}
	for _, e := range past.AllLeft() {
		if e.By == event.ByAgent {
			d.addWritten(e.Files)
			continue
		}
		d.add(e.By, e.Files)
		for _, f := range e.Files {
			note(f.Path)
		}
	}
	now, end := d.states(ctx)
	clear(d.files)
	for path, state := range now {
		if by := left[path][state]; by != "" {
			d.files[path] = leftover{by, state}
		}
	}
	return end
}

// Written records that file tools have written files, given by their absolute paths: they are the agent's,
// also where programs leave artifacts.
func (d *Differences) Written(files []string) {
	built := NewArtifacts(d.At.Tree.Root(), d.At.ComparedWith())
	var deliberate []event.LeftFile
	for _, file := range files {
		rel, err := filepath.Rel(d.At.Tree.Root(), file)
		if name := filepath.ToSlash(rel); err == nil && filepath.IsLocal(rel) && built.of.Find(name) != "" && !d.wrote[name] {
			deliberate = append(deliberate, event.LeftFile{Path: name})
		}
	}
	if len(deliberate) > 0 {
		d.addWritten(deliberate)
		d.Emit(event.Event{Type: event.FilesLeft, Left: &event.Left{By: event.ByAgent, Files: deliberate}})
	}
}

func (d *Differences) addWritten(files []event.LeftFile) {
	if d.wrote == nil {
		d.wrote = map[string]bool{}
	}
	for _, f := range files {
		d.wrote[f.Path] = true
	}
}

// Found is what differs in the workspace since the job started.
type Found struct {
	Changes *state.ChangeSet // of the agent
	LeftOut []LeftOut        // of others
	Ignored *state.LeftOut   // in the user's own tree, if its ignored files count; nil otherwise
}

// Find searches for what the job changed, unless nothing can have changed since it was found.
func (d *Differences) Find(ctx context.Context) (f *Found, err error) {
	s := d.At
	if d.found != nil {
		return d.found, nil
	}
	f = &Found{}
	var all *state.ChangeSet
	if s.staysIgnored() {
		all, f.Ignored, err = s.Tree.ChangesAndLeftOut(ctx, s.Before)
	} else {
		all, err = s.Tree.Changes(ctx, s.Before)
	}
	if err != nil {
		return nil, err
	}
	f.Changes, f.LeftOut = d.split(all)
	return f, nil
}

// FoundIn is find for changes that are known without a search. ignored are the files that git ignores, as they were left.
func (d *Differences) FoundIn(all *state.ChangeSet, ignored *state.LeftOut) *Found {
	f := &Found{}
	if d.At.staysIgnored() {
		f.Ignored = ignored
	}
	f.Changes, f.LeftOut = d.split(all)
	return f
}

// Keep makes find return what was found, until something can have changed; nil: it searches.
func (d *Differences) Keep(f *Found) { d.found = f }

// Paths returns the paths that the job changed, also those that can't be committed and, in the
// user's own tree, those that git ignores.
func (d *Differences) Paths(ctx context.Context, f *Found) (paths []string, err error) {
	for _, c := range f.Changes.Changes {
		paths = append(paths, c.Path)
	}
	for _, r := range f.Changes.Refused {
		paths = append(paths, r.Path)
	}
	if f.Ignored == nil {
		return paths, nil
	}
	now, err := f.Ignored.Files(ctx, d.At.Reports)
	if err != nil {
		return nil, err
	}
	for _, c := range now.Since(d.At.untracked.start) {
		paths = append(paths, c.Path)
	}
	return paths, nil
}

// split separates the changes of the agent from those of others, and from the build artifacts that
// its commands left: files that no file tool wrote.
func (d *Differences) split(all *state.ChangeSet) (own *state.ChangeSet, left []LeftOut) {
	if len(all.Changes)+len(all.Refused) == 0 {
		return all, nil
	}
	moved, states, kinds, built := all.Moved(), all.States(), map[string]state.Kind{}, NewArtifacts(d.At.Tree.Root(), d.At.ComparedWith())
	for _, c := range all.Changes {
		kinds[c.Path] = c.Kind
	}
	out, nested := map[string]event.Maker{}, map[string]event.Maker{} // repositories that others than the agent made
	for _, r := range all.Refused {
		if by := d.maker(r.Path, states[r.Path]); by != "" && r.Reason == state.NestedRepository {
			nested[r.Path+"/"] = by
		}
	}
	for path, now := range states {
		by, kind := d.maker(path, now), kinds[path]
		if by == "" && len(nested) > 0 {
			by = makerOf(nested, path)
		}
		if by != "" && d.wrote[path] && d.files[path].state != now { // in a directory of artifacts
			by = ""
		}
		if by == "" && kind != state.Deleted && !d.wrote[path] && built.Is(path) && !moved(path) {
			by = event.ByBuild
		}
		if by != "" && !slices.Contains(d.Include, by.Key()) {
			if (kind == state.Modified || kind == state.Deleted) && !built.tracked(path) { // in the user's own tree
				kind = state.Added
			}
			out[path] = by
			left = append(left, LeftOut{event.LeftOutPath{Path: path, By: by, Files: 1}, kind})
		}
	}
	if len(out) == 0 {
		return all, nil
	}
	sort.Slice(left, func(i, j int) bool { return left[i].Path < left[j].Path })
	return all.Only(func(path string) bool { return out[path] == "" }), left
}

// LeftOut is a file that is left out of the job's changes, and what happened to it; "" for one that can't
// be committed.
type LeftOut struct {
	event.LeftOutPath
	kind state.Kind
}

// TrackedAmong returns a warning for each maker that has changed tracked files, which are left out: unlike
// that of new ones, their absence can break what the commit has.
func TrackedAmong(left []LeftOut) (warnings []string) {
	by := map[event.Maker][]string{}
	for _, f := range left {
		switch f.kind { //nolint:exhaustive // new files are none
		case state.Modified:
			by[f.By] = append(by[f.By], f.Path)
		case state.Deleted:
			by[f.By] = append(by[f.By], f.Path+" (deleted)")
		}
	}
	for _, maker := range slices.Sorted(maps.Keys(by)) {
		who := string(maker)
		if maker == event.ByHook {
			who = "a hook"
		}
		warnings = append(warnings, fmt.Sprintf("tracked files that %s changed are not among the job's changes: %s; commit.include: [%s] adds them", who, textcut.List(by[maker]), maker.Key()))
	}
	return warnings
}

// SummarizeLeft returns the entries of a report for files that are left out: each file, but only their
// directories if there are too many.
func SummarizeLeft(left []LeftOut) []event.LeftOutPath {
	if len(left) <= maxUntracked {
		list := make([]event.LeftOutPath, len(left))
		for i, f := range left {
			list[i] = f.LeftOutPath
		}
		return list
	}
	by := map[event.Maker]map[string]state.Kind{}
	for _, f := range left {
		if by[f.By] == nil {
			by[f.By] = map[string]state.Kind{}
		}
		by[f.By][f.Path] = f.kind
	}
	var list []event.LeftOutPath
	for _, maker := range slices.Sorted(maps.Keys(by)) {
		for _, entry := range summarize(by[maker], maxUntracked) {
			list = append(list, event.LeftOutPath{Path: entry.Path, By: maker, Files: entry.Files})
		}
	}
	return list
}
