//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/sandbox/child"
)

// Sandbox confines the commands of one job. It is safe for concurrent use.
type Sandbox struct {
	bounds *bounds
	level  Level
	ids    []syscall.SysProcIDMap
	gids   []syscall.SysProcIDMap
	group  *group // nil if none can be created

	keepGroups bool // supplementary groups can't be dropped in this user namespace (rootless container)

	make func() *child.Plan // makes the plan
	mu   sync.Mutex
	plan *os.File // the encoded plan, in memory; shared by all children; nil before the first command

	ahead chan *supervisor // receives the process for the next command, or nil if it can't be started; nil for none
}

// New creates a sandbox of a level, Full or Partial, that the machine supports. It
// resolves the paths of the spec once: replacing one by a symlink later makes Launch
// fail. The caller closes the sandbox.
func New(spec Spec, level Level) (*Sandbox, error) {
	if level != Full && level != Partial {
		return nil, fmt.Errorf("create a sandbox of level %q: %w", level, ErrAbsent)
	}
	b, err := resolve(spec)
	if err != nil {
		return nil, err
	}
	version := LandlockVersion()
	if level == Partial {
		if version == 0 {
			return nil, fmt.Errorf("create a sandbox without namespaces: %w: the kernel has no Landlock", ErrAbsent)
		}
		if spec.Network.Serve != nil && spec.Network.Addr.Addr() != netip.AddrFrom4([4]byte{127, 0, 0, 1}) {
			return nil, fmt.Errorf("confine network access without namespaces: the proxy listens on %s instead of 127.0.0.1", spec.Network.Addr)
		}
	}
	s := &Sandbox{bounds: b, level: level, keepGroups: cgroupsPersist()}
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
	if s.make = makePlan(b, level, version, s.group != nil); level == Full {
		return s, nil
	}
	if _, err := s.planned(); err != nil {
		return nil, errors.Join(err, s.closeGroup())
	}
	return s, nil
}

// planned returns the plan of the children. At level Full it is made for the first command: the
// private files of the system, which it contains, can take longer to find than the first
// response of a model.
func (s *Sandbox) planned() (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.plan != nil {
		return s.plan, nil
	}
	var err error
	s.plan, err = planFile(s.make())
	return s.plan, err
}

// LeftOut returns the paths of the spec that commands don't get because their user can't open
// them, as a shell skips such directories of PATH: only if that is another user than that of this process.
func (s *Sandbox) LeftOut() []LeftOut {
	if !s.bounds.other() {
		return nil
	}
	return s.bounds.left
}

// cgroupsPersist reports whether root can't drop supplementary groups; see setgroups in
// user_namespaces(7).
func cgroupsPersist() bool {
	text, err := os.ReadFile("/proc/self/setgroups")
	return err == nil && strings.TrimSpace(string(text)) == "deny"
}

// Close releases the sandbox. All its launches must have ended.
func (s *Sandbox) Close() error {
	s.takeAhead().discard()
	err := s.closeGroup()
	if s.plan != nil {
		err = errors.Join(s.plan.Close(), err)
	}
	return err
}

func (s *Sandbox) closeGroup() error {
	if s.group == nil {
		return nil
	}
	return s.group.close()
}

// LandlockVersion returns the version of the kernel's Landlock interface; 0 if it is not
// supported or disabled.
func LandlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// planFile encodes a plan.
func planFile(plan *child.Plan) (*os.File, error) {
	text, err := plan.Encode()
	if err != nil {
		return nil, fmt.Errorf("write the sandbox's plan: %w", err)
	}
	return memoryFile("plan", text)
}

// memoryFile writes a text to a sealed memfd, which can't be changed.
func memoryFile(name string, text []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("millhand-"+name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("create a file for the sandbox's %s: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.Write(text)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write the sandbox's %s: %w", name, err), f.Close())
	}
	return f, nil
}

// identity returns a mapping of each ID of this user namespace to itself, so that
// owners are the same inside and outside.
func identity(file string) ([]syscall.SysProcIDMap, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the IDs of this user namespace: %w", err)
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
