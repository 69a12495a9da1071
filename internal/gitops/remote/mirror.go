package remote

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/objectdb"
)

// MirrorOptions are the options of a mirror.
type MirrorOptions struct {
	// Depth is the number of commits of each branch and tag to fetch; 0 means
	// all. A complete mirror stays complete. Directories read without the git
	// program are always fetched completely.
	Depth int
}

// Mirror makes, or brings up to date, a bare repository in dir that follows a remote: its
// branches under refs/remotes/origin/, its tags, and refs/remotes/origin/HEAD for
// the default branch. References of the remote that are gone or were moved by force are gone or
// moved here. The references under refs/heads/ belong to the jobs.
//
// The lock on dir+".lock" is held meanwhile, which keeps other goroutines and
// processes waiting; the context ends the waiting and the fetching. Whatever
// an agent of an earlier run changed in configuration, hooks, attributes and
// borrowed objects is undone first. A mirror that is damaged, or was left
// half-made, is filled again, in place: worktrees of it go on.
//
// The error matches ErrAuth, ErrNotFound, ErrUnreachable, the context's, or is an
// *UnsupportedError, also for a remote that has no branch.
func Mirror(ctx context.Context, dir string, remote Repo, o MirrorOptions, env gitdir.Env) (*gitdir.Dir, error) {
	git, err := mirror(ctx, dir, remote, o, env)
	if err != nil {
		return nil, remote.fail(ctx, "mirror", err)
	}
	return git, nil
}

func mirror(ctx context.Context, dir string, remote Repo, o MirrorOptions, env gitdir.Env) (*gitdir.Dir, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return nil, err
	}
	lock, err := lockFile(ctx, dir+".lock")
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if dir, err = createMirror(dir); err != nil {
		return nil, err
	}
	removeStale(dir, env)
	m := &mirroring{dir: dir, env: env, depth: o.Depth}
	if err = m.follow(ctx, remote); err == nil {
		err = m.combine(ctx, lock)
	}
	return m.git, err
}

// follow updates the mirror from a remote, twice if it turns out to be corrupt.
func (m *mirroring) follow(ctx context.Context, remote Repo) error {
	src, err := openSource(ctx, remote, m.env)
	if err != nil {
		return err
	}
	defer src.close()
	m.offer = src.advertised()
	if !m.offer.hasBranch() {
		return &gitdir.UnsupportedError{Reason: "remote has no branch with a commit"}
	}
	if err = m.update(ctx, src, m.intact()); err == nil || !isDamage(err) || ctx.Err() != nil {
		return err
	}
	src.close() // its only request was sent
	again, err := openSource(ctx, remote, m.env)
	if err != nil {
		return err
	}
	defer again.close()
	m.offer = again.advertised()
	return m.update(ctx, again, false)
}

func (l advertised) hasBranch() bool {
	for name := range l.refs {
		if strings.HasPrefix(name, gitdir.BranchPrefix) {
			return true
		}
	}
	return false
}

// mirroring is one update of a mirror.
type mirroring struct {
	dir   string
	env   gitdir.Env
	offer advertised
	depth int
	git   *gitdir.Dir
	state mirrorState
}

// damageError is the error of a corrupt mirror.
type damageError struct{ err error }

func (e *damageError) Error() string { return "mirror is corrupt: " + e.err.Error() }

func (e *damageError) Unwrap() error { return e.err }

func isDamage(err error) bool {
	var damage *damageError
	return errors.As(err, &damage)
}

// intact opens the mirror and reports whether it is complete since the last
// update.
func (m *mirroring) intact() bool {
	state, err := readMirrorState(m.dir)
	if err == nil {
		err = state.checkPacks(m.dir)
	}
	if err == nil {
		err = m.open()
	}
	if err != nil {
		return false
	}
	m.state = state
	refs, err := m.git.PackedRefs()
	return err == nil && checkTips(m.git.Objects.Originals(), refs) == nil
}

func (m *mirroring) open() (err error) {
	if m.git, err = gitdir.OpenAt(m.dir, m.env); err == nil {
		m.git.Mirror = true
	}
	return err
}

// checkTips fails unless the commits of the remote's branches and their trees
// are present.
func checkTips(objects *objectdb.Objects, refs map[string]plumbing.Hash) error {
	for name, hash := range refs {
		if !strings.HasPrefix(name, gitdir.OriginPrefix) {
			continue
		}
		tree, err := objects.RootTree(hash)
		if err == nil && tree != objectdb.EmptyTree {
			_, err = objects.Tree(tree)
		}
		if err != nil {
			return &damageError{fmt.Errorf("%s: %w", name, err)}
		}
	}
	return nil
}

// update fetches missing objects and updates the references. If the mirror is
// corrupt, it fetches everything.
func (m *mirroring) update(ctx context.Context, src source, sound bool) error {
	if !sound {
		if err := clearDamage(m.dir); err != nil {
			return err
		}
		m.state = mirrorState{}
		if err := m.open(); err != nil {
			return err
		}
	}
	packed, err := m.git.PackedRefs()
	if err != nil {
		return &damageError{err}
	}
	next := m.next(packed)
	shallow, err := m.fetch(ctx, src, next, packed)
	if err != nil {
		return err
	}
	if err := m.writeShallow(shallow); err != nil {
		return err
	}
	if err := checkTips(m.git.Objects.Originals(), next); err != nil {
		return err
	}
	if err := m.writeRefs(next); err != nil {
		return err
	}
	return m.writeState(len(shallow) > 0)
}

// next returns the references that the mirror will have, except those in loose
// files.
func (m *mirroring) next(now map[string]plumbing.Hash) map[string]plumbing.Hash {
	next := map[string]plumbing.Hash{}
	for name, hash := range now {
		if strings.HasPrefix(name, gitdir.BranchPrefix) {
			next[name] = hash
		}
	}
	for name, hash := range m.offer.refs {
		if branch, ok := strings.CutPrefix(name, gitdir.BranchPrefix); ok {
			name = gitdir.OriginPrefix + branch
		}
		next[name] = hash
	}
	return next
}

// fetch fetches the targets of the new references, and returns the new shallow
// commits.
func (m *mirroring) fetch(ctx context.Context, src source, next, now map[string]plumbing.Hash) ([]plumbing.Hash, error) {
	shallow, err := m.git.Shallow()
	if err != nil {
		return nil, &damageError{err}
	}
	cut := slices.ContainsFunc(shallow, func(h plumbing.Hash) bool { return !slices.Contains(m.offer.shallow, h) })
	w := request{shallow: shallow}
	deepen := false
	switch {
	case m.depth > 0 && (cut || len(now) == 0):
		w.depth, deepen = m.depth, m.depth > m.state.depth
	case m.depth == 0 && cut:
		w.depth, deepen = unlimited, true
	}
	complete := map[plumbing.Hash]bool{}
	for name, hash := range now {
		if !strings.HasPrefix(name, gitdir.BranchPrefix) {
			complete[hash] = true
		}
	}
	missing := map[plumbing.Hash]bool{}
	for name, hash := range next {
		if !strings.HasPrefix(name, gitdir.BranchPrefix) && (deepen || !complete[hash]) {
			missing[hash] = true
		}
	}
	if len(missing) == 0 {
		return shallow, nil
	}
	w.want = slices.Collect(maps.Keys(missing))
	if w.have, err = haves(m.git.Objects.Originals(), now); err != nil {
		return nil, &damageError{err}
	}
	w.thin = true
	shallow, err = src.fetch(ctx, m.git.Objects.Originals(), w)
	if errors.Is(err, errThin) {
		err = &damageError{err}
	}
	return shallow, err
}
