//go:build linux

package confinement

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/tasks"
)

func allowing(kind, pattern string) permission.Rule {
	return permission.Rule{Permission: kind, Pattern: pattern, Effect: permission.Allow}
}

func TestOnlyWrittenRulesGrantPaths(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"w", "r", "denied"} {
		mkdirFor(t, filepath.Join(dir, name, "x"))
	}
	writeFile(t, filepath.Join(dir, "file"), "")
	denied := allowing(permission.ExternalDirectory, dir+"/denied/**")
	denied.Effect = permission.Deny
	own := permission.Profile{Rules: []permission.Rule{
		allowing(permission.ExternalDirectory, dir+"/w/**"), allowing(permission.ExternalRead, dir+"/r/**"),
		allowing(permission.ExternalDirectory, dir+"/denied/**"), denied,
		allowing(permission.ExternalRead, dir+"/file"), allowing(permission.ExternalDirectory, dir+"/gone/**"),
		allowing(permission.ExternalDirectory, dir+"/*/y"), allowing(permission.ExternalDirectory, "relative/**"),
	}}
	w, r, file := sandbox.NewGrant(dir+"/w", true), sandbox.NewGrant(dir+"/r", false), sandbox.NewGrant(dir+"/file", false)
	everything := permission.Profile{Rules: []permission.Rule{allowing(permission.ExternalDirectory, "*")}}
	below := permission.Profile{Rules: []permission.Rule{allowing(permission.ExternalRead, dir+"/r/*")}}
	asPreset := below.Clone()
	asPreset.Rules[0].Preset = true
	tests := map[string]struct {
		profile permission.Profile
		want    []sandbox.Grant
	}{
		"its own rules":                   {own, []sandbox.Grant{w, r, file}},
		"below a wider profile":           {own.Under(everything), []sandbox.Grant{w, r, file}},
		"below a narrower one":            {own.Under(below), []sandbox.Grant{r}},
		"below a preset":                  {own.Under(asPreset), nil},
		"with an agent's rules":           {own.Narrowed("agent", nil), []sandbox.Grant{w, r, file}},
		"a preset's rule that is last":    {permission.Profile{Rules: slices.Concat(below.Rules, asPreset.Rules)}, nil},
		"a written rule after a preset's": {permission.Profile{Rules: slices.Concat(asPreset.Rules, below.Rules)}, []sandbox.Grant{r}},
	}
	for name, tt := range tests {
		if got := granted(tt.profile); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	for _, name := range permission.Presets() {
		p, _ := permission.Preset(name)
		if got := granted(p); got != nil {
			t.Errorf("preset %s grants %v", name, got)
		}
	}
}

func TestADirectoryUnderReadAndWriteIsWritable(t *testing.T) {
	both, read := t.TempDir(), t.TempDir()
	p := ProcessProfile(permission.Profile{}, "mcp.x", tasks.Process{Read: []string{both, read}, Write: []string{both}})
	want := []sandbox.Grant{sandbox.NewGrant(both, true), sandbox.NewGrant(read, false)}
	if got := granted(p); !slices.Equal(got, want) {
		t.Errorf("grants %v, want %v", got, want)
	}
}

// systemSecrets creates files and a directory of a user that others can't read, below the system's
// directories.
func systemSecrets(t *testing.T, uid int) (dirs []string) {
	t.Helper()
	for _, root := range []string{"/etc", "/opt", "/usr/local"} {
		dir, err := os.MkdirTemp(root, "millhand-test-") //nolint:usetesting // a directory of the system
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		line := `chmod 755 . && echo public >public && mkdir -m 755 app && mkdir -m 700 d && for f in a app/b d/c; do echo secret >$f; chmod 600 $f; done && chmod 640 app/b && chown -R "$0:$0" .`
		cmd := exec.CommandContext(t.Context(), "bash", "-c", line, fmt.Sprint(uid))
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// asUser runs a test again as another user, whose files the environment's variable names.
func asUser(t *testing.T, uid uint32, files []string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "test") // the test binary can be in a directory of root
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", `cp /proc/$PPID/exe "$0" && chmod 755 "$0"`, program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for dir := filepath.Dir(program); len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run", "^"+t.Name()+"$", "-test.count=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	cmd.Dir, cmd.Env = "/", append(os.Environ(), "TMPDIR=/tmp", "HOME=/nonexistent", ofUser+"="+strings.Join(files, ":"))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("as user %d: %v\n%s", uid, err, out)
	}
}

const ofUser = "MILLHAND_TEST_FILES"

// bashIn runs a line of bash under a profile, as a job's commands do.
func bashIn(t *testing.T, level sandbox.Level, p permission.Profile, private *sandbox.Private, line string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "millhand-test-") //nolint:usetesting // its parents are open to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	mkdirFor(t, filepath.Join(dir, "work/x"))
	g := Env{
		Level:   level,
		Dirs:    Dirs{Workspace: filepath.Join(dir, "work"), Home: filepath.Join(dir, "home"), Tmp: filepath.Join(dir, "tmp"), Caches: filepath.Join(dir, "caches")},
		Rules:   Rules{Profile: p, Limits: tasks.DefaultLimits()},
		Private: private,
		Now:     time.Now,
		Getenv:  func(name string) string { return map[string]string{"PATH": os.Getenv("PATH")}[name] },
	}
	if err := g.Prepare(); err != nil {
		t.Fatal(err)
	}
	c, err := Open(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var out strings.Builder
	if _, err := proc.Run(t.Context(), proc.Command{Args: []string{"bash", "-c", line}, Dir: g.Workspace, Env: c.Env, Output: &out, Confine: c.Confine()}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// reading returns a line of bash that prints each of the paths that it can read or list.
func reading(paths []string) string {
	var line strings.Builder
	line.WriteString("echo RAN\n")
	for _, p := range paths {
		fmt.Fprintf(&line, "if test -d %[1]q; then ls -A %[1]q; else head -c1 %[1]q; fi >out 2>err && test -s out && echo %[1]q\n", p)
	}
	return line.String()
}

// A preset's rules let commands name files of the system; what not every user can read of it they
// get only by a rule that somebody wrote for less than a system directory.
func TestPresetsShowNoPrivateFilesOfTheSystem(t *testing.T) {
	files := filepath.SplitList(os.Getenv(ofUser))
	switch {
	case len(files) > 0:
	case os.Geteuid() == 0:
		asUser(t, 54321, systemSecrets(t, 54321))
		files = systemSecrets(t, 0)
	default:
		t.Skip("only root can create files of the system")
	}
	private := sandbox.NewPrivate()
	paths := private.Paths()
	for _, dir := range files {
		for _, name := range []string{"a", "app/b", "d"} {
			if p := filepath.Join(dir, name); !slices.Contains(paths, p) {
				t.Fatalf("%s was not found: %v", p, paths)
			}
		}
	}
	best := sandbox.Probe(t.Context(), t.TempDir()).Best
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Partial} {
		if level == sandbox.Full && best != sandbox.Full || best != sandbox.Full && best != sandbox.Partial {
			t.Logf("level %s is not supported here", level)
			continue
		}
		for _, name := range []string{"review", "build", "full"} {
			p, _ := permission.Preset(name)
			wide := p.Clone()
			for _, pattern := range []string{"/etc", "/etc/*", "/etc/**", "/opt/**", "/usr/**", "/usr/local/**", "/**", "*"} {
				wide.Rules = append(wide.Rules, allowing(permission.ExternalRead, pattern), allowing(permission.ExternalDirectory, pattern))
			}
			narrow := p.Clone()
			narrow.Rules = append(narrow.Rules, allowing(permission.ExternalRead, files[1]+"/app/**"), allowing(permission.ExternalRead, files[2]+"/a"))
			checks := map[string]struct {
				profile permission.Profile
				want    []string
			}{
				"":                                   {p, nil},
				" with rules for system directories": {wide, nil},
				" below itself":                      {narrow.Under(p), nil},
				" with narrow rules":                 {narrow, []string{files[1] + "/app/b", files[2] + "/a"}},
			}
			for of, check := range checks {
				out := bashIn(t, level, check.profile, private, reading(slices.Concat(paths, []string{files[0] + "/public", files[1] + "/public"})))
				want := slices.Concat(check.want, []string{files[0] + "/public", files[1] + "/public"})
				slices.Sort(want)
				got := strings.Fields(out)
				if len(got) == 0 || got[0] != "RAN" {
					t.Fatalf("level %s, %s%s: %s", level, name, of, out)
				}
				got = got[1:]
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("level %s, %s%s: commands can read %v, want %v", level, name, of, got, want)
				}
			}
		}
	}
}
