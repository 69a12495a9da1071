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
)

// Signature is who made a commit and when.
type Signature struct {
	Name, Email string
	When        time.Time // its zone is kept
}

// String returns the signature as git writes it.
func (s Signature) String() string {
	return fmt.Sprintf("%s <%s> %d %s", s.Name, s.Email, s.When.Unix(), s.When.Format("-0700"))
}

// CommitOptions says what to commit to and how.
type CommitOptions struct {
	Parent    string // commit that the change is measured from; "" makes a root commit
	Branch    string // created or moved; "" for whatever HEAD points to, in place
	Message   string // complete
	Author    Signature
	Committer Signature

	// The branch, or a detached HEAD, must be at Parent for the commit to go ahead;
	// a named branch may also be missing. Replaces names another commit that it must be
	// at instead, such as one that the agent made; MustNotExist wants the named
	// branch to be missing; Force creates or moves the named branch wherever it was.
	Replaces     string
	MustNotExist bool
	Force        bool
}

// CommitResult is a commit that was made.
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
// branch, as far as the agent left it in a state to do so: a lock that a killed git left
// there, or a damaged index, does not keep the commit from being made.
//
// The error matches ErrBranchExists, ErrConflict (somebody else moved the
// reference, changed a file or holds a lock), ErrNothingToCommit, or is an
// *UnsupportedError.
func (r *Repo) Commit(ctx context.Context, cs *ChangeSet, o CommitOptions) (CommitResult, error) {
	result, err := r.commit(ctx, cs, o)
	if err != nil {
		return CommitResult{}, fmt.Errorf("commit in %s: %w", r.root, err)
	}
	return result, nil
}

func (r *Repo) commit(ctx context.Context, cs *ChangeSet, o CommitOptions) (CommitResult, error) {
	if err := r.checkCommit(cs, &o); err != nil {
		return CommitResult{}, err
	}
	t, err := r.aim(o)
	if err != nil {
		return CommitResult{}, err
	}
	commit, tree, files, err := r.store(ctx, cs, o)
	if err != nil {
		return CommitResult{}, err
	}
	m := movement{new: commit, by: o.Committer, subject: subject(o.Message)}
	if err := r.publish(ctx, t, m, files); err != nil {
		return CommitResult{}, err
	}
	return CommitResult{Hash: commit.String(), Tree: tree.String(), Branch: strings.TrimPrefix(t.branch, branchPrefix)}, nil
}

func (r *Repo) checkCommit(cs *ChangeSet, o *CommitOptions) error {
	if len(cs.Refused) > 0 {
		paths := make([]string, 0, len(cs.Refused))
		for _, f := range cs.Refused {
			paths = append(paths, f.Path)
		}
		return &UnsupportedError{Reason: "can't commit: " + cs.Refused[0].Reason, Paths: paths}
	}
	if len(cs.Changes) == 0 {
		return ErrNothingToCommit
	}
	for _, hash := range []string{o.Parent, o.Replaces} {
		if hash != "" && !plumbing.IsHash(hash) {
			return fmt.Errorf("%q is not the hash of a commit", hash)
		}
	}
	if o.Branch != "" {
		if err := ValidBranch(o.Branch); err != nil {
			return err
		}
	}
	o.Message = cleanMessage(o.Message)
	return errors.Join(o.Author.clean("author"), o.Committer.clean("committer"))
}

// cleanMessage gives a message what git demands: valid text without NUL, and a newline
// at its end.
func cleanMessage(message string) string {
	message = strings.ReplaceAll(strings.ToValidUTF8(message, "\uFFFD"), "\x00", "")
	return strings.TrimRight(message, "\n") + "\n"
}

// clean removes what can't stand in a signature.
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
		return fmt.Errorf("the %s has no name or no e-mail address", role)
	}
	return nil
}

// expectation returns what the reference must hold.
func (o CommitOptions) expectation() expectation {
	named := o.Branch != ""
	want := expectation{absent: o.Replaces == "" && (named || o.Parent == ""), taken: ErrConflict}
	switch {
	case named && o.Force:
		want.absent, want.anywhere = true, true
	case o.Replaces != "":
		want.hash = plumbing.NewHash(o.Replaces)
	case named && o.MustNotExist:
		want.taken = ErrBranchExists
	default:
		want.hash = plumbing.NewHash(o.Parent)
	}
	return want
}

// target is what a commit moves.
type target struct {
	branch  string // with refs/heads/; "" for a detached HEAD
	want    expectation
	inPlace bool // the work tree is on it, so its index is brought up to date
	own     bool // the work tree is a linked one, made for this commit
}

// aim finds out what to move.
func (r *Repo) aim(o CommitOptions) (target, error) {
	t := target{want: o.expectation()}
	onBranch, _, err := r.readHead()
	if o.Branch != "" {
		t.branch = branchPrefix + o.Branch
		if t.own = r.linked() && onBranch == ""; t.own { // also if HEAD is damaged
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
	if op := r.Unfinished(); op != "" && t.inPlace {
		return t, &UnsupportedError{Reason: "a " + op + " is under way in " + r.root}
	}
	return t, nil
}

// fileEntry is a changed path as the index will hold it; a mode of zero means:
// not at all.
type fileEntry struct {
	placed
	stat stat
}

// store writes all objects of a commit and makes them durable.
func (r *Repo) store(ctx context.Context, cs *ChangeSet, o CommitOptions) (commit, tree plumbing.Hash, files []fileEntry, err error) {
	w := r.objects.writer()
	if files, err = r.storeFiles(ctx, w, cs); err != nil {
		return commit, tree, nil, err
	}
	before := emptyTree
	if o.Parent != "" {
		if before, err = r.objects.rootTree(plumbing.NewHash(o.Parent)); err != nil {
			return commit, tree, nil, err
		}
	}
	paths := make([]placed, len(files))
	for i, f := range files {
		paths[i] = f.placed
	}
	if tree, err = (treeBuilder{r.objects, w}).build(before, paths); err != nil {
		return commit, tree, nil, err
	}
	if tree == before {
		return commit, tree, nil, ErrNothingToCommit
	}
	if tree == emptyTree { // a root needs its object, even without entries
		if _, err := w.writeBytes(plumbing.TreeObject, nil); err != nil {
			return commit, tree, nil, err
		}
	}
	if commit, err = storeCommit(w, tree, o); err != nil {
		return commit, tree, nil, err
	}
	return commit, tree, files, w.finish(ctx)
}

func (r *Repo) storeFiles(ctx context.Context, w *objectWriter, cs *ChangeSet) ([]fileEntry, error) {
	tree, err := r.openWorkTree(cs.private)
	if err != nil {
		return nil, err
	}
	defer tree.close()
	var mu sync.Mutex
	files := make([]fileEntry, 0, len(cs.Changes))
	err = inParallel(ctx, cs.Changes, func(c Change) error {
		f, err := cs.storeFile(tree, w, c.Path)
		mu.Lock()
		defer mu.Unlock()
		files = append(files, f)
		return err
	})
	return files, err
}

func (cs *ChangeSet) storeFile(tree *workTree, w *objectWriter, path string) (fileEntry, error) {
	e, ok := cs.edits[path]
	if !ok {
		return fileEntry{}, fmt.Errorf("%s is not one of the changes that were measured", path)
	}
	f := fileEntry{placed: placed{path: path, state: e.after}}
	if e.after.mode == 0 {
		return f, nil
	}
	c, err := tree.measured(path, e)
	if err != nil {
		return f, err
	}
	defer c.close()
	rd, err := c.reader()
	if err != nil {
		return f, err
	}
	hash, err := w.write(plumbing.BlobObject, c.size, rd)
	if err == nil && hash != e.after.hash {
		err = fmt.Errorf("%s: %w", path, errReplaced)
	}
	f.stat = c.stat
	return f, err
}

func storeCommit(w *objectWriter, tree plumbing.Hash, o CommitOptions) (plumbing.Hash, error) {
	c := object.Commit{
		Author:    object.Signature(o.Author),
		Committer: object.Signature(o.Committer),
		Message:   o.Message,
		TreeHash:  tree,
	}
	if o.Parent != "" {
		c.ParentHashes = []plumbing.Hash{plumbing.NewHash(o.Parent)}
	}
	encoded := &plumbing.MemoryObject{}
	if err := c.Encode(encoded); err != nil {
		return plumbing.ZeroHash, err
	}
	rd, err := encoded.Reader()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer rd.Close()
	return w.write(plumbing.CommitObject, encoded.Size(), rd)
}
