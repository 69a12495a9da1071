package gitdir

import (
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/files/sharedfile"
)

// Resolve returns the commit that a revision names: HEAD, a tag, a branch, a
// remote branch (origin/main), a full name (refs/...), or a hash, which may be
// cut to four digits and more. A tag goes before a branch of the same name, as
// in git. Expressions such as HEAD~1 are not understood.
//
// In a mirror HEAD and the names of branches are those of the remote.
func (d *Dir) Resolve(rev string) (string, error) {
	hash, err := d.resolve(rev)
	if err == nil {
		hash, err = d.peel(hash)
	}
	if err != nil {
		return "", fmt.Errorf("resolve revision %q: %w", rev, err)
	}
	return hash.String(), nil
}

func (d *Dir) resolve(rev string) (plumbing.Hash, error) {
	if rev == "HEAD" && d.Mirror {
		return d.originHead()
	}
	if rev == "HEAD" {
		return d.headHash()
	}
	if plumbing.IsHash(rev) {
		return plumbing.NewHash(rev), nil
	}
	if reason := badBranch(rev); reason != "" {
		return plumbing.ZeroHash, fmt.Errorf("it %s; only branches, tags, hashes and HEAD are supported", reason)
	}
	for _, name := range d.candidates(rev) {
		if hash, ok, err := d.readRef(name); err != nil || ok {
			return hash, err
		}
	}
	return d.abbreviated(rev)
}

// candidates returns the references that a name may mean, the first one first.
func (d *Dir) candidates(rev string) []string {
	branch, isBranch := strings.CutPrefix(rev, BranchPrefix)
	switch {
	case d.Mirror && isBranch:
		return []string{OriginPrefix + branch}
	case strings.HasPrefix(rev, "refs/"):
		return []string{rev}
	case d.Mirror:
		return []string{OriginPrefix + rev, TagPrefix + rev, "refs/remotes/" + rev}
	}
	return []string{TagPrefix + rev, BranchPrefix + rev, "refs/remotes/" + rev}
}

// originHead returns the commit of the remote's default branch.
func (d *Dir) originHead() (plumbing.Hash, error) {
	data, err := sharedfile.ReadOptional(filepath.Join(d.Common, "refs", "remotes", "origin", "HEAD"))
	if err != nil {
		return plumbing.ZeroHash, err
	}
	target, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "ref: "+OriginPrefix)
	if !ok || badBranch(target) != "" {
		return plumbing.ZeroHash, errors.New("remote has no default branch: set ref: to a branch")
	}
	hash, ok, err := d.readRef(OriginPrefix + target)
	if err == nil && !ok {
		err = fmt.Errorf("the remote's default branch %s was not found", target)
	}
	return hash, err
}

func (d *Dir) headHash() (plumbing.Hash, error) {
	head, err := d.Head()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if head.Unborn {
		return plumbing.ZeroHash, fmt.Errorf("branch %s has no commits yet", head.Branch)
	}
	return plumbing.NewHash(head.Hash), nil
}

// shortestHash is the least digits of a hash that git accepts.
const shortestHash = 4

// abbreviated looks for the one commit whose hash starts with some digits.
func (d *Dir) abbreviated(digits string) (plumbing.Hash, error) {
	unknown := fmt.Errorf("branch, tag or commit not found")
	digits = strings.ToLower(digits)
	prefix, err := hex.DecodeString(digits[:len(digits)&^1])
	if err != nil || len(digits) < shortestHash {
		return plumbing.ZeroHash, unknown
	}
	all, err := d.Objects.WithPrefix(prefix)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	var found []plumbing.Hash
	for _, hash := range all {
		if !strings.HasPrefix(hash.String(), digits) {
			continue
		}
		if commit, err := d.peel(hash); err == nil && commit == hash {
			found = append(found, hash)
		}
	}
	switch len(found) {
	case 0:
		return plumbing.ZeroHash, unknown
	case 1:
		return found[0], nil
	}
	return plumbing.ZeroHash, fmt.Errorf("ambiguous: %d commits start with it", len(found))
}

// peel follows tags to their commit.
func (d *Dir) peel(hash plumbing.Hash) (plumbing.Hash, error) {
	end, kind, _, err := d.Objects.Target(hash)
	if err == nil && kind != plumbing.CommitObject {
		err = fmt.Errorf("%s is a %s, not a commit", end, kind)
	}
	return end, err
}

// Default returns the commit of the default branch: the remote's if there is one,
// otherwise main or master. It returns "" if none of them exists.
func (d *Dir) Default() (string, error) {
	if hash, err := d.originHead(); err == nil {
		return hash.String(), nil
	}
	for _, name := range []string{OriginPrefix + "main", OriginPrefix + "master", BranchPrefix + "main", BranchPrefix + "master"} {
		if hash, ok, err := d.readRef(name); err != nil || ok {
			return hash.String(), err
		}
	}
	return "", nil
}
