//go:build linux

package sandbox

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Harden protects the calling process, which holds keys, from other processes of the
// same user: they can't trace it, or read its memory or environment. It also disables
// core dumps.
func Harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make the process undumpable: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("disable core dumps: %w", err)
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

// Sweep kills and reaps processes that commands at level Partial left when their
// supervisor was killed (see ErrLost), and returns their number. As orphans they became
// children of the calling process. Unlike its other children they have more seccomp
// filters than it has, which a process can't remove.
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

// filters returns the number of seccomp filters of a process.
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
