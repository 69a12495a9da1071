package confinement

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files/diskusage"
	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools/access"
	"github.com/millhand/millhand/tools/command"
)

// Env is the input of Open: the directories, rules and limits of the
// commands of one job or tool call.
type Env struct {
	Level sandbox.Level // only A and B confine
	Dirs
	Rules
	Private *sandbox.Private // in the system's directories, shared by all of a run; nil: Open searches
	Getenv  func(string) string
	Env     []string // of the commands, set by Prepare
	Now     func() time.Time
	Tell    func(event.Network)
	Fail    func(error) // called after a command has written into git's own files, which were restored (a permission.Error), or if none can start

	Within  *Confinement       // of the same directories, which has the growth watch and the guard; nil for none
	Switch  *Switch            // closes the network while commands run; nil: nothing does
	Modules *ecosystem.Modules // in Go's module cache that commands see; nil: those that the workspace names
}

// Dirs are the directories of commands, and the files in them that they can't change.
type Dirs struct {
	Workspace  string
	Tree       string   // readable work tree that contains the workspace; "" for none
	Home, Tmp  string   // private directories, created by Prepare; their parents exist
	Git        []string // git's own directories and files, except the workspace's .git
	InPlace    bool     // the workspace is the user's own tree: its .git is a directory, not a pointer file
	Submodules []string // in the user's own tree
	Hidden     []string // inaccessible directories, even inside of the workspace
	Readable   []string // other readable directories
	Locked     []string // read-only files and directories in the workspace, in addition to those that the profile names; the workspace itself: all of it, at every level
	Caches     string   // the job's private directory for build caches; created, and removed by Close
}

// Rules are what commands may do.
type Rules struct {
	Profile permission.Profile
	Setup   *Setup             // of setup commands; nil for others
	Tools   []tasks.CustomTool // their programs can be executed
	Beside  []tasks.Readable   // what other commands of the manifest name next to it
	Limits  tasks.Limits
}

// Confinement is a sandbox for commands.
type Confinement struct {
	Env []string // of the commands, including the variables of build caches

	box     *sandbox.Sandbox
	nested  nested
	guard   *guard // of files that the level can't make read-only; nil for none
	caches  []share
	Modules *ecosystem.Modules // see Env
	scratch access.Scratch
	remove  string             // directory for build caches; "" if there are none or another owns them
	growth  *diskusage.Monitor // nil for no limit
	denials deniedHosts
	left    []sandbox.LeftOut
	fail    func(error)
	Within  *Confinement // owner of growth, and possibly of guard; nil if this one is
	listen  net.Listener // of the proxy, at level B
	served  chan struct{}
}

// Prepare creates the private directories and sets the environment of commands: the
// variables that the profile allows, TMPDIR, and HOME if commands are confined or HOME
// is not set.
func (g *Env) Prepare() error {
	for _, dir := range []string{g.Home, g.Tmp} {
		if err := MakePrivate(dir); err != nil {
			return fmt.Errorf("create a private directory: %w", err)
		}
	}
	g.Env = proc.Set(proc.ChildEnv(g.Getenv, g.Profile.Env), "TMPDIR", g.Tmp)
	if g.Confines() {
		g.Env = append(g.Env, sandbox.ToolchainEnv(g.Getenv("HOME"), g.Env)...)
	}
	if g.Confines() || proc.Value(g.Env, "HOME") == "" {
		g.Env = proc.Set(g.Env, "HOME", g.Home)
	}
	return nil
}

// Confines reports whether the level confines commands.
func (g *Env) Confines() bool { return g.Level == sandbox.Full || g.Level == sandbox.Partial }

// Open creates the sandbox for a profile, after Prepare. The caller closes it
// after its commands have ended.
func Open(ctx context.Context, g Env) (c *Confinement, err error) {
	c = &Confinement{Env: g.Env, scratch: g.scratch(), fail: g.Fail}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("create the sandbox: %w", err), c.Close())
			if ctx.Err() == nil && !errors.Is(err, sandbox.ErrAbsent) {
				g.Fail(err)
			}
		}
	}()
	if c.Within = g.Within; c.Within != nil {
		c.growth, c.nested, c.caches, c.Modules = c.Within.growth, c.Within.nested, among(c.Within.caches, g.Profile.Cache), c.Within.Modules
	}
	if g.apart() {
		if err := c.openCaches(ctx, g); err != nil {
			return nil, err
		}
	}
	if c.Within == nil {
		c.first(g) //nolint:contextcheck // Close ends the first measurement
	}
	if !g.Confines() {
		return c, nil
	}
	if g.readOnly() { // commands run as the owner of what they can write
		if err := owner.AllAs(g.Workspace, g.Home); err != nil {
			return nil, err
		}
	}
	spec := g.spec(c.nested)
	addShares(&spec, c.caches)
	c.replaceTmp(g.Level, spec)
	c.Env = slices.Clip(c.Env)
	for _, cache := range c.caches {
		c.Env = append(c.Env, cache.env...)
	}
	if !HasNetwork(g.Profile) {
		if err = c.configure(g.Home, cacheSettings(c.caches, g.Getenv)); err != nil {
			return nil, err
		}
	}
	if spec.Network, err = c.network(ctx, g); err != nil {
		return nil, err
	}
	if c.box, err = sandbox.New(spec, g.Level); err != nil {
		return nil, err
	}
	c.left = c.box.LeftOut()
	if c.Within == nil && sandbox.OfOther(g.Workspace) { // the probe of the machine was for this user
		if err = c.box.Try(ctx); err != nil {
			return nil, err
		}
	}
	c.guard, err = newGuard(g, c.nested)
	return c, err
}

// Unopened returns the paths that the job asks for and its commands don't get, with the reasons.
func (c *Confinement) Unopened(g Env) (all []sandbox.LeftOut) {
	return slices.DeleteFunc(slices.Clone(c.left), func(l sandbox.LeftOut) bool { return l.Program || slices.Contains(g.Readable, l.Path) })
}

// scratch returns the private directories of the commands.
func (g *Env) scratch() (s access.Scratch) {
	s.Tmp = RealPath(g.Tmp)
	if proc.Value(g.Env, "HOME") == g.Home {
		s.Home = RealPath(g.Home)
	}
	return s
}

// Expected returns the private directories of commands as far as they are known before the files of the
// job exist; it is only used for the text about them.
func (g *Env) Expected() (known access.Scratch) {
	known.Tmp = g.Tmp
	if g.Confines() || g.Getenv("HOME") == "" {
		known.Home = g.Home
	}
	if g.Level != sandbox.Full {
		return known
	}
	known.Replaced = sandbox.ReplacedDirs()
	for _, p := range []string{g.Workspace, known.Tmp, known.Home} {
		if slices.ContainsFunc(known.Replaced, func(dir string) bool { return pathtree.Within(p, dir) }) {
			known.Shown = append(known.Shown, p)
		}
	}
	return known
}

// replaceTmp records that commands at level A see private directories instead of the
// machine's, except for the paths that their sandbox grants.
func (c *Confinement) replaceTmp(level sandbox.Level, spec sandbox.Spec) {
	if level != sandbox.Full {
		return
	}
	c.scratch.Replaced = sandbox.ReplacedDirs()
	shown := append([]string{spec.Workspace, spec.Home, spec.TmpDir}, spec.Programs...)
	for _, grant := range spec.Grants {
		shown = append(shown, grant.Path())
	}
	for _, s := range spec.Stores {
		shown = append(shown, s.Dir)
	}
	for _, p := range shown {
		shown = append(shown, RealPath(p)) // commands can use both names
	}
	for _, p := range shown {
		if slices.ContainsFunc(c.scratch.Replaced, func(dir string) bool { return pathtree.Within(p, dir) }) {
			c.scratch.Shown = append(c.scratch.Shown, p)
		}
	}
}

// RealPath resolves the symlinks of a path that exists; a path that can't be resolved is
// returned as it is.
func RealPath(name string) string {
	if resolved, err := filepath.EvalSymlinks(name); err == nil {
		return resolved
	}
	return name
}

// apart reports whether the private directories, and so the caches, are not those of the
// confinement within which another one is opened.
func (g *Env) apart() bool {
	return g.Within == nil || RealPath(g.Tmp) != g.Within.scratch.Tmp
}

// openCaches gives the commands caches of their own.
func (c *Confinement) openCaches(ctx context.Context, g Env) error {
	if !g.Confines() {
		return nil
	}
	names, modules, err := g.ecosystems()
	if err != nil {
		return fmt.Errorf("detect the build caches of the workspace: %w", err)
	}
	if g.Modules == nil {
		g.Modules = modules
	}
	c.Modules = g.Modules
	if c.caches, err = g.shares(ctx, names); err != nil {
		return err
	}
	if c.caches != nil {
		c.remove = g.Caches
	}
	return nil
}

// first creates what all sandboxes of a job share.
func (c *Confinement) first(g Env) {
	if g.Confines() && g.InPlace {
		c.nested = findNested(g.Workspace, g.Hidden, g.Submodules)
	}
	if g.Limits.Disk > 0 {
		var caches []string
		if c.remove != "" {
			caches = []string{c.remove}
		}
		c.growth = diskusage.NewMonitor(g.growing(), caches, g.Limits.Disk, g.Now)
		if !g.Confines() {
			c.growth.Start()
		}
	}
}

// Commands returns how tools run commands in the sandbox.
func (c *Confinement) Commands() command.Options {
	return command.Options{Confine: c.Confine(), Disk: c.Disk(), Scratch: c.scratch}
}

// Confine returns the function that confines a command; nil if commands are not
// confined.
func (c *Confinement) Confine() proc.Confine {
	if c == nil || c.box == nil {
		return nil
	}
	return func(args, env []string, dir string) (*proc.Confined, error) {
		c.growth.Measure()
		inside, err := c.box.Confine(args, env, dir)
		if err != nil {
			return nil, c.checkStart(err)
		}
		start, ended := inside.Start, inside.Ended
		var denied func() string
		inside.Start = func(files [3]*os.File) (*os.Process, error) {
			denied = c.denials.watch()
			p, err := start(files)
			if err != nil {
				denied()
			}
			return p, c.checkStart(err)
		}
		inside.Ended = func() (proc.Result, error) {
			res, err := ended()
			c.checkStart(err) //nolint:errcheck // it is err
			if c.guard != nil {
				c.guard.compare()
			}
			res.Note = denied()
			return res, err
		}
		return inside, nil
	}
}

// checkStart reports the error of a command that could not be confined, since no other one could be. It
// returns the error.
func (c *Confinement) checkStart(err error) error {
	if errors.Is(err, sandbox.ErrUnconfined) {
		c.fail(err)
	}
	return err
}

// ConfineSeries returns the function that confines the commands of a session: after each, the
// process for the next one is started, while the model responds.
func (c *Confinement) ConfineSeries() proc.Confine {
	confine := c.Confine()
	if confine == nil {
		return nil
	}
	return func(args, env []string, dir string) (*proc.Confined, error) {
		inside, err := confine(args, env, dir)
		if err != nil {
			return nil, err
		}
		ended := inside.Ended
		inside.Ended = func() (proc.Result, error) {
			res, err := ended()
			if err == nil {
				c.box.StartAhead()
			}
			return res, err
		}
		return inside, nil
	}
}

// Disk measures what commands write; nil for no limit.
func (c *Confinement) Disk() *diskusage.Monitor {
	if c == nil {
		return nil
	}
	return c.growth
}

// WatchDisk begins to measure disk usage, before the first command.
func (c *Confinement) WatchDisk() { c.growth.Start() }

// CheckDisk returns an error if disk usage is above its limit after the last command; nil if no command has
// exceeded it.
func (c *Confinement) CheckDisk(ctx context.Context) error {
	if c == nil || c.growth.Exceeded() == 0 {
		return nil
	}
	return c.growth.Check(ctx)
}

// OverFor reports whether at least n consecutive commands ended above the disk limit.
func (c *Confinement) OverFor(n int) bool { return c != nil && c.growth.Exceeded() >= n }

// Close releases the sandbox.
func (c *Confinement) Close() error {
	if c == nil {
		return nil
	}
	if c.Within == nil {
		c.growth.Close()
	}
	var errs []error
	if c.listen != nil {
		errs = append(errs, c.listen.Close())
		<-c.served
	}
	if c.guard != nil && (c.Within == nil || c.Within.guard != c.guard) {
		errs = append(errs, c.guard.files.Close())
	}
	if c.box != nil {
		errs = append(errs, c.box.Close())
	}
	if c.remove != "" {
		errs = append(errs, sharedfile.RemoveAll(c.remove))
	}
	return errors.Join(errs...)
}

// spec returns which paths commands can read and write, except build caches.
func (g Env) spec(n nested) sandbox.Spec {
	spec := sandbox.Spec{Workspace: g.Workspace, Home: g.Home, TmpDir: g.Tmp, Hidden: g.Hidden, Private: g.Private, Limits: limits(g.Limits)}
	spec.Hidden = append(slices.Clip(spec.Hidden), ciFiles(g)...)
	spec.Locked = lockedIn(g)
	if !g.readOnly() && g.Profile.Allows(permission.Git, ".git/config") {
		spec.Grants = grants(true, g.Git...)
	} else {
		spec.Grants = grants(false, append([]string{filepath.Join(g.Workspace, ".git")}, g.Git...)...)
		spec.Locked = append(spec.Locked, n.locked...)
	}
	home := g.Getenv("HOME")
	if g.Tree != "" && g.Tree != g.Workspace && !pathtree.Within(home, g.Tree) { // a home directory that is a repository is not granted
		spec.Grants = append(spec.Grants, grants(false, g.Tree)...)
	}
	spec.Programs = sandbox.Toolchains(home, proc.Value(g.Env, "PATH"))
	spec.Grants = append(spec.Grants, grants(false, g.Readable...)...)
	for _, t := range g.Tools {
		g.Beside = append(g.Beside, t.Readable...)
	}
	named := func(p string) bool {
		return slices.ContainsFunc(g.Beside, func(r tasks.Readable) bool { return r.Path == p })
	}
	for _, r := range g.Beside {
		spec.Grants = append(spec.Grants, grants(false, r.Path)...)
		spec.Hidden = append(spec.Hidden, slices.DeleteFunc(slices.Clone(r.Hidden), named)...)
	}
	spec.Grants = append(spec.Grants, granted(g.Profile)...)
	if g.readOnly() {
		g.lock(&spec)
	}
	return spec
}

// lockedIn returns the files and directories in the workspace that commands can't write:
// those of the environment, and those that a rule of the profile names without a wildcard,
// which may be ignored by git.
func lockedIn(g Env) []string {
	list := slices.Clone(g.Locked)
	for _, name := range g.Profile.Named() {
		if !filepath.IsLocal(name) {
			continue
		}
		at := filepath.Join(g.Workspace, name)
		info, err := os.Lstat(at)
		if err == nil && g.Profile.Locks(info.IsDir(), name, at) && !slices.ContainsFunc(list, func(p string) bool { return pathtree.Within(at, p) }) {
			list = append(list, at)
		}
	}
	return list
}

// limits returns the limits of commands. Memory is limited for all of them together, or
// for each process if no control group can be created. The maximum size of a file is
// that of all files.
func limits(l tasks.Limits) sandbox.Limits {
	return sandbox.Limits{Pids: l.Processes, MemoryBytes: l.Memory, DataBytes: l.Memory, FileBytes: l.Disk}
}

// growing returns the directories that count for the disk limit: those that only the job
// uses. None contains another.
func (g Env) growing() []string {
	dirs := []string{g.Workspace}
	private := []string{g.Tmp, g.Home}
	if !g.Confines() {
		private = private[:1] // HOME is the user's
	}
	for _, dir := range private {
		if dir != "" && !pathtree.Within(dir, g.Workspace) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// ciFiles returns the directory of a CI system for files of steps, such as the
// credentials of the checkout. It could be in a directory that commands can read.
func ciFiles(g Env) []string {
	dir := g.Getenv("RUNNER_TEMP")
	if !filepath.IsAbs(dir) {
		return nil
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil || slices.Contains([]string{"/", g.Workspace, g.Home, g.Tmp}, dir) {
		return nil
	}
	return []string{dir}
}
