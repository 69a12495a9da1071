//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/sandbox/child"
)

// Features looks at each part that sandboxes are made of, by trying it, where
// Probe says what all together come to. found is what Probe said.
func Features(found Found) []Feature {
	return []Feature{userNamespaces(found), landlock(found.Landlock), seccomp(), controlGroups()}
}

// userNamespaces starts a process in namespaces of its own. That this works
// doesn't say that it may do anything there, which level Full needs, too.
func userNamespaces(found Found) Feature {
	f := Feature{Name: "user namespaces", Works: found.Best == Full, What: "can be made and used"}
	if f.Works {
		return f
	}
	f.What = "can't be used"
	for _, m := range found.Missing {
		if m.Level == Full {
			f.What, f.Fix = m.What, m.Fix
		}
	}
	if found.Best != None && startInNamespace() == nil {
		f.What = "can be made, and not used: " + f.What
	}
	return f
}

// startInNamespace starts this program in a user namespace, where it ends at
// once, being told nothing.
func startInNamespace() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	p, err := os.StartProcess("/proc/self/exe", []string{child.Name, "/"}, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: []*os.File{null, null, null}, Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER},
	})
	if err != nil {
		return err
	}
	_, err = p.Wait()
	return err
}

// landlock tells what the kernel's version of Landlock is good for.
func landlock(version int) Feature {
	f := Feature{Name: "Landlock", Works: version > 0, What: fmt.Sprintf("version %d", version)}
	switch {
	case version == 0:
		f.What, f.Fix = "the kernel has none, or has it switched off", fixFor(Partial, errors.ErrUnsupported, machine())
	case version < 3:
		f.What += ": it can't forbid to truncate files (3)"
	case version < 4:
		f.What += ": it can't forbid connections (4), which the filter of system calls does"
	case version < 6:
		f.What += ": signals to other processes of the user are not held back at level B (6)"
	}
	return f
}

// seccomp asks whether system calls can be filtered, and be answered by a
// supervisor, which a host list at level Partial needs.
func seccomp() Feature {
	f := Feature{Name: "seccomp", Works: true, What: "system calls can be filtered and supervised"}
	switch {
	case !actionAvailable(unix.SECCOMP_RET_ERRNO):
		f.Works, f.What, f.Fix = false, "system calls can't be filtered", "use a kernel that was built with CONFIG_SECCOMP_FILTER; in a container, allow the system call seccomp"
	case !actionAvailable(unix.SECCOMP_RET_USER_NOTIF):
		f.What = "system calls can be filtered, not supervised: at level B there is no network by a list of hosts"
	}
	return f
}

// controlGroups makes a group, and removes it.
func controlGroups() Feature {
	f := Feature{Name: "control groups", Works: true, What: "version 2, writable: processes and memory of a job's commands are bounded together"}
	g, err := newGroup(Limits{Pids: 1, MemoryBytes: 1 << 30})
	if g != nil {
		err = g.close()
	}
	if g != nil && err == nil {
		return f
	}
	f.Works = false
	f.What, f.Fix = groupsMissing(err)
	f.What += ": processes and memory of commands are bounded by limits of each process instead"
	if os.Geteuid() == 0 {
		f.What += "; the number of root's processes is bounded at level A and since Linux 6.14 only"
	}
	return f
}

// groupsMissing says why no group can be made.
func groupsMissing(err error) (what, fix string) {
	if err != nil {
		return err.Error(), ""
	}
	h, ok := findHierarchy()
	if !ok {
		return "there is no version 2 of them", "mount cgroup2 at /sys/fs/cgroup (systemd.unified_cgroup_hierarchy=1 on the kernel's command line)"
	}
	const delegate = "run millhand in a service or scope of its own whose parent hands them down: systemd-run --user --scope -p Delegate=yes millhand ..."
	parents := h.parents()
	for _, dir := range parents {
		if unix.Access(dir, unix.W_OK) != nil {
			continue
		}
		text, _ := os.ReadFile(dir + "/cgroup.subtree_control")
		return fmt.Sprintf("%s hands down the controllers [%s], and must pids and memory", dir, strings.TrimSpace(string(text))), delegate
	}
	return fmt.Sprintf("%s is not writable", strings.Join(parents, " or ")), delegate
}

// actionAvailable asks whether the kernel knows an action of filters.
func actionAvailable(action uint32) bool {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}
