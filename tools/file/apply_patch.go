package file

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tools/access"
	"github.com/millhand/millhand/tools/patch"
	"github.com/millhand/millhand/tools/tool"
)

//go:embed apply_patch.md
var applyPatchDescription string

type applyPatchInput struct {
	PatchText string `json:"patchText" jsonschema:"complete patch text"`
}

// ApplyPatch returns the tool apply_patch.
func ApplyPatch() tool.Tool[Env] {
	return tool.Define(tool.Spec{Name: "apply_patch", Description: applyPatchDescription, Writes: true, Deadline: 2 * time.Minute}, prepareApplyPatch)
}

// patching is a patch with its resolved paths.
type patching struct {
	env   Env
	patch patch.Patch
	paths map[string]workspace.Path // by the path as written in the patch
	codes map[string]encoding       // of the files that were read, by the same
}

func prepareApplyPatch(env Env, in applyPatchInput) (tool.Pending, error) {
	p, err := patch.Parse(in.PatchText)
	if err != nil {
		return tool.Pending{}, fmt.Errorf("invalid patch: %w", err)
	}
	job := patching{env: env, patch: p, paths: map[string]workspace.Path{}, codes: map[string]encoding{}}
	var needs []permission.Request
	for _, name := range p.Paths() {
		target, more, err := env.Need("edit", name, access.ToWrite)
		if err == nil {
			err = fileName(name, target)
		}
		if err != nil {
			return tool.Pending{}, err
		}
		job.paths[name] = target
		needs = append(needs, more...)
	}
	return tool.Pending{Title: strings.Join(p.Paths(), ", "), Needs: needs, Do: func(ctx context.Context) (tool.Result, error) {
		return env.change(ctx, slices.Collect(maps.Values(job.paths)), job.run)
	}}, nil
}

// run computes all changes, then writes them.
func (j patching) run() (tool.Result, error) {
	err := j.check()
	var writes []patch.Write
	if err == nil {
		writes, err = patch.Apply(j.patch, j.read)
	}
	if err == nil {
		err = j.perform(writes)
	}
	if err != nil {
		return tool.Result{}, fmt.Errorf("patch not applied: %w", err)
	}
	return j.result(writes), nil
}

// check rejects ambiguous patches: two paths of the same file, and a symlink to
// delete or move.
func (j patching) check() error {
	names := map[string]string{}
	for _, name := range j.patch.Paths() {
		abs := j.paths[name].Abs
		if other, ok := names[abs]; ok && path.Clean(other) != path.Clean(name) {
			return fmt.Errorf("%s and %s are the same file; use one path for it", other, name)
		}
		names[abs] = name
	}
	for _, f := range j.patch.Files {
		if (f.Op == patch.Delete || f.MoveTo != "") && j.isSymlink(f.Path) {
			return fmt.Errorf("%s is a symlink, which a patch can't delete or move", f.Path)
		}
	}
	return nil
}

// isSymlink reports whether the last element of a path is a symlink.
func (j patching) isSymlink(name string) bool {
	spelled, err := j.env.Spelled(name)
	if err != nil {
		return false
	}
	dir, base := path.Split(path.Clean(spelled))
	above, err := j.env.Workspace.Resolve(dir)
	return err == nil && path.Join(above.Abs, base) != j.paths[name].Abs
}

// read returns the content of a file of the patch.
func (j patching) read(name string) ([]byte, bool, error) {
	p := j.paths[name]
	st, err := j.env.Workspace.Stat(p)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return nil, false, errors.New("not a directory: a parent of the path is a file")
	case access.IsMissing(err):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("read %s: %w", p, err)
	case st.IsDir():
		return nil, false, fmt.Errorf("%s is a directory; specify a file in it", p)
	case j.env.Workspace.Changed(p):
		return nil, false, changedOnDisk(p)
	}
	data, err := j.env.Workspace.ReadFile(p, maxEdit)
	if err != nil {
		return nil, false, err
	}
	text, enc := decodeText(data)
	j.codes[name] = enc
	return []byte(text), true, enc.patchable(j.patch.Files, name, p, text)
}

// perform writes all changes, or restores what it has written.
func (j patching) perform(writes []patch.Write) error {
	var undo []func() error
	modes := map[string]fs.FileMode{} // before any write, because files may swap paths
	for _, w := range writes {
		modes[w.Path] = j.mode(w.Path)
		if w.From != "" {
			modes[w.From] = j.mode(w.From)
		}
	}
	for _, w := range writes {
		back, err := j.write(w, modes)
		if err == nil {
			undo = append(undo, back)
			continue
		}
		for _, step := range slices.Backward(undo) {
			if failed := step(); failed != nil {
				return fmt.Errorf("%w; rollback failed: %w", err, failed)
			}
		}
		return err
	}
	return nil
}

// write performs one write and returns a function that undoes it. modes are the
// files' original modes.
func (j patching) write(w patch.Write, modes map[string]fs.FileMode) (undo func() error, err error) {
	space, p := j.env.Workspace, j.paths[w.Path]
	restore := func() error {
		if err := space.WriteFile(p, j.codes[w.Path].encode(string(w.Before))); err != nil {
			return err
		}
		return chmod(space, p, modes[w.Path])
	}
	if w.Delete {
		return restore, remove(space, p)
	}
	made := missingDirs(space, p)
	undo = func() error {
		err := remove(space, p)
		removeDirs(space, made)
		return err
	}
	if w.Existed {
		undo = restore
	}
	if err := space.WriteFile(p, j.codes[cmp.Or(w.From, w.Path)].encode(string(w.Content))); err != nil {
		removeDirs(space, made)
		return nil, err
	}
	if w.From != "" {
		err = chmod(space, p, modes[w.From])
	}
	if err != nil {
		err = errors.Join(err, undo())
	}
	return undo, err
}

// mode returns a file's mode, 0 if it does not exist.
func (j patching) mode(name string) fs.FileMode {
	p, ok := j.paths[name]
	if !ok {
		return 0
	}
	st, err := j.env.Workspace.Stat(p)
	if err != nil {
		return 0
	}
	return st.Mode().Perm()
}

// result describes the changes.
func (j patching) result(writes []patch.Write) tool.Result {
	var meta tool.Metadata
	for _, w := range writes {
		if w.Delete && w.To != "" {
			continue // counted with its target
		}
		meta.CountLines(string(j.before(w, writes)), string(w.Content))
		if w.Lost {
			meta.CountLines(string(w.Before), "")
		}
	}
	list := patch.Summary(writes)
	for _, w := range writes {
		for _, note := range w.Notes {
			list = append(list, w.Path+": "+note)
		}
	}
	return tool.Result{Output: "Success. Updated the following files:\n" + strings.Join(list, "\n"), Metadata: meta}
}

// before returns the old content of a file; for a moved file, that of its source.
func (j patching) before(w patch.Write, writes []patch.Write) []byte {
	for _, source := range writes {
		if w.From != "" && source.Path == w.From {
			return source.Before
		}
	}
	return w.Before
}

// remove deletes a file.
func remove(space *workspace.Workspace, p workspace.Path) error {
	err := beneath(space, p, (*os.Root).Remove)
	if err != nil {
		return fmt.Errorf("delete %s: %w", p, reason(err))
	}
	return nil
}

// chmod sets a file's mode, unless it is 0.
func chmod(space *workspace.Workspace, p workspace.Path, mode fs.FileMode) error {
	if mode == 0 {
		return nil
	}
	err := beneath(space, p, func(root *os.Root, name string) error { return root.Chmod(name, mode) })
	if err != nil {
		return fmt.Errorf("set the mode of %s: %w", p, reason(err))
	}
	return nil
}

// beneath calls do for an existing file, relative to an open root.
func beneath(space *workspace.Workspace, p workspace.Path, do func(*os.Root, string) error) error {
	if !p.Outside {
		return do(space.Root(), p.Rel)
	}
	root, name, err := space.OpenOutside(p)
	if err != nil {
		return err
	}
	defer root.Close()
	return do(root, name)
}

// reason returns an error without the operation and path that package os adds.
func reason(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// missingDirs lists the missing parent directories of a path, the innermost
// first.
func missingDirs(space *workspace.Workspace, p workspace.Path) []string {
	var missing []string
	for dir := path.Dir(p.Rel); !p.Outside && dir != "."; dir = path.Dir(dir) {
		if _, err := space.Root().Lstat(dir); !access.IsMissing(err) {
			break
		}
		missing = append(missing, dir)
	}
	return missing
}

// removeDirs removes directories that are empty.
func removeDirs(space *workspace.Workspace, dirs []string) {
	for _, dir := range dirs {
		space.Root().Remove(dir) //nolint:errcheck // one that is not empty stays
	}
}
