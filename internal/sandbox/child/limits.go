//go:build linux

package child

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/millhand/millhand/internal/sandbox/linux"
)

// limit sets the resource limits of the process and all its descendants, except the
// number of processes; see limitForks.
func limit(plan *Plan) error {
	limits := []struct {
		name  string
		which int
		value int64
	}{
		{"core dumps", syscall.RLIMIT_CORE, 0},
		{"memory", syscall.RLIMIT_DATA, plan.Limits.DataBytes},
		{"file sizes", syscall.RLIMIT_FSIZE, plan.Limits.FileBytes},
	}
	for _, l := range limits {
		if l.value == 0 && l.which != syscall.RLIMIT_CORE {
			continue
		}
		if err := lower(l.which, uint64(l.value)); err != nil {
			return failed("limit "+l.name+" to "+strconv.FormatInt(l.value, 10), err)
		}
	}
	return nil
}

// raiseOOMScore makes the kernel's OOM killer prefer the command and its descendants. It kills
// the largest of them, which is not this process.
func raiseOOMScore() {
	writeFile("/proc/self/oom_score_adj", "900") //nolint:errcheck // missing without an OOM killer
}

// startTries is the number of attempts to start a command while fork fails with EAGAIN,
// startPause the time between two attempts. Other processes of the user may exit in the
// meantime.
const (
	startTries = 10
	startPause = 100 * time.Millisecond
)

// startLimited calls start, which starts the command, under the limit on processes. The
// error is start's; a persistent EAGAIN names the limit.
func startLimited(plan *Plan, start func() (int, error)) begun {
	for try := 1; ; try++ {
		n := processLimit(plan)
		pid, err := limitForks(n, start)
		switch {
		case !errors.Is(err, syscall.EAGAIN):
			return begun{pid: pid, limit: n, err: err}
		case try == startTries && plan.Limits.Pids > 0:
			return begun{err: failed("limits.processes ("+strconv.Itoa(plan.Limits.Pids)+") exceeded, or a limit of the user or the container", err)}
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
	go func() { count <- Running(os.Geteuid()) }() // the calling thread is confined and can't read /proc
	return plan.Limits.Pids + <-count
}

// Running counts the processes and threads of a user.
func Running(uid int) (n int) {
	eachPID(func(pid string) { n += threads(pid, uid) })
	return n
}

// threads returns the number of threads of a process; 0 if it is not of a user. The attributes of the
// directory of its threads have both, because each thread is a subdirectory. The kernel needs ten
// times as long for the contents of the process's stat file.
func threads(pid string, uid int) int {
	var st syscall.Stat_t
	if err := syscall.Stat("/proc/"+pid+"/task", &st); err != nil || int(st.Uid) != uid {
		return 0
	}
	return max(1, int(st.Nlink)-2)
}

// reservedPIDs is the number of PIDs that the kernel skips after wrapping around, and the
// minimum of pid_max (see proc_sys_kernel(5)).
const reservedPIDs = 300

// limitPIDs limits the PIDs of the namespace whose init is this process. Since Linux 6.14
// each PID namespace has its own pid_max. Before, it would change the machine's, so that
// the plan must not require it.
func limitPIDs(l Limits) error {
	if l.Pids == 0 || !l.PIDMax {
		return nil
	}
	if err := writePIDMax(l.Pids + reservedPIDs); err != nil {
		return failed("limit processes to "+strconv.Itoa(l.Pids), err)
	}
	return nil
}

// writePIDMax writes to a detached mount of proc, because that of commands is read-only.
func writePIDMax(n int) error {
	proc, err := fresh("proc", nil, linux.MOUNT_ATTR_NOSUID|linux.MOUNT_ATTR_NODEV|linux.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return err
	}
	defer syscall.Close(proc) //nolint:errcheck // only a handle
	fd, err := syscall.Openat(proc, "sys/kernel/pid_max", syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return failed("open kernel.pid_max", err)
	}
	_, err = syscall.Write(fd, strconv.AppendInt(nil, int64(n), 10))
	return errors.Join(err, syscall.Close(fd))
}

// ownThreads is the number of threads that the supervisor can have while it starts a
// command.
const ownThreads = 12

// limitForks sets RLIMIT_NPROC for the process that start starts, but not for the
// supervisor, which must be able to create threads when the command has exceeded the
// limit. The process could raise the limit until sealForks, which is called immediately
// afterwards, long before the process can execute input.
func limitForks(n int, start func() (int, error)) (int, error) {
	switch {
	case n == 0:
		return start()
	case n <= ownThreads: // they count, so start would fail, or the runtime, which exits if it can't create a thread
		return 0, syscall.EAGAIN
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(linux.RLIMIT_NPROC, &before); err != nil {
		return 0, failed("limit processes", err)
	}
	during := syscall.Rlimit{Cur: min(uint64(n), before.Max), Max: before.Max}
	if err := syscall.Setrlimit(linux.RLIMIT_NPROC, &during); err != nil {
		return 0, failed("limit processes to "+strconv.Itoa(n), err)
	}
	pid, err := start()
	if e := syscall.Setrlimit(linux.RLIMIT_NPROC, &before); e != nil && err == nil {
		err = failed("restore the supervisor's limit on processes", e)
	}
	return pid, err
}

// sealForks sets the hard limit of a process that limitForks started, so that it can't
// raise its limit. A confined thread can't do this.
func sealForks(n, pid int) error {
	if n == 0 {
		return nil
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(linux.RLIMIT_NPROC, &before); err != nil {
		return failed("limit processes", err)
	}
	value := min(uint64(n), before.Max)
	if err := linux.Prlimit(pid, linux.RLIMIT_NPROC, &syscall.Rlimit{Cur: value, Max: value}, nil); err != nil && !errors.Is(err, syscall.ESRCH) {
		return failed("limit processes to "+strconv.Itoa(n), err)
	}
	return nil
}

// lower sets a limit unless it is already lower.
func lower(which int, value uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(which, &now); err != nil {
		return err
	}
	value = min(value, now.Max)
	return syscall.Setrlimit(which, &syscall.Rlimit{Cur: value, Max: value})
}
