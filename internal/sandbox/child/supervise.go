//go:build linux

package child

import (
	"errors"
	"os"
	"path"
	"runtime"
	"strconv"
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
// exits. It uses the signals that are sent to it after ready is closed.
func supervise(plan *Plan, terms <-chan os.Signal, ready <-chan struct{}, request *Request) int {
	started := make(chan begun)
	go func() {
		runtime.LockOSThread() // never unlocked: the confined thread can't be used for anything else
		started <- begin(plan, ready, request)
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
	say(ReportExit, strconv.Itoa(max(status.ExitStatus(), 0))+" "+strconv.Itoa(int(max(status.Signal(), 0))))
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// begin confines the calling thread and starts the command from it.
func begin(plan *Plan, ready <-chan struct{}, request *Request) begun {
	listener, err := confineThread(plan)
	if err != nil {
		return begun{err: err}
	}
	if listener >= 0 {
		go respond(listener, plan.handler())
	}
	if len(request.Args) == 0 {
		return begun{}
	}
	program, err := look(request.Args[0], request.Env)
	if err != nil {
		return begun{err: unable{err}}
	}
	<-ready
	b := startLimited(plan, func() (int, error) {
		return syscall.ForkExec(program, request.Args, &syscall.ProcAttr{
			Dir: request.Dir, Env: request.Env, Files: []uintptr{0, 1, 2},
			Sys: &syscall.SysProcAttr{Setpgid: true},
		})
	})
	if b.err != nil {
		b.err = unable{failed("start "+program+" in "+request.Dir, b.err)}
	}
	return b
}

// look finds a program in the PATH of an environment inside of the sandbox.
func look(name string, env []string) (string, error) {
	if indexByte(name, '/') >= 0 {
		return name, nil
	}
	dirs := ""
	for _, kv := range env {
		if name, value, _ := cut(kv, '='); name == "PATH" {
			dirs = value
		}
	}
	for dir, rest, more := cut(dirs, ':'); ; dir, rest, more = cut(rest, ':') {
		file := path.Join(dir, name)
		var st syscall.Stat_t
		if path.IsAbs(file) && syscall.Stat(file, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFREG && st.Mode&0o111 != 0 {
			return file, nil
		}
		if !more {
			return "", errors.New("find program " + name + ": not found in PATH " + strconv.Quote(dirs) + " inside of the sandbox")
		}
	}
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
// process. Without children it has no descendants, and lists no processes.
func sweep() {
	for !childless() {
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

// childless reaps the children that have exited, and reports whether there are no others.
func childless() bool {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG|syscall.WALL, nil)
		if errors.Is(err, syscall.ECHILD) {
			return true
		}
		if pid <= 0 && !errors.Is(err, syscall.EINTR) {
			return false
		}
	}
}

// killDescendants kills all descendants, and reports whether any was a child of the
// process itself. It kills each when it finds it, in the order of PIDs, which the
// kernel assigns in ascending order: it catches up with a fork bomb.
func killDescendants(self int) (child bool) {
	mine := map[int]bool{self: true}
	eachPID(func(name string) {
		stat, err := readFile("/proc/" + name + "/stat")
		if err != nil {
			return
		}
		if parent := parseParent(stat); mine[parent] {
			pid, _ := strconv.Atoi(name)
			syscall.Kill(pid, syscall.SIGKILL) //nolint:errcheck // may have exited
			mine[pid] = true
			child = child || parent == self
		}
	})
	return child
}

// eachPID calls a function with the PID of every process, in ascending order, including
// processes with higher PIDs that start in the meantime.
func eachPID(call func(pid string)) {
	dir, err := syscall.Open("/proc", syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer syscall.Close(dir)           //nolint:errcheck // only read
	for buf := make([]byte, 2048); ; { // few at a time: the kernel lists PIDs in order
		n, err := syscall.ReadDirent(dir, buf)
		if err != nil || n <= 0 {
			return
		}
		_, _, names := syscall.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			if _, err := strconv.Atoi(name); err == nil {
				call(name)
			}
		}
	}
}

// parseParent returns the PID of the parent in a process's stat file (see proc(5)), in which the
// name, chosen by the process, is in parentheses; 0 if it is missing.
func parseParent(stat string) int {
	for end := indexByte(stat, ')'); end >= 0; end = indexByte(stat, ')') {
		stat = stat[end+1:]
	}
	field := ""
	for n, more := 2, true; more && n <= 4; n++ { // field 2 is the name
		field, stat, more = cut(stat, ' ')
		if parent, err := strconv.Atoi(field); n == 4 && err == nil {
			return parent
		}
	}
	return 0
}
