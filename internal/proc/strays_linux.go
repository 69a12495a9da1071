package proc

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxSweeps limits the scans for processes that start others while they are killed.
const maxSweeps = 100

// deathTimeout limits the wait for a killed process, in milliseconds: the kernel may be
// busy for it.
const deathTimeout = 10_000

// KillStrays kills the processes that commands of a run left whose private directory is
// dir, after the run was killed itself, and returns their number. They are those whose
// TMPDIR is below dir, their descendants, and the members of process groups that they lead.
// Processes of other users are never killed, except, for root, those of the user that owns
// the directory of TMPDIR.
func KillStrays(dir string) (int, error) {
	killed := 0
	for range maxSweeps {
		found, err := findStrays(dir)
		if err != nil || len(found) == 0 {
			return killed, err
		}
		for _, p := range found {
			done, err := p.kill()
			if err != nil {
				return killed, fmt.Errorf("kill process %d: %w", p.pid, err)
			}
			if done {
				killed++
			}
		}
	}
	return killed, fmt.Errorf("commands of %s start processes faster than they can be killed", dir)
}

// stray is a running process.
type stray struct {
	pid, parent, group int
	started            int // in clock ticks after boot; with pid it identifies the process
	uid                uint32
	marked             bool // by its environment
}

// findStrays returns the processes to kill, oldest first: a parent that is killed before its
// children starts no others instead of them. It excludes this process and its ancestors,
// which can be commands of the killed run.
func findStrays(dir string) ([]stray, error) {
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	all := map[int]stray{}
	for _, name := range names {
		if p, ok := readStray(name, dir); ok {
			all[p.pid] = p
		}
	}
	var found []stray
	for _, p := range all {
		if p.belongs(all) {
			found = append(found, p)
		}
	}
	for pid := os.Getpid(); pid > 0; pid = all[pid].parent {
		found = slices.DeleteFunc(found, func(p stray) bool { return p.pid == pid })
	}
	slices.SortFunc(found, func(a, b stray) int { return cmp.Or(cmp.Compare(a.started, b.started), cmp.Compare(a.pid, b.pid)) })
	return found, nil
}

// readStray reads what is needed of a process; false if it has ended.
func readStray(proc, dir string) (p stray, ok bool) {
	text, err := os.ReadFile(proc + "/stat")
	if err != nil {
		return p, false
	}
	at := strings.LastIndex(string(text), ") ") // after the name, which may contain anything
	fields := strings.Fields(string(text[at+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return p, false
	}
	p.pid, _ = strconv.Atoi(filepath.Base(proc))
	p.parent, _ = strconv.Atoi(fields[1])
	p.group, _ = strconv.Atoi(fields[2])
	p.started, _ = strconv.Atoi(fields[19])
	if p.uid, ok = userOf(proc); !ok {
		return p, false
	}
	env, _ := os.ReadFile(proc + "/environ") // unreadable: not one of this user's commands
	for kv := range strings.SplitSeq(string(env), "\x00") {
		if tmp, set := strings.CutPrefix(kv, "TMPDIR="); set && strings.HasPrefix(tmp, dir+"/") {
			p.marked = mayKill(p.uid, tmp)
		}
	}
	return p, true
}

// userOf returns the real user of a process.
func userOf(proc string) (uint32, bool) {
	text, err := os.ReadFile(proc + "/status")
	if err != nil {
		return 0, false
	}
	_, after, found := strings.Cut(string(text), "\nUid:\t")
	real, _, _ := strings.Cut(after, "\t")
	uid, err := strconv.ParseUint(real, 10, 32)
	return uint32(uid), found && err == nil
}

// mayKill reports whether the process of a user can be a command: this user's, or of the
// owner of its TMPDIR, which only the run creates there.
func mayKill(uid uint32, tmp string) bool {
	if int(uid) == os.Geteuid() {
		return true
	}
	info, err := os.Lstat(tmp)
	if err != nil || os.Geteuid() != 0 {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == uid
}

// belongs reports whether a process, an ancestor of it, or the leader of its group or of
// that of an ancestor is marked. All are of the same user.
func (p stray) belongs(all map[int]stray) bool {
	seen := map[int]bool{}
	for at := p; at.pid > 1 && !seen[at.pid] && at.uid == p.uid; at = all[at.parent] {
		seen[at.pid] = true
		leader := all[at.group]
		if at.marked || leader.marked && leader.uid == p.uid {
			return true
		}
	}
	return false
}

// kill kills the process and waits until it has ended; false if it had already. A process
// that got its pid later is not killed.
func (p stray) kill() (bool, error) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer unix.Close(fd) //nolint:errcheck // it was only read
	again, ok := readStray(filepath.Join("/proc", strconv.Itoa(p.pid)), "")
	if !ok || again.started != p.started {
		return false, nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil {
		if errors.Is(err, unix.ESRCH) {
			return false, nil
		}
		return false, err
	}
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, deathTimeout)
		if !errors.Is(err, unix.EINTR) {
			return true, err
		}
	}
}
