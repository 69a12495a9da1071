package confinement

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/sandbox"
)

func TestNetworkFilterAppliesProfileAndMaxProfiles(t *testing.T) {
	network := func(allow bool, hosts ...string) permission.Profile {
		return permission.Profile{Network: permission.Network{Allow: allow, Hosts: hosts}}
	}
	public, private := netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("10.0.0.1")
	tests := []struct {
		name      string
		own, most permission.Profile
		host      string
		at        netip.Addr
		allowed   bool
	}{
		{"no network at all", network(false), network(true), "go.dev", public, false},
		{"none above", network(true, "go"), network(false), "go.dev", public, false},
		{"all and all", network(true), network(true), "example.com", public, true},
		{"a name below all", network(false, "example.com"), network(true), "example.com", public, true},
		{"another name below all", network(false, "example.com"), network(true), "example.org", public, false},
		{"all below a name", network(true), network(false, "example.com"), "example.com", public, true},
		{"all below another name", network(true), network(false, "example.com"), "example.org", public, false},
		{"a name below its group", network(false, "proxy.golang.org"), network(false, "go"), "proxy.golang.org", public, true},
		{"a name below its domain", network(false, "api.example.com"), network(false, "*.example.com"), "api.example.com", public, true},
		{"a private name below all", network(false, "db.example.com"), network(true), "db.example.com", private, false},
		{"all below a private name", network(true), network(false, "db.example.com"), "db.example.com", private, false},
		{"a private name in both", network(false, "db.example.com"), network(true, "db.example.com"), "db.example.com", private, true},
	}
	for _, tt := range tests {
		allowed, err := NetworkFilter(tt.own.Under(tt.most), false)
		if err != nil {
			t.Fatal(err)
		}
		if (allowed(tt.host, 443, tt.at) == nil) != tt.allowed {
			t.Errorf("%s: %v, want %v", tt.name, !tt.allowed, tt.allowed)
		}
	}
}

// A command that can't be started is not watched any more, and reported: no other one could be.
func TestCommandsThatDoNotStartAreNotWatched(t *testing.T) {
	dir := t.TempDir()
	box, err := sandbox.New(sandbox.Spec{Workspace: dir, Home: dir, TmpDir: dir}, sandbox.Partial)
	if err != nil {
		t.Skip(err)
	}
	defer box.Close()
	var reported error
	c := &Confinement{box: box, fail: func(err error) { reported = err }}
	inside, err := c.Confine()([]string{"true"}, nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	closed, err := os.Open(dir)
	if err := errors.Join(err, closed.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := inside.Start([3]*os.File{closed, closed, closed}); err == nil || !errors.Is(reported, err) || len(c.denials.watched) != 0 {
		t.Errorf("%v, reported %v, %d are watched", err, reported, len(c.denials.watched))
	}
}

func TestPrepareMakesPrivateDirectoriesAndTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	g := Env{
		Dirs: Dirs{Home: filepath.Join(dir, "home"), Tmp: filepath.Join(dir, "tmp")},
		Getenv: func(name string) string {
			return map[string]string{"HOME": "/home/ann", "PATH": "/bin", "SECRET": "x"}[name]
		},
	}
	for level, home := range map[sandbox.Level]string{sandbox.None: "/home/ann", sandbox.Full: g.Home, sandbox.Partial: g.Home} {
		g.Level = level
		if err := g.Prepare(); err != nil {
			t.Fatal(err)
		}
		env := strings.Join(g.Env, "\n") + "\n"
		if !strings.Contains(env, "HOME="+home+"\n") || !strings.Contains(env, "TMPDIR="+g.Tmp+"\n") || strings.Contains(env, "SECRET") {
			t.Errorf("%s: %s", level, env)
		}
	}
	g.Level, g.Workspace = sandbox.Full, g.Tmp
	if diff := cmp.Diff([]string{g.Tmp, g.Home}, g.growing()); diff != "" {
		t.Errorf("what is measured (-want +got):\n%s", diff)
	}
	g.Level, g.Workspace = sandbox.None, "/w"
	if diff := cmp.Diff([]string{"/w", g.Tmp}, g.growing()); diff != "" {
		t.Errorf("what is measured without a sandbox (-want +got):\n%s", diff)
	}
	g.Tmp = filepath.Join(dir, "file", "x")
	writeFile(t, filepath.Join(dir, "file"), "")
	if err := g.Prepare(); err == nil {
		t.Error("a private directory that can't be made")
	}
}

func TestWithoutASandboxNothingIsLimited(t *testing.T) {
	for _, c := range []*Confinement{nil, {}} {
		if c.OverFor(1) || c.CheckDisk(t.Context()) != nil || c.Disk() != nil || c.Confine() != nil || c.Close() != nil {
			t.Errorf("%v does something", c)
		}
	}
}

func TestFilesOfCIAreHidden(t *testing.T) {
	dir := t.TempDir()
	symlink := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, symlink); err != nil {
		t.Fatal(err)
	}
	for temp, want := range map[string][]string{symlink: {dir}, "relative": nil, "": nil, "/": nil, "/no/such/directory": nil, "/tmp": nil} {
		g := Env{Dirs: Dirs{Tmp: "/tmp"}, Getenv: func(name string) string { return map[string]string{"RUNNER_TEMP": temp}[name] }}
		if diff := cmp.Diff(want, ciFiles(g)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", temp, diff)
		}
	}
}
