//go:build linux

package child

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRespondEndsWithTheLastFilteredThread installs the filter in a thread that exits.
func TestRespondEndsWithTheLastFilteredThread(t *testing.T) {
	type installed struct {
		listener int
		err      error
	}
	done := make(chan installed)
	var install func()
	install = func() {
		runtime.LockOSThread() // never unlocked: the thread exits, except the first one
		if unix.Gettid() == unix.Getpid() {
			go install()
			<-t.Context().Done()
			return
		}
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		listener := -1
		if err == nil {
			listener, err = filterSyscalls(OwnSocket)
		}
		done <- installed{listener, err}
	}
	go install()
	filter := <-done
	switch {
	case filter.err != nil:
		t.Fatal(filter.err)
	case filter.listener < 0:
		t.Skip("the container manager receives the system calls")
	}
	defer unix.Close(filter.listener)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		respond(filter.listener, func(int, *notice) verdict { return verdict{carryOn: true} })
	}()
	<-ended
}
