package rundir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/proc/clock"
)

func TestLockErrorNamesTheHolder(t *testing.T) {
	dir := t.TempDir()
	lock, err := TakeLock(t.Context(), dir, "one", at(noon))
	if err != nil {
		t.Fatal(err)
	}
	_, err = TakeLock(t.Context(), dir, "two", at(noon))
	if !errors.Is(err, ErrInUse) {
		t.Fatalf("got %v, want in use", err)
	}
	for _, want := range []string{"report directory " + dir + " is in use by run one (pid ", " since 2026-03-02T12:00:00Z): wait for it, or choose another --report-dir"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if held, holder, err := inUse(dir); err != nil || !held || holder.Holder != "run one" || holder.PID != os.Getpid() {
		t.Errorf("inUse: %v, %+v, %v; want run one in this process", held, holder, err)
	}
	lock.Close()
	if held, _, err := inUse(dir); err != nil || held {
		t.Errorf("inUse after close: %v, %v; want false", held, err)
	}
	again, err := TakeLock(t.Context(), dir, "two", at(noon))
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if info, err := os.Stat(filepath.Join(dir, lockFile)); err != nil || info.Size() != 0 {
		t.Errorf("the file of a released lock: %v, %v; want an empty file", info, err)
	}
}

func TestDirectoryWithoutLockIsNotInUse(t *testing.T) {
	dir := t.TempDir()
	if held, _, err := inUse(dir); err != nil || held {
		t.Errorf("inUse: %v, %v", held, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("inUse created %v (%v)", entries, err)
	}
}

// A command that outlives its run must not hold the lock.
func TestChildrenDoNotInheritALock(t *testing.T) {
	dir := t.TempDir()
	lock, err := TakeLock(t.Context(), dir, "one", at(noon))
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), "cat")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lock.Close()
	if held, _, err := inUse(dir); err != nil || held {
		t.Errorf("inUse: %v, %v; want false", held, err)
	}
	in.Close()
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
}

// inUse must not make a concurrent TakeLock fail.
func TestInUseDoesNotBlockTakeLock(t *testing.T) {
	dir := t.TempDir()
	var done atomic.Bool
	var looking sync.WaitGroup
	for range 4 {
		looking.Go(func() {
			for !done.Load() {
				if _, _, err := inUse(dir); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 300 {
		lock, err := TakeLock(t.Context(), dir, "one", at(noon))
		if err != nil {
			t.Error(err)
			break
		}
		lock.Close()
	}
	done.Store(true)
	looking.Wait()
}

func TestLockIsExclusive(t *testing.T) {
	dir := t.TempDir()
	var inside atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				lock, err := TakeLock(t.Context(), dir, "one", at(noon))
				if errors.Is(err, ErrInUse) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d hold the lock", n)
				}
				inside.Add(-1)
				lock.Close()
			}
		})
	}
	all.Wait()
}

// A lock of a file that was removed is not valid.
func TestLockOfARemovedFileIsRetried(t *testing.T) {
	path := filepath.Join(t.TempDir(), lockFile)
	f, err := openRegular(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	check := func(want bool) {
		t.Helper()
		if got, err := stillThere(f); err != nil || got != want {
			t.Errorf("stillThere: %v, %v; want %v", got, err, want)
		}
	}
	check(true)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	check(false)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check(false)
}

func TestOnlyRegularFilesAreLocked(t *testing.T) {
	for name, plant := range map[string]func(path string) error{
		"a symbolic link": func(path string) error { return os.Symlink(filepath.Join(filepath.Dir(path), "elsewhere"), path) },
		"a directory":     func(path string) error { return os.Mkdir(path, 0o700) },
		"a named pipe":    func(path string) error { return unix.Mkfifo(path, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := plant(filepath.Join(dir, lockFile)); err != nil {
				t.Fatal(err)
			}
			if lock, err := TakeLock(t.Context(), dir, "one", at(noon)); err == nil {
				lock.Close()
				t.Error("locked")
			}
			if _, err := os.Lstat(filepath.Join(dir, "elsewhere")); err == nil {
				t.Error("the symlink was followed")
			}
		})
	}
	if _, err := TakeLock(t.Context(), filepath.Join(t.TempDir(), "missing"), "one", at(noon)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
}

func TestFileSystemWithoutLocks(t *testing.T) {
	for _, errno := range []unix.Errno{unix.ENOLCK, unix.ENOSYS, unix.EOPNOTSUPP, unix.EINVAL} {
		if err := lockError("/mnt/share", nil, errno); !errors.Is(err, errno) || !strings.Contains(err.Error(), "does not support locks") {
			t.Errorf("%v: %v", errno, err)
		}
	}
}

func TestDescribeHolder(t *testing.T) {
	const unknown = "another process that is starting or ending"
	for text, want := range map[string]string{
		`{"holder":"run x","pid":7,"host":"ci","since":"2026-01-02T04:04:05+01:00"}` + "\n": "run x (pid 7 on ci since 2026-01-02T03:04:05Z)",
		`{"holder":"run \u001b[2J\nx"}`: "run \ufffd[2J x (pid 0 on  since 0001-01-01T00:00:00Z)",
		"":                              unknown,
		"{":                             unknown,
		"{}":                            unknown,
		`{"holder":7}`:                  unknown,
		strings.Repeat(`{"holder":"x"} `, 10_000): unknown,
	} {
		if got := readHolder(strings.NewReader(text)).describe(); got != want {
			t.Errorf("%.40q: got %q, want %q", text, got, want)
		}
	}
}

// signGone names a process that has ended as the holder of a lock.
func signGone(t *testing.T, l *Lock) {
	t.Helper()
	gone := exec.CommandContext(t.Context(), "true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"holder": "one that has ended", "pid": %d, "host": %q}`, gone.Process.Pid, host)
	if err := os.WriteFile(l.file.Name(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A child between fork and exec has the file of its parent's lock open, also if that is killed.
func TestALockIsTakenAfterTheChildrenOfItsHolder(t *testing.T) {
	dir := t.TempDir()
	lock, err := TakeLock(t.Context(), dir, "one", at(noon))
	if err != nil {
		t.Fatal(err)
	}
	signGone(t, lock)
	if r := describeRun(dir, noon()); r.Killed() {
		t.Errorf("a directory without the run of its lock: %+v", r)
	}
	if r := (Saved{Outcome: Running, orphan: true}); !r.Killed() {
		t.Error("a run whose process has ended is in progress")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	pauses, stopped := 0, errors.New("stopped")
	sleep := func(ctx context.Context, d time.Duration) error {
		if pauses++; d != orphanPause || pauses > 3 {
			t.Fatalf("pause %d is %s", pauses, d)
		}
		switch pauses {
		case 1:
			cancel(stopped)
		case 3:
			lock.file.Close()
		}
		return context.Cause(ctx)
	}
	if _, err := TakeLock(ctx, dir, "two", clock.Clock{Now: noon, Sleep: sleep}); !errors.Is(err, stopped) {
		t.Fatalf("after the end of the context: %v", err)
	}
	again, err := TakeLock(t.Context(), dir, "two", clock.Clock{Now: noon, Sleep: sleep})
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

// A pass excludes passes, not runs, and waits like a run for the children of one that was killed.
func TestTheLockOfAPass(t *testing.T) {
	dir := t.TempDir()
	run, err := TakeLock(t.Context(), dir, "one", at(noon))
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	pass, err := TakeFollowLock(t.Context(), dir, at(noon))
	if err != nil {
		t.Fatal(err)
	}
	_, err = TakeFollowLock(t.Context(), dir, at(noon))
	if want := fmt.Sprintf("in use by a pass that follows the run (pid %d ", os.Getpid()); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "--report-dir") {
		t.Errorf("error %v, want %q", err, want)
	}
	signGone(t, pass)
	again, err := TakeFollowLock(t.Context(), dir, clock.Clock{Now: noon, Sleep: func(context.Context, time.Duration) error {
		pass.leave()
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}
