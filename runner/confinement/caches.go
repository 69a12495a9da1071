package confinement

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
)

// share is what commands get of one cache of the user: what it contains, read-only, and
// directories of the job for what they add.
type share struct {
	ecosystem string
	env       []string
	writable  []string
	readable  []string
	hidden    []string
	programs  []string
	stores    []sandbox.Store
}

// sharing is how commands see the contents of the user's caches.
type sharing int

// From the best to the least.
const (
	overlaid sharing = iota // at their own path, with changes in a private layer
	linked                  // as symlinks in the job's directory; requires no mounts
	unshared                // caches start empty
)

// shares returns the caches of ecosystems for the first sandbox of a job, before a
// command has started. It tries each way of sharing them: what the machine supports
// depends on the kernel, the file systems and the owners of the directories.
func (g Env) shares(ctx context.Context, names []string) ([]share, error) {
	ways := []sharing{overlaid, linked, unshared}
	if g.Level != sandbox.Full {
		ways = ways[1:]
	}
	for _, way := range ways {
		all, err := g.shareAll(names, way)
		if err != nil && !errors.Is(err, errOtherOwner) {
			return nil, fmt.Errorf("create the directories of build caches: %w", err)
		}
		if err == nil && (way == unshared || !slices.ContainsFunc(all, func(c share) bool { return len(c.stores)+len(c.readable) > 0 }) ||
			g.try(ctx, all) == nil) {
			return all, nil
		}
		if err := os.RemoveAll(g.Caches); err != nil {
			return nil, fmt.Errorf("remove the directories of build caches: %w", err)
		}
	}
	return nil, nil
}

// try confines a process with nothing but the caches.
func (g Env) try(ctx context.Context, all []share) error {
	spec := sandbox.Spec{Workspace: g.Workspace, Home: g.Home, TmpDir: g.Tmp, Private: &sandbox.Private{}}
	addShares(&spec, all)
	box, err := sandbox.New(spec, g.Level)
	if err != nil {
		return err
	}
	var unopened error
	for _, l := range box.LeftOut() {
		unopened = l.Why
	}
	return errors.Join(unopened, box.Try(ctx), box.Close())
}

func addShares(spec *sandbox.Spec, all []share) {
	for _, c := range all {
		spec.Grants = slices.Concat(spec.Grants, grants(true, c.writable...), grants(false, c.readable...))
		spec.Hidden = append(spec.Hidden, c.hidden...)
		spec.Programs = append(spec.Programs, c.programs...)
		spec.Stores = append(spec.Stores, c.stores...)
	}
}

// among returns the shares of caches that a profile has.
func among(all []share, names []string) []share {
	return slices.DeleteFunc(slices.Clone(all), func(c share) bool {
		return !slices.Contains(names, permission.AutoCache) && !slices.Contains(names, c.ecosystem)
	})
}

// shareAll creates the job's directories for the caches of ecosystems.
func (g Env) shareAll(names []string, way sharing) ([]share, error) {
	var all []share
	for _, e := range ecosystem.All() {
		if !slices.Contains(names, e.Name) {
			continue
		}
		for _, c := range e.Caches() {
			made, err := g.shareOne(c, way)
			if err != nil {
				return nil, err
			}
			made.ecosystem = e.Name
			all = append(all, made)
		}
	}
	if all == nil {
		return nil, nil
	}
	return all, owner.AllAs(g.Workspace, g.Caches)
}

// ecosystems returns the names of the profile's caches. Those of auto are detected by
// files in the workspace, and in the tree that it is a directory of; modules is what these
// name, nil if the profile names Go's caches itself.
func (g Env) ecosystems() (names []string, modules *ecosystem.Modules, err error) {
	names = slices.Clone(g.Profile.Cache)
	if !slices.Contains(names, permission.AutoCache) {
		return names, nil, nil
	}
	modules = &ecosystem.Modules{}
	for _, dir := range slices.Compact([]string{g.Workspace, g.Tree}) {
		if dir == "" {
			continue
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, nil, err
		}
		found, err := ecosystem.Detect(root)
		modules.Read(root, found)
		if err := errors.Join(err, root.Close()); err != nil {
			return nil, nil, err
		}
		names = append(names, ecosystem.Names(found)...)
	}
	if slices.Contains(g.Profile.Cache, "go") {
		modules = nil
	}
	return names, modules, nil
}

// shareOne creates the job's directory for one cache.
func (g Env) shareOne(c ecosystem.Cache, way sharing) (share, error) {
	own := filepath.Join(g.Caches, "own", c.Variable)
	if err := MakePrivate(g.Caches); err != nil {
		return share{}, err
	}
	if err := os.MkdirAll(own, 0o755); err != nil {
		return share{}, err
	}
	users := g.UserCache(c.Dir(g.Getenv))
	made := share{env: []string{c.Variable + "=" + c.Prefix + own}, writable: []string{own}}
	switch {
	case users == "" || way == unshared:
	case c.Compiled:
		if variable, program, ok := sandbox.GoCache(users, own); ok {
			made.env = append(made.env, variable)
			made.readable, made.programs = []string{users}, []string{program}
		}
	case c.Contents != nil:
		for _, content := range c.Contents {
			dir := g.UserCache(filepath.Join(users, content))
			if dir == "" {
				continue
			}
			if err := g.shareDir(&made, dir, filepath.Join(own, content), nil, way); err != nil {
				return share{}, err
			}
		}
	case way == linked && c.Proxy != "":
		if dir := g.UserCache(filepath.Join(users, c.Proxy)); dir != "" {
			made.readable = []string{dir}
			made.env = append(made.env, "GOPROXY="+fileProxy(dir)+","+g.goProxy())
		}
	case way == linked:
		return made, g.shareDir(&made, users, own, c.Without, way)
	default:
		without, err := g.without(c, users)
		if err != nil || len(without) > maxWithout {
			return made, err
		}
		made.env = []string{c.Variable + "=" + c.Prefix + users}
		return made, g.shareDir(&made, users, "", without, way)
	}
	return made, nil
}

// maxWithout is the number of paths to hide above which a cache is not shared: each costs about
// 10 µs at the start of a job.
const maxWithout = 20_000

// without returns the paths in a cache that an overlay of it hides: in a module cache also the
// modules that the workspace's files don't name, which may be private.
func (g Env) without(c ecosystem.Cache, dir string) ([]string, error) {
	if c.Proxy == "" || g.Modules == nil {
		return c.Without, nil
	}
	others, err := g.Modules.Others(dir)
	return append(slices.Clip(c.Without), others...), err
}

// fileProxy returns a directory as an entry of GOPROXY, whose separators it escapes.
func fileProxy(dir string) string {
	u := url.URL{Scheme: "file", Path: dir}
	return strings.NewReplacer(",", "%2C", "|", "%7C").Replace(u.String())
}

// goProxy returns where modules come from that the user's module cache lacks.
func (g Env) goProxy() string {
	if set := proc.Value(g.Env, "GOPROXY"); set != "" {
		return set
	}
	return ecosystem.DefaultGoProxy
}

// UserCache resolves a directory of a cache or a registry; "" if it is missing, or contains
// the workspace or is in it: then commands can access it anyway.
func (g Env) UserCache(dir string) string {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	for _, granted := range []string{g.Workspace, g.Home, g.Tmp, g.Caches} {
		granted, err := filepath.EvalSymlinks(granted)
		if err != nil || pathtree.Within(dir, granted) || pathtree.Within(granted, dir) {
			return ""
		}
	}
	return dir
}

// shareDir shares a directory that has only downloads. It appears at the path at, which is
// in a directory of the job; if at is "", at its own path.
func (g Env) shareDir(made *share, dir, at string, without []string, way sharing) error {
	if way == linked {
		n, err := symlinkFiles(dir, at, without, maxSymlinks)
		if err != nil || n > maxSymlinks {
			return errors.Join(err, clearDir(at))
		}
		made.readable = append(made.readable, dir)
		for _, sub := range without {
			made.hidden = append(made.hidden, filepath.Join(dir, sub))
		}
		return nil
	}
	layers, err := g.layers(dir)
	if err != nil {
		return err
	}
	made.stores = append(made.stores, sandbox.Store{Dir: dir, Layers: layers, Without: without})
	if at == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	return os.Symlink(dir, at)
}

// layers creates the directory for what commands write to a directory. The job's commands
// don't see it. It fails if they run as a user who can't write to the directory: then they
// could not write to an overlay of it either.
func (g Env) layers(dir string) (string, error) {
	if same, err := owner.Same(dir, g.Workspace); err != nil || !same {
		return "", errors.Join(errOtherOwner, err)
	}
	parent := filepath.Join(g.Caches, "layers")
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, "")
}

var errOtherOwner = errors.New("the directory belongs to another user than the commands")

// maxSymlinks is the number of files of a cache's directory above which it gets no symlinks:
// each costs about 10 µs at the start of a job.
const maxSymlinks = 20_000

// smallFile is the size in bytes up to which files are copied: tools change small ones,
// such as indexes.
const smallFile = 4096

// symlinkFiles creates a directory with the files of another one: symlinks to large ones, and
// copies of small ones. It stops after a number of files, and returns their number.
func symlinkFiles(from, to string, without []string, most int) (n int, err error) {
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) { // others change the cache
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			if slices.Contains(without, rel) {
				return filepath.SkipDir
			}
			return os.MkdirAll(target, 0o755)
		}
		if n++; n > most {
			return filepath.SkipAll
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return nil //nolint:nilerr // it was removed since
		case info.Mode().IsRegular() && info.Size() > smallFile:
			return os.Symlink(path, target)
		}
		_, err = copyEntry(path, target, info)
		return err
	})
	return n, err
}

// clearDir makes a directory empty.
func clearDir(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o755)
}
