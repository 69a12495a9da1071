//go:build linux

package child

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// limit sets the resource limits of the process and all its descendants, except
// for the number of processes; see limitForks.
func limit(plan *Plan) error {
	limits := []struct {
		name  string
		which int
		value int64
	}{
		{"core dumps", unix.RLIMIT_CORE, 0},
		{"memory", unix.RLIMIT_DATA, plan.Limits.DataBytes},
		{"file sizes", unix.RLIMIT_FSIZE, plan.Limits.FileBytes},
	}
	for _, l := range limits {
		if l.value == 0 && l.which != unix.RLIMIT_CORE {
			continue
		}
		if err := lower(l.which, uint64(l.value)); err != nil {
			return fmt.Errorf("limit %s to %d: %w", l.name, l.value, err)
		}
	}
	return nil
}

// goFirst makes the kernel end the command, and what it starts, before everything
// else if memory runs out: the largest of them, which this process isn't.
func goFirst() {
	os.WriteFile("/proc/self/oom_score_adj", []byte("900"), 0) //nolint:errcheck // where there is no such file, memory runs out in some other way
}

// startTries bounds how often the start of a command is tried while fork fails with
// EAGAIN, startPause is the time between two tries. Other processes of the user may
// have ended by then.
const (
	startTries = 10
	startPause = 100 * time.Millisecond
)

// startLimited calls start, which starts the command, under the limit for processes.
// The error is start's; an EAGAIN that persists names the limit.
func startLimited(plan *Plan, start func() (int, error)) begun {
	for try := 1; ; try++ {
		n := processLimit(plan)
		pid, err := limitForks(n, start)
		switch {
		case !errors.Is(err, unix.EAGAIN):
			return begun{pid: pid, limit: n, err: err}
		case try == startTries && plan.Limits.Pids > 0:
			return begun{err: fmt.Errorf("%w: limits.processes (%d) exceeded, or a limit of the user or the container", err, plan.Limits.Pids)}
		case try == startTries:
			return begun{err: err}
		}
		time.Sleep(startPause)
	}
}

// processLimit returns the command's RLIMIT_NPROC, 0 to leave it unchanged.
func processLimit(plan *Plan) int {
	switch l := plan.Limits; {
	case l.Pids == 0, l.Keeper == Group:
		return 0
	case l.Keeper == Namespace:
		return l.Pids
	}
	count := make(chan int)
	go func() { count <- running(os.Geteuid()) }() // the calling thread is confined, and may not see them
	return plan.Limits.Pids + <-count
}

// running counts the processes and threads of a user.
func running(uid int) (n int) {
	for pid, p := range processes() {
		var st unix.Stat_t
		if err := unix.Stat("/proc/"+strconv.Itoa(pid), &st); err == nil && int(st.Uid) == uid {
			n += max(1, p.threads)
		}
	}
	return n
}

// reservedPIDs is how many PIDs the kernel skips when it starts again from the lowest,
// and the least that pid_max can be (see proc_sys_kernel(5)).
const reservedPIDs = 300

// limitPIDs limits the PIDs of the namespace that this process is the init of. Since
// Linux 6.14 each PID namespace has a pid_max of its own. Before, this would change that
// of the machine: the plan must not ask for it.
func limitPIDs(l Limits) error {
	if l.Pids == 0 || !l.PIDMax {
		return nil
	}
	if err := writePIDMax(l.Pids + reservedPIDs); err != nil {
		return fmt.Errorf("limit processes to %d: %w", l.Pids, err)
	}
	return nil
}

// writePIDMax writes by a mount of proc that is attached nowhere: the one that commands
// see is read-only.
func writePIDMax(n int) error {
	proc, err := fresh("proc", nil, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(proc) //nolint:errcheck // only a handle
	fd, err := unix.Openat(proc, "sys/kernel/pid_max", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open kernel.pid_max: %w", err)
	}
	_, err = unix.Write(fd, strconv.AppendInt(nil, int64(n), 10))
	return errors.Join(err, unix.Close(fd))
}

// limitForks makes RLIMIT_NPROC hold for what start starts, and not
// for the supervisor, which must be able to start threads when the command has
// used up the limit. What start starts begins with the limit, and could raise it
// again until sealForks, which follows at once: long before it has read a line
// of what it is to do.
func limitForks(n int, start func() (int, error)) (int, error) {
	if n == 0 {
		return start()
	}
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &before); err != nil {
		return 0, fmt.Errorf("limit processes: %w", err)
	}
	during := unix.Rlimit{Cur: min(uint64(n), before.Max), Max: before.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NPROC, &during); err != nil {
		return 0, fmt.Errorf("limit processes to %d: %w", n, err)
	}
	pid, err := start()
	if e := unix.Setrlimit(unix.RLIMIT_NPROC, &before); e != nil && err == nil {
		err = fmt.Errorf("free the supervisor of the limit for processes: %w", e)
	}
	return pid, err
}

// sealForks takes from a process that limitForks started the right to raise its
// limit again. A confined thread can't do it.
func sealForks(n, pid int) error {
	if n == 0 {
		return nil
	}
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &before); err != nil {
		return fmt.Errorf("limit processes: %w", err)
	}
	value := min(uint64(n), before.Max)
	if err := unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: value, Max: value}, nil); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("limit processes to %d: %w", n, err)
	}
	return nil
}

// lower sets a limit, unless it is lower already.
func lower(which int, value uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(which, &now); err != nil {
		return err
	}
	value = min(value, now.Max)
	return unix.Setrlimit(which, &unix.Rlimit{Cur: value, Max: value})
}
