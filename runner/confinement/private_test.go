package confinement

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// listing returns the files below a directory with modes, times and contents.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String()
		switch kind := info.Mode().Type(); {
		case kind == fs.ModeSymlink:
			text, _ := os.Readlink(path)
			what += " " + text
		case kind.IsRegular():
			text, _ := os.ReadFile(path)
			what += " " + info.ModTime().UTC().Format(time.RFC3339Nano) + " " + string(text)
		case kind.IsDir():
			what += " " + info.ModTime().UTC().Format(time.RFC3339Nano)
		}
		rel, err := filepath.Rel(dir, path)
		found[rel] = what
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// furnished creates a directory like a build tool's cache.
func furnished(t *testing.T, dir string) {
	t.Helper()
	old := time.Date(2020, 1, 2, 3, 4, 5, 6, time.UTC)
	for name, text := range map[string]string{"mod/m@v1/m.go": "package m\n", ".npmrc": "cache=x\n", "bin/tool": "#!/bin/sh\n"} {
		mkdirFor(t, filepath.Join(dir, name))
		writeFile(t, filepath.Join(dir, name), text)
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.Chmod(filepath.Join(dir, "bin/tool"), 0o755), os.Chmod(filepath.Join(dir, "mod/m@v1/m.go"), 0o444), os.Chmod(filepath.Join(dir, "mod/m@v1"), 0o555),
		os.Symlink("mod/m@v1", filepath.Join(dir, "alias")), os.Symlink("/nowhere", filepath.Join(dir, "broken")), os.Chtimes(dir, old, old),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(dir, "mod/m@v1"), 0o700) })
}

func TestACopiedTreeIsTheSame(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "deep", "to")
	furnished(t, from)
	if err := syscall.Mkfifo(filepath.Join(from, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := listing(t, from)
	delete(want, "pipe")
	if err := copyTree(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(to, "mod/m@v1"), 0o700) })
	if diff := cmp.Diff(want, listing(t, to)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("time is up")
	cancel(why)
	if err := copyTree(ctx, from, filepath.Join(t.TempDir(), "other")); !errors.Is(err, why) {
		t.Errorf("a cancelled copy: %v", err)
	}
}

func TestPrivateDirectoriesAreReplacedAndRestored(t *testing.T) {
	dir := t.TempDir()
	p := PrivateDirs{Paths: []string{filepath.Join(dir, "home"), filepath.Join(dir, "tmp")}, Aside: filepath.Join(dir, "aside")}
	for _, dir := range p.Paths {
		if err := MakePrivate(dir); err != nil {
			t.Fatal(err)
		}
	}
	home := p.Paths[0]
	furnished(t, home)
	ofSetup := listing(t, home)
	if err := p.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(home, ".npmrc"), "ignore-scripts=true\n")
	writeFile(t, filepath.Join(home, "mine"), "x\n")
	ofAgent := listing(t, home)
	for saved, want := range map[bool]map[string]string{true: ofSetup, false: {}} {
		restore, err := p.Replace(t.Context(), saved)
		if err != nil {
			t.Fatal(err)
		}
		got := listing(t, home)
		if mode := got["."]; !strings.HasPrefix(mode, "drwx------ ") {
			t.Errorf("the directory's mode: %s", mode)
		}
		if !saved {
			delete(got, ".")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("saved %t (-want +got):\n%s", saved, diff)
		}
		writeFile(t, filepath.Join(home, "of-verify"), "x\n")
		if err := restore(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ofAgent, listing(t, home)); diff != "" {
			t.Errorf("restored (-want +got):\n%s", diff)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Replace(ctx, true); err == nil {
		t.Error("it ignores the context")
	}
	if diff := cmp.Diff(ofAgent, listing(t, home)); diff != "" {
		t.Errorf("after a failure (-want +got):\n%s", diff)
	}
	if err := p.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(p.Aside); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the copies are left: %v", err)
	}
}
