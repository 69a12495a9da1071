package dirent

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAppend(t *testing.T) {
	for _, files := range []int{0, 1, 1000} {
		dir := t.TempDir()
		for i := range files {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file %d\xff\n%0*d", i, i%200, 0)), make([]byte, i), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"...", ".a", "..b"} {
			if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("nowhere", filepath.Join(dir, "symlink")); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
			t.Fatal(err)
		}
		open, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer open.Close()
		prefix := List("what was in the list before")
		list, err := Append(prefix, int(open.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for list = list[len(prefix):]; ; {
			e, rest, ok := list.Next()
			if !ok {
				break
			}
			list = rest
			var st unix.Stat_t
			if err := e.Lstat(int(open.Fd()), &st); err != nil {
				t.Fatal(err)
			}
			kind := KindOf(uint32(st.Mode)) //nolint:unconvert // 16 bits on macOS
			if e.Kind != kind && e.Kind != Unknown {
				t.Errorf("%q is of kind %d, want %d", e.Name(), e.Kind, kind)
			}
			types := map[Kind]fs.FileMode{File: 0, Dir: fs.ModeDir, Symlink: fs.ModeSymlink, Other: fs.ModeNamedPipe}
			got = append(got, fmt.Sprintf("%s %d %s", e.Name(), st.Size, types[kind]))
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]string, len(entries))
		for i, e := range entries {
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			want[i] = fmt.Sprintf("%s %d %s", e.Name(), info.Size(), info.Mode().Type())
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
