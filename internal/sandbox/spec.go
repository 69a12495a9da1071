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

	"github.com/millhand/millhand/internal/sandbox/child"
)

// Spec is what the commands of a job can access. Paths are absolute. Other paths do not
// exist at level [Full], and can't be opened at [Partial].
type Spec struct {
	Workspace string   // writable; when millhand is root, commands run as its owner
	Grants    []Grant  // other paths; what is granted for reading can't be written, even inside of a writable directory
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
	written, read []string // of Grants; those that are both are written
	uid, gid      int      // of commands
	symlinks      []child.Mount
}

// resolve resolves the symlinks in the paths of a spec, and the user of its commands.
// Read-only paths may be missing or inaccessible; other paths must exist.
func resolve(spec Spec) (*bounds, error) {
	b := &bounds{Spec: spec, uid: os.Geteuid(), gid: os.Getegid()}
	for _, p := range []*string{&b.Workspace, &b.Home, &b.TmpDir} {
		paths, err := b.real([]string{*p}, true)
		if err != nil {
			return nil, err
		}
		*p = paths[0]
	}
	var err error
	var written, read []string
	for _, g := range spec.Grants {
		if g.write {
			written = append(written, g.path)
		} else {
			read = append(read, g.path)
		}
	}
	if b.written, err = b.real(written, true); err != nil {
		return nil, err
	}
	if b.read, err = b.real(read, false); err != nil {
		return nil, err
	}
	b.read = slices.DeleteFunc(b.read, func(p string) bool { return slices.Contains(b.written, p) })
	if b.Hidden, err = b.real(spec.Hidden, false); err != nil {
		return nil, err
	}
	if b.Programs, err = b.real(spec.Programs, false); err != nil {
		return nil, err
	}
	if b.Private == nil {
		b.Private = NewPrivate()
	}
	return b, b.become()
}

// real resolves paths, and records those that were symlinks, so that both names work.
func (b *bounds) real(paths []string, required bool) ([]string, error) {
	var out []string
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			return nil, fmt.Errorf("grant %q to a sandbox: the path is not absolute", p)
		}
		resolved, err := filepath.EvalSymlinks(p)
		if !required && unusable(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("grant %s to a sandbox: %w", p, err)
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

// unusable reports whether this user, and so a command, can't access a path: for example
// a directory of another user on PATH.
func unusable(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR)
}

// become makes root's commands run as the owner of the workspace, so that they can write
// to it without root's capabilities. It changes the owner of the private directories to
// that user.
func (b *bounds) become() error {
	if b.uid != 0 {
		return nil
	}
	var err error
	if b.uid, b.gid, err = owner(b.Workspace); err != nil {
		return fmt.Errorf("get the owner of the workspace: %w", err)
	}
	if b.uid == 0 {
		b.gid = 0
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
