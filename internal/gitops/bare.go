package gitops

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// errBare is the answer to whatever needs a work tree.
var errBare = &UnsupportedError{Reason: "the repository is bare, it has no work tree"}

// openBare opens a git directory as it is, without a work tree.
func openBare(gitDir string, env Env) (*Repo, error) {
	local, err := readConfigFile(filepath.Join(gitDir, "config"))
	if err != nil {
		return nil, err
	}
	if err := checkFormat(local); err != nil {
		return nil, err
	}
	r := &Repo{gitDir: gitDir, commonDir: gitDir, env: env, added: map[string]string{}}
	if r.config, r.configs, err = loadSettings(env, local); err != nil {
		return nil, err
	}
	if r.objects, err = openObjects(gitDir); err != nil {
		return nil, err
	}
	return r, nil
}

// allRefs returns all references that hold an object's id themselves, by their full names.
func (r *Repo) allRefs() (map[string]plumbing.Hash, error) {
	refs, err := r.packedRefs()
	if err != nil {
		return nil, err
	}
	loose := map[string]plumbing.Hash{}
	top := filepath.Join(r.commonDir, "refs")
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if absent(err) || err == nil && !d.Type().IsRegular() {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := readFile(path)
		if line := string(bytes.TrimSpace(data)); err == nil && plumbing.IsHash(line) {
			rel, err := filepath.Rel(r.commonDir, path)
			if err != nil {
				return err
			}
			loose[filepath.ToSlash(rel)] = plumbing.NewHash(line)
		}
		return ignoreMissing(err)
	})
	maps.Copy(refs, loose)
	return refs, err
}

// shallowCommits returns the commits whose parents are missing.
func (r *Repo) shallowCommits() ([]plumbing.Hash, error) {
	data, err := readOptional(filepath.Join(r.commonDir, "shallow"))
	if err != nil {
		return nil, err
	}
	var list []plumbing.Hash
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); plumbing.IsHash(line) {
			list = append(list, plumbing.NewHash(line))
		}
	}
	return list, nil
}

// localSource is a source that is read by this package itself. Its whole history comes,
// whatever depth is asked for.
type localSource struct {
	repo *Repo
	has  offering
}

// openDirectory opens a repository on this machine, bare or not.
func openDirectory(dir string) (*localSource, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if absent(err) {
		return nil, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	if err != nil {
		return nil, err
	}
	gitDir, err := gitDirOf(dir)
	if err != nil {
		return nil, err
	}
	if gitDir == "" {
		gitDir = dir
	}
	if !isGitDir(gitDir) {
		return nil, fmt.Errorf("%w: %w", ErrNotFound, ErrNotRepository)
	}
	common, err := commonDirOf(gitDir)
	if err != nil {
		return nil, err
	}
	f := &localSource{}
	if f.repo, err = openBare(common, Env{}); err != nil {
		return nil, err
	}
	return f, f.list(gitDir)
}

func (f *localSource) list(gitDir string) error {
	refs, err := f.repo.allRefs()
	if err != nil {
		return err
	}
	f.has = offering{refs: map[string]plumbing.Hash{}}
	for name, hash := range refs {
		f.has.add(name, hash)
	}
	head := &Repo{gitDir: gitDir}
	if target, hash, err := head.readHead(); err == nil {
		f.has.at = hash
		f.has.nameHead(target)
	}
	f.has.shallow, err = f.repo.shallowCommits()
	return err
}

func (f *localSource) offering() offering { return f.has }

func (f *localSource) close() {}
