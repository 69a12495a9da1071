//go:build linux

package sandbox

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Harden protects the calling process, which holds keys, from others of the
// same user: nobody may trace it, read its memory or its environment, or dump
// its core.
func Harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid others to look into the process: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("forbid core dumps: %w", err)
	}
	return nil
}

// Adopt makes the calling process adopt the orphans of its descendants, for
// Sweep.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}
	return nil
}

// Sweep kills and reaps what commands at level Partial left behind when their
// supervisor was killed (see ErrLost), and returns how many processes that
// were. It finds them among the children of the calling process, whose orphans
// they became: unlike everything that this process started itself, they have
// more filters of system calls than it has, and filters can't be shaken off.
func Sweep() (int, error) {
	own, err := filters("self")
	if err != nil {
		return 0, err
	}
	swept := 0
	for {
		strays, err := strayChildren(own)
		if err != nil || len(strays) == 0 {
			return swept, err
		}
		for _, pid := range strays {
			if err := unix.Kill(pid, unix.SIGKILL); err != nil {
				return swept, fmt.Errorf("kill stray process %d: %w", pid, err)
			}
			if _, err := unix.Wait4(pid, nil, 0, nil); err != nil {
				return swept, fmt.Errorf("reap stray process %d: %w", pid, err)
			}
			swept++
		}
	}
}

// strayChildren lists the children that are confined.
func strayChildren(own int) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("look for stray processes: %w", err)
	}
	self, strays := strconv.Itoa(os.Getpid()), []int(nil)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		status, err := os.ReadFile("/proc/" + e.Name() + "/status")
		if err != nil || statusField(string(status), "PPid") != self {
			continue
		}
		if n, err := strconv.Atoi(statusField(string(status), "Seccomp_filters")); err == nil && n > own {
			strays = append(strays, pid)
		}
	}
	return strays, nil
}

// filters returns how many filters of system calls a process has.
func filters(pid string) (int, error) {
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0, fmt.Errorf("count the filters of process %s: %w", pid, err)
	}
	n, err := strconv.Atoi(statusField(string(status), "Seccomp_filters"))
	if err != nil {
		return 0, fmt.Errorf("count the filters of process %s: %w", pid, err)
	}
	return n, nil
}

// statusField returns a field of a process's status file.
func statusField(status, name string) string {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
