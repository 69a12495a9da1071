package sandbox

import "os"

// user is the user that commands run as.
type user struct{ uid, gid int }

// userOf returns the user of commands in a workspace: of this process, or, if that is root, the
// owner of the workspace, so that they can write to it without root's capabilities.
func userOf(workspace string) (user, error) {
	u := user{os.Geteuid(), os.Getegid()}
	if u.uid != 0 {
		return u, nil
	}
	uid, gid, err := owner(workspace)
	if uid == 0 {
		gid = 0
	}
	return user{uid, gid}, err
}

// other reports whether it is not the user of this process.
func (u user) other() bool { return u.uid != os.Geteuid() }

// OfOther reports whether commands in a workspace run as another user than this process: what
// that finds and can open is different for them.
func OfOther(workspace string) bool {
	u, err := userOf(workspace)
	return err == nil && u.other()
}

// As calls a function that looks at files with the rights of commands in a workspace. It must not
// start a process or goroutine.
func As(workspace string, look func()) error {
	u, err := userOf(workspace)
	if err != nil {
		return err
	}
	return u.do(look)
}
