//go:build linux

package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/files/dirent"
)

// asOther lets a test also run as a user that file modes hold for.
func asOther(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	t.Run("not root", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", "^"+filepath.Dir(t.Name())+"$", "-test.count=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
		cmd.Dir, cmd.Env = "/", append(os.Environ(), "TMPDIR=/tmp")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// The search finds what a simple one with the same rule finds: in unreadable directories, for names
// with any bytes, and where the file system reports no types.
func TestSearchForPrivateFiles(t *testing.T) {
	rnd := nightly.Random(t)
	for range nightly.Count(30, 300, 3000) {
		root := t.TempDir()
		t.Cleanup(func() { readable(root) })
		generate(t, rnd, root, 3)
		p := NewPrivate(root)
		got, want := p.Paths(), simply(root)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("found %q, want %q", got, want)
		}
		if got := withoutKinds(t, root); !slices.Equal(got, want) {
			t.Fatalf("without types: found %q, want %q", got, want)
		}
	}
	asOther(t)
}

// simply is the rule in its simplest form.
func simply(root string) (found []string) {
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		var st unix.Stat_t
		if path == root || e == nil || e.Type() == fs.ModeSymlink || unix.Lstat(path, &st) != nil {
			return nil //nolint:nilerr // of a directory that can't be listed
		}
		lacks := func(access uint32) bool {
			return st.Mode&access == 0 && (os.Geteuid() == 0 || unix.Faccessat(unix.AT_FDCWD, path, access, 0) == nil)
		}
		if err == nil && lacks(unix.R_OK) || e.IsDir() && lacks(unix.X_OK) {
			found = append(found, path)
			if e.IsDir() {
				return fs.SkipDir
			}
		}
		return nil
	})
	return found
}

// withoutKinds searches a directory as if its file system reported no types of entries.
func withoutKinds(t *testing.T, root string) []string {
	t.Helper()
	s := privateSearch{root: os.Geteuid() == 0, read: func(list dirent.List, dir int) (dirent.List, error) {
		before := len(list)
		list, err := dirent.Append(list, dir)
		for l := list[before:]; len(l) > 0; l = l[binary.NativeEndian.Uint16(l[16:]):] {
			l[18] = unix.DT_UNKNOWN
		}
		return list, err
	}}
	s.search(unix.AT_FDCWD, root, root)
	slices.Sort(s.found)
	return s.found
}

// generate fills a directory with files, directories, symlinks and pipes.
func generate(t *testing.T, rnd *rand.Rand, dir string, depth int) {
	t.Helper()
	modes := []os.FileMode{0o644, 0o600, 0o640, 0o755, 0o711, 0o700, 0o750, 0o000, 0o400, 0o744, 0o754, 0o777, 0o101, 0o200}
	mode := func() os.FileMode {
		if rnd.IntN(2) == 0 {
			return 0o755
		}
		return modes[rnd.IntN(len(modes))]
	}
	for i := range rnd.IntN(12) {
		name := filepath.Join(dir, fmt.Sprintf("%c%d%c\xff ", 1+rnd.IntN('.'), i, ".~\n\u200c"[rnd.IntN(4)]))
		var err error
		switch at := mode(); rnd.IntN(5) {
		case 0:
			err = os.Symlink([]string{"missing", "/etc/passwd", ".", "..", "/"}[rnd.IntN(5)], name)
		case 1:
			err = unix.Mkfifo(name, uint32(at))
		case 2:
			if err = os.Mkdir(name, 0o755); err == nil && depth > 0 {
				generate(t, rnd, name, depth-1)
			}
			defer os.Chmod(name, at)
		default:
			if err = os.WriteFile(name, nil, 0o600); err == nil {
				err = os.Chmod(name, at)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// readable lets a generated tree be removed.
func readable(root string) {
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, _ error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
}

// Directories that are created, replaced and removed during the search are no problem.
func TestSearchOfChangingDirectories(t *testing.T) {
	root := t.TempDir()
	secret := filepath.Join(root, "m", "secret")
	if err := errors.Join(os.Mkdir(filepath.Dir(secret), 0o755), os.Chmod(filepath.Dir(secret), 0o755), os.WriteFile(secret, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			dir := filepath.Join(root, fmt.Sprint(i%7))
			_ = os.MkdirAll(filepath.Join(dir, "a/b/c"), 0o755)
			_ = os.WriteFile(filepath.Join(dir, "a/b/private"), nil, 0o600)
			if i%3 == 0 {
				_ = os.RemoveAll(dir)
				_ = os.Symlink("m", dir)
			} else {
				_ = os.Rename(dir, dir+"x")
			}
			_ = os.RemoveAll(dir)
			_ = os.RemoveAll(dir + "x")
		}
	}()
	defer func() { close(stop); <-done }()
	for range 500 {
		found := NewPrivate(root).Paths()
		if !slices.Contains(found, secret) {
			t.Fatalf("%s is missing in %q", secret, found)
		}
		for _, p := range found {
			if filepath.Base(p) == "secret" && p != secret {
				t.Fatalf("followed a symlink to %s", p)
			}
		}
	}
}

// A directory that can't be searched for lack of file descriptors, or because its file system fails, may
// contain private files.
func TestSearchThatFails(t *testing.T) {
	root := t.TempDir()
	public := filepath.Join(root, "public")
	if err := errors.Join(os.Mkdir(public, 0o755), os.Chmod(public, 0o755), os.WriteFile(filepath.Join(public, "secret"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	broken := privateSearch{read: func(list dirent.List, dir int) (dirent.List, error) {
		list, err := dirent.Append(list, dir)
		if bytes.Contains(list, []byte("secret")) {
			err = unix.EIO
		}
		return list, err
	}}
	broken.search(unix.AT_FDCWD, root, root)
	if !slices.Equal(broken.found, []string{public}) {
		t.Errorf("after an error: found %q", broken.found)
	}
	var limit unix.Rlimit
	next, err := os.Open(root)
	if err := errors.Join(err, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)); err != nil {
		t.Fatal(err)
	}
	one := unix.Rlimit{Cur: uint64(next.Fd()) + 1, Max: limit.Max} // the root is opened, and no directory in it
	next.Close()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &one); err != nil {
		t.Fatal(err)
	}
	found := NewPrivate(root).Paths()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(found, []string{public}) {
		t.Errorf("without file descriptors: found %q", found)
	}
}

// Of all paths in a spec only grants, and the directories that commands work in, expose private files.
func TestOnlyGrantsExposePrivateFiles(t *testing.T) {
	system := t.TempDir()
	secret := filepath.Join(system, "app", "secret")
	if err := errors.Join(os.Chmod(system, 0o755), os.Mkdir(filepath.Dir(secret), 0o755), os.Chmod(filepath.Dir(secret), 0o755), os.WriteFile(secret, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	hidden := func(change func(*Spec)) bool {
		spec := newFixture(t).spec()
		spec.Private = NewPrivate(system)
		change(&spec)
		b, err := resolve(spec)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(b.ungranted(), secret)
	}
	works := []string{"Workspace", "Home", "TmpDir", "Stores"}
	for _, path := range []string{system, filepath.Dir(secret), secret} {
		for i := range reflect.TypeFor[Spec]().NumField() {
			field := reflect.TypeFor[Spec]().Field(i)
			var value any
			switch field.Type {
			case reflect.TypeFor[string]():
				value = path
			case reflect.TypeFor[[]string]():
				value = []string{path}
			default:
				continue
			}
			if slices.Contains(works, field.Name) {
				continue
			}
			if !hidden(func(s *Spec) { reflect.ValueOf(s).Elem().Field(i).Set(reflect.ValueOf(value)) }) {
				t.Errorf("%s: %s exposes a private file", field.Name, path)
			}
		}
		for _, write := range []bool{false, true} {
			got := hidden(func(s *Spec) { s.Grants = []Grant{NewGrant(path, write)} })
			if want := path == system; got != want {
				t.Errorf("grant of %s: private file is hidden: %v, want %v", path, got, want)
			}
		}
		if got, want := hidden(func(s *Spec) { s.Stores = []Store{{Dir: path, Layers: t.TempDir()}} }), path == system; got != want {
			t.Errorf("store %s: private file is hidden: %v, want %v", path, got, want)
		}
	}
	if !hidden(func(s *Spec) { s.Grants = []Grant{NewGrant(filepath.Dir(system), false)} }) {
		t.Error("a grant of a directory that contains the system's exposes a private file")
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.Symlink(system, other); err != nil {
		t.Fatal(err)
	}
	if !hidden(func(s *Spec) { s.Grants = []Grant{NewGrant(other, false)} }) {
		t.Error("a grant of a symlink to the system's directory exposes a private file")
	}
}
