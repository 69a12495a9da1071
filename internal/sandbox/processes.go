//go:build linux

package sandbox

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/sandbox/child"
)

// FreeProcesses returns how many more processes and threads this process can start, by the limits of
// its user (setrlimit(2)) and of the control groups of version 2 that it is in.
func FreeProcesses() uint64 {
	free := uint64(math.MaxUint64)
	less := func(limit, used uint64) { free = min(free, limit-min(used, limit)) }
	var l unix.Rlimit
	if uid := os.Geteuid(); uid != 0 && unix.Getrlimit(unix.RLIMIT_NPROC, &l) == nil && l.Cur != unix.RLIM_INFINITY {
		less(l.Cur, uint64(child.Running(uid))) //nolint:gosec // a count
	}
	if h, ok := findHierarchy(); ok {
		for dir := filepath.Join(h.mount, strings.TrimPrefix(h.own, h.root)); pathtree.Within(dir, h.mount); dir = filepath.Dir(dir) {
			limit, err := number(filepath.Join(dir, "pids.max"))
			if err != nil {
				continue // "max", or the root of the hierarchy
			}
			if used, err := number(filepath.Join(dir, "pids.current")); err == nil {
				less(limit, used)
			}
		}
	}
	return free
}

// number reads a file with a number.
func number(file string) (uint64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}
