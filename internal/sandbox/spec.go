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

// Spec says what the commands of a job may do. Paths are absolute. What isn't
// granted, isn't there at level [Full], and can't be opened at [Partial].
type Spec struct {
	Workspace string   // writable; when millhand is root, commands run as its owner
	Writable  []string // more that is writable, caches for example
	ReadOnly  []string // readable, and not writable even inside of what is writable
	Hidden    []string // neither, even inside of what is granted
	Home      string   // the private home, writable; HOME of every command
	TmpDir    string   // the private directory for temporary files; TMPDIR of every command, and /tmp where that can be
	Network   Network
	Limits    Limits
	Grace     time.Duration // between SIGTERM and SIGKILL; 0 is DefaultGrace
}

// DefaultGrace is a little less than package proc allows a group, so that the
// supervisor inside is first and can clear up.
const DefaultGrace = 1750 * time.Millisecond

// Limits bounds what commands use; 0 is no limit.
type Limits struct {
	Pids        int   // processes and threads: of all commands together in a control group, else of each (Full) or in addition to those of the user (Partial); not of root at Partial, or before Linux 6.14
	MemoryBytes int64 // memory of all commands together, where control groups can be made
	DataBytes   int64 // private memory of each process
	FileBytes   int64 // size of each file written
}

// Network is whom commands reach besides themselves: nobody, or a proxy.
type Network struct {
	// Serve serves a proxy on a listener until that is closed, and returns when
	// everything it started has ended; nil is no network. At level Full it is
	// called for each command.
	Serve func(net.Listener) error
	// Addr is where the same proxy listens on 127.0.0.1 of the machine: level
	// Partial has no other way to it, and needs it.
	Addr netip.AddrPort
}

// ProxyPort is where the proxy is found from inside, on loopback, at level Full.
const ProxyPort = 3128

// bounds is Spec with paths resolved and checked.
type bounds struct {
	Spec
	uid, gid int // whom commands run as
	links    []child.Mount
}

// resolve follows the links in the paths of a spec and finds out whom its
// commands run as. What is readable only may be missing, or closed to this user;
// the rest must exist.
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
	if b.Writable, err = b.real(spec.Writable, true); err != nil {
		return nil, err
	}
	if b.ReadOnly, err = b.real(spec.ReadOnly, false); err != nil {
		return nil, err
	}
	if b.Hidden, err = b.real(spec.Hidden, false); err != nil {
		return nil, err
	}
	return b, b.become()
}

// real resolves paths, and remembers those that were links, so that they can be
// found under both names.
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
			b.links = append(b.links, child.Mount{Kind: child.Link, Path: p, Source: resolved})
		}
		if !slices.Contains(out, resolved) {
			out = append(out, resolved)
		}
	}
	return out, nil
}

// unusable reports whether a path can't be used by this user for what it is, and
// so not by commands: a directory of somebody else's on PATH, for example.
func unusable(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR)
}

// become makes root's commands run as the owner of the workspace, so that they
// can write to it without root's capabilities; the private directories are given to
// that user.
func (b *bounds) become() error {
	if b.uid != 0 {
		return nil
	}
	var err error
	if b.uid, b.gid, err = owner(b.Workspace); err != nil {
		return fmt.Errorf("find the owner of the workspace: %w", err)
	}
	if b.uid == 0 {
		b.gid = 0
	}
	for _, dir := range []string{b.Home, b.TmpDir} {
		if err := os.Chown(dir, b.uid, b.gid); err != nil {
			return fmt.Errorf("give %s to the owner of the workspace: %w", dir, err)
		}
	}
	return nil
}

// writable returns every directory that commands may write to.
func (b *bounds) writable() []string {
	return append([]string{b.Workspace, b.Home, b.TmpDir}, b.Writable...)
}

// within reports whether a path is a directory or something in it. Both are clean.
func within(path, dir string) bool {
	return path == dir || dir == "/" || len(path) > len(dir) && path[len(dir)] == '/' && path[:len(dir)] == dir
}
