package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/objectdb"
)

// advertised is the content of a remote's advertisement.
type advertised struct {
	refs    map[string]plumbing.Hash // branches and tags by their full names
	head    string                   // full name of the default branch; "" if missing
	at      plumbing.Hash            // target of HEAD; zero if missing
	shallow []plumbing.Hash          // shallow commits of the remote
}

// source is a remote to fetch from.
type source interface {
	advertised() advertised
	// fetch fetches objects, and returns the new shallow commits.
	fetch(ctx context.Context, into *objectdb.Objects, w request) (shallow []plumbing.Hash, err error)
	close()
}

// request describes what to fetch.
type request struct {
	want    []plumbing.Hash
	have    []plumbing.Hash
	shallow []plumbing.Hash // commits whose parents are missing here
	depth   int             // 0 keeps the shallow commits
	// thin permits deltas whose bases are in what is here. Without it, a server that can't see a common
	// history, as with a limited depth, sends all files of the wanted commits.
	thin bool
}

// openSource opens a remote for reading. Without the git program, a directory
// is read directly.
func openSource(ctx context.Context, remote Repo, env gitdir.Env) (source, error) {
	at, err := ParseAddress(remote.URL)
	if err != nil {
		return nil, err
	}
	if at.Scheme == "file" && env.GitProgram == "" {
		return openDirectory(at.Path)
	}
	return converse(ctx, at, remote, uploadPack, env)
}

// fail adds the operation and the remote to an error, without secrets.
func (m Repo) fail(ctx context.Context, what string, err error) error {
	dir := "the remote"
	at, parseErr := ParseAddress(m.URL)
	if parseErr == nil {
		dir = at.String()
	}
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	text := err.Error()
	for _, secret := range []string{m.Auth.Token, m.Auth.SSHPassphrase, at.Password} {
		if secret != "" && strings.Contains(text, secret) {
			err = scrubbed{err, strings.ReplaceAll(text, secret, "***")}
			text = err.Error()
		}
	}
	return fmt.Errorf("%s %s: %w", what, dir, err)
}

// scrubbed is an error of the same kind with the secrets removed from its text.
type scrubbed struct {
	err  error
	text string
}

func (s scrubbed) Error() string { return s.text }

func (s scrubbed) Is(target error) bool { return errors.Is(s.err, target) }

// Branches returns the branches of a remote with their commits, and the
// name of its default branch, which is "" if it has none. A remote without
// commits has no branches. The error matches ErrAuth, ErrNotFound,
// ErrUnreachable, the context's, or is an *UnsupportedError. Directories are read
// directly, without the git program.
func Branches(ctx context.Context, remote Repo) (branches map[string]string, head string, err error) {
	src, err := openSource(ctx, remote, gitdir.Env{})
	if err != nil {
		return nil, "", remote.fail(ctx, "list", err)
	}
	defer src.close()
	l := src.advertised()
	branches = map[string]string{}
	for name, hash := range l.refs {
		if branch, ok := strings.CutPrefix(name, gitdir.BranchPrefix); ok {
			branches[branch] = hash.String()
		}
	}
	return branches, strings.TrimPrefix(l.head, gitdir.BranchPrefix), nil
}

// newAdvertised reads an advertisement. Names that git would refuse are left out.
func newAdvertised(ar *packp.AdvRefs) advertised {
	l := advertised{refs: map[string]plumbing.Hash{}, shallow: ar.Shallows}
	for name, hash := range ar.References {
		l.add(name, hash)
	}
	if ar.Head != nil {
		l.at = *ar.Head
	}
	l.findHead(ar.Capabilities.Get(capability.SymRef))
	return l
}

func (l *advertised) add(name string, hash plumbing.Hash) {
	for _, prefix := range []string{gitdir.BranchPrefix, gitdir.TagPrefix} {
		if short, ok := strings.CutPrefix(name, prefix); ok && gitdir.ValidBranch(short) == nil {
			l.refs[name] = hash
		}
	}
}

// findHead finds the default branch: the one that the remote names, else
// (servers older than git 1.8.4.3) one with the commit of HEAD.
func (l *advertised) findHead(symbolic []string) {
	for _, s := range symbolic {
		if target, ok := strings.CutPrefix(s, "HEAD:"); ok {
			l.nameHead(target)
			return
		}
	}
	if len(symbolic) > 0 || l.at.IsZero() {
		return
	}
	var candidates []string
	for name, hash := range l.refs {
		if hash == l.at && strings.HasPrefix(name, gitdir.BranchPrefix) {
			candidates = append(candidates, name)
		}
	}
	slices.Sort(candidates)
	for _, usual := range []string{"refs/heads/master", "refs/heads/main"} {
		if slices.Contains(candidates, usual) {
			candidates = []string{usual}
		}
	}
	if len(candidates) > 0 {
		l.nameHead(candidates[0])
	}
}

func (l *advertised) nameHead(target string) {
	if _, ok := l.refs[target]; ok && strings.HasPrefix(target, gitdir.BranchPrefix) {
		l.head, l.at = target, l.refs[target]
	}
}
