//go:build linux

package child

import "strconv"

// mapSelf maps a user and a group of the parent's namespace to themselves, which an
// unprivileged user may do for its own IDs. The parent can't do it for the child,
// because neither is dumpable until the child has called exec.
func mapSelf(uid, gid int) error {
	if uid < 0 {
		return nil
	}
	for _, f := range []struct{ name, text string }{
		{"uid_map", strconv.Itoa(uid) + " " + strconv.Itoa(uid) + " 1"},
		{"setgroups", "deny"},
		{"gid_map", strconv.Itoa(gid) + " " + strconv.Itoa(gid) + " 1"},
	} {
		if err := writeFile("/proc/self/"+f.name, f.text); err != nil {
			return failed("map the user into the namespace", err)
		}
	}
	return nil
}
