//go:build linux

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// otherUser gives the workspace of a fixture to another user, and returns a directory that only root can
// search.
func otherUser(t *testing.T, p fixture) (private string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root's commands run as another user")
	}
	ordinary(t, p.workspace)
	for _, dir := range []string{p.home, p.tmp} {
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	private = filepath.Join(p.dir, "private")
	if err := os.Mkdir(private, 0o700); err != nil {
		t.Fatal(err)
	}
	return private
}

// What the user of commands can't open is left out, and neither prevents their start nor is granted.
func TestWhatTheirUserCannotOpenIsLeftOut(t *testing.T) {
	for name, set := range map[string]func(s *Spec, path string){
		"a program": func(s *Spec, path string) { s.Programs = []string{path} },
		"read-only": func(s *Spec, path string) { s.Grants = []Grant{NewGrant(path, false)} },
		"writable":  func(s *Spec, path string) { s.Grants = []Grant{NewGrant(path, true)} },
		"everything": func(s *Spec, path string) {
			s.Programs, s.Grants = []string{path}, []Grant{NewGrant(path, false), NewGrant(path, true)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, level := range confining() {
				p := newFixture(t)
				dir := filepath.Join(otherUser(t, p), "dir")
				unguarded(t, p.dir, `mkdir "$D"; echo gotcha >"$D/file"; chmod -R a+rwX "$D"; ln -s "$D" other`, "D="+dir)
				for _, path := range []string{dir, filepath.Join(p.dir, "other")} {
					spec := p.spec()
					set(&spec, path)
					s := inside(t, spec, level)
					if got := bash(t, s, `id -u; id -G; cat "$F"`, "F="+path+"/file"); got.err != nil || !strings.HasPrefix(got.output, "4242\n4243\n") || strings.Contains(got.output, "gotcha") {
						t.Errorf("%s: %q, %v", level, got.output, got.err)
					}
					if left := s.LeftOut(); !slices.ContainsFunc(left, func(l LeftOut) bool {
						return l.Path == path && l.Program == (name == "a program") && strings.Contains(l.Why.Error(), "user 4242")
					}) {
						t.Errorf("%s: left out: %v", level, left)
					}
				}
			}
		})
	}
}

// Paths that must not be accessed or changed stay protected if their user can't reach them.
func TestProtectedPathsThatTheirUserCannotReach(t *testing.T) {
	for name, set := range map[string]func(s *Spec, path string){
		"hidden":               func(s *Spec, path string) { s.Hidden = []string{path} },
		"locked":               func(s *Spec, path string) { s.Locked = []string{path} },
		"read-only":            func(s *Spec, path string) { s.Grants = []Grant{NewGrant(path, false)} },
		"read-only and hidden": func(s *Spec, path string) { s.Grants, s.Hidden = []Grant{NewGrant(path, false)}, []string{path} },
	} {
		t.Run(name, func(t *testing.T) {
			for _, level := range confining() {
				for _, owner := range []int{0, 4242} { // the user can change the permissions of its own
					p := newFixture(t)
					otherUser(t, p)
					dir := filepath.Join(p.workspace, "dir")
					unguarded(t, p.dir, `mkdir "$D"; echo original >"$D/file"; chmod a+rw "$D/file"; chmod 0 "$D"`, "D="+dir)
					if err := os.Chown(dir, owner, owner); err != nil {
						t.Fatal(err)
					}
					spec := p.spec()
					set(&spec, filepath.Join(dir, "file"))
					s := inside(t, spec, level)
					got := bash(t, s, `chmod 777 dir; echo changed >dir/file; cat dir/file; true`)
					text, err := os.ReadFile(filepath.Join(dir, "file"))
					guarded := level == Full || owner == 0 // at level B another check finds changes
					if got.err != nil || guarded && (err != nil || string(text) != "original\n") || guarded && name == "hidden" && strings.Contains(got.output, "original") {
						t.Errorf("%s, directory of %d: %q, %v; then the file has %q, %v", level, owner, got.output, got.err, text, err)
					}
				}
			}
		})
	}
}

// Without its workspace and private directories no command can start: the error names the directory.
func TestASandboxWhoseUserCannotReachItFails(t *testing.T) {
	for name, set := range map[string]func(s *Spec) *string{
		"workspace": func(s *Spec) *string { return &s.Workspace },
		"home":      func(s *Spec) *string { return &s.Home },
		"tmp":       func(s *Spec) *string { return &s.TmpDir },
	} {
		for _, level := range confining() {
			p := newFixture(t)
			private := otherUser(t, p)
			spec := p.spec()
			path := filepath.Join(private, "dir")
			if err := os.Rename(*set(&spec), path); err != nil {
				t.Fatal(err)
			}
			*set(&spec) = path
			_, err := New(spec, level)
			if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "user 4242") || !strings.Contains(err.Error(), "chmod o+x "+private+", or ") {
				t.Errorf("%s, %s: %v", name, level, err)
			}
		}
	}
	p := newFixture(t)
	otherUser(t, p)
	if err := os.Chmod(p.workspace, 0); err != nil {
		t.Fatal(err)
	}
	for _, level := range confining() {
		if _, err := New(p.spec(), level); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "chmod o+x "+p.workspace) {
			t.Errorf("%s: %v", level, err)
		}
	}
}

// A program that their user can't execute can't supervise commands.
func TestAProgramThatTheirUserCannotExecute(t *testing.T) {
	for _, level := range confining() {
		p := newFixture(t)
		spec := p.spec()
		spec.Program = filepath.Join(otherUser(t, p), "millhand")
		s := inside(t, spec, level)
		if err := s.Try(t.Context()); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "user 4242") {
			t.Errorf("%s: %v", level, err)
		}
	}
}

// The rights of the commands' user are those of one thread, also to files of groups that root is in.
func TestAsLooksWithTheRightsOfCommands(t *testing.T) {
	p := newFixture(t)
	private := otherUser(t, p)
	for range 20 {
		var err, grouped error
		group := filepath.Join(p.dir, "group")
		unguarded(t, p.dir, `mkdir -p group/in && chgrp 0 group && chmod 750 group`)
		if failed := As(p.workspace, func() { _, err = os.Lstat(private + "/."); _, grouped = os.Lstat(group + "/in") }); failed != nil || !errors.Is(err, os.ErrPermission) || !errors.Is(grouped, os.ErrPermission) {
			t.Fatalf("%v, %v, %v", failed, err, grouped)
		}
		if _, err := os.Lstat(private + "/."); err != nil || unix.Access(private, unix.X_OK) != nil {
			t.Fatalf("afterwards: %v", err)
		}
	}
}
