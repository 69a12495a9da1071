package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/reach"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/runner/trailers"
	"github.com/millhand/millhand/tasks"
)

// setUp runs the hooks of job_start and the setup commands. What they leave in the workspace is not
// the agent's.
func (r jobHooks) setUp(ctx context.Context) *stop {
	j, s := r.job, r.site
	fresh := !s.inPlace // otherwise it may be as an earlier process left it
	start, setup := r.start, func(ctx context.Context) *stop { return j.setup(ctx, s) }
	if slices.ContainsFunc(j.plan.Hooks, func(h tasks.Hook) bool { return h.On == tasks.JobStart }) {
		start = func(ctx context.Context) *stop { return s.diff.by(ctx, event.ByHook, fresh, r.start) }
	}
	if len(j.spec.Setup) > 0 {
		setup = func(ctx context.Context) *stop {
			return s.diff.by(ctx, event.BySetup, fresh && !s.hasHooks(tasks.JobStart), func(ctx context.Context) *stop { return j.setup(ctx, s) })
		}
	}
	return firstOf(ctx, start, setup)
}

// Setup describes what setup commands of a job get in addition to its other commands.
type Setup struct {
	Found    []ecosystem.Found // package managers of the workspace
	Settings ecosystem.Settings
	Profile  permission.Profile // limits the commands
	// Output is why the commands could run output of a model: they get neither registries
	// nor setup_env. "" if they could not.
	Output string
}

// newSetup determines what setup commands get. The error has settings of the user that can't
// be read.
func newSetup(spec tasks.Job, found []ecosystem.Found, output string, getenv func(string) string) (Setup, error) {
	settings, err := ecosystem.Configured(ecosystem.Names(found), getenv)
	settings.Hosts = append(settings.Hosts, ecosystem.WrapperHosts(found)...)
	u := Setup{Found: found, Settings: settings, Output: output}
	u.Profile = spec.Profile.ForSetup(settings.Hosts, output == "")
	if output != "" || !reachesRegistries(spec.Profile) {
		u.Settings.Dirs = nil
	}
	return u, err
}

// reachesRegistries reports whether a profile allows setup commands to reach registries, wherever
// they are.
func reachesRegistries(p permission.Profile) bool {
	const unknown = "registry.invalid"
	allowed, err := networkFilter(p.ForSetup([]string{unknown}, true), true)
	return err == nil && reachable(allowed, unknown)
}

const jobNeeds = "the job needs others"

// modelOutput returns why commands of the manifest could run output of a model before the
// agent starts; "" if they could not. Dirty has uncommitted changes of the user's own tree.
func modelOutput(ctx context.Context, spec tasks.Job, repo *gitops.Repo, base string, dirty []string) (string, error) {
	switch {
	case len(spec.Needs) > 0:
		return jobNeeds, nil
	case len(dirty) > 0:
		return fmt.Sprintf("there are uncommitted changes (%s)", firstThree(dirty)), nil
	case base == "":
		return "", nil
	}
	main, err := repo.Git.Default()
	if err != nil {
		return "", err
	}
	messages, complete, err := repo.Beyond(ctx, base, main)
	switch {
	case err != nil:
		return "", err
	case slices.ContainsFunc(messages, func(m string) bool { return trailers.Read(m).Ours() }):
		return "the branch has commits of millhand that the default branch doesn't have", nil
	case !complete && main == "":
		return "the default branch is unknown and the history is incomplete", nil
	case !complete:
		return "the history is incomplete", nil
	}
	return "", nil
}

// SetupOf returns what the setup commands of a job get, as far as it is known before the run:
// false for a repository that was not checked. It is not safe for concurrent use.
func (r *PreflightResult) SetupOf(ctx context.Context, spec tasks.Job, getenv func(string) string) (Setup, bool, error) {
	s := r.starts[spec.ID]
	if s.origin == nil && spec.Repo.Kind != tasks.RepoCopy {
		return Setup{}, false, nil
	}
	at := strings.Join([]string{key(spec.Repo), s.base, s.below}, "\x00")
	found, ok := r.surveys[at]
	if !ok {
		var err error
		if found, err = surveyOf(ctx, spec.Repo, s); err != nil {
			return Setup{}, false, err
		}
		if r.surveys == nil {
			r.surveys = map[string]survey{}
		}
		r.surveys[at] = found
	}
	if len(spec.Needs) > 0 {
		found.output = jobNeeds
	}
	u, err := newSetup(spec, found.ecosystems, found.output, getenv)
	return u, true, err
}

// survey is what setup depends on in a repository, for all jobs that start there.
type survey struct {
	ecosystems []ecosystem.Found
	output     string
}

// surveyOf looks at a repository as a job finds it: at its base, or in a tree on this machine.
func surveyOf(ctx context.Context, repo tasks.Repo, s start) (found survey, err error) {
	switch {
	case repo.Kind == tasks.RepoCopy:
		found.ecosystems, err = detectIn(repo.Dir)
	case s.base == "":
		dirty, err := dirtyBelow(ctx, s.origin, "")
		if err != nil {
			return found, err
		}
		head, err := s.origin.Git.Head()
		if err != nil {
			return found, err
		}
		if found.output, err = modelOutput(ctx, tasks.Job{}, s.origin, head.Hash, dirty); err != nil {
			return found, err
		}
		found.ecosystems, err = detectIn(s.origin.Root(), filepath.Join(s.origin.Root(), s.below))
		return found, err
	default:
		if found.output, err = modelOutput(ctx, tasks.Job{}, s.origin, s.base, nil); err != nil {
			return found, err
		}
		files, err := s.origin.SnapshotOf(s.base)
		if err != nil {
			return found, err
		}
		found.ecosystems = ecosystem.DetectIn(files.Paths())
		if s.below != "" {
			found.ecosystems = append(found.ecosystems, ecosystem.DetectIn(below(files.Paths(), s.below))...)
		}
	}
	return found, err
}

// below returns the paths in a directory, relative to it.
func below(paths []string, dir string) []string {
	var list []string
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, dir+"/"); ok {
			list = append(list, rest)
		}
	}
	return list
}

// detectIn returns the package managers of directories.
func detectIn(dirs ...string) ([]ecosystem.Found, error) {
	var all []ecosystem.Found
	for _, dir := range slices.Compact(dirs) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		found, err := ecosystem.Detect(root)
		if err := errors.Join(err, root.Close()); err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// Hosts returns the hosts that the commands may reach, sorted; "*" for all public ones.
func (u Setup) Hosts() []string {
	allowed, err := networkFilter(u.Profile, true)
	if err != nil {
		return nil
	}
	var hosts []string
	for p := &u.Profile; p != nil; p = p.Max {
		if p.Network.Allow {
			hosts = append(hosts, "*")
		}
		hosts = append(hosts, reach.Expand(p.Network.Hosts)...)
	}
	slices.Sort(hosts)
	return slices.DeleteFunc(slices.Compact(hosts), func(entry string) bool { return !reachable(allowed, entry) })
}

// loopback reports whether a host that the commands may reach is on this machine.
func (u Setup) loopback() bool {
	return slices.ContainsFunc(slices.Concat(u.Settings.Hosts, u.Hosts()), func(entry string) bool {
		host, _, err := net.SplitHostPort(entry)
		if err != nil {
			host = strings.Trim(entry, "[]")
		}
		ip, noName := netip.ParseAddr(host)
		return host == "localhost" || noName == nil && ip.IsLoopback()
	})
}

// reachable reports whether an entry of a network has any host that is allowed.
func reachable(allowed func(string, int, netip.Addr) error, entry string) bool {
	name, port := entry, 443
	if entry == "*" {
		name = "any.example"
	}
	if at, err := netip.ParseAddrPort(entry); err == nil {
		name, port = at.Addr().String(), int(at.Port())
	} else if host, text, ok := strings.Cut(entry, ":"); ok && !strings.Contains(text, ":") {
		name = host
		fmt.Sscan(text, &port) //nolint:errcheck // the entry was parsed before
	}
	name = strings.Replace(strings.Trim(name, "[]"), "*.", "any.", 1)
	return allowed(name, port, netip.Addr{}) == nil
}

// setupOf returns what the setup commands in a site get.
func (j *job) setupOf(ctx context.Context, s *site, output string) (Setup, error) {
	if output == "" {
		var dirty []string
		var err error
		if s.inPlace {
			if dirty, err = dirtyBelow(ctx, s.tree, ""); err != nil {
				return Setup{}, err
			}
		}
		if output, err = modelOutput(ctx, j.spec, s.origin, s.base, dirty); err != nil {
			return Setup{}, err
		}
	}
	found, err := detectIn(s.tree.Root(), s.space.Dir())
	if err != nil {
		return Setup{}, err
	}
	u, err := newSetup(j.spec, found, output, j.opts.Getenv)
	if err != nil {
		j.warn(fmt.Sprintf("the registries of setup commands: %v", err))
	}
	return u, nil
}

// confineSetup creates the sandbox of the setup commands in a site: with the files and limits
// of another one there, and the network and the variables of setup. The caller closes it
// when they have ended.
func (j *job) confineSetup(ctx context.Context, s *site, g CommandEnv, within *Confinement, output string) (*Confinement, error) {
	u, err := j.setupOf(ctx, s, output)
	if err != nil {
		return nil, err
	}
	g.Profile, g.within, g.Setup = u.Profile, within, &u
	for _, dir := range u.Settings.Dirs {
		if dir = g.userCache(dir); dir != "" {
			g.Readable = append(slices.Clip(g.Readable), dir)
		}
	}
	c, err := OpenConfinement(ctx, g)
	if err != nil {
		return nil, err
	}
	if err := j.equip(c, u, g.Home); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// equip gives the confinement of setup commands the user's settings of registries, and their
// own variables.
func (j *job) equip(c *Confinement, u Setup, home string) error {
	if c.box != nil && len(u.Hosts())+len(u.Settings.Dirs) > 0 {
		if err := c.configure(home, u.Settings); err != nil {
			return err
		}
	}
	if u.Output != "" && len(j.spec.SetupEnv) > 0 {
		j.warn(fmt.Sprintf("setup commands don't get setup_env (%s): %s", strings.Join(j.spec.SetupEnv, ", "), u.Output))
		return nil
	}
	for _, name := range j.spec.SetupEnv {
		c.Env = proc.Set(c.Env, name, j.opts.Getenv(name))
	}
	return nil
}

// cacheSettings returns the user's settings of registries for commands that only have caches:
// tools except Go look for what they downloaded by the registry that it came from. Setup
// reports settings that can't be read.
func cacheSettings(caches []share, getenv func(string) string) ecosystem.Settings {
	var names []string
	for _, s := range caches {
		if s.ecosystem != "go" {
			names = append(names, s.ecosystem)
		}
	}
	settings, _ := ecosystem.Configured(names, getenv)
	return settings
}

// configure gives commands settings of registries: variables, and files in their home
// directory.
func (c *Confinement) configure(home string, s ecosystem.Settings) error {
	c.Env = withSettings(c.Env, s.Env)
	if err := writeSettings(home, proc.Value(c.Env, "CARGO_HOME"), s.Files); err != nil {
		return fmt.Errorf("write the settings of package managers: %w", err)
	}
	return nil
}

// withSettings returns an environment with settings. Modules of a cache that is a directory for
// GOPROXY come first.
func withSettings(env, settings []string) []string {
	for _, kv := range settings {
		name, value, _ := strings.Cut(kv, "=")
		if cache, _, _ := strings.Cut(proc.Value(env, name), ","); name == "GOPROXY" && strings.HasPrefix(cache, "file://") {
			value = cache + "," + value
		}
		env = proc.Set(env, name, value)
	}
	return env
}

// writeSettings creates the files that do not exist in a private home directory, or that of
// Cargo if it is another, with the owner of the directory.
func writeSettings(home, cargo string, files map[string]string) error {
	for name, text := range files {
		dir := home
		if below, ok := strings.CutPrefix(name, ".cargo/"); ok && cargo != "" {
			dir, name = cargo, below
		}
		if err := writeSetting(dir, name, text); err != nil {
			return err
		}
	}
	return nil
}

func writeSetting(home, name, text string) error {
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer root.Close()
	if dir := path.Dir(name); dir != "." {
		if err := root.Mkdir(dir, 0o700); err == nil {
			if err := sameOwner(home, filepath.Join(home, dir)); err != nil {
				return err
			}
		}
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close(), sameOwner(home, filepath.Join(home, name)))
}
