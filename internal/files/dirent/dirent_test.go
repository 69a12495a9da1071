package dirent

import (
	"errors"
	"fmt"
	"go/version"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
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

// TestTheLibraryDescribesByPath has a reason for this package: a directory is replaced after it was listed.
func TestTheLibraryDescribesByPath(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "dir")
	for name, text := range map[string]string{"dir": "as listed", "other": "x"} {
		if err := errors.Join(os.Mkdir(filepath.Join(parent, name), 0o700), os.WriteFile(filepath.Join(parent, name, "file"), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	open, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	list, err := Append(nil, int(open.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	entries, err := open.ReadDir(-1)
	if err := errors.Join(err, os.Rename(dir, dir+" before"), os.Rename(filepath.Join(parent, "other"), dir)); err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	var st unix.Stat_t
	if e, _, ok := list.Next(); !ok || e.Lstat(int(open.Fd()), &st) != nil || st.Size != int64(len("as listed")) {
		t.Errorf("the entry of the list has %d bytes", st.Size)
	}
	if info, err := entries[0].Info(); err != nil || info.Size() != int64(len("x")) {
		t.Errorf("os describes entries in the directory that was listed (%v, %v): it may replace this package", info, err)
	}
}

// TestTheLibraryAllocatesEntries has another one.
func TestTheLibraryAllocatesEntries(t *testing.T) {
	const files = 500
	dir := t.TempDir()
	for i := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	var list List
	allocations := func(read func() error) float64 {
		return testing.AllocsPerRun(3, func() {
			if _, err := open.Seek(0, io.SeekStart); err != nil {
				t.Error(err)
			}
			if err := read(); err != nil {
				t.Error(err)
			}
		})
	}
	if own := allocations(func() (err error) { list, err = Append(list[:0], int(open.Fd())); return err }); own > 10 && runtime.GOOS == "linux" {
		t.Errorf("the list needs %.0f allocations", own)
	}
	if library := allocations(func() error { _, err := open.ReadDir(-1); return err }); library < files {
		t.Errorf("os needs %.0f allocations for %d files: it may replace this package", library, files)
	}
}

// TestTheRequiredGo has the last one.
func TestTheRequiredGo(t *testing.T) {
	mod, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	required := regexp.MustCompile(`(?m)^go (\S+)$`).FindSubmatch(mod)
	if required == nil || version.Compare("go"+string(required[1]), "go1.26.8") >= 0 {
		t.Errorf("go.mod requires Go %s, whose ReadDir finds the kinds of entries: remove that reason from the package's comment", required)
	}
}
