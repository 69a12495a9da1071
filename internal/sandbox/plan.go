//go:build linux

package sandbox

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/internal/sandbox/child"
)

// tmpBytes is how much fits into a directory for temporary files in memory.
const tmpBytes = 1 << 30

// makePlan translates bounds into what a child does at a level. grouped says that
// a control group bounds its processes.
func makePlan(b *bounds, level Level, landlock int, grouped bool) *child.Plan {
	plan := &child.Plan{
		UID: -1, GID: -1, Landlock: landlock, Grace: cmp.Or(b.Grace, DefaultGrace), Sockets: child.AnySocket,
		Limits: child.Limits{
			Pids: b.Limits.Pids, Keeper: keeper(level, grouped), PIDMax: b.uid == 0 && level == Full && !grouped && ownPIDMax(kernel()),
			DataBytes: b.Limits.DataBytes, FileBytes: b.Limits.FileBytes,
		},
	}
	if level == Full {
		plan.Namespaces = true
		if os.Geteuid() != 0 {
			plan.UID, plan.GID = b.uid, b.gid
		}
		if b.Network.Serve != nil {
			plan.ListenPort = ProxyPort
		}
		plan.Mounts = mounts(b)
		plan.Rules = fullRules(plan.Mounts)
		return plan
	}
	plan.Sockets = child.UnixPairs
	if b.Network.Serve != nil {
		plan.Sockets, plan.ConnectPort = child.ProxyOnly, b.Network.Addr.Port()
	}
	plan.Rules = partialRules(b)
	return plan
}

// keeper returns what enforces the limit for processes.
func keeper(level Level, grouped bool) child.Keeper {
	switch {
	case grouped:
		return child.Group
	case level == Full:
		return child.Namespace
	}
	return child.User
}

// ownPIDMax reports whether in a release of Linux each PID namespace has a kernel.pid_max of its own: since
// Linux 6.14. Before, the file in a namespace is that of the machine.
func ownPIDMax(release string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > 6 || major == 6 && minor >= 14
}

// mounts makes a file system of what is granted, in an order that has parents
// before children. The later of two for one path wins.
func mounts(b *bounds) []child.Mount {
	at := map[string]child.Mount{}
	put := func(ms ...child.Mount) {
		for _, m := range ms {
			at[m.Path] = m
		}
	}
	for _, dir := range systemDirs() {
		put(systemMount(dir)...)
	}
	put(deviceMounts()...)
	put(tmpMounts(b)...)
	for _, p := range b.writable() {
		put(child.Mount{Kind: child.Bind, Path: p, Source: p, Write: true})
	}
	for _, p := range b.ReadOnly {
		put(child.Mount{Kind: child.Bind, Path: p, Source: p, Optional: !b.protects(p)})
	}
	hidden := b.Hidden
	if b.uid == 0 {
		hidden = append(secrets(), hidden...)
	}
	for _, p := range hidden {
		put(hiding(p)...)
	}
	list := slices.SortedFunc(maps.Values(at), func(x, y child.Mount) int { return cmp.Compare(x.Path, y.Path) })
	list = useful(list)
	for _, link := range b.links {
		if i := nearest(list, link.Path); i < 0 || list[i].Kind == child.Tmpfs && list[i].Write {
			list = append(list, link)
		}
	}
	return list
}

// protects reports whether a path is mounted read-only to keep commands from
// writing there, so that it must be, even if somebody has removed it: it lies in
// what is writable, and isn't hidden.
func (b *bounds) protects(p string) bool {
	in := func(dirs []string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return within(p, dir) })
	}
	return in(b.writable()) && !in(b.Hidden)
}

// nearest returns which mount a path lies in, -1 if in none.
func nearest(mounts []child.Mount, path string) int {
	found := -1
	for i, m := range mounts {
		if within(path, m.Path) && (found < 0 || len(m.Path) > len(mounts[found].Path)) {
			found = i
		}
	}
	return found
}

// useful leaves out what is shown already, in the same way, by the directory it is
// in.
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

// systemMount shows a directory of the system, or the link that it is.
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
	return []child.Mount{{Kind: child.Link, Path: dir, Source: text}}
}

// deviceMounts makes /dev and /proc.
func deviceMounts() []child.Mount {
	ms := []child.Mount{
		{Kind: child.Proc, Path: "/proc"},
		{Kind: child.Tmpfs, Path: "/dev", Bytes: 1 << 16},
		{Kind: child.Tmpfs, Path: "/dev/shm", Write: true, Bytes: tmpBytes},
		{Kind: child.Pts, Path: "/dev/pts"},
		{Kind: child.Link, Path: "/dev/ptmx", Source: "pts/ptmx"},
		{Kind: child.Link, Path: "/dev/fd", Source: "/proc/self/fd"},
		{Kind: child.Link, Path: "/dev/stdin", Source: "/proc/self/fd/0"},
		{Kind: child.Link, Path: "/dev/stdout", Source: "/proc/self/fd/1"},
		{Kind: child.Link, Path: "/dev/stderr", Source: "/proc/self/fd/2"},
	}
	for _, dev := range devices() {
		if _, err := os.Stat(dev); err == nil {
			ms = append(ms, child.Mount{Kind: child.Device, Path: dev, Source: dev})
		}
	}
	return ms
}

// tmpMounts shows the private directory for temporary files as /tmp, too, for
// programs that don't ask; if something granted lies below that, it is an empty
// directory in memory, lest the private one fills with points for mounts.
func tmpMounts(b *bounds) []child.Mount {
	var ms []child.Mount
	for _, tmp := range []string{"/tmp", "/var/tmp"} {
		m := child.Mount{Kind: child.Bind, Path: tmp, Source: b.TmpDir, Write: true}
		if slices.ContainsFunc(slices.Concat(b.writable(), b.ReadOnly, b.Hidden), func(p string) bool { return within(p, tmp) }) {
			m = child.Mount{Kind: child.Tmpfs, Path: tmp, Write: true, Bytes: tmpBytes}
		}
		ms = append(ms, m)
	}
	return ms
}

// hiding covers a directory with an empty one, and a file with one that can't be
// opened.
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

// fullRules repeats, for Landlock, what the mounts say already.
func fullRules(mounts []child.Mount) []child.Rule {
	rules := []child.Rule{{Path: "/", Access: child.Read}}
	for _, m := range mounts {
		switch {
		case m.Kind == child.Device, m.Kind == child.Pts:
			rules = append(rules, child.Rule{Path: m.Path, Access: child.Node})
		case m.Write:
			rules = append(rules, child.Rule{Path: m.Path, Access: child.Full})
		}
	}
	return rules
}

// partialRules lists what is granted for Landlock, which is all there is.
func partialRules(b *bounds) []child.Rule {
	var rules []child.Rule
	hidden := slices.Clone(b.Hidden)
	if b.uid == 0 {
		hidden = append(hidden, secrets()...)
	}
	add := func(access child.Access, paths ...string) {
		for _, p := range paths {
			if resolved, err := filepath.EvalSymlinks(p); err == nil {
				rules = append(rules, child.Rule{Path: resolved, Access: access})
			}
		}
	}
	for _, dir := range append(append(systemDirs(), "/proc"), b.ReadOnly...) {
		add(child.Read, without(dir, hidden)...)
	}
	add(child.Full, b.writable()...)
	add(child.Node, devices()...) // no terminals: those of the user are among them
	return rules
}
