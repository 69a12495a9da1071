//go:build linux

package child

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestThePathOfAUnixSocket(t *testing.T) {
	for addr, want := range map[string]string{
		"\x01\x00s": "s", "\x01\x00/a/s\x00junk": "/a/s", "\x01\x00\x00s": "", "\x01\x00": "", "\x01": "", "": "",
		"\x02\x00\x12\x34\x7f\x00\x00\x01": "", "\x00\x00s": "",
	} {
		if got, named := socketPath([]byte(addr)); got != want || named != (want != "") {
			t.Errorf("%q: got %q, %t; want %q", addr, got, named, want)
		}
	}
}

// Files of sockets are held while they have a name, so that a large number of servers
// doesn't exhaust file descriptors.
func TestDeletedSocketsAreNotHeld(t *testing.T) {
	o, dir := newOwnSockets(), t.TempDir()
	named := ""
	for i := range 3 * pruneFrom {
		name := filepath.Join(dir, string(rune('a'+i%26))+string(rune('a'+i/26)))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		id, err := identify(file)
		if err != nil || !o.add(id, file) || o.add(id, file) || !o.holds(id) {
			t.Fatalf("add %s: %v", name, err)
		}
		if i == 0 {
			named = name
		} else if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if len(o.files) > pruneFrom {
		t.Errorf("%d files are held", len(o.files))
	}
	var st unix.Stat_t
	if err := unix.Stat(named, &st); err != nil || !o.holds(inode{uint64(st.Dev), st.Ino}) { //nolint:unconvert // other architectures have other types
		t.Errorf("%s is not held: %v", named, err)
	}
}

// A rule must not permit what only an exception for the command's own sockets permits.
func TestNoRulePermitsUnixSockets(t *testing.T) {
	for version := range ResolvesUnix + 2 {
		fs := handled(version, AnySocket).Handled_access_fs
		if got := fs&unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX != 0; got != (version >= ResolvesUnix) {
			t.Errorf("version %d: restricted: %t", version, got)
		}
		for _, a := range []Access{Read, Full, Node} {
			if a.rights()&fs&unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX != 0 {
				t.Errorf("version %d: %s permits unix sockets", version, a)
			}
		}
	}
}
