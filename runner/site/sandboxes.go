package site

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
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools/access"
)

// Sandboxes confine the commands of a job in its site.
type Sandboxes struct {
	site     *Site
	Own      *confinement.Confinement            // of the task's own commands; nil before open, or until it is needed
	OnDemand func() *ending.Stop                 // opens it when it is needed; nil: it was opened
	mu       sync.Mutex                          // of own, if it is opened on demand, and narrower
	narrower map[string]*confinement.Confinement // of agents with more restricted profiles, by name

	concealed []string // untrusted files and directories that are hidden from commands
}

// hides returns the untrusted files and directories that are hidden from commands.
func (b *Sandboxes) hides() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.concealed
}

// open opens the job's sandbox. If only calls of the model run commands, the first call opens it: a
// job without one needs neither the sandbox nor private directories. In the user's own tree
// it is opened immediately, because it searches the tree for nested repositories, and so it is for filters.
func (b *Sandboxes) open(ctx context.Context) *ending.Stop {
	s := b.site
	cleans := s.Origin.Git.Config.Cleans()
	if g := (confinement.Env{Level: s.job.opts.Level}); cleans || !s.job.OnlyCalls() || g.Confines() && s.InPlace {
		end := b.create(ctx)
		if end == nil && cleans {
			s.Tree = s.Tree.WithFilters(b.filters(ctx))
		}
		return end
	}
	ctx = context.WithoutCancel(ctx) // a call may end before
	b.OnDemand = sync.OnceValue(func() *ending.Stop { return b.create(ctx) })
	return nil
}

// Needed returns the sandbox of the task's own commands, and opens it if that is to be done on demand.
func (b *Sandboxes) Needed() (*confinement.Confinement, *ending.Stop) {
	if b.OnDemand != nil {
		if end := b.OnDemand(); end != nil {
			return nil, end
		}
	}
	return b.Own, nil
}

// create opens the job's sandbox.
func (b *Sandboxes) create(ctx context.Context) *ending.Stop {
	s := b.site
	j := s.job
	if len(j.Spec.Setup)+len(j.Spec.Verify) > 0 { // otherwise the session reads the job concurrently
		s.beside = j.Spec.ResolveBeside(s.Space.Dir())
	}
	g, err := s.Ground(j.Spec.Profile)
	if err != nil {
		return ending.Fault(event.CodeInternal, err)
	}
	g.Tell = j.Reaching(g.Tell)
	box, err := confinement.Open(ctx, g)
	switch {
	case errors.Is(err, sandbox.ErrAbsent):
		return &ending.Stop{Code: event.CodeDenied, Detail: err.Error()}
	case err != nil && ctx.Err() != nil:
		return ending.Of(ctx)
	case err != nil:
		return ending.Fault(event.CodeEnvironment, err)
	}
	if !j.OnlyCalls() { // commands will run
		box.WatchDisk()
	}
	for _, l := range box.Unopened(g) {
		j.Warn(l.Why.Error())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Own = box
	return nil
}

// Of returns what the commands of a session with a profile get: the job's sandbox, or one below
// it if the session's agent may do less than the job, which narrowed names, or if it may change nothing and no
// program is granted to do so. Setup and verify commands are the task's, not the agent's.
func (b *Sandboxes) Of(ctx context.Context, narrowed string, p permission.Profile, granted bool) (*confinement.Confinement, error) {
	j := b.site.job
	runs := len(j.Plan.Tools) > 0 || !p.Hides("bash")
	locked := runs && !granted && (!p.MayChange() || j.Untrusted.Is() && j.Spec.AfterUntrusted.Bash != "")
	var concealed []string
	if runs && j.Untrusted.Armed() {
		concealed = b.hides()
	}
	if narrowed == "" && !locked && len(concealed) == 0 {
		return b.Own, nil
	}
	return b.below(ctx, narrowed, p, locked, concealed)
}

// below returns the sandbox of a profile below the job's, with a read-only workspace if it is
// locked, and without untrusted files if they are concealed. There is one for each user of it, which the job closes.
func (b *Sandboxes) below(ctx context.Context, of string, p permission.Profile, locked bool, concealed []string) (*confinement.Confinement, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if locked {
		of += "(read-only)"
	}
	if len(concealed) > 0 {
		of += "(without " + strings.Join(concealed, "\x00") + ")"
	}
	if c := b.narrower[of]; c != nil {
		return c, nil
	}
	g, err := b.site.Ground(p)
	if err != nil {
		return nil, err
	}
	g.Within, g.Tell = b.Own, b.site.job.Reaching(g.Tell)
	if locked {
		g.LockAll()
	}
	g.Hidden = append(g.Hidden, concealed...)
	c, err := confinement.Open(ctx, g)
	if err != nil {
		return nil, err
	}
	if b.narrower == nil {
		b.narrower = map[string]*confinement.Confinement{}
	}
	b.narrower[of] = c
	return c, nil
}

// close gives up what the job's commands were confined by.
func (b *Sandboxes) close() error {
	var errs []error
	for _, c := range b.narrower {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, b.Own.Close())...)
}

// OverDisk reports whether at least n consecutive commands ended above the disk limit. It can be
// called while the sandbox is opened.
func (b *Sandboxes) OverDisk(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Own.OverFor(n)
}

// CheckDiskLimit returns the stop of a job that ends above its disk limit.
func (b *Sandboxes) CheckDiskLimit(ctx context.Context) *ending.Stop {
	if err := b.Own.CheckDisk(ctx); err != nil {
		return &ending.Stop{Code: event.CodeLimit, Detail: "limits.disk: " + err.Error()}
	}
	return nil
}

// Ground is what commands under a profile are confined to. Its private
// directories are the job's: all of its sessions share them.
func (w *Workdir) Ground(p permission.Profile) (confinement.Env, error) {
	o, job := w.job.opts, w.job.Spec.ID
	return w.groundIn(p, filepath.Join(o.Work, "home", job), filepath.Join(o.Work, "tmp", job))
}

// groundIn is Ground with other private directories.
func (w *Workdir) groundIn(p permission.Profile, home, tmp string) (confinement.Env, error) {
	j := w.job
	g := confinement.Env{
		Level: j.opts.Level,
		Dirs: confinement.Dirs{
			Workspace: w.Space.Dir(), Home: home, Tmp: tmp, Caches: filepath.Join(j.opts.Work, "caches", j.Spec.ID),
			Tree: w.Tree.Root(), Git: []string{w.Tree.Git.Own, w.Tree.Git.Common}, InPlace: w.InPlace,
		},
		Rules:   confinement.Rules{Profile: p, Tools: j.Plan.Tools, Beside: w.beside, Limits: j.Spec.Limits},
		Getenv:  j.opts.Getenv,
		Now:     j.opts.Now,
		Tell:    j.denied.Once(func(n event.Network) { j.Emit(event.Event{Type: event.NetworkRequested, Network: &n}) }),
		Fail:    j.fail,
		Private: j.run.Private,
		Switch:  j.network,
	}
	g.Hidden, g.Readable = w.hidden(), slices.Clone(j.Spec.Borrows)
	if w.InPlace {
		g.Submodules = w.Tree.Submodules(w.Below)
	}
	if g.Level == sandbox.Full {
		g.Locked = landing.Edits{Profile: p, Root: w.Tree.Root(), Below: w.Below}.Locked(w.tracked())
	}
	if err := j.opts.Dir.Mkdir(path.Join("outputs", j.Spec.ID)); err == nil { // a full disk ends no job; tools can read saved output
		g.Readable = append(g.Readable, j.Outputs().Path())
	}
	err := g.Prepare()
	return g, err
}

// ExpectedScratch returns the private directories of a job's commands as they are known before its files exist.
func (w *Workdir) ExpectedScratch() access.Scratch {
	o, job := w.job.opts, w.job.Spec.ID
	work := confinement.RealPath(o.Work)
	g := confinement.Env{Level: o.Level, Dirs: confinement.Dirs{Workspace: w.Dir, Home: filepath.Join(work, "home", job), Tmp: filepath.Join(work, "tmp", job)}, Getenv: o.Getenv}
	return g.Expected()
}

// hidden lists what commands can't access in the job's tree: report directories, each as
// all of the .millhand that it is in.
func (w *Workdir) hidden() []string {
	var list []string
	for _, dir := range w.Private() {
		if rel, err := filepath.Rel(w.Tree.Root(), dir); err == nil && filepath.IsLocal(rel) {
			list = append(list, filepath.Join(w.Tree.Root(), millhandPrefix(rel)))
		}
	}
	if file := w.job.opts.Preflight.Signing.KeyFile; file != "" { // a rule of the profile may allow its directory
		list = append(list, file)
	}
	return list
}

// Outputs is where the calls of the job keep their outputs.
func (j *Job) Outputs() *files.Dir { return j.opts.Dir.Sub(path.Join("outputs", j.Spec.ID)) }

// Private lists the directories of reports, and the file of a key, that are closed to the
// job. A directory that holds the workspace is not: private copies of directories, where jobs work, are in
// the report directory, and one that a tree worked on in place is in has its reports
// elsewhere until the end.
func (w *Workdir) Private() []string {
	j := w.job
	paths := slices.Clone(j.opts.Private)
	if file := j.opts.Preflight.Signing.KeyFile; file != "" {
		paths = append(paths, file)
	}
	return slices.DeleteFunc(paths, func(dir string) bool {
		return pathtree.Within(w.Dir, dir)
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

// PrepareSearch lets the search for private files of the system, which can take a while, begin when
// the first request of a model has been sent, which it would delay otherwise, or immediately if a
// job's commands or extensions start before it.
func (r *Run) PrepareSearch() {
	if g := (confinement.Env{Level: r.opts.Level}); !g.Confines() || !r.Plan.RunsCommands() {
		return
	}
	r.search = sync.OnceFunc(func() { r.searching.Go(func() { r.Private.Paths() }) })
	if slices.ContainsFunc(r.Plan.Jobs, func(j tasks.Job) bool { return !r.opts.History.Done(j.ID) && !onlyCalls(r.Plan, j) }) {
		r.search()
	}
}

// PrivateDirs returns the private directories of the job's commands.
func (j *Job) PrivateDirs() confinement.PrivateDirs {
	return confinement.PrivateDirs{
		Paths: []string{filepath.Join(j.opts.Work, "home", j.Spec.ID), filepath.Join(j.opts.Work, "tmp", j.Spec.ID)},
		Aside: filepath.Join(j.opts.Work, "aside", j.Spec.ID),
	}
}

// tracked returns the paths of the workspace that git has. The index of a tree that is
// changed in place is older than its snapshot, which is made in the sandbox.
func (w *Workdir) tracked() []string {
	if w.Before != nil {
		return w.Before.Paths()
	}
	idx, err := w.Tree.Git.Index()
	if err != nil {
		return nil // the snapshot will report it
	}
	var files []string
	for _, e := range idx.Entries {
		if state.IsBelow(e.Path, w.Below) {
			files = append(files, e.Path)
		}
	}
	return files
}
