package sandbox

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// do calls a function with the user's rights to files: on a thread of its own, whose user for files is
// separate from that for everything else; see setfsuid(2). Supplementary groups are those of commands.
func (u user) do(look func()) error {
	if !u.other() {
		look()
		return nil
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread can't be used for anything else
		err := u.adopt()
		if err == nil {
			look()
		}
		result <- err
	}()
	return <-result
}

// adopt makes this thread access files as the user.
func (u user) adopt() error {
	if !cgroupsPersist() {
		if err := unix.Setgroups(nil); err != nil {
			return fmt.Errorf("access files as user %d: %w", u.uid, err)
		}
	}
	for _, own := range []struct {
		id  int
		set func(int) (int, error)
	}{{u.gid, unix.SetfsgidRetGid}, {u.uid, unix.SetfsuidRetUid}} {
		own.set(own.id)                                           //nolint:errcheck // an invalid ID changes nothing
		if now, err := own.set(-1); err != nil || now != own.id { // this as well
			return fmt.Errorf("access files as user %d of group %d: %w", u.uid, u.gid, unix.EPERM)
		}
	}
	return nil
}
