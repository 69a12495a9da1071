//go:build linux

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/millhand/millhand/internal/dev/nightly"
)

// newSystem creates a directory like those of the system. It is not below a writable
// directory of commands such as /tmp.
func newSystem(t *testing.T) string {
	t.Helper()
	for _, base := range []string{"/run/lock", "/opt", "."} {
		dir, err := os.MkdirTemp(base, "millhand-test-") //nolint:usetesting // commands can write below /tmp
		if err != nil {
			continue
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if dir, err = filepath.Abs(dir); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "x"), 0o755)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	t.Fatal("no writable directory outside of /tmp")
	return ""
}

// onPrivateFiles are attacks on files of the user below the system's directories.
func onPrivateFiles() []attack {
	const (
		private = `umask 077; echo gotcha >"$SYSTEM/x/mine.cred"; `
		later   = private + `(until test -e go; do sleep 0.02; done; `
		wait    = `touch go; until test -e there; do sleep 0.02; done; `
	)
	return []attack{
		{name: "a private file", shipped: private, line: `cat "$SYSTEM/x/mine.cred"`},
		{name: "a private file, by mapping it", shipped: private, line: py(`import mmap; f=os.open(os.environ["SYSTEM"]+"/x/mine.cred",0); print(mmap.mmap(f,7,mmap.MAP_PRIVATE,mmap.PROT_READ)[:])`)},
		{name: "a private file, by another name of it", shipped: private + `ln "$SYSTEM/x/mine.cred" "$SYSTEM/x/other"`, line: `cat "$SYSTEM/x/other"`},
		{name: "a file that can only be read by its group", shipped: private + `chmod 640 "$SYSTEM/x/mine.cred"`, line: `cat "$SYSTEM/x/mine.cred"`},
		{name: "a file in a private directory", shipped: `mkdir -m 700 "$SYSTEM/x/d"; echo gotcha >"$SYSTEM/x/d/file"`, line: `cat "$SYSTEM/x/d/file"`},
		{name: "a file in a directory that can't be listed", shipped: `mkdir -m 711 "$SYSTEM/x/d"; echo gotcha >"$SYSTEM/x/d/file"; chmod 600 "$SYSTEM/x/d/file"`, line: `cat "$SYSTEM/x/d/file"`},
		{name: "a private file that is replaced meanwhile", shipped: later + `echo gotcha >"$SYSTEM/x/new"; mv "$SYSTEM/x/new" "$SYSTEM/x/mine.cred"; touch there) >/dev/null 2>&1 &`, line: wait + `cat "$SYSTEM/x/mine.cred"`},
		{name: "a private file that is created meanwhile beside another one", shipped: later + `echo gotcha >"$SYSTEM/x/new"; touch there) >/dev/null 2>&1 &`, line: wait + `cat "$SYSTEM/x/new"`},
		{name: "a private directory that is replaced meanwhile", shipped: `mkdir -m 700 "$SYSTEM/x/d"; (until test -e go; do sleep 0.02; done; mkdir -m 700 "$SYSTEM/x/e"; echo gotcha >"$SYSTEM/x/e/file"; mv "$SYSTEM/x/d" "$SYSTEM/x/f"; mv "$SYSTEM/x/e" "$SYSTEM/x/d"; touch there) >/dev/null 2>&1 &`, line: wait + `cat "$SYSTEM/x/d/file"`},
	}
}

// The system's directories are searched, for whoever runs millhand and may write there.
func TestPrivateFilesOfTheSystem(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can write to them")
	}
	for _, root := range nightly.Sample([]string{"/etc", "/opt", "/usr/local/share"}, 3, 0) {
		dir, err := os.MkdirTemp(root, "millhand-") //nolint:usetesting // a directory of the system
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, mode := range map[string]os.FileMode{"secret": 0o600, "public": 0o644} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(name+"\n"), mode); err != nil {
				t.Fatal(err)
			}
		}
		for _, level := range confining() {
			spec := newFixture(t).spec()
			spec.Private = nil
			s := inside(t, spec, level)
			if got := bash(t, s, `cat "$D/public"; cat "$D/secret" 2>/dev/null`, "D="+dir); got.output != "public\n" || got.err != nil {
				t.Errorf("%s at level %s: %v, %s", dir, level, got.err, got.output)
			}
		}
	}
}

// Commands start although private files were removed or replaced since they were found
// or a public one became a symlink, and paths that the spec grants stay readable.
func TestPrivateFilesThatChange(t *testing.T) {
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			p := newFixture(t)
			system := newSystem(t)
			p.workspace, p.home, p.tmp = filepath.Join(system, "runner/work"), filepath.Join(system, "runner/home"), filepath.Join(system, "runner/tmp")
			unguarded(t, system, `umask 077; mkdir -p runner/work runner/home runner/tmp granted gone d/below
for f in . runner runner/work granted gone d/below; do echo $f >$f/file; done; echo public >public; chmod 644 public`)
			spec := p.spec()
			spec.Grants, spec.Programs = []Grant{NewGrant(filepath.Join(system, "granted"), false)}, []string{system}
			spec.Private = &Private{roots: []string{system}}
			s := inside(t, spec, level)
			unguarded(t, system, `rm -r gone file; mv d e; ln -sf e public`)
			got := bash(t, s, `cat file ../../granted/file; cat ../file ../../file ../../gone/file ../../e/below/file 2>/dev/null`)
			if got.err != nil || got.output != "runner/work\ngranted\n" {
				t.Errorf("%v, %s", got.err, got.output)
			}
		})
	}
}
