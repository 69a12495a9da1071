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

	"github.com/millhand/millhand/internal/files/pathtree"
)

// group is a control group (version 2) with all commands of a job. It limits their
// total usage, including root's, and kills remaining processes.
type group struct {
	dir  string
	open *os.File
}

// hierarchy is the mount of the control groups, and the group of this process.
type hierarchy struct{ mount, root, own string }

// newGroup creates a sibling of this process's own group, if possible: the parent must
// be writable, and delegate the controllers of the limits to its children. It returns
// nil if that is not possible, or if there is nothing to limit.
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

// groupLimits returns the contents of the group's files.
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

// parents returns the possible parents of a new group: the parent of this process's
// own, or its own if that is the root of the mount. The kernel permits a group with
// processes to delegate controllers only if it is the root of the hierarchy.
func (h hierarchy) parents() []string {
	own := filepath.Join(h.mount, strings.TrimPrefix(h.own, h.root))
	if parent := filepath.Dir(own); pathtree.Within(parent, h.mount) {
		return []string{parent}
	}
	return []string{own}
}

// canEnter reports whether processes can be started in a group. This requires clone3,
// which the seccomp filters of some containers reject. The call has invalid arguments,
// so that it always fails.
func canEnter() bool {
	_, _, errno := unix.Syscall(unix.SYS_CLONE3, 0, 0, 0)
	return errno != unix.ENOSYS && errno != unix.EPERM
}

// offers reports whether a group delegates the controllers of the limits.
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
		return nil, fmt.Errorf("create a control group: %w", err)
	}
	g := &group{dir: dir}
	for file, value := range limits {
		err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0)
		if err != nil && file != "memory.swap.max" { // missing if the kernel has no swap
			return nil, errors.Join(fmt.Errorf("set %s of a control group: %w", file, err), g.close())
		}
	}
	if g.open, err = os.Open(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("open a control group: %w", err), g.close())
	}
	return g, nil
}

// close kills the processes in the group, and removes it.
func (g *group) close() error {
	if g.open != nil {
		g.open.Close()
	}
	if err := os.WriteFile(filepath.Join(g.dir, "cgroup.kill"), []byte("1"), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("kill a control group: %w", err)
	}
	if err := unix.Rmdir(g.dir); err != nil && !errors.Is(err, unix.EBUSY) { // busy: killed processes have not exited yet; an empty group is harmless
		return fmt.Errorf("remove control group %s: %w", g.dir, err)
	}
	return nil
}

// findHierarchy finds the control groups of version 2, if mounted.
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

// parseHierarchy parses /proc/self/mountinfo and /proc/self/cgroup; see proc(5) and
// cgroups(7).
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
