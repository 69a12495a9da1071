//go:build linux

package child

import (
	"fmt"
	"os"
)

// mapSelf maps a user and a group of the parent's namespace to themselves, which an
// unprivileged user may do for its own IDs. The parent can't do it for the child,
// because neither is dumpable until the child has called exec.
func mapSelf(uid, gid int) error {
	if uid < 0 {
		return nil
	}
	for _, f := range []struct{ name, text string }{
		{"uid_map", fmt.Sprintf("%d %d 1", uid, uid)},
		{"setgroups", "deny"},
		{"gid_map", fmt.Sprintf("%d %d 1", gid, gid)},
	} {
		if err := os.WriteFile("/proc/self/"+f.name, []byte(f.text), 0); err != nil {
			return fmt.Errorf("map the user into the namespace: %w", err)
		}
	}
	return nil
}
