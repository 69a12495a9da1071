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
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools/access"
)

// sandboxes confine the commands of a job in its site.
type sandboxes struct {
	site     *site
	own      *confinement.Confinement            // of the task's own commands; nil before open, or until it is needed
	onDemand func() *ending.Stop                 // opens it when it is needed; nil: it was opened
	mu       sync.Mutex                          // of own, if it is opened on demand, and narrower
	narrower map[string]*confinement.Confinement // of agents with more restricted profiles, by name
}

// open opens the job's sandbox. If only calls of the model run commands, the first call opens it: a
// job without one needs neither the sandbox nor private directories. In the user's own tree
// it is opened immediately, because it searches the tree for nested repositories.
func (b *sandboxes) open(ctx context.Context) *ending.Stop {
	if g := (confinement.Env{Level: b.site.job.opts.Level}); !b.site.job.onlyCalls() || g.Confines() && b.site.InPlace {
		return b.create(ctx)
	}
	ctx = context.WithoutCancel(ctx) // filters run whatever happens
	b.onDemand = sync.OnceValue(func() *ending.Stop { return b.create(ctx) })
	return nil
}

// needed returns the sandbox of the task's own commands, and opens it if that is to be done on demand.
func (b *sandboxes) needed() (*confinement.Confinement, *ending.Stop) {
	if b.onDemand != nil {
		if end := b.onDemand(); end != nil {
			return nil, end
		}
	}
	return b.own, nil
}

// create opens the job's sandbox.
func (b *sandboxes) create(ctx context.Context) *ending.Stop {
	s := b.site
	j := s.job
	if len(j.spec.Setup)+len(j.spec.Verify) > 0 { // otherwise the session reads the job concurrently
		s.beside = j.spec.ResolveBeside(s.space.Dir())
	}
	g, err := s.ground(j.spec.Profile)
	if err != nil {
		return ending.Fault(event.CodeInternal, err)
	}
	box, err := confinement.Open(ctx, g)
	switch {
	case errors.Is(err, sandbox.ErrAbsent):
		return &ending.Stop{Code: event.CodeDenied, Detail: err.Error()}
	case err != nil && ctx.Err() != nil:
		return ending.Of(ctx)
	case err != nil:
		return ending.Fault(event.CodeEnvironment, err)
	}
	if !j.onlyCalls() { // commands will run
		box.WatchDisk()
	}
	for _, l := range box.Unopened(g) {
		j.warn(l.Why.Error())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.own = box
	return nil
}

// of returns what the commands of a session with a profile get: the job's sandbox, or one below
// it if the session's agent may do less than the job, which narrowed names, or if it may change nothing and no
// program is granted to do so. Setup and verify commands are the task's, not the agent's.
func (b *sandboxes) of(ctx context.Context, narrowed string, p permission.Profile, granted bool) (*confinement.Confinement, error) {
	runs := len(b.site.job.plan.Tools) > 0 || !p.Hides("bash")
	locked := runs && !granted && !p.MayChange()
	if narrowed == "" && !locked {
		return b.own, nil
	}
	return b.below(ctx, narrowed, p, locked)
}

// below returns the sandbox of a profile below the job's, with a read-only workspace if it is
// locked. There is one for each user of it, which the job closes.
func (b *sandboxes) below(ctx context.Context, of string, p permission.Profile, locked bool) (*confinement.Confinement, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if locked {
		of += "(read-only)"
	}
	if c := b.narrower[of]; c != nil {
		return c, nil
	}
	g, err := b.site.ground(p)
	if err != nil {
		return nil, err
	}
	g.Within = b.own
	if locked {
		g.LockWorkspace()
	}
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
func (b *sandboxes) close() error {
	var errs []error
	for _, c := range b.narrower {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, b.own.Close())...)
}

// overDisk reports whether at least n consecutive commands ended above the disk limit. It can be
// called while the sandbox is opened.
func (b *sandboxes) overDisk(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.own.OverFor(n)
}

// checkDiskLimit returns the stop of a job that ends above its disk limit.
func (b *sandboxes) checkDiskLimit(ctx context.Context) *ending.Stop {
	if err := b.own.CheckDisk(ctx); err != nil {
		return &ending.Stop{Code: event.CodeLimit, Detail: "limits.disk: " + err.Error()}
	}
	return nil
}

// ground is what commands under a profile are confined to. Its private
// directories are the job's: all of its sessions share them.
func (s *site) ground(p permission.Profile) (confinement.Env, error) {
	j := s.job
	g := confinement.Env{
		Level: j.opts.Level, Workspace: s.space.Dir(), Home: filepath.Join(j.opts.Work, "home", j.spec.ID), Tmp: filepath.Join(j.opts.Work, "tmp", j.spec.ID),
		Tree: s.Tree.Root(), Git: []string{s.Tree.Git.Own, s.Tree.Git.Common}, InPlace: s.InPlace,
		Profile: p, Caches: filepath.Join(j.opts.Work, "caches", j.spec.ID), Getenv: j.opts.Getenv, Tools: j.plan.Tools, Beside: s.beside, Limits: j.spec.Limits, Now: j.opts.Now,
		Tell: j.denied.Once(func(n event.Network) { j.emit(event.Event{Type: event.NetworkRequested, Network: &n}) }),
		Fail: j.fail, Private: j.run.private,
	}
	g.Hidden = s.hidden()
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
func (s *site) expectedScratch() access.Scratch {
	o, job := s.job.opts, s.job.spec.ID
	work := confinement.RealPath(o.Work)
	g := confinement.Env{Level: o.Level, Workspace: s.dir, Home: filepath.Join(work, "home", job), Tmp: filepath.Join(work, "tmp", job), Getenv: o.Getenv}
	return g.Expected()
}

// hidden lists what commands can't access in the job's tree: report directories, each as
// all of the .millhand that it is in.
func (s *site) hidden() []string {
	var list []string
	for _, dir := range s.private() {
		if rel, err := filepath.Rel(s.Tree.Root(), dir); err == nil && filepath.IsLocal(rel) {
			list = append(list, filepath.Join(s.Tree.Root(), millhandPrefix(rel)))
		}
	}
	if file := s.job.opts.Preflight.Signing.KeyFile; file != "" { // a rule of the profile may allow its directory
		list = append(list, file)
	}
	return list
}

// outputs is where the calls of the job keep their outputs.
func (j *siteJob) outputs() *files.Dir { return j.opts.Dir.Sub(path.Join("outputs", j.spec.ID)) }

// private lists the directories of reports, and the file of a key, that are closed to the
// job. A directory that holds the workspace is not: private copies of directories, where jobs work, are in
// the report directory, and one that a tree worked on in place is in has its reports
// elsewhere until the end.
func (s *site) private() []string {
	j := s.job
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

// prepareSearch lets the search for private files of the system, which can take a while, begin when
// the first request of a model has been sent, which it would delay otherwise, or immediately if a
// job's commands or extensions start before it.
func (r *siteRun) prepareSearch() {
	if g := (confinement.Env{Level: r.opts.Level}); !g.Confines() || !r.plan.RunsCommands() {
		return
	}
	r.search = sync.OnceFunc(func() { r.searching.Go(func() { r.private.Paths() }) })
	if slices.ContainsFunc(r.plan.Jobs, func(j tasks.Job) bool { return !r.opts.History.Done(j.ID) && !onlyCalls(r.plan, j) }) {
		r.search()
	}
}

func (j *siteJob) privateDirs() confinement.PrivateDirs {
	return confinement.PrivateDirs{
		Paths: []string{filepath.Join(j.opts.Work, "home", j.spec.ID), filepath.Join(j.opts.Work, "tmp", j.spec.ID)},
		Aside: filepath.Join(j.opts.Work, "aside", j.spec.ID),
	}
}

// tracked returns the paths of the workspace that git has. The index of a tree that is
// changed in place is older than its snapshot, which is made in the sandbox.
func (s *site) tracked() []string {
	if s.Before != nil {
		return s.Before.Paths()
	}
	idx, err := s.Tree.Git.Index()
	if err != nil {
		return nil // the snapshot will report it
	}
	var files []string
	for _, e := range idx.Entries {
		if state.IsBelow(e.Path, s.below) {
			files = append(files, e.Path)
		}
	}
	return files
}
