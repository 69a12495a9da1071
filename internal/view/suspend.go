package view

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// OnSuspend calls do when the terminal suspends the process (SIGTSTP, from Ctrl-Z), until
// end is called. do calls stop, which stops the process until SIGCONT continues it. Without
// a shell that could continue it, SIGTSTP has no effect, as by default.
func OnSuspend(do func(stop func())) (end func()) {
	session, err := unix.Getsid(0)
	if err != nil || session == unix.Getpgrp() { // a shell with job control gives each job a group
		return func() {}
	}
	suspended, done, ended := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	signal.Notify(suspended, syscall.SIGTSTP)
	go func() {
		defer close(ended)
		for {
			select {
			case <-suspended:
				do(stopProcess)
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(suspended)
		close(done)
		<-ended
	}
}

// stopProcess stops the process until SIGCONT. It sends SIGSTOP, because Go does not
// restore the default effect of SIGTSTP.
func stopProcess() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if unix.Kill(os.Getpid(), unix.SIGSTOP) == nil {
		<-continued
	}
}
