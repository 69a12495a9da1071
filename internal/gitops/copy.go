package gitops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops/content"
	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// CopyDirectory makes a private repository from a directory. Files go with their modes and links
// as links, but not .git and .millhand. Branch main gets one commit, with fixed
// author and date, so that the same content has the same hash on every machine;
// only the directory's own ignore and attribute files count for it. Ignored files are
// copied and not committed. Without any file to commit the branch stays unborn.
//
// The destination must be missing or empty, and the source is left alone.
func CopyDirectory(ctx context.Context, src, dst string, env gitdir.Env) (*Repo, error) {
	r, err := copyDirectory(ctx, src, dst, env)
	if err != nil {
		return nil, fmt.Errorf("copy directory %s: %w", src, err)
	}
	return r, nil
}

func copyDirectory(ctx context.Context, src, dst string, env gitdir.Env) (*Repo, error) {
	dst, err := emptyDirectory(dst)
	if err != nil {
		return nil, err
	}
	if err := copyFiles(ctx, src, dst); err != nil {
		return nil, err
	}
	if err := initialise(dst); err != nil {
		return nil, err
	}
	r, err := Open(dst, env)
	if err != nil {
		return nil, err
	}
	return r, r.commitAll(ctx)
}

// copyFiles copies the content of a directory. The destination may be inside
// it.
func copyFiles(ctx context.Context, src, dst string) error {
	from, err := os.OpenRoot(src)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenRoot(dst)
	if err != nil {
		return err
	}
	defer to.Close()
	own, err := to.Stat(".")
	if err != nil {
		return err
	}
	return fs.WalkDir(from.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil || name == "." {
			return err
		}
		if base := path.Base(name); base == content.ReportDirectory || content.Reserved(base) {
			return skip(d)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if os.SameFile(info, own) {
			return fs.SkipDir
		}
		return copyOne(from, to, name, info)
	})
}

func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// copyOne copies a directory without its content, a symlink or a file. Pipes,
// sockets and devices are skipped.
func copyOne(from, to *os.Root, name string, info fs.FileInfo) error {
	switch info.Mode().Type() {
	case fs.ModeDir:
		return to.Mkdir(name, info.Mode().Perm()|0o700)
	case fs.ModeSymlink:
		target, err := from.Readlink(name)
		if err != nil {
			return err
		}
		return to.Symlink(target, name)
	case 0:
		return copyFile(from, to, name, info.Mode().Perm())
	default:
		return nil
	}
}

func copyFile(from, to *os.Root, name string, mode fs.FileMode) (err error) {
	in, err := from.OpenFile(name, sharedfile.OpenFlags, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode|0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}

// privateConfig is the configuration of a private repository. It disables the
// user's line ending settings, so that files are stored unchanged.
const privateConfig = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = false
	logallrefupdates = true
	autocrlf = false
	attributesfile =
`

// initialise creates an empty repository with an unborn branch main.
func initialise(dir string) error {
	git := filepath.Join(dir, ".git")
	for _, d := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(git, filepath.FromSlash(d)), 0o777); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(git, "config"), []byte(privateConfig), 0o666); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/main\n"), 0o666)
}

// commitAll creates the only commit of a private repository.
func (r *Repo) commitAll(ctx context.Context) error {
	cs, err := r.AllFiles(ctx)
	if err != nil {
		return err
	}
	nobody := Signature{Name: "millhand", Email: "millhand@localhost", When: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}
	_, err = r.Commit(ctx, cs, CommitOptions{Message: "directory as it was", Author: nobody, Committer: nobody})
	if errors.Is(err, ErrNothingToCommit) {
		return nil
	}
	return err
}
