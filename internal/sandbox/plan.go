//go:build linux

package sandbox

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/sandbox/child"
)

// tmpBytes is the size of an in-memory directory for temporary files.
const tmpBytes = 1 << 30

// makePlan returns a function that translates bounds into the plan of a child at a level. What
// it depends on in the granted directories is examined at once: later, files there can be changed.
// grouped means that a control group limits its processes.
func makePlan(b *bounds, level Level, landlock int, grouped bool) func() *child.Plan {
	plan := &child.Plan{
		UID: -1, GID: -1, Landlock: landlock, Grace: cmp.Or(b.Grace, DefaultGrace), Sockets: child.OwnSocket,
		Limits: child.Limits{
			Pids: b.Limits.Pids, Keeper: keeper(level, grouped), PIDMax: b.uid == 0 && level == Full && !grouped && ownPIDMax(kernel()),
			DataBytes: b.Limits.DataBytes, FileBytes: b.Limits.FileBytes,
		},
	}
	if level == Full {
		plan.Namespaces = true
		if landlock >= child.ResolvesUnix {
			plan.Sockets = child.AnySocket
		}
		if os.Geteuid() != 0 {
			plan.UID, plan.GID = b.uid, b.gid
		}
		if b.Network.Serve != nil {
			plan.ListenPort = ProxyPort
		}
		var hidden []child.Mount
		for _, p := range b.Hidden {
			hidden = append(hidden, hiding(p)...)
		}
		return func() *child.Plan {
			plan.Mounts = mounts(b, hidden)
			plan.Rules = fullRules(b, plan.Mounts)
			return plan
		}
	}
	plan.Sockets = child.UnixPairs
	if b.Network.Serve != nil {
		plan.Sockets, plan.ConnectPort = child.ProxyOnly, b.Network.Addr.Port()
	}
	plan.Rules = partialRules(b)
	return func() *child.Plan { return plan }
}

// keeper returns what enforces the limit on processes.
func keeper(level Level, grouped bool) child.Keeper {
	switch {
	case grouped:
		return child.Group
	case level == Full:
		return child.Namespace
	}
	return child.User
}

// ownPIDMax reports whether each PID namespace has its own kernel.pid_max in a release of
// Linux: since 6.14. Before, it is the machine's.
func ownPIDMax(release string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > 6 || major == 6 && minor >= 14
}

// mounts returns the mounts of the granted paths, parents before children. If a path is
// added twice, the later mount wins; those of hidden paths are the last ones.
func mounts(b *bounds, hidden []child.Mount) []child.Mount {
	at := map[string]child.Mount{}
	put := func(ms ...child.Mount) {
		for _, m := range ms {
			at[m.Path] = m
		}
	}
	for _, dir := range systemDirs() {
		put(systemMount(dir)...)
	}
	for _, p := range b.ungranted() {
		for _, m := range hiding(p) {
			m.Optional = true // it may be removed while the run lasts
			put(m)
		}
	}
	for _, p := range b.Programs {
		put(child.Mount{Kind: child.Bind, Path: p, Source: p, Optional: true})
	}
	put(deviceMounts()...)
	put(tmpMounts(b)...)
	for _, p := range b.writable() {
		put(child.Mount{Kind: child.Bind, Path: p, Source: p, Write: true})
	}
	for _, p := range b.read {
		put(child.Mount{Kind: child.Bind, Path: p, Source: p, Optional: !b.protects(p)})
	}
	for _, s := range b.Stores {
		put(child.Mount{Kind: child.Overlay, Path: s.Dir, Source: s.Dir, Write: true, Layers: s.Layers, Without: s.Without})
	}
	for _, p := range b.Locked {
		put(child.Mount{Kind: child.Lock, Path: p, Source: p})
	}
	put(hidden...)
	list := slices.SortedFunc(maps.Values(at), func(x, y child.Mount) int { return cmp.Compare(x.Path, y.Path) })
	list = useful(list)
	for _, symlink := range b.symlinks {
		if i := nearest(list, symlink.Path); i < 0 || list[i].Kind == child.Tmpfs && list[i].Write {
			list = append(list, symlink)
		}
	}
	return list
}

// nearest returns the index of the mount that contains a path; -1 if none does.
func nearest(mounts []child.Mount, path string) int {
	found := -1
	for i, m := range mounts {
		if pathtree.Within(path, m.Path) && (found < 0 || len(m.Path) > len(mounts[found].Path)) {
			found = i
		}
	}
	return found
}

// useful removes mounts that the mount of a parent directory already provides in the
// same way.
func useful(sorted []child.Mount) []child.Mount {
	var out []child.Mount
	for _, m := range sorted {
		if i := nearest(out, m.Path); m.Kind == child.Bind && i >= 0 {
			if p := out[i]; p.Kind == child.Bind && p.Path == p.Source && m.Path == m.Source && p.Write == m.Write {
				continue
			}
		}
		out = append(out, m)
	}
	return out
}

// systemMount returns the mount of a system directory, or the symlink that it is.
func systemMount(dir string) []child.Mount {
	info, err := os.Lstat(dir)
	if err != nil {
		return nil
	}
	if info.Mode()&os.ModeSymlink == 0 {
		return []child.Mount{{Kind: child.Bind, Path: dir, Source: dir}}
	}
	text, err := os.Readlink(dir)
	if err != nil {
		return nil
	}
	return []child.Mount{{Kind: child.Symlink, Path: dir, Source: text}}
}

// deviceMounts returns the mounts of /dev and /proc.
func deviceMounts() []child.Mount {
	ms := []child.Mount{
		{Kind: child.Proc, Path: "/proc"},
		{Kind: child.Tmpfs, Path: "/dev", Bytes: 1 << 16},
		{Kind: child.Tmpfs, Path: "/dev/shm", Write: true, Bytes: tmpBytes},
		{Kind: child.Pts, Path: "/dev/pts"},
		{Kind: child.Symlink, Path: "/dev/ptmx", Source: "pts/ptmx"},
		{Kind: child.Symlink, Path: "/dev/fd", Source: "/proc/self/fd"},
		{Kind: child.Symlink, Path: "/dev/stdin", Source: "/proc/self/fd/0"},
		{Kind: child.Symlink, Path: "/dev/stdout", Source: "/proc/self/fd/1"},
		{Kind: child.Symlink, Path: "/dev/stderr", Source: "/proc/self/fd/2"},
	}
	for _, dev := range devices() {
		if _, err := os.Stat(dev); err == nil {
			ms = append(ms, child.Mount{Kind: child.Device, Path: dev, Source: dev})
		}
	}
	return ms
}

// tmpMounts also mounts the private directory for temporary files at /tmp, for programs
// that ignore TMPDIR. If a granted path is below /tmp, an empty in-memory directory is
// mounted instead, so that no mount points are created in the private directory.
func tmpMounts(b *bounds) []child.Mount {
	var ms []child.Mount
	for _, tmp := range ReplacedDirs() {
		m := child.Mount{Kind: child.Bind, Path: tmp, Source: b.TmpDir, Write: true}
		if slices.ContainsFunc(slices.Concat(b.writable(), b.stores(), b.read, b.Programs, b.Hidden), func(p string) bool { return pathtree.Within(p, tmp) }) {
			m = child.Mount{Kind: child.Tmpfs, Path: tmp, Write: true, Bytes: tmpBytes}
		}
		ms = append(ms, m)
	}
	return ms
}

// hiding returns a mount that covers a directory with an empty one, or a file with one
// that can't be opened.
func hiding(p string) []child.Mount {
	info, err := os.Lstat(p)
	switch {
	case err != nil:
		return nil
	case info.IsDir():
		return []child.Mount{{Kind: child.Tmpfs, Path: p, Bytes: 1 << 16}}
	default:
		return []child.Mount{{Kind: child.Bind, Path: p, Source: "/dev/null"}}
	}
}

// fullRules returns the same restrictions as the mounts for Landlock. Directories with
// private files are not granted, but each of their other entries is: a private
// file that is replaced or created while a command runs is not granted.
func fullRules(b *bounds, mounts []child.Mount) []child.Rule {
	rules := []child.Rule{{Path: "/", Access: child.List}}
	private := b.ungranted()
	for _, m := range mounts {
		switch {
		case m.Kind == child.Device, m.Kind == child.Pts:
			rules = append(rules, child.Rule{Path: m.Path, Access: child.Node})
		case m.Kind == child.Bind && m.Path == m.Source:
			access := child.Read
			if m.Write {
				access = child.Full
			}
			for _, p := range without(m.Path, private) {
				rules = append(rules, child.Rule{Path: p.path, Access: access, Entry: p.path != m.Path, File: p.file})
			}
		case m.Write:
			rules = append(rules, child.Rule{Path: m.Path, Access: child.Full})
		case m.Kind == child.Proc:
			rules = append(rules, child.Rule{Path: m.Path, Access: child.Read})
		}
	}
	return rules
}

// partialRules returns the granted paths for Landlock, which at level Partial is the only
// restriction.
func partialRules(b *bounds) []child.Rule {
	var rules []child.Rule
	add := func(rule child.Rule, paths ...string) {
		for _, p := range paths {
			if resolved, err := filepath.EvalSymlinks(p); err == nil {
				rule.Path = resolved
				rules = append(rules, rule)
			}
		}
	}
	private := b.ungranted()
	grant := func(access child.Access, dirs, hidden []string) {
		for _, dir := range dirs {
			for _, p := range without(dir, hidden) {
				add(child.Rule{Access: access, Entry: p.path != dir, File: p.file}, p.path)
			}
		}
	}
	grant(child.Read, slices.Concat(systemDirs(), []string{"/proc"}, b.Programs, b.read), slices.Concat(b.Hidden, private))
	grant(child.Full, b.writable(), private)
	add(child.Rule{Access: child.Node}, devices()...) // no terminals: they include the user's
	return rules
}
