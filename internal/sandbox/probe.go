//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Found is what a machine was found able to do.
type Found struct {
	Best     Level // Full, Partial or None
	Landlock int   // the version of the kernel's interface, 0 for none
	Kernel   string
	Missing  []Missing // why it isn't Full; nil if it is
}

// Missing is something that keeps a machine from a level.
type Missing struct {
	Level Level
	What  string // what was tried, and what the kernel answered
	Mend  string // what to do about it; "" if nothing is known
}

// String is the whole in one line.
func (m Missing) String() string {
	text := fmt.Sprintf("no %s sandbox: %s", m.Level, m.What)
	if m.Mend != "" {
		text += "; " + m.Mend
	}
	return text
}

// Probe finds out what the machine can do, by confining a process of this
// program at each level; that takes some 20 ms. The folder takes temporary
// files, and is left as it was. What it answers holds for the process's life.
func Probe(dir string) Found {
	f := Found{Best: None, Landlock: LandlockVersion(), Kernel: kernel()}
	for _, level := range []Level{Full, Partial} {
		err := try(dir, level)
		if err == nil {
			f.Best = level
			return f
		}
		f.Missing = append(f.Missing, Missing{Level: level, What: err.Error(), Mend: mend(level, err, machine())})
	}
	return f
}

// try confines a process that does nothing else.
func try(dir string, level Level) (err error) {
	base, err := os.MkdirTemp(dir, "millhand-probe-")
	if err != nil {
		return fmt.Errorf("make a directory for trying out the sandbox: %w", err)
	}
	defer os.RemoveAll(base)
	spec := Spec{Workspace: filepath.Join(base, "work"), Home: filepath.Join(base, "home"), TmpDir: filepath.Join(base, "tmp")}
	for _, d := range []string{spec.Workspace, spec.Home, spec.TmpDir} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return fmt.Errorf("make a directory for trying out the sandbox: %w", err)
		}
	}
	s, err := New(spec, level)
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // nothing was left in it
	l, err := s.Launch(nil, nil, "/")
	if err != nil {
		return err
	}
	return runEmpty(l)
}

// runEmpty starts and waits for a launch that has no command.
func runEmpty(l *Launch) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		l.Abandon()
		return fmt.Errorf("try out the sandbox: %w", err)
	}
	defer null.Close()
	p, err := os.StartProcess(l.Path, l.Args, &os.ProcAttr{Dir: l.Dir, Env: l.Env, Files: append([]*os.File{null, null, null}, l.Files...), Sys: l.Attr})
	if err != nil {
		l.Abandon()
		return fmt.Errorf("start a process in namespaces of its own: %w", err)
	}
	started := l.Started()
	_, err = p.Wait()
	_, ended := l.Ended()
	return errors.Join(started, err, ended)
}

// facts are what the kernel and its guards were told to forbid.
type facts struct {
	root         bool
	apparmor     string // kernel.apparmor_restrict_unprivileged_userns
	clone        string // kernel.unprivileged_userns_clone
	maxUser      string // user.max_user_namespaces
	landlock     int
	major, minor int // of the kernel
}

func machine() facts {
	read := func(name string) string {
		text, err := os.ReadFile("/proc/sys/" + name)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(text))
	}
	f := facts{
		root: os.Geteuid() == 0, landlock: LandlockVersion(),
		apparmor: read("kernel/apparmor_restrict_unprivileged_userns"), clone: read("kernel/unprivileged_userns_clone"), maxUser: read("user/max_user_namespaces"),
	}
	if n, err := fmt.Sscanf(kernel(), "%d.%d", &f.major, &f.minor); err != nil || n != 2 {
		f.major, f.minor = 0, 0
	}
	return f
}

// mend says what to do about a level that failed.
func mend(level Level, err error, f facts) string {
	if f.major > 0 && f.major < 5 || f.major == 5 && f.minor < 13 {
		return "the kernel is too old: 5.13 is needed"
	}
	if level == Partial {
		if f.landlock == 0 {
			return "the kernel has no Landlock or has it switched off: add landlock to lsm= on its command line; in a container, allow its system calls; where neither can be, let a container be the boundary with --sandbox external"
		}
		return ""
	}
	switch {
	case f.maxUser == "0":
		return "allow user namespaces: sysctl -w user.max_user_namespaces=15000"
	case !f.root && f.clone == "0":
		return "allow user namespaces to users: sysctl -w kernel.unprivileged_userns_clone=1"
	case !f.root && f.apparmor == "1":
		return "AppArmor forbids user namespaces to programs without a profile: install one for millhand with the rule \"userns,\" (see docs/sandbox.md; the GitHub action does), or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
	case strings.Contains(err.Error(), "a fresh proc"):
		return "a container hides parts of /proc: start it with --security-opt systempaths=unconfined (docker, podman)"
	case errors.Is(err, unix.EPERM):
		return "a container or a security module forbids namespaces: start the container with a seccomp profile that allows clone, unshare and mount (docker run --security-opt seccomp=FILE, or seccomp=unconfined, and apparmor=unconfined, systempaths=unconfined)"
	}
	return ""
}

// kernel returns the release of the running kernel.
func kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}
