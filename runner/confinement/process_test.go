package confinement

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/tasks"
)

// A server, language server, hook or the host of tool files that can't be started for lack of open
// files reports that, unless the job may continue without it.
func TestRefusedStartsAreReported(t *testing.T) {
	for _, optional := range []bool{false, true} {
		var reported []error
		g := Env{Level: sandbox.Outside, Dirs: Dirs{Workspace: t.TempDir()}, Getenv: os.Getenv, Fail: func(err error) { reported = append(reported, err) }}
		g.Fail = g.Spared(optional)
		var all Processes
		work := t.TempDir()
		command, err := all.Launch(t.Context(), g, tasks.Process{Command: []string{"cat"}}, work, "x")
		if err != nil {
			t.Fatal(err)
		}
		err = withoutFiles(t, func() error {
			_, err := proc.StartService(t.Context(), command)
			return err
		})
		if !proc.IsMachine(err) || !strings.Contains(err.Error(), "raise the limit on open files") {
			t.Errorf("optional %v: %v", optional, err)
		}
		if optional != (len(reported) == 0) || !optional && !errors.Is(reported[0], err) {
			t.Errorf("optional %v: reported %v", optional, reported)
		}
		private := filepath.Join(work, "tmp", "x")
		_, before := os.Stat(private)
		closed := all.Close()
		if _, err := os.Stat(private); before != nil || closed != nil || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("private directory: %v, closed: %v, then %v", before, closed, err)
		}
	}
}

// Processes of several kinds can have names that look alike; none has the home directory of another.
func TestEachProcessHasItsOwnPrivateDirectories(t *testing.T) {
	t.Parallel()
	g := Env{Level: sandbox.Outside, Dirs: Dirs{Workspace: t.TempDir()}, Getenv: os.Getenv, Fail: func(error) {}}
	var all Processes
	work, cat := t.TempDir(), tasks.Process{Command: []string{"cat"}}
	var errs []error
	for _, name := range []string{"x", "js", "lsp-x", "hook-x"} {
		_, err := all.LaunchServer(t.Context(), g, tasks.MCPServer{Name: name, Process: cat}, work, "job")
		errs = append(errs, err)
	}
	_, err := all.LaunchLanguage(t.Context(), g, tasks.LanguageServer{Name: "x", Process: cat}, work, "job")
	_, hook := all.LaunchHook(t.Context(), g, tasks.Hook{Name: "x", Command: cat.Command}, work, "job")
	_, scripts := all.Launch(t.Context(), g, cat, work, "job@js")
	homes, listed := os.ReadDir(filepath.Join(work, "home"))
	if err := errors.Join(append(errs, err, hook, scripts, listed)...); err != nil || len(homes) != 7 {
		t.Errorf("%v: %v", homes, err)
	}
	if err := all.Close(); err != nil {
		t.Error(err)
	}
}

// withoutFiles calls a function while the process can open no more files.
func withoutFiles(t *testing.T, call func() error) error {
	t.Helper()
	var limit unix.Rlimit
	next, err := os.Open(os.DevNull)
	if err := errors.Join(err, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)); err != nil {
		t.Fatal(err)
	}
	none := unix.Rlimit{Cur: uint64(next.Fd()), Max: limit.Max}
	next.Close()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	failed := call()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	return failed
}

// A process has its own network, caches and paths, and at most those of the maximum profiles.
func TestProcessProfile(t *testing.T) {
	build, _ := permission.Preset("build")
	build.Env, build.Cache = []string{"CI"}, []string{"go"}
	s := tasks.Process{Read: []string{"/srv/docs"}, Write: []string{"/srv/data"}, Network: permission.Network{Hosts: []string{"h.example"}}, Cache: []string{"npm"}}
	p := ProcessProfile(build, "mcp.files", s)
	if p.Name != "mcp.files" || p.Env != nil || !slices.Equal(p.Cache, []string{"npm"}) || !slices.Equal(p.Network.Hosts, s.Network.Hosts) {
		t.Errorf("profile %+v", p)
	}
	for _, c := range []struct {
		permission, path string
		max, want        bool
	}{
		{permission.ExternalRead, "/srv/docs/a", false, true},
		{permission.ExternalDirectory, "/srv/docs/a", false, false},
		{permission.ExternalDirectory, "/srv/data/a", false, true},
		{permission.ExternalDirectory, "/srv/other", false, false},
		{permission.ExternalRead, "/srv/docs/a", true, false},
		{permission.ExternalDirectory, "/srv/data/a", true, false},
	} {
		q := p
		if c.max {
			limit, _ := permission.Preset("build")
			limit.Cache = []string{"go"}
			q = ProcessProfile(build.Under(limit), "mcp.files", s)
			if len(q.Cache) > 0 || HasNetwork(q) {
				t.Errorf("under a maximum: cache %v, network %v", q.Cache, q.Network)
			}
		}
		if got := q.Allows(c.permission, c.path); got != c.want {
			t.Errorf("%s %s, under a maximum %t: %t", c.permission, c.path, c.max, got)
		}
	}
}

// Files next to the manifest that are hidden because of their names are shown where the manifest
// grants the process their directory, if the maximum profiles allow it.
func TestGrantedFilesAreShown(t *testing.T) {
	build, _ := permission.Preset("build")
	s := tasks.Process{Read: []string{"/m/servers"}, Write: []string{"/m/data"}}
	all := []tasks.Readable{{Path: "/m", Hidden: []string{"/m/.env", "/m/servers/token.py", "/m/data/key.pem", "/m/servers2/token.py"}}}
	g := Env{Rules: Rules{Profile: ProcessProfile(build, "lsp.x", s)}}
	if got := g.shown(slices.Clone(all), s)[0].Hidden; !slices.Equal(got, []string{"/m/.env", "/m/servers2/token.py"}) {
		t.Errorf("hidden %q", got)
	}
	g.Profile = ProcessProfile(build.Under(build), "lsp.x", s)
	if got := g.shown(slices.Clone(all), s)[0].Hidden; !slices.Equal(got, all[0].Hidden) {
		t.Errorf("hidden under a maximum %q", got)
	}
}

// A program that exists and that the sandbox hides is named with the key that shows it.
func TestHiddenPrograms(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "bin"), 0o700), os.WriteFile(filepath.Join(dir, "server"), nil, 0o700), os.Symlink("../server", filepath.Join(dir, "bin", "alias"))); err != nil {
		t.Fatal(err)
	}
	var env []string
	for program, want := range map[string]string{
		filepath.Join(dir, "server"): " (" + dir + ") to lsp.x.read", "server": " (" + dir + ") to", "./bin/alias": "bin and " + dir + ") to lsp.x.read",
		"alias": "bin and " + dir + ") to", "./missing": "", "missing": "",
	} {
		if program == "server" {
			env = []string{"PATH=" + dir}
		} else {
			env = []string{"PATH=" + filepath.Join(dir, "bin")}
		}
		err := hidden(errors.New("start: no such file or directory"), program, dir, env, "lsp.x")
		if got := strings.Contains(err.Error(), "the sandbox hides it"); got != (want != "") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", program, err)
		}
	}
	if err := hidden(errors.New("other"), filepath.Join(dir, "server"), dir, env, "lsp.x"); err.Error() != "other" {
		t.Error(err)
	}
}

func TestKnownServersOnPathAndNamedServersAreUsed(t *testing.T) {
	server := func(name, program string, known bool) tasks.LanguageServer {
		return tasks.LanguageServer{Name: name, IfFound: known, Process: tasks.Process{Command: []string{program}}}
	}
	given := tasks.LSP{Servers: []tasks.LanguageServer{server("found", "sh", true), server("missing", "no-such-program", true), server("named", "no-such-program", false)}}
	var used []string
	for _, s := range FoundServers(given, os.Getenv, sandbox.Outside, t.TempDir()).Servers {
		used = append(used, s.Name)
	}
	if !slices.Equal(used, []string{"found", "named"}) || len(given.Servers) != 3 {
		t.Errorf("used %q of %d", used, len(given.Servers))
	}
}
