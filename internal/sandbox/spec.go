package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/sandbox/child"
)

// Spec is what the commands of a job can access. Paths are absolute. Other paths do not
// exist at level [Full], and can't be opened at [Partial].
type Spec struct {
	Workspace string   // writable; when millhand is root, commands run as its owner
	Grants    []Grant  // other paths, see LeftOut; what is granted for reading can't be written, even inside of a writable directory
	Locked    []string // in a writable directory, without symlinks: read-only at Full if they exist when a command starts
	Hidden    []string // not accessible, even inside of a granted directory
	Stores    []Store  // at Full; not in a writable directory, and without symlinks in their paths
	Programs  []string // readable like the system's directories: except private files
	Private   *Private // shared by the sandboxes of a run; nil: New searches
	Home      string   // the private home, writable; HOME of every command
	TmpDir    string   // the private directory for temporary files; TMPDIR of every command, and /tmp if possible
	Network   Network
	Limits    Limits
	Grace     time.Duration // between SIGTERM and SIGKILL; 0 is DefaultGrace
	Program   string        // is executed as supervisor of commands; "" is this program
}

// Store is a directory that commands see with their own changes, which go to a private
// layer: the directory itself is only read.
type Store struct {
	Dir     string   // its path inside is the same
	Layers  string   // private directory, on a file system that supports upper layers of overlays; becomes the user's that commands run as
	Without []string // relative paths in Dir that commands don't see
}

// DefaultGrace is slightly shorter than that of package proc, so that the supervisor
// kills first and can clean up.
const DefaultGrace = 1750 * time.Millisecond

// Limits are limits on the resources of commands; 0 is unlimited.
type Limits struct {
	Pids        int   // processes and threads: of all commands together in a control group, otherwise of each (Full) or including those of the user (Partial); not of root at Partial, or before Linux 6.14
	MemoryBytes int64 // memory of all commands together, if control groups can be created
	DataBytes   int64 // private memory of each process
	FileBytes   int64 // size of each file written
}

// Network is the network access of commands: none, or a proxy.
type Network struct {
	// Serve serves a proxy on a listener until that is closed, and returns when all
	// its connections have ended; nil is no network. At level Full it is called for
	// each command.
	Serve func(net.Listener) error
	// Addr is the address of the same proxy on 127.0.0.1 of the machine. Level Partial
	// requires it.
	Addr netip.AddrPort
	// Loopback makes programs use the proxy for hosts of this machine, too, which are
	// outside of the sandbox. Then commands can't reach servers of their own.
	Loopback bool
}

// ProxyPort is the port of the proxy on loopback inside of a sandbox of level Full.
const ProxyPort = 3128

// bounds is Spec with paths resolved and checked.
type bounds struct {
	Spec
	user                   // of commands
	written, read []string // of Grants; those that are both are written
	symlinks      []child.Mount
	left          []LeftOut // in the order of writable paths, read-only ones and programs
}

// LeftOut is a path of a spec that is not granted, because the user of commands can't open it.
type LeftOut struct {
	Path    string
	Program bool
	Why     error
}

// resolve resolves the symlinks in the paths of a spec, as the user of its commands. Paths that
// this user can't open are left out, and so are missing ones that are read-only; the
// workspace, the private directories and other writable paths must exist.
func resolve(spec Spec) (*bounds, error) {
	b := &bounds{Spec: spec}
	var err error
	if b.user, err = userOf(spec.Workspace); err != nil {
		return nil, fmt.Errorf("get the owner of the workspace: %w", err)
	}
	if b.Hidden, err = b.real(spec.Hidden, optional); err != nil { // not as that user, who could find them in another way
		return nil, err
	}
	b.left = nil
	if failed := b.do(func() { err = b.locate(spec) }); failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	if b.Private == nil {
		b.Private = NewPrivate()
	}
	return b, b.give()
}

// locate resolves the paths of a spec that commands get, with the rights of the commands' user.
func (b *bounds) locate(spec Spec) error {
	for _, p := range []*string{&b.Workspace, &b.Home, &b.TmpDir} {
		paths, err := b.real([]string{*p}, required)
		if err != nil {
			return err
		}
		*p = paths[0]
	}
	_, err := os.Lstat(b.Workspace + "/.") // the other two become the user's
	if err != nil {
		return b.denied(b.Workspace, err)
	}
	var written, read []string
	for _, g := range spec.Grants {
		if g.write {
			written = append(written, g.path)
		} else {
			read = append(read, g.path)
		}
	}
	if b.written, err = b.real(written, existing); err != nil {
		return err
	}
	before := len(b.left)
	if b.read, err = b.real(read, optional); err != nil {
		return err
	}
	b.read = slices.DeleteFunc(b.read, func(p string) bool { return slices.Contains(b.written, p) })
	for _, l := range b.left[before:] {
		if b.protects(l.Path) { // commands could change the permissions of a directory of their own
			b.read = append(b.read, closed(l.Path))
		}
	}
	before = len(b.left)
	if b.Programs, err = b.real(spec.Programs, optional); err != nil {
		return err
	}
	for i := range b.left[before:] {
		b.left[before+i].Program = true
	}
	b.Hidden, b.Locked = eachClosed(b.Hidden), eachClosed(b.Locked)
	return nil
}

// need is what a path of a spec must be.
type need int

// The needs.
const (
	optional need = iota // it can be missing
	existing             // another user of commands may lack the rights to open it
	required
)

// real resolves paths, and records those that were symlinks, so that both names work.
func (b *bounds) real(paths []string, n need) ([]string, error) {
	var out []string
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			return nil, fmt.Errorf("grant %q to a sandbox: the path is not absolute", p)
		}
		resolved, err := filepath.EvalSymlinks(p)
		switch {
		case errors.Is(err, fs.ErrPermission) && (n == optional || n == existing && b.other()):
			b.left = append(b.left, LeftOut{Path: p, Why: b.denied(p, err)})
			continue
		case n == optional && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)):
			continue
		case err != nil:
			return nil, b.denied(p, err)
		}
		if p = filepath.Clean(p); p != resolved {
			b.symlinks = append(b.symlinks, child.Mount{Kind: child.Symlink, Path: p, Source: resolved})
		}
		if !slices.Contains(out, resolved) {
			out = append(out, resolved)
		}
	}
	return out, nil
}

// denied returns the error of a path that can't be granted.
func (b *bounds) denied(p string, err error) error {
	var at *fs.PathError
	if !b.other() || !errors.Is(err, fs.ErrPermission) || !errors.As(err, &at) {
		return fmt.Errorf("open %s for a sandbox: %w", p, err)
	}
	dir, fix := filepath.Dir(at.Path), ""
	switch p {
	case b.Workspace:
		fix = ", or run millhand as that user"
	case b.Home, b.TmpDir:
		fix = ", or set TMPDIR to another directory"
	}
	return fmt.Errorf("commands can't access %s: they run as user %d and group %d without other groups, as the owner of the workspace, and can't search %s (fix: chmod o+x %s%s): %w", p, b.uid, b.gid, dir, dir, fix, fs.ErrPermission)
}

// closed returns the directory that this user can't search, of those that a path is in; otherwise the
// path itself.
func closed(p string) string {
	for {
		if _, err := os.Lstat(p); !errors.Is(err, fs.ErrPermission) || p == "/" {
			return p
		}
		p = filepath.Dir(p)
	}
}

// eachClosed is closed for paths that must not be accessed or changed: a mount over one in a directory that
// this user can't search is impossible, and one over that directory protects them as well.
func eachClosed(paths []string) []string {
	var out []string
	for _, p := range paths {
		at := closed(p)
		if at == p || !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out
}

// give changes the owner of the private directories to the user of commands.
func (b *bounds) give() error {
	if os.Geteuid() != 0 {
		return nil
	}
	dirs := []string{b.Home, b.TmpDir}
	for _, s := range b.Stores {
		dirs = append(dirs, s.Layers)
	}
	for _, dir := range dirs {
		if err := os.Chown(dir, b.uid, b.gid); err != nil {
			return fmt.Errorf("change the owner of %s to that of the workspace: %w", dir, err)
		}
	}
	return nil
}

// writable returns all directories that commands may write to.
func (b *bounds) writable() []string {
	return append([]string{b.Workspace, b.Home, b.TmpDir}, b.written...)
}

// protects reports whether a read-only mount of a path protects it from writes: the path
// is in a writable directory, and not hidden. Such a mount is required even if the path
// was removed.
func (b *bounds) protects(p string) bool {
	in := func(dirs []string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return pathtree.Within(p, dir) })
	}
	return in(b.writable()) && !in(b.Hidden)
}

// stores returns the directories of the stores.
func (b *bounds) stores() []string {
	var dirs []string
	for _, s := range b.Stores {
		dirs = append(dirs, s.Dir)
	}
	return dirs
}

// ungranted returns the private paths of the system's directories that nothing in the spec
// exposes.
func (b *bounds) ungranted() []string {
	return b.Private.except([]string{b.Workspace, b.Home, b.TmpDir}, slices.Concat(b.written, b.read, b.stores()))
}
