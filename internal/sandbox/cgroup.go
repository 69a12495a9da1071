//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// group is a control group (version 2) that all commands of a job are in. It
// bounds what they use together, root's too, and kills what is left of them.
type group struct {
	dir  string
	open *os.File
}

// hierarchy says where the control groups are, and which one this process is in.
type hierarchy struct{ mount, root, own string }

// newGroup makes a group beside this process's own, where that can be: the
// parent must be writable, and hand the controllers that the limits take to its
// children. nil means that it can't, or that there is nothing to limit.
func newGroup(l Limits) (*group, error) {
	limits := groupLimits(l)
	h, ok := findHierarchy()
	if !ok || len(limits) == 0 || !canEnter() {
		return nil, nil //nolint:nilnil // see above
	}
	for _, parent := range h.parents() {
		if offers(parent, limits) {
			return makeGroup(parent, limits)
		}
	}
	return nil, nil //nolint:nilnil // see above
}

// groupLimits is what a group's files are to say.
func groupLimits(l Limits) map[string]string {
	limits := map[string]string{}
	if l.Pids > 0 {
		limits["pids.max"] = strconv.Itoa(l.Pids)
	}
	if l.MemoryBytes > 0 {
		limits["memory.max"], limits["memory.swap.max"] = strconv.FormatInt(l.MemoryBytes, 10), "0"
	}
	return limits
}

// parents are the groups that one could be made in: that which this process's
// own is in, and if its own is all that is to be seen, that one. The kernel lets
// it hand controllers down if it is the root of them all.
func (h hierarchy) parents() []string {
	own := filepath.Join(h.mount, strings.TrimPrefix(h.own, h.root))
	if parent := filepath.Dir(own); within(parent, h.mount) {
		return []string{parent}
	}
	return []string{own}
}

// canEnter reports whether processes can be started in a group, by the newer of
// the system calls for starting them, which some containers' filters don't know.
// The call is made with nothing to do, and fails in any case.
func canEnter() bool {
	_, _, errno := unix.Syscall(unix.SYS_CLONE3, 0, 0, 0)
	return errno != unix.ENOSYS && errno != unix.EPERM
}

// offers reports whether a group hands the controllers of some limits down.
func offers(parent string, limits map[string]string) bool {
	text, err := os.ReadFile(filepath.Join(parent, "cgroup.subtree_control"))
	if err != nil || unix.Access(parent, unix.W_OK) != nil {
		return false
	}
	for file := range limits {
		controller, _, _ := strings.Cut(file, ".")
		if !slices.Contains(strings.Fields(string(text)), controller) {
			return false
		}
	}
	return true
}

func makeGroup(parent string, limits map[string]string) (*group, error) {
	dir, err := os.MkdirTemp(parent, "millhand-")
	if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.EROFS) {
		return nil, nil //nolint:nilnil // as if it were not writable
	}
	if err != nil {
		return nil, fmt.Errorf("make a control group: %w", err)
	}
	g := &group{dir: dir}
	for file, value := range limits {
		err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0)
		if err != nil && file != "memory.swap.max" { // a kernel may be without swap
			return nil, errors.Join(fmt.Errorf("limit a control group: %w", err), g.close())
		}
	}
	if g.open, err = os.Open(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("open a control group: %w", err), g.close())
	}
	return g, nil
}

// close kills whatever is in the group, and removes it.
func (g *group) close() error {
	if g.open != nil {
		g.open.Close()
	}
	if err := os.WriteFile(filepath.Join(g.dir, "cgroup.kill"), []byte("1"), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("kill a control group: %w", err)
	}
	if err := unix.Rmdir(g.dir); err != nil && !errors.Is(err, unix.EBUSY) { // busy: the killed aren't gone yet, and an empty group harms nobody
		return fmt.Errorf("remove control group %s: %w", g.dir, err)
	}
	return nil
}

// findHierarchy finds the control groups of version 2, if there are any.
func findHierarchy() (hierarchy, bool) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return hierarchy{}, false
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return hierarchy{}, false
	}
	return parseHierarchy(string(mounts), string(groups))
}

// parseHierarchy reads mountinfo and cgroup as proc(5) and cgroups(7) describe
// them.
func parseHierarchy(mountinfo, cgroup string) (h hierarchy, ok bool) {
	for line := range strings.Lines(mountinfo) {
		before, after, _ := strings.Cut(line, " - ")
		if fields := strings.Fields(before); strings.HasPrefix(after, "cgroup2 ") && len(fields) > 4 {
			h.root, h.mount = strings.TrimSuffix(fields[3], "/"), fields[4]
		}
	}
	for line := range strings.Lines(cgroup) {
		if own, found := strings.CutPrefix(strings.TrimSpace(line), "0::"); found {
			h.own = own
		}
	}
	return h, h.mount != "" && strings.HasPrefix(h.own, "/") && strings.HasPrefix(h.own, h.root)
}
