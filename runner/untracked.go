package runner

import (
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

// untracked collects the files that are in no change of the job, and that commands
// created or changed after setup where verify commands could read them. In the user's tree, where
// they stay, it collects all.
type untracked struct {
	known bool              // start is
	start *gitops.Untracked // the state after setup; nil for no files
	kinds map[string]gitops.Kind
	left  *gitops.LeftOut // in the user's own tree, by the walk that found its state at the start; nil if unknown
}

// verifiesWorkspace reports whether a job has verify commands that run in its workspace.
func verifiesWorkspace(j tasks.Job) bool {
	return slices.ContainsFunc(j.Verify, func(v tasks.Verify) bool { return v.In != tasks.InClean })
}

// afterSetup saves the private directories as setup left them; without setup they have the
// user's settings of registries.
func (j *job) afterSetup(ctx context.Context) *ending.Stop {
	if !verifiesWorkspace(j.spec) && j.spec.Script == nil {
		return nil
	}
	if err := j.privateDirs().Save(ctx); err != nil {
		return j.notVerified(ctx, err)
	}
	return nil
}

// beforeAgent records the state that setup and the baseline left. Without them that can be done
// beside the first request.
func (j *job) beforeAgent(ctx context.Context, s *site) *ending.Stop {
	if s.opening != nil {
		return nil
	}
	return s.noteStart(ctx, j)
}

// noteStart records the state of the files that are in no change of the job, before there is any output of a model that could
// change them.
func (s *site) noteStart(ctx context.Context, j *job) (end *ending.Stop) {
	defer func() { s.untracked.known = end == nil }()
	s.untracked.kinds = map[string]gitops.Kind{}
	if s.inPlace || len(j.spec.Setup) > 0 && verifiesWorkspace(j.spec) {
		var err error
		if s.untracked.left != nil && (early{j}).onlyCalls() { // nothing has run since then
			s.untracked.start, err = s.untracked.left.Files(ctx, j.uncollected(s))
		} else {
			s.untracked.start, err = j.untrackedFiles(ctx, s)
		}
		if err != nil {
			return j.notVerified(ctx, err)
		}
	}
	return nil
}

func (j *job) untrackedFiles(ctx context.Context, s *site) (*gitops.Untracked, error) {
	return s.tree.Untracked(ctx, s.before, j.uncollected(s))
}

// uncollected returns the paths in the tree that belong to millhand.
func (j *job) uncollected(s *site) (without []string) {
	for _, dir := range j.hidden(s) {
		if rel, err := filepath.Rel(s.tree.Root(), dir); err == nil {
			without = append(without, filepath.ToSlash(rel))
		}
	}
	return without
}

// staysIgnored reports whether files that git ignores and that were changed since setup stay in
// the user's own tree, so that the edit rules hold for them.
func (s *site) staysIgnored() bool { return s.inPlace && s.untracked.known }

// foundBy returns what a job changed at the end of an attempt: it is searched for once, for all checks
// and the commit, if nothing can change files meanwhile.
func foundBy(ctx context.Context, w *work) (*found, error) {
	f, err := w.site.diff.find(ctx)
	if err == nil && alone(w) {
		w.site.diff.found = f
	}
	return f, err
}

// noteFound notes what the job has changed if that is known without a search. If its sessions made no call
// and nothing else runs in it, that is nothing: what differs from the start was changed by
// somebody else meanwhile, in the user's own tree by the user, and is not the job's.
func noteFound(ctx context.Context, w *work) {
	if !(early{w.job}).onlyCalls() || !alone(w) {
		return
	}
	if w.sessions.totals().Calls == 0 {
		w.site.diff.found = &found{changes: &gitops.ChangeSet{}}
	} else if f := w.saver.found(ctx); f != nil {
		w.site.diff.found = f
	}
}

// paths returns the paths that the job changed, also those that can't be committed and, in the
// user's own tree, those that git ignores.
func (f *found) paths(ctx context.Context, j *job, s *site) (paths []string, err error) {
	for _, c := range f.changes.Changes {
		paths = append(paths, c.Path)
	}
	for _, r := range f.changes.Refused {
		paths = append(paths, r.Path)
	}
	if f.ignored == nil {
		return paths, nil
	}
	now, err := f.ignored.Files(ctx, j.uncollected(s))
	if err != nil {
		return nil, err
	}
	for _, c := range now.Since(s.untracked.start) {
		paths = append(paths, c.Path)
	}
	return paths, nil
}

// noteUntracked adds the files that verify, or the user, can see now.
func (j *job) noteUntracked(ctx context.Context, s *site) error {
	if !s.untracked.known {
		return nil
	}
	now, err := j.untrackedFiles(ctx, s)
	if err != nil {
		return err
	}
	s.untracked.note(now)
	return nil
}

// note adds the files that differ now, and returns their paths.
func (u *untracked) note(now *gitops.Untracked) (paths []string) {
	for _, c := range now.Since(u.start) {
		u.kinds[c.Path] = c.Kind
		paths = append(paths, c.Path)
	}
	return paths
}

// warnOfUntracked warns of the files.
func (j *job) warnOfUntracked(s *site) {
	var paths []string
	for _, f := range summarize(s.untracked.kinds, maxUntracked) {
		text := f.Path
		if f.Files > 1 {
			text += fmt.Sprintf(" (%d files)", f.Files)
		}
		paths = append(paths, text)
	}
	if len(paths) == 0 {
		return
	}
	text := "verify could read new or changed files that are not in the job's changes: "
	if s.inPlace {
		text = "new or changed files that are not in the job's changes stay in the working tree: "
	}
	j.warn(text + textcut.List(paths))
}

// maxUntracked is the maximum number of entries in a report.
const maxUntracked = 100

// generated are names of directories that package managers and build tools fill. A report has one entry for each. Names that
// are artifacts only beside some file count, too: nothing but the length of the report depends on it.
type generated map[string]bool

func (g generated) has(name string) bool {
	found, known := g[name]
	if !known {
		found = name == ".cache" || name == ".m2" || ecosystem.NamesArtifacts(name)
		g[name] = found
	}
	return found
}

// summarize returns the entries for files, at most so many: one for each file, but only
// one for a generated directory, and for directories that would exceed the number.
func summarize(kinds map[string]gitops.Kind, most int) []event.Untracked {
	files := slices.Sorted(maps.Keys(kinds))
	depth, known := 0, generated{}
	for _, file := range files {
		depth = max(depth, strings.Count(file, "/"))
	}
	for ; ; depth-- {
		entries := map[string]event.Untracked{}
		for _, file := range files {
			name, kind := entryOf(file, depth, known), string(kinds[file])
			e, ok := entries[name]
			if ok && e.Kind != kind {
				kind = string(gitops.Modified)
			}
			entries[name] = event.Untracked{Path: name, Kind: kind, Files: e.Files + 1}
		}
		if len(entries) <= most || depth < 0 {
			var list []event.Untracked
			for _, name := range slices.Sorted(maps.Keys(entries)) {
				list = append(list, entries[name])
			}
			return list
		}
	}
}

// entryOf returns the path of the entry for a file: its own, or that of the directory
// that summarizes it, with a slash. depth is the maximum number of directories above.
func entryOf(file string, depth int, known generated) string {
	if depth < 0 {
		return "./"
	}
	dirs := strings.Split(path.Dir(file), "/")
	if path.Dir(file) == "." {
		dirs = nil
	}
	for i, name := range dirs {
		if i == depth || known.has(name) {
			return path.Join(dirs[:i+1]...) + "/"
		}
	}
	return file
}
