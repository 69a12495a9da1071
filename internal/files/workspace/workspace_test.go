package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// open makes a workspace with a neighbour outside of it.
func open(t *testing.T) (w *Workspace, outside string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "work")
	outside = filepath.Join(base, "work-outside") // shares a prefix on purpose
	for _, d := range []string{dir, outside, filepath.Join(dir, "sub")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(outside, "secret"), "s")
	write(t, filepath.Join(dir, "a.txt"), "a")
	if w, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w, outside
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func TestResolve(t *testing.T) {
	w, out := open(t)
	symlink(t, out, filepath.Join(w.Dir(), "out"))
	symlink(t, "sub", filepath.Join(w.Dir(), "in"))
	symlink(t, "../../work/a.txt", filepath.Join(w.Dir(), "sub", "around"))
	symlink(t, "missing/file", filepath.Join(w.Dir(), "dangling"))
	symlink(t, filepath.Join(out, "new"), filepath.Join(w.Dir(), "dangling-out"))
	tests := []struct {
		path    string
		rel     string // "" when outside
		outside string
	}{
		{"a.txt", "a.txt", ""},
		{".", ".", ""},
		{"", ".", ""},
		{"./sub/../a.txt", "a.txt", ""},
		{w.Dir() + "/a.txt", "a.txt", ""},
		{w.Dir(), ".", ""},
		{"new/deep/file", "new/deep/file", ""},
		{"in/x", "sub/x", ""},
		{"in/../a.txt", "a.txt", ""}, // .. of where the link leads
		{"sub/around", "a.txt", ""},
		{"dangling", "missing/file", ""},
		{"..", "", filepath.Dir(w.Dir())},
		{"../work-outside/secret", "", out + "/secret"},
		{out + "/secret", "", out + "/secret"},
		{"out/secret", "", out + "/secret"},
		{"out/../x", "", filepath.Dir(out) + "/x"},
		{"dangling-out", "", out + "/new"},
		{"/etc/../etc/passwd", "", "/etc/passwd"},
		{"a.txt/" + strings.Repeat("../", 30) + "etc/passwd", "", "/etc/passwd"},
	}
	for _, tt := range tests {
		p, err := w.Resolve(tt.path)
		want := Path{Abs: filepath.Join(w.Dir(), tt.rel), Rel: tt.rel}
		if tt.outside != "" {
			want = Path{Abs: tt.outside, Rel: tt.outside, Outside: true}
		}
		if err != nil || p != want {
			t.Errorf("Resolve(%q) = %+v, %v; want %+v", tt.path, p, err, want)
		}
	}
	symlink(t, "loop", filepath.Join(w.Dir(), "loop"))
	for _, bad := range []string{"a\x00b", "loop", "loop/x"} {
		if p, err := w.Resolve(bad); err == nil {
			t.Errorf("Resolve(%q) = %+v, want an error", bad, p)
		}
	}
}

func TestGitPaths(t *testing.T) {
	for rel, want := range map[string]bool{
		".git": true, ".git/config": true, "sub/.git/hooks/x": true, ".GIT/x": true,
		".gitignore": false, "git": false, "x.git/y": false, ".github/x": false,
	} {
		if got := (Path{Rel: rel}).Git(); got != want {
			t.Errorf("%s: Git() = %v", rel, got)
		}
	}
}

func resolve(t *testing.T, w *Workspace, path string) Path {
	t.Helper()
	p, err := w.Resolve(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWriteFileIsAtomicAndKeepsTheMode(t *testing.T) {
	w, _ := open(t)
	script := filepath.Join(w.Dir(), "run.sh")
	write(t, script, "old")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	hard := filepath.Join(w.Dir(), "hard")
	if err := os.Link(script, hard); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteFile(resolve(t, w, "run.sh"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(script)
	if err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("mode is %v, %v", st.Mode(), err)
	}
	if data, _ := os.ReadFile(hard); string(data) != "old" {
		t.Errorf("the other name of the file now holds %q", data)
	}
	if err := w.WriteFile(resolve(t, w, "deep/er/file"), []byte("x")); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(w.Dir())
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}

func TestOnlyRegularFilesAreReadOrWritten(t *testing.T) {
	w, _ := open(t)
	if err := syscall.Mkfifo(filepath.Join(w.Dir(), "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pipe", "sub"} {
		p := resolve(t, w, name)
		if _, err := w.ReadFile(p, 100); !errors.Is(err, ErrNotRegular) {
			t.Errorf("read %s: %v", name, err)
		}
		if err := w.WriteFile(p, nil); !errors.Is(err, ErrNotRegular) {
			t.Errorf("write %s: %v", name, err)
		}
	}
	if _, err := w.ReadFile(resolve(t, w, "/dev/zero"), 100); !errors.Is(err, ErrNotRegular) {
		t.Errorf("read a device: %v", err)
	}
	if _, err := w.ReadFile(resolve(t, w, "missing"), 100); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read what is not there: %v", err)
	}
	write(t, filepath.Join(w.Dir(), "big"), strings.Repeat("x", 101))
	if _, err := w.ReadFile(resolve(t, w, "big"), 100); !errors.Is(err, ErrTooLarge) {
		t.Errorf("read a file over the limit: %v", err)
	}
}

// A directory that becomes a link out between the resolution and the use must not
// lead out.
func TestASymlinkCreatedLaterDoesNotEscape(t *testing.T) {
	w, out := open(t)
	p := resolve(t, w, "sub/secret")
	if err := os.Remove(filepath.Join(w.Dir(), "sub")); err != nil {
		t.Fatal(err)
	}
	symlink(t, out, filepath.Join(w.Dir(), "sub"))
	if data, err := w.ReadFile(p, 100); err == nil {
		t.Errorf("read %q from outside", data)
	}
	if err := w.WriteFile(p, []byte("pwned")); err == nil {
		t.Error("wrote outside")
	}
	if data, _ := os.ReadFile(filepath.Join(out, "secret")); string(data) != "s" {
		t.Errorf("the file outside now holds %q", data)
	}
}

func TestAllowedOutsidePathsWork(t *testing.T) {
	w, out := open(t)
	p := resolve(t, w, out+"/new")
	if err := w.WriteFile(p, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if data, err := w.ReadFile(p, 10); err != nil || string(data) != "x" {
		t.Errorf("got %q, %v", data, err)
	}
}

func TestChangedDetectsWritesByOthers(t *testing.T) {
	w, _ := open(t)
	p := resolve(t, w, "a.txt")
	if w.Changed(p) {
		t.Error("a file that was never seen has changed")
	}
	if _, err := w.ReadFile(p, 100); err != nil {
		t.Fatal(err)
	}
	if w.Changed(p) {
		t.Error("a file has changed that nobody touched")
	}
	write(t, p.Abs, "somebody else's")
	if !w.Changed(p) {
		t.Error("a change is not noticed")
	}
	if err := w.WriteFile(p, []byte("ours")); err != nil || w.Changed(p) {
		t.Errorf("own writing counts as a change (%v)", err)
	}
	os.Remove(p.Abs)
	if !w.Changed(p) {
		t.Error("a removal is not noticed")
	}
}

func FuzzResolve(f *testing.F) {
	for _, s := range []string{"a", "../x", "/etc/passwd", "sub/../../..", "out/./..//x", "a\x00", strings.Repeat("../", 50)} {
		f.Add(s)
	}
	dir := f.TempDir()
	w, err := Open(dir)
	if err != nil {
		f.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "out")); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string) {
		p, err := w.Resolve(path)
		if err != nil {
			return
		}
		inside := p.Abs == w.Dir() || strings.HasPrefix(p.Abs, w.Dir()+"/")
		if inside == p.Outside || filepath.Clean(p.Abs) != p.Abs {
			t.Errorf("Resolve(%q) = %+v", path, p)
		}
	})
}
