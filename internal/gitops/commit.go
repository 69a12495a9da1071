package gitops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/millhand/millhand/internal/gitops/content"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/objectdb"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/gitops/store"
	"github.com/millhand/millhand/internal/proc/failpoint"
	"github.com/millhand/millhand/internal/text/textcut"
)

// ErrNothingToCommit is the error for a commit whose tree would equal its
// parent's.
var ErrNothingToCommit = errors.New("nothing to commit")

// Signature is the author or committer of a commit, with the time.
type Signature struct {
	Name, Email string
	When        time.Time // with its time zone
}

// String returns the signature in git's format.
func (s Signature) String() string {
	return fmt.Sprintf("%s <%s> %d %s", s.Name, s.Email, s.When.Unix(), s.When.Format("-0700"))
}

// ParseSignature parses a signature in git's format.
func ParseSignature(text string) (Signature, error) {
	var s object.Signature
	s.Decode([]byte(text))
	if got := Signature(s); s.Email == "" || got.String() != text {
		return got, fmt.Errorf("invalid signature %q", text)
	}
	return Signature(s), nil
}

// CommitOptions are the options of a commit.
type CommitOptions struct {
	Parent    string // base commit of the change; "" creates a root commit
	Branch    string // branch to create or move; "" for the target of HEAD
	Message   string // complete
	Author    Signature
	Committer Signature
	// Sign returns the signature of an encoded commit; nil for none.
	Sign func(ctx context.Context, commit []byte) (string, error)

	// The branch, or a detached HEAD, must be at Parent for the commit to go ahead;
	// a named branch may also be missing. Replaces names another commit that it must be
	// at instead, such as one that the agent made; MustNotExist wants the named
	// branch to be missing; Force creates or moves the named branch wherever it was.
	Replaces     string
	MustNotExist bool
	Force        bool

	Discarded bool // a linked worktree is removed after the commit, and does not move on to it
}

// CommitResult is a created commit.
type CommitResult struct {
	Hash   string
	Tree   string
	Branch string // "" if HEAD is detached
}

// Commit makes a commit whose tree is that of the parent with the changed paths
// replaced. Objects are written first, then the reference by compare-and-swap
// under its lock, then, if the work tree is on what was committed to, the index
// entries of the changed paths. All of it is durable when Commit returns.
//
// A linked worktree with a detached HEAD moves on to a commit that goes to a
// branch unless it is discarded, as far as the agent left it in a state to do so: a lock that a killed git left
// there, or a damaged index, does not keep the commit from being made.
//
// The error matches ErrBranchExists, ErrConflict (somebody else moved the
// reference, changed a file or holds a lock), ErrNothingToCommit, or is an
// *UnsupportedError.
func (r *Repo) Commit(ctx context.Context, cs *state.ChangeSet, o CommitOptions) (CommitResult, error) {
	c := &committing{repo: r, cs: cs, o: o}
	result, err := c.run(ctx)
	if err != nil {
		return CommitResult{}, fmt.Errorf("commit in %s: %w", r.Git.Root, err)
	}
	return result, nil
}

// committing is the state of one Commit call.
type committing struct {
	repo *Repo
	cs   *state.ChangeSet
	o    CommitOptions
}

func (c *committing) run(ctx context.Context) (CommitResult, error) {
	if err := c.check(); err != nil {
		return CommitResult{}, err
	}
	t, err := c.target()
	if err != nil {
		return CommitResult{}, err
	}
	var w *store.Writer
	defer func() { w.Close() }() // after a reference leads to the objects
	var commit, tree plumbing.Hash
	var files []gitdir.IndexEntry
	err = store.DespitePruning(func() error {
		w.Close()
		if w, err = store.New(c.repo.Git.Objects, c.repo.packing); err == nil {
			commit, tree, files, err = c.store(ctx, c.repo.Git.Objects, w)
		}
		return err
	})
	if err != nil {
		return CommitResult{}, err
	}
	failpoint.Hit(failpoint.CommitStored, "")
	m := gitdir.ReflogEntry{New: commit, By: c.o.Committer.String(), Subject: subject(c.o.Message)}
	if err := c.publish(ctx, t, m, files); err != nil {
		return CommitResult{}, err
	}
	return CommitResult{Hash: commit.String(), Tree: tree.String(), Branch: strings.TrimPrefix(t.branch, gitdir.BranchPrefix)}, nil
}

func (c *committing) check() error {
	cs, o := c.cs, &c.o
	if len(cs.Refused) > 0 {
		paths := make([]string, 0, len(cs.Refused))
		for _, f := range cs.Refused {
			paths = append(paths, f.Path)
		}
		return &gitdir.UnsupportedError{Reason: "can't commit: " + cs.Refused[0].Reason, Paths: paths}
	}
	if len(cs.Changes) == 0 {
		return ErrNothingToCommit
	}
	for _, hash := range []string{o.Parent, o.Replaces} {
		if hash != "" && !plumbing.IsHash(hash) {
			return fmt.Errorf("%q is not a commit hash", hash)
		}
	}
	if o.Branch != "" {
		if err := gitdir.ValidBranch(o.Branch); err != nil {
			return err
		}
	}
	o.Message = cleanMessage(o.Message)
	return errors.Join(o.Author.clean("author"), o.Committer.clean("committer"))
}

// cleanMessage makes a message valid for git: UTF-8 without NUL, with a final
// newline.
func cleanMessage(message string) string {
	message = strings.ReplaceAll(strings.ToValidUTF8(message, "\uFFFD"), "\x00", "")
	return strings.TrimRight(message, "\n") + "\n"
}

// clean removes characters that are invalid in a signature.
func (s *Signature) clean(role string) error {
	clean := func(text string) string {
		text = strings.Map(func(c rune) rune {
			if c < ' ' || c == '<' || c == '>' || c == 0x7f {
				return -1
			}
			return c
		}, text)
		return strings.Trim(text, " .,:;\"\\'")
	}
	s.Name, s.Email = clean(s.Name), clean(s.Email)
	if s.Name == "" || s.Email == "" {
		return fmt.Errorf("%s has no name or email address", role)
	}
	return nil
}

// expectation returns the expected value of the reference.
func (o CommitOptions) expectation() gitdir.Expectation {
	named := o.Branch != ""
	want := gitdir.Expectation{Absent: o.Replaces == "" && (named || o.Parent == ""), Taken: gitdir.ErrConflict}
	switch {
	case named && o.Force:
		want.Absent, want.Anywhere = true, true
	case o.Replaces != "":
		want.Hash = plumbing.NewHash(o.Replaces)
	case named && o.MustNotExist:
		want.Taken = gitdir.ErrBranchExists
	default:
		want.Hash = plumbing.NewHash(o.Parent)
	}
	return want
}

// target is the reference that a commit moves.
type target struct {
	branch  string // with refs/heads/; "" for a detached HEAD
	want    gitdir.Expectation
	inPlace bool // checked out in the working tree, so its index is updated
	own     bool // the working tree is a linked worktree, created for this commit
}

// target determines the reference to move.
func (c *committing) target() (target, error) {
	o, git := c.o, c.repo.Git
	t := target{want: o.expectation()}
	onBranch, _, err := git.ReadHead()
	if o.Branch != "" {
		t.branch = gitdir.BranchPrefix + o.Branch
		if t.own = git.Linked() && onBranch == ""; t.own { // also if HEAD is corrupt
			return t, nil
		}
	}
	if err != nil {
		return t, err
	}
	if o.Branch == "" {
		t.branch = onBranch
	}
	t.inPlace = t.branch == onBranch
	if op := git.OperationInProgress(); op != "" && t.inPlace {
		return t, &gitdir.UnsupportedError{Reason: "a " + op + " in progress in " + git.Root}
	}
	return t, nil
}

// store writes all objects of the commit durably. It returns the changed paths
// for the index; mode zero means removed.
func (c *committing) store(ctx context.Context, objects *objectdb.Objects, w *store.Writer) (commit, tree plumbing.Hash, files []gitdir.IndexEntry, err error) {
	if files, err = c.storeFiles(ctx, w); err != nil {
		return commit, tree, nil, err
	}
	before := objectdb.EmptyTree
	if c.o.Parent != "" {
		if before, err = objects.RootTree(plumbing.NewHash(c.o.Parent)); err != nil {
			return commit, tree, nil, err
		}
	}
	paths := make([]store.Placed, len(files))
	for i, f := range files {
		paths[i] = store.Placed{Path: f.Path, State: store.State{Mode: f.Mode, Hash: f.Hash}}
	}
	if tree, err = store.BuildTree(objects, w, before, paths); err != nil {
		return commit, tree, nil, err
	}
	if tree == before {
		return commit, tree, nil, ErrNothingToCommit
	}
	if err := storeRoot(w, tree); err != nil {
		return commit, tree, nil, err
	}
	if commit, err = storeCommit(ctx, w, tree, c.o); err != nil {
		return commit, tree, nil, err
	}
	return commit, tree, files, w.Finish(ctx)
}

func (c *committing) storeFiles(ctx context.Context, w *store.Writer) ([]gitdir.IndexEntry, error) {
	var mu sync.Mutex
	files := make([]gitdir.IndexEntry, 0, len(c.cs.Changes))
	err := c.repo.EachContent(ctx, c.cs, func(path string, after store.State, file *content.File) error {
		f := gitdir.IndexEntry{Path: path, Mode: after.Mode, Hash: after.Hash}
		err := storeFile(w, file, &f)
		mu.Lock()
		defer mu.Unlock()
		files = append(files, f)
		return err
	})
	return files, err
}

// storeFile stores the content of a changed path, which is nil if it was deleted.
func storeFile(w *store.Writer, file *content.File, f *gitdir.IndexEntry) error {
	if file == nil {
		return nil
	}
	rd, err := file.Reader()
	if err != nil {
		return err
	}
	hash, err := w.Write(plumbing.BlobObject, file.Size, rd)
	if err == nil && hash != f.Hash {
		err = fmt.Errorf("%s: %w", f.Path, content.ErrReplaced)
	}
	f.Stat = file.Stat
	return err
}

// storeRoot stores the empty tree if the tree of a commit is that one: a root needs its object, even without entries.
func storeRoot(w *store.Writer, tree plumbing.Hash) error {
	if tree != objectdb.EmptyTree {
		return nil
	}
	_, err := w.WriteBytes(plumbing.TreeObject, nil)
	return err
}

func storeCommit(ctx context.Context, w *store.Writer, tree plumbing.Hash, o CommitOptions) (plumbing.Hash, error) {
	c := object.Commit{
		Author:    object.Signature(o.Author),
		Committer: object.Signature(o.Committer),
		Message:   o.Message,
		TreeHash:  tree,
	}
	if o.Parent != "" {
		c.ParentHashes = []plumbing.Hash{plumbing.NewHash(o.Parent)}
	}
	text, err := store.Encode(&c)
	if err == nil && o.Sign != nil {
		if c.PGPSignature, err = o.Sign(ctx, text); err == nil {
			text, err = store.Encode(&c)
		}
	}
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return w.WriteBytes(plumbing.CommitObject, text)
}

// subject returns the first paragraph of a message on one line.
func subject(message string) string {
	paragraph, _, _ := strings.Cut(strings.TrimLeft(message, "\n"), "\n\n")
	return textcut.OneLine(paragraph)
}
