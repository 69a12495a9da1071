//go:build linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/proc/clock"
)

// Probe determines which levels the machine supports, by confining a process of this
// program at each level, in about 20 ms. It creates temporary files in dir and
// removes them. The result is valid for the life of the process.
//
// Failures that load can cause are retried, so that load does not reduce the
// confinement. If ctx ends, its cause is the error of the missing level.
func Probe(ctx context.Context, dir string) Found {
	var rest sync.WaitGroup
	defer rest.Wait()
	return ProbeEarly(ctx, dir, &rest)
}

// ProbeEarly is Probe, except that it returns as soon as the result is known. In rest the last
// process ends, for which the kernel removes its namespaces, and the temporary files are removed.
func ProbeEarly(ctx context.Context, dir string, rest *sync.WaitGroup) Found {
	p := prober{deadlines: []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second}, pause: 100 * time.Millisecond, machine: machine()}
	return p.probe(ctx, func(ctx context.Context, level Level) error { return try(ctx, dir, level, rest) })
}

// prober tries a level once for each deadline.
type prober struct {
	deadlines []time.Duration // of each attempt
	pause     time.Duration   // after the first failed attempt; it doubles
	machine   facts
}

func (p prober) probe(ctx context.Context, try func(context.Context, Level) error) Found {
	f := Found{Best: None, Landlock: p.machine.landlock, Kernel: kernel()}
	for _, level := range []Level{Full, Partial} {
		err := p.repeat(ctx, level, try)
		if err == nil {
			f.Best = level
			return f
		}
		f.Missing = append(f.Missing, Missing{Level: level, What: err.Error(), Fix: fixFor(level, err, p.machine)})
	}
	return f
}

// repeat tries a level until it works, the machine refuses it, or all attempts have
// failed.
func (p prober) repeat(ctx context.Context, level Level, try func(context.Context, Level) error) error {
	var err error
	for i, deadline := range p.deadlines {
		if i > 0 && clock.Wait(ctx, p.pause<<(i-1)) != nil {
			return context.Cause(ctx)
		}
		once, cancel := context.WithTimeoutCause(ctx, deadline, fmt.Errorf("timed out after %s", deadline))
		err = try(once, level)
		cancel()
		if err == nil || p.settled(err) {
			return err
		}
	}
	return fmt.Errorf("%w (tried %d times)", err, len(p.deadlines))
}

// settled reports whether an error is permanent, and not a temporary lack of resources.
func (p prober) settled(err error) bool {
	for _, refusal := range []error{ErrAbsent, unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EINVAL, unix.EOPNOTSUPP, unix.ENODEV, unix.EROFS} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return p.machine.maxUser == "0" && errors.Is(err, unix.ENOSPC) // user namespaces are disabled
}

// try starts a confined process without a command, which ends in rest.
func try(ctx context.Context, dir string, level Level, rest *sync.WaitGroup) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return tryIn(ctx, dir, level, false, rest)
}

// TryStore reports whether stores can be mounted at level Full if their layers are in dir.
// It creates temporary files there and removes them.
func TryStore(ctx context.Context, dir string) error {
	var rest sync.WaitGroup
	defer rest.Wait()
	return tryIn(ctx, dir, Full, true, &rest)
}

func tryIn(ctx context.Context, dir string, level Level, store bool, rest *sync.WaitGroup) error {
	base, err := os.MkdirTemp(dir, ProbeName)
	if err != nil {
		return fmt.Errorf("create a directory for probing the sandbox: %w", err)
	}
	l, err := emptyLaunch(base, level, store)
	if err != nil {
		os.RemoveAll(base)
		return err
	}
	ended := make(chan error, 1)
	rest.Go(func() {
		ended <- runEmpty(ctx, l)
		l.box.Close() //nolint:errcheck // its process has ended
		os.RemoveAll(base)
	})
	select {
	case <-l.over:
		return nil
	case err := <-ended:
		return err
	}
}

// emptyLaunch returns a launch without a command in a new sandbox with directories in base.
func emptyLaunch(base string, level Level, store bool) (*Launch, error) {
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		return nil, fmt.Errorf("create a directory for probing the sandbox: %w", err)
	}
	spec := Spec{Workspace: filepath.Join(base, "work"), Home: filepath.Join(base, "home"), TmpDir: filepath.Join(base, "tmp"), Private: &Private{}}
	dirs := []string{spec.Workspace, spec.Home, spec.TmpDir}
	if store {
		spec.Stores = []Store{{Dir: filepath.Join(base, "store"), Layers: filepath.Join(base, "layers")}}
		dirs = append(dirs, spec.Stores[0].Dir, spec.Stores[0].Layers)
	}
	for _, d := range dirs {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, fmt.Errorf("create a directory for probing the sandbox: %w", err)
		}
	}
	s, err := New(spec, level)
	if err != nil {
		return nil, err
	}
	l, err := s.Launch(nil, nil, "/")
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return l, nil
}

// Try starts a confined process without a command: its error is that of every command that
// the machine can't confine in this way.
func (s *Sandbox) Try(ctx context.Context) error {
	l, err := s.Launch(nil, nil, "/")
	if err != nil {
		return err
	}
	return runEmpty(ctx, l)
}

// runEmpty starts a launch without a command and waits for it. Its process is killed if
// ctx ends.
func runEmpty(ctx context.Context, l *Launch) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("probe the sandbox: %w", err)
	}
	defer null.Close()
	p, err := l.start([3]*os.File{null, null, null})
	if err != nil {
		return fmt.Errorf("start a process in new namespaces: %w", err)
	}
	spare := context.AfterFunc(ctx, func() { p.Kill() }) //nolint:errcheck // it may have exited already
	defer spare()
	_, err = p.Wait()
	_, ended := l.Ended()
	if ended != nil && ctx.Err() != nil {
		ended = context.Cause(ctx)
	}
	return errors.Join(err, ended)
}

// facts are kernel settings that restrict sandboxes.
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

// fixFor returns how to enable a level that failed; "" if unknown.
func fixFor(level Level, err error, f facts) string {
	if f.major > 0 && f.major < 5 || f.major == 5 && f.minor < 13 {
		return "the kernel is too old: Linux 5.13 or later is required"
	}
	if level == Partial {
		if f.landlock == 0 {
			return "the kernel does not support Landlock or has it disabled: add landlock to lsm= on its command line; in a container, allow its system calls; otherwise run millhand in a container with --sandbox external"
		}
		return ""
	}
	switch {
	case f.maxUser == "0":
		return "allow user namespaces: sysctl -w user.max_user_namespaces=15000"
	case !f.root && f.clone == "0":
		return "allow unprivileged user namespaces: sysctl -w kernel.unprivileged_userns_clone=1"
	case !f.root && f.apparmor == "1":
		return "AppArmor forbids user namespaces to programs without a profile: install one for millhand with the rule \"userns,\" (see docs/sandbox.md; the GitHub action does), or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
	case strings.Contains(err.Error(), "a fresh proc"):
		return "a container hides parts of /proc: start it with --security-opt systempaths=unconfined (docker, podman)"
	case errors.Is(err, unix.EPERM):
		return "a container or a security module forbids namespaces: start the container with a seccomp profile that allows clone, unshare and mount (docker run --security-opt seccomp=FILE, or seccomp=unconfined, and apparmor=unconfined, systempaths=unconfined)"
	}
	return ""
}
