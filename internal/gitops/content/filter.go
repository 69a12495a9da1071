package content

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// Filters decides about paths whose attributes name a filter.
type Filters struct {
	// Clean runs a filter's clean command on the content of a path and returns its
	// output. nil runs none: content is stored as it is.
	Clean func(command, path string, content []byte) ([]byte, error)
	// Pushed refuses files of Git LFS, because a push does not upload them.
	Pushed bool
}

// Unfilterable returns why paths with a filter can't be committed; "" if they can. Like
// git, it allows a filter that is not configured: then their content is stored as it is.
func Unfilterable(git *gitdir.Dir, name string, pushed bool) string {
	f := git.Filter(name)
	switch {
	case f.LFS() && pushed:
		return "a file of Git LFS must be uploaded, which publish.mode push does not do"
	case f.Foreign:
		return "the filter " + name + " is defined by the repository's own git configuration, which is not run: define it in the user's (git config --global)"
	case f.LFS() && f.Clean == "" && f.Process == "":
		return "the filter lfs is not in the user's git configuration (git lfs install)"
	case f.LFS():
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
	name, run := FilterOf(attributes), t.filters.Clean
	if name == "" || run == nil || t.Unfilterable(name) != "" {
		return nil
	}
	f := t.Git.Filter(name)
	switch {
	case f.LFS():
		return func(data []byte) ([]byte, error) { return storeLFS(t.Git.LFSObjects(), data) }
	case f.Clean == "":
		return nil
	}
	command := strings.NewReplacer("%%", "%", "%f", "'"+strings.ReplaceAll(path, "'", `'\''`)+"'").Replace(f.Clean)
	return func(data []byte) ([]byte, error) {
		out, err := run(command, path, data)
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

// storeLFS stores the content of a file in a directory of Git LFS, where "git lfs push"
// finds it, and returns the pointer to it.
func storeLFS(dir string, data []byte) (pointer []byte, err error) {
	if len(data) == 0 || len(data) < largestPointer && bytes.HasPrefix(data, []byte(pointerStart)) {
		return data, nil
	}
	sum := sha256.Sum256(data)
	oid := hex.EncodeToString(sum[:])
	pointer = fmt.Appendf(nil, "%soid sha256:%s\nsize %d\n", pointerStart, oid, len(data))
	dir = filepath.Join(dir, oid[:2], oid[2:4])
	if info, err := os.Stat(filepath.Join(dir, oid)); err == nil && info.Size() == int64(len(data)) {
		return pointer, nil
	}
	if err := owner.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "tmp_")
	if err != nil {
		return nil, err
	}
	owner.Inherit(f)
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, oid))
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()))
	}
	return pointer, nil
}
