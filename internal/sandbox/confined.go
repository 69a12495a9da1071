//go:build linux

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/sandbox/child"
)

// Sandbox confines the commands of one job. It may be used by several
// goroutines at once.
type Sandbox struct {
	bounds *bounds
	level  Level
	plan   *os.File // child.Plan as JSON, in memory; shared by all children
	ids    []syscall.SysProcIDMap
	gids   []syscall.SysProcIDMap
	group  *group // nil where none can be made

	keepGroups bool // since this user namespace, a rootless container's, forbids to drop them
}

// New prepares to confine commands at a level, Full or Partial, that the
// machine is known to have. It resolves the spec's paths once: a link that is
// put in their place later makes launching fail. The caller closes it.
func New(spec Spec, level Level) (*Sandbox, error) {
	if level != Full && level != Partial {
		return nil, fmt.Errorf("make a sandbox of level %q: %w", level, ErrAbsent)
	}
	b, err := resolve(spec)
	if err != nil {
		return nil, err
	}
	version := LandlockVersion()
	if level == Partial {
		if version == 0 {
			return nil, fmt.Errorf("make a sandbox without namespaces: %w: the kernel has no Landlock", ErrAbsent)
		}
		if spec.Network.Serve != nil && spec.Network.Addr.Addr() != netip.AddrFrom4([4]byte{127, 0, 0, 1}) {
			return nil, fmt.Errorf("confine network access without namespaces: the proxy listens on %s, and has to on 127.0.0.1", spec.Network.Addr)
		}
	}
	s := &Sandbox{bounds: b, level: level, keepGroups: groupsAreKept()}
	if level == Full && os.Geteuid() == 0 {
		if s.ids, err = identity("/proc/self/uid_map"); err != nil {
			return nil, err
		}
		if s.gids, err = identity("/proc/self/gid_map"); err != nil {
			return nil, err
		}
	}
	if s.group, err = newGroup(spec.Limits); err != nil {
		return nil, err
	}
	if s.plan, err = planFile(makePlan(b, level, version, s.group != nil)); err != nil {
		return nil, errors.Join(err, s.closeGroup())
	}
	return s, nil
}

// groupsAreKept reports whether root may not drop groups here; see
// user_namespaces(7).
func groupsAreKept() bool {
	text, err := os.ReadFile("/proc/self/setgroups")
	return err == nil && strings.TrimSpace(string(text)) == "deny"
}

// Close gives up what the sandbox holds, when all its launches have ended.
func (s *Sandbox) Close() error { return errors.Join(s.plan.Close(), s.closeGroup()) }

func (s *Sandbox) closeGroup() error {
	if s.group == nil {
		return nil
	}
	return s.group.close()
}

// LandlockVersion returns the version of the kernel's Landlock interface, 0 if
// it has none or has it switched off.
func LandlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// planFile writes a plan to a file that has no name, and that nobody can change
// any more.
func planFile(plan *child.Plan) (*os.File, error) {
	text, err := json.Marshal(plan)
	if err != nil {
		return nil, fmt.Errorf("write the sandbox's plan: %w", err)
	}
	fd, err := unix.MemfdCreate("millhand-plan", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make a file for the sandbox's plan: %w", err)
	}
	f := os.NewFile(uintptr(fd), "plan")
	_, err = f.Write(text)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write the sandbox's plan: %w", err), f.Close())
	}
	return f, nil
}

// identity reads which ids exist here and maps each of them to itself, so that
// owners look inside as they do outside.
func identity(file string) ([]syscall.SysProcIDMap, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("find out which users exist: %w", err)
	}
	var ids []syscall.SysProcIDMap
	for line := range strings.Lines(string(text)) {
		var inside, outside, count int
		if _, err := fmt.Sscan(line, &inside, &outside, &count); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		ids = append(ids, syscall.SysProcIDMap{ContainerID: inside, HostID: inside, Size: count})
	}
	return ids, nil
}
