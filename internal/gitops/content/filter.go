package content

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/proc"
)

// Filters decides about paths whose attributes name a filter.
type Filters struct {
	Apply   bool            // otherwise content is stored as it is
	Pushed  bool            // files of Git LFS are refused, because a push does not upload them
	Command *proc.Command   // has the directory, environment and sandbox of clean commands; nil: they fail
	Context context.Context //nolint:containedctx // of the commands, which run whatever happens to what reads a file
}

// Unfilterable returns why paths with a filter can't be committed; "" if they can. Like
// git, it allows a filter that is not configured: then their content is stored as it is.
func Unfilterable(git *gitdir.Dir, name string, pushed bool) string {
	f := git.Config.Filter(name)
	switch {
	case f.LFS() && pushed:
		return "a file of Git LFS must be uploaded, which publish.mode push does not do"
	case f.Foreign:
		return "the filter " + name + " is defined by the repository's own git configuration, which is not run: define it in the user's (git config --global)"
	case f.LFS() && f.Clean == "" && f.Process == "":
		return "the filter lfs is not in the user's git configuration (git lfs install)"
	case f.LFS():
		if _, _, err := git.LFSStorage(); err != nil {
			return err.Error()
		}
		return ""
	case f.Clean == "" && f.Process != "":
		return "the filter " + name + " has only filter." + name + ".process, which is not supported: set filter." + name + ".clean"
	case f.Clean == "" && f.Required:
		return "the filter " + name + " is required, and filter." + name + ".clean is not set"
	}
	return ""
}

// Unfilterable returns why paths with a filter can't be committed; "" if they can.
func (t *Tree) Unfilterable(name string) string {
	return Unfilterable(t.Git, name, t.filters.Pushed)
}

// cleaning returns the function that converts the content of a path as its filter does
// when it is stored; nil for none.
func (t *Tree) cleaning(path string, attributes gitdir.Attributes) func([]byte) ([]byte, error) {
	name := FilterOf(attributes)
	if name == "" || !t.filters.Apply || t.Unfilterable(name) != "" {
		return nil
	}
	f := t.Git.Config.Filter(name)
	switch {
	case f.LFS():
		return func(data []byte) ([]byte, error) {
			pointer, err := storeLFS(t.Git, data)
			if err != nil {
				err = &filterError{fmt.Errorf("store the file of Git LFS: %w", err)}
			}
			return pointer, err
		}
	case f.Clean == "":
		return nil
	}
	command := strings.NewReplacer("%%", "%", "%f", "'"+strings.ReplaceAll(path, "'", `'\''`)+"'").Replace(f.Clean)
	return func(data []byte) ([]byte, error) {
		out, err := t.filters.clean(command, data)
		if err != nil {
			err = &filterError{fmt.Errorf("the clean command of filter %s: %w", name, err)}
		}
		return out, err
	}
}

// filterError is the error of a filter that failed.
type filterError struct{ error }

func (e *filterError) Unwrap() error { return e.error }

// FilterOf returns the filter that attributes name; "" for none.
func FilterOf(a gitdir.Attributes) string {
	if name := a["filter"]; name != "false" && name != "true" {
		return name
	}
	return ""
}

// EncodingOf returns the encoding that attributes demand, which is not supported; "" for
// none.
func EncodingOf(a gitdir.Attributes) string {
	encoding := a["working-tree-encoding"]
	if encoding == "false" || encoding == "true" || strings.EqualFold(encoding, "utf-8") || strings.EqualFold(encoding, "utf8") {
		return ""
	}
	return encoding
}

// The pointers of Git LFS, which git stores instead of files.
const (
	pointerStart   = "version https://git-lfs.github.com/spec/v1\n"
	largestPointer = 1024
)

// storeLFS stores the content of a file where "git lfs push" finds it, and returns the pointer to it. It follows no symlinks out of
// the directory of Git LFS, which may be in a git directory of somebody else.
func storeLFS(git *gitdir.Dir, data []byte) (pointer []byte, err error) {
	if len(data) == 0 || len(data) < largestPointer && bytes.HasPrefix(data, []byte(pointerStart)) {
		return data, nil
	}
	sum := sha256.Sum256(data)
	oid := hex.EncodeToString(sum[:])
	pointer = fmt.Appendf(nil, "%soid sha256:%s\nsize %d\n", pointerStart, oid, len(data))
	storage, below, err := git.LFSStorage()
	if err != nil {
		return nil, err
	}
	if err := owner.MkdirAll(storage, 0o777); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(storage)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir := filepath.Join(below, "objects", oid[:2], oid[2:4])
	if info, err := root.Stat(filepath.Join(dir, oid)); err == nil && info.Size() == int64(len(data)) {
		return pointer, nil
	}
	if err := owner.MkdirAllIn(root, dir, 0o777); err != nil {
		return nil, err
	}
	temporary := filepath.Join(dir, "tmp_"+rand.Text())
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if above, err := root.Stat(dir); err == nil {
		owner.Like(f, above)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = root.Rename(temporary, filepath.Join(dir, oid))
	}
	if err != nil {
		return nil, errors.Join(err, root.Remove(temporary))
	}
	return pointer, nil
}
