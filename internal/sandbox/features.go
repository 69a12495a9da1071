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

// Features tries each kernel feature that the sandbox uses; Probe tries the levels.
// found is the result of Probe.
func Features(found Found) []Feature {
	return []Feature{userNamespaces(found), landlock(found.Landlock), seccomp(), controlGroups()}
}

// userNamespaces starts a process in a user namespace. Success does not imply that
// the process has any privileges there, which level Full requires, too.
func userNamespaces(found Found) Feature {
	f := Feature{Name: "user namespaces", Works: found.Best == Full, What: "can be created and used"}
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
		f.What = "can be created but not used: " + f.What
	}
	return f
}

// startInNamespace starts this program in a user namespace. It exits immediately,
// because it gets no plan.
func startInNamespace() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	p, err := os.StartProcess("/proc/self/exe", []string{child.Name}, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: []*os.File{null, null, null}, Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER},
	})
	if err != nil {
		return err
	}
	_, err = p.Wait()
	return err
}

// landlock returns what the kernel's version of Landlock can restrict.
func landlock(version int) Feature {
	f := Feature{Name: "Landlock", Works: version > 0, What: fmt.Sprintf("version %d", version)}
	switch {
	case version == 0:
		f.What, f.Fix = "not supported or disabled by the kernel", fixFor(Partial, errors.ErrUnsupported, machine())
	case version < 3:
		f.What += ": can't restrict truncating files (requires version 3)"
	case version < 4:
		f.What += ": can't restrict connections (requires version 4); the seccomp filter does"
	case version < 6:
		f.What += ": can't restrict signals to other processes of the user at level B (requires version 6)"
	case version < child.ResolvesUnix:
		f.What += fmt.Sprintf(": can't restrict unix sockets (requires version %d); the supervisor does, and level A has no unix datagram sockets", child.ResolvesUnix)
	}
	return f
}

// seccomp checks whether system calls can be filtered, and handled by a
// supervisor, which a host list at level Partial requires.
func seccomp() Feature {
	f := Feature{Name: "seccomp", Works: true, What: "system calls can be filtered and supervised"}
	switch {
	case !actionAvailable(unix.SECCOMP_RET_ERRNO):
		f.Works, f.What, f.Fix = false, "system calls can't be filtered", "use a kernel built with CONFIG_SECCOMP_FILTER; in a container, allow the system call seccomp"
	case !actionAvailable(unix.SECCOMP_RET_USER_NOTIF):
		f.What = "system calls can be filtered but not supervised: level A has no unix sockets except pairs, and level B does not support a list of hosts under network"
	}
	return f
}

// controlGroups creates a control group and removes it.
func controlGroups() Feature {
	f := Feature{Name: "control groups", Works: true, What: "version 2, writable: limits of processes and memory apply to all commands of a job together"}
	g, err := newGroup(Limits{Pids: 1, MemoryBytes: 1 << 30})
	if g != nil {
		err = g.close()
	}
	if g != nil && err == nil {
		return f
	}
	f.Works = false
	f.What, f.Fix = groupsMissing(err)
	f.What += ": limits of processes and memory apply to each process instead"
	if os.Geteuid() == 0 {
		f.What += "; the number of root's processes is limited only at level A since Linux 6.14"
	}
	return f
}

// groupsMissing returns why no control group can be created.
func groupsMissing(err error) (what, fix string) {
	if err != nil {
		return err.Error(), ""
	}
	h, ok := findHierarchy()
	if !ok {
		return "version 2 is not mounted", "mount cgroup2 at /sys/fs/cgroup (systemd.unified_cgroup_hierarchy=1 on the kernel's command line)"
	}
	const delegate = "run millhand in its own service or scope whose parent delegates the controllers: systemd-run --user --scope -p Delegate=yes millhand ..."
	parents := h.parents()
	for _, dir := range parents {
		if unix.Access(dir, unix.W_OK) != nil {
			continue
		}
		text, _ := os.ReadFile(dir + "/cgroup.subtree_control")
		return fmt.Sprintf("%s delegates the controllers [%s], but pids and memory are required", dir, strings.TrimSpace(string(text))), delegate
	}
	return fmt.Sprintf("%s is not writable", strings.Join(parents, " or ")), delegate
}

// actionAvailable reports whether the kernel supports an action of seccomp filters.
func actionAvailable(action uint32) bool {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}
