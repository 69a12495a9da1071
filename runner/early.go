package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/pathtree"
	"github.com/millhand/millhand/internal/prompt"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// opening completes a site while the model responds to the first request: it checks out the
// worktree and opens the sandbox. Until it has ended, only the site's directory and base
// are known. Everything that reads files, and each tool call, waits for it.
type opening struct {
	done chan struct{} // closed at the end
	end  *stop         // why it failed; nil if it did not
}

// settled waits until the site is complete, and returns why it can't be.
func (s *site) settled() *stop {
	if s == nil || s.opening == nil {
		return nil
	}
	<-s.opening.done
	return s.opening.end
}

// complete reports whether the site is complete, or can't be.
func (s *site) complete() bool {
	if s.opening == nil {
		return true
	}
	select {
	case <-s.opening.done:
		return true
	default:
		return false
	}
}

// usable reports whether the site is complete.
func (s *site) usable() bool { return s.complete() && s.settled() == nil }

// opensEarly reports whether nothing needs the files of the job before its first request,
// except those that a commit contains.
func (j *job) opensEarly() bool {
	p := j.plan
	if j.past != nil || j.spec.Script != nil || j.start.base == "" || j.start.below != "" || j.spec.Repo.Kind == tasks.RepoCopy ||
		len(j.spec.Setup)+len(j.spec.Verify)+len(j.spec.Mentions)+len(p.Hooks)+len(p.MCP) > 0 || p.StartsProcesses() || p.Scripts.Used() {
		return false
	}
	var head gitdir.Head
	if j.spec.Repo.Kind != tasks.RepoURL {
		var err error
		if head, err = j.start.origin.Git.Head(); err != nil {
			return false
		}
	}
	return !inPlace(j.spec, head)
}

// openEarly begins to open the site of the job. A failure ends the job, also in the middle of
// the first request: nothing is lost, because no tool has run.
func (j *job) openEarly(ctx context.Context) (*site, *stop) {
	s, head, err := j.locate(ctx)
	if err != nil {
		return nil, j.notPrepared(ctx, err)
	}
	s.ref = refOf(j.spec, head, s.base)
	s.dir = filepath.Join(realPath(j.opts.Work), "trees", j.spec.ID)
	s.prepared = j.opts.Now()
	j.started(s, "")
	s.opening = &opening{done: make(chan struct{})}
	go func() {
		defer close(s.opening.done)
		if s.opening.end = j.completeSite(ctx, s); s.opening.end != nil {
			s.before = nil // there are no changes to find
			j.end(session.Timeout{Code: s.opening.end.code, Reason: s.opening.end.detail})
		}
	}()
	return s, nil
}

func (j *job) completeSite(ctx context.Context, s *site) (end *stop) {
	defer func() {
		if p := recover(); p != nil {
			end = &stop{code: event.CodePanic, detail: fmt.Sprintf("internal error: %v; please report it with this stack:\n%s", p, debug.Stack())}
		}
	}()
	err := s.addTree(ctx, j.spec, s.dir)
	if err == nil {
		err = s.openSpace()
	}
	if err != nil {
		return j.notPrepared(ctx, err)
	}
	if _, end := j.openSandbox(ctx, s); end != nil {
		return end
	}
	j.warnOfUnread(s)
	return nil
}

// scratchOf returns the private directories of commands as far as they are known without the
// files of the job; it is only used for the text about them.
func (j *job) scratchOf(s *site) (known tools.Scratch) {
	work := realPath(j.opts.Work)
	known.Tmp = filepath.Join(work, "tmp", j.spec.ID)
	confined := (&CommandEnv{Level: j.opts.Level}).confines()
	if confined || j.opts.Getenv("HOME") == "" {
		known.Home = filepath.Join(work, "home", j.spec.ID)
	}
	if j.opts.Level != sandbox.Full {
		return known
	}
	known.Replaced = sandbox.ReplacedDirs()
	for _, p := range []string{s.dir, known.Tmp, known.Home} {
		if slices.ContainsFunc(known.Replaced, func(dir string) bool { return pathtree.Within(p, dir) }) {
			known.Shown = append(known.Shown, p)
		}
	}
	return known
}

// waitForFiles waits for the files of the job if its first request depends on more of them
// than instruction files, which are read from the commit.
func (w *work) waitForFiles() *stop {
	if w.site.complete() {
		return w.site.settled()
	}
	for _, dir := range tools.SkillDirs() {
		if found, err := w.site.origin.Has(w.site.base, dir); err != nil || found {
			return w.site.settled()
		}
	}
	for _, name := range instructionFiles() {
		if found, err := w.site.origin.Has(w.site.base, name); err != nil || found {
			if text, err := w.site.origin.File(w.site.base, name); err != nil || len(text) > maxNotes { // a symlink, for example
				return w.site.settled()
			}
		}
	}
	return nil
}

// notesOfCommit is repositoryNotes for a job whose files are not checked out yet.
func (w *work) notesOfCommit(s sessionSpec) []prompt.Text {
	for _, name := range instructionFiles() {
		text, err := w.site.origin.File(w.site.base, name)
		if err == nil && s.task.Profile.Allows("read", name, name, filepath.Join(w.site.dir, name)) {
			return []prompt.Text{{Name: name, Text: strings.ToValidUTF8(string(text), "\uFFFD")}}
		}
	}
	return nil
}

// complete returns what completes the environment of a session's tools before its first
// call.
func (w *work) complete(s sessionSpec) func(context.Context, *tools.Env) error {
	var mu sync.Mutex // calls can be parallel
	return func(ctx context.Context, env *tools.Env) error {
		mu.Lock()
		defer mu.Unlock()
		if env.Workspace != nil {
			return nil
		}
		if end := w.site.settled(); end != nil {
			return errors.New(end.detail)
		}
		return w.addFiles(ctx, env, s)
	}
}

// addFiles adds to the environment of a session's tools what depends on the job's files.
func (w *work) addFiles(ctx context.Context, env *tools.Env, s sessionSpec) error {
	rules, err := w.site.tree.IgnoreRulesBelow(w.site.below)
	if err != nil {
		return err
	}
	box, err := w.job.confinement(ctx, w.site, s)
	if err != nil {
		return err
	}
	env.Ignore, env.ChildEnv, env.Commands, env.Workspace = rules, box.Env, box.Commands(), w.site.space
	return nil
}
