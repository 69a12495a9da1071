//go:build linux

package child

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// begun is the result of starting the command.
type begun struct {
	pid   int // 0 for no command
	limit int // the command's RLIMIT_NPROC, still to be sealed; 0 for none
	err   error
}

// supervise starts the command, waits for it, kills the remaining processes, and returns
// the exit code. In a PID namespace the kernel kills them when this process, the init,
// exits.
func supervise(plan *Plan, dir string, args []string) int {
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM)
	started := make(chan begun)
	go func() {
		runtime.LockOSThread() // never unlocked: the confined thread can't be used for anything else
		started <- begin(plan, dir, args)
	}()
	b := <-started
	if b.err != nil {
		return refuse(b.err)
	}
	if b.pid == 0 {
		say(ReportExit, "0 0")
		return 0
	}
	if err := sealForks(b.limit, b.pid); err != nil {
		syscall.Kill(-b.pid, syscall.SIGKILL) //nolint:errcheck // may have exited
		wait(b.pid)
		return refuse(err)
	}
	go followParent(b.pid)
	go followSignal(terms, b.pid, plan.Grace)
	status := wait(b.pid)
	if !plan.Namespaces {
		sweep()
	}
	say(ReportExit, fmt.Sprintf("%d %d", max(status.ExitStatus(), 0), max(status.Signal(), 0)))
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// begin confines the calling thread and starts the command from it.
func begin(plan *Plan, dir string, args []string) begun {
	listener, err := confineThread(plan)
	if err != nil {
		return begun{err: err}
	}
	if listener >= 0 {
		go respond(listener, plan.handler())
	}
	if len(args) == 0 {
		return begun{}
	}
	program, err := look(args[0])
	if err != nil {
		return begun{err: err}
	}
	b := startLimited(plan, func() (int, error) {
		return syscall.ForkExec(program, args, &syscall.ProcAttr{
			Dir: dir, Env: syscall.Environ(), Files: []uintptr{0, 1, 2},
			Sys: &syscall.SysProcAttr{Setpgid: true},
		})
	})
	if b.err != nil {
		b.err = fmt.Errorf("start %s in %s: %w", program, dir, b.err)
	}
	return b
}

// look finds a program in PATH inside of the sandbox.
func look(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path, _ := syscall.Getenv("PATH")
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 && filepath.IsAbs(file) {
			return file, nil
		}
	}
	return "", fmt.Errorf("find program %s: not found in PATH %q inside of the sandbox", name, path)
}

// followParent kills the command when the parent requests it or exits.
func followParent(pid int) {
	for {
		n, err := syscall.Read(ControlFile, make([]byte, 1))
		if n == 0 || err != nil && !errors.Is(err, syscall.EINTR) {
			syscall.Kill(-pid, syscall.SIGKILL) //nolint:errcheck // may have exited
			return
		}
	}
}

// followSignal forwards the first SIGTERM to the command's process group, and kills the
// group after the grace period.
func followSignal(terms <-chan os.Signal, pid int, grace time.Duration) {
	<-terms
	syscall.Kill(-pid, syscall.SIGTERM) //nolint:errcheck // may have exited
	time.Sleep(grace)
	syscall.Kill(-pid, syscall.SIGKILL) //nolint:errcheck // may have exited
}

// wait reaps processes until the command has exited.
func wait(pid int) syscall.WaitStatus {
	for {
		var status syscall.WaitStatus
		if got, err := syscall.Wait4(-1, &status, 0, nil); err == nil && got == pid {
			return status
		}
	}
}

// sweep kills all descendants, including daemons: orphans become children of this
// process.
func sweep() {
	for {
		options := 0
		if !killDescendants(os.Getpid()) {
			options = syscall.WNOHANG // there may be no children
		}
		for { // reap all before listing processes again
			pid, err := syscall.Wait4(-1, nil, options, nil)
			if errors.Is(err, syscall.ECHILD) {
				return
			}
			if pid == 0 {
				time.Sleep(time.Millisecond) // killed processes need time to exit
				break
			}
			options = syscall.WNOHANG
		}
	}
}

// killDescendants kills all descendants, and reports whether any was a child of the
// process itself. It kills each when it finds it, in the order of PIDs, which the
// kernel assigns in ascending order: it catches up with a fork bomb.
func killDescendants(self int) (child bool) {
	mine := map[int]bool{self: true}
	eachProcess(func(pid int, p process) {
		if mine[p.parent] {
			syscall.Kill(pid, syscall.SIGKILL) //nolint:errcheck // may have exited
			mine[pid] = true
			child = child || p.parent == self
		}
	})
	return child
}

// process is an entry of the process table.
type process struct{ parent, threads int }

// descendants returns the processes that descend from the process of.
func descendants(all map[int]process, of int) map[int]process {
	children := map[int][]int{}
	for pid, p := range all {
		children[p.parent] = append(children[p.parent], pid)
	}
	found := map[int]process{}
	for next := children[of]; len(next) > 0; {
		pid := next[0]
		found[pid] = all[pid]
		next = append(next[1:], children[pid]...)
	}
	return found
}

// processes returns all processes by PID.
func processes() map[int]process {
	all := map[int]process{}
	eachProcess(func(pid int, p process) { all[pid] = p })
	return all
}

// eachProcess calls a function with every process, in ascending order of PIDs, including
// processes with higher PIDs that start in the meantime.
func eachProcess(call func(pid int, p process)) {
	dir, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(64) // few at a time: the kernel lists PIDs in order
		for _, name := range names {
			pid, err := strconv.Atoi(name)
			if err != nil {
				continue
			}
			if stat, err := os.ReadFile("/proc/" + name + "/stat"); err == nil {
				call(pid, parseStat(string(stat)))
			}
		}
		if err != nil {
			return
		}
	}
}

// parseStat parses a process's stat file (see proc(5)), in which the name, chosen by the
// process, is in parentheses. Missing fields are 0.
func parseStat(stat string) process {
	const parent, threads = 4 - 3, 20 - 3 // the numbers of the fields, from the first after the name
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	number := func(i int) int {
		if i >= len(fields) {
			return 0
		}
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			return 0
		}
		return n
	}
	return process{parent: number(parent), threads: number(threads)}
}
