package runner

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools/access"
)

// confinement is what a session's commands get: the job's sandbox, or one below
// it if the session's agent may do less than the job, or if it may change nothing and no
// program is granted to do so. Setup and verify commands are the task's, not the agent's.
func (j *job) confinement(ctx context.Context, s *site, of sessionSpec, granted bool) (*confinement.Confinement, error) {
	runs := len(j.plan.Tools) > 0 || !of.task.Profile.Hides("bash")
	locked := runs && !granted && !of.task.Profile.MayChange()
	if of.narrowed == "" && !locked {
		return s.sandbox, nil
	}
	return j.sandboxOf(ctx, s, of.narrowed, of.task.Profile, locked)
}

// sandboxOf returns the sandbox of a profile below the job's, with a read-only workspace if it is
// locked. There is one for each user of it, which the job closes.
func (j *job) sandboxOf(ctx context.Context, s *site, of string, p permission.Profile, locked bool) (*confinement.Confinement, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if locked {
		of += "(read-only)"
	}
	if c := s.narrower[of]; c != nil {
		return c, nil
	}
	g, err := j.ground(s, p)
	if err != nil {
		return nil, err
	}
	g.Within = s.sandbox
	if locked {
		g.LockWorkspace()
	}
	c, err := confinement.Open(ctx, g)
	if err != nil {
		return nil, err
	}
	if s.narrower == nil {
		s.narrower = map[string]*confinement.Confinement{}
	}
	s.narrower[of] = c
	return c, nil
}

// ground is what commands under a profile are confined to. Its private
// directories are the job's: all of its sessions share them.
func (j *job) ground(s *site, p permission.Profile) (confinement.Env, error) {
	g := confinement.Env{
		Level: j.opts.Level, Workspace: s.space.Dir(), Home: filepath.Join(j.opts.Work, "home", j.spec.ID), Tmp: filepath.Join(j.opts.Work, "tmp", j.spec.ID),
		Tree: s.Tree.Root(), Git: []string{s.Tree.Git.Own, s.Tree.Git.Common}, InPlace: s.InPlace,
		Profile: p, Caches: filepath.Join(j.opts.Work, "caches", j.spec.ID), Getenv: j.opts.Getenv, Tools: j.plan.Tools, Beside: s.beside, Limits: j.spec.Limits, Now: j.opts.Now,
		Tell: j.denied.Once(func(n event.Network) { j.emit(event.Event{Type: event.NetworkRequested, Network: &n}) }),
		Fail: j.fail, Private: j.run.private,
	}
	g.Hidden = j.hidden(s)
	if s.InPlace {
		g.Submodules = s.Tree.Submodules(s.below)
	}
	if g.Level == sandbox.Full {
		g.Locked = landing.Edits{Profile: p, Root: s.Tree.Root(), Below: s.below}.Locked(s.tracked())
	}
	if err := j.opts.Dir.Mkdir(path.Join("outputs", j.spec.ID)); err == nil { // a full disk ends no job; tools can read saved output
		g.Readable = append(g.Readable, j.outputs().Path())
	}
	err := g.Prepare()
	return g, err
}

// expectedScratch returns the private directories of a job's commands as they are known before its files exist.
func (s *site) expectedScratch(o *Options, job string) access.Scratch {
	work := confinement.RealPath(o.Work)
	g := confinement.Env{Level: o.Level, Workspace: s.dir, Home: filepath.Join(work, "home", job), Tmp: filepath.Join(work, "tmp", job), Getenv: o.Getenv}
	return g.Expected()
}

// hidden lists what commands can't access in the job's tree: report directories, each as
// all of the .millhand that it is in.
func (j *job) hidden(s *site) []string {
	var list []string
	for _, dir := range j.private(s) {
		if rel, err := filepath.Rel(s.Tree.Root(), dir); err == nil && filepath.IsLocal(rel) {
			list = append(list, filepath.Join(s.Tree.Root(), millhandPrefix(rel)))
		}
	}
	if file := j.opts.Preflight.Signing.KeyFile; file != "" { // a rule of the profile may allow its directory
		list = append(list, file)
	}
	return list
}

// outputs is where the calls of the job keep their outputs.
func (j *job) outputs() *files.Dir { return j.opts.Dir.Sub(path.Join("outputs", j.spec.ID)) }

// private lists the directories of reports, and the file of a key, that are closed to the
// job. A directory that holds the workspace is not: private copies of directories, where jobs work, are in
// the report directory, and one that a tree worked on in place is in has its reports
// elsewhere until the end.
func (j *job) private(s *site) []string {
	paths := slices.Clone(j.opts.Private)
	if file := j.opts.Preflight.Signing.KeyFile; file != "" {
		paths = append(paths, file)
	}
	return slices.DeleteFunc(paths, func(dir string) bool {
		return pathtree.Within(s.dir, dir)
	})
}

// millhandPrefix shortens a relative path to the first .millhand in it, which as a
// whole is millhand's own.
func millhandPrefix(rel string) string {
	names := strings.Split(rel, string(filepath.Separator))
	if at := slices.Index(names, ".millhand"); at >= 0 {
		names = names[:at+1]
	}
	return filepath.Join(names...)
}

// closeSandboxes gives up what the job's commands were confined by.
func (s *site) closeSandboxes() error {
	var errs []error
	for _, c := range s.narrower {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, s.sandbox.Close())...)
}

// prepareSearch lets the search for private files of the system, which can take a while, begin when
// the first request of a model has been sent, which it would delay otherwise, or immediately if a
// job's commands or extensions start before it.
func (r *run) prepareSearch() {
	if g := (confinement.Env{Level: r.opts.Level}); !g.Confines() || !r.plan.RunsCommands() {
		return
	}
	r.search = sync.OnceFunc(func() { r.searching.Go(func() { r.private.Paths() }) })
	if slices.ContainsFunc(r.plan.Jobs, func(j tasks.Job) bool { return !r.opts.History.Done(j.ID) && !onlyCalls(r.plan, j) }) {
		r.search()
	}
}

// overDisk reports whether at least n consecutive commands ended above the disk limit. It can be
// called while the sandbox is opened.
func (s *site) overDisk(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sandbox.OverFor(n)
}

// checkDiskLimit returns the stop of a job that ends above its disk limit.
func (s *site) checkDiskLimit(ctx context.Context) *ending.Stop {
	if err := s.sandbox.CheckDisk(ctx); err != nil {
		return &ending.Stop{Code: event.CodeLimit, Detail: "limits.disk: " + err.Error()}
	}
	return nil
}

func (j *job) privateDirs() confinement.PrivateDirs {
	return confinement.PrivateDirs{
		Paths: []string{filepath.Join(j.opts.Work, "home", j.spec.ID), filepath.Join(j.opts.Work, "tmp", j.spec.ID)},
		Aside: filepath.Join(j.opts.Work, "aside", j.spec.ID),
	}
}
