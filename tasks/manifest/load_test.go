package manifest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
)

// A manifest is a file, or standard input, which another machine can't read again.
func TestWhereManifestsComeFrom(t *testing.T) {
	t.Parallel()
	dir := userfile.Real(t.TempDir())
	if err := os.WriteFile(filepath.Join(dir, "m.yaml"), []byte(oneTask), 0o600); err != nil {
		t.Fatal(err)
	}
	input := func(text string, err error) func() ([]byte, error) {
		return func() ([]byte, error) { return []byte(text), err }
	}
	for _, c := range []struct {
		name  string
		paths []string
		stdin func() ([]byte, error)
		want  string // problems, and then the error
		fixed bool   // to this machine
	}{
		{"a file", []string{"m.yaml"}, nil, "", false},
		{"a file by its absolute path", []string{filepath.Join(dir, "m.yaml")}, nil, "", false},
		{"a file twice", []string{"m.yaml", "./m.yaml"}, nil, "./m.yaml: the manifest is named twice; name it once", false},
		{"standard input", []string{"-"}, input(oneTask, nil), "", true},
		{"no standard input", []string{"-"}, nil, "read manifest from standard input: file already closed", true},
		{"standard input that fails", []string{"-"}, input("", errors.New("broken")), "read manifest from standard input: broken", true},
		{"no file", []string{"nope.yaml"}, nil, "nope.yaml: not found; check its path", true},
		{"a prompt", []string{"fix it"}, nil, "fix it: not found; check its path, or write -p before it if it is a prompt", true},
		{"a directory", []string{"."}, nil, ".: not a file; check its path", true},
	} {
		l := NewLoader(t.Context(), tasks.Options{Dir: dir, Stdin: c.stdin})
		var got []string
		for _, path := range c.paths {
			m, err := l.Manifest(t.Context(), path)
			if err != nil {
				got = append(got, err.Error())
			}
			if m != nil && (len(m.Tasks) != 1 || len(l.Sums[0]) != 64) {
				t.Errorf("%s: %+v", c.name, m)
			}
		}
		if err := l.Found.Err(); err != nil {
			got = append(got, err.Error())
		}
		if text := strings.Join(got, "\n"); text != c.want {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
		if uses := l.Inputs.Uses; (len(uses.Fixed) > 0) != c.fixed || uses.Files[filepath.Join(dir, "m.yaml")] == c.fixed {
			t.Errorf("%s: fixed %v, files %v", c.name, uses.Fixed, uses.Files)
		}
	}
}

// What loading waits for ends with its context.
func TestLoadingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stopped"))
	blocked := make(chan struct{})
	t.Cleanup(func() { close(blocked) })
	_, err := Under(ctx, "a manifest", func() (int, error) { <-blocked; return 0, nil })
	if err == nil || err.Error() != "load a manifest: stopped" {
		t.Errorf("%v", err)
	}
	l := NewLoader(ctx, tasks.Options{Dir: t.TempDir(), Stdin: func() ([]byte, error) { return nil, os.ErrClosed }})
	if m, err := l.Manifest(ctx, "-"); m != nil || err == nil || err.Error() != "read manifest -: stopped" {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := LoadProfile(t.Context(), "edit", "-", tasks.Options{Dir: t.TempDir()}); err == nil || err.Error() != "read manifest from standard input: file already closed" {
		t.Errorf("%v", err)
	}
	if _, err := LoadForges(t.Context(), []string{"-"}, tasks.Options{Dir: t.TempDir()}); err == nil || err.Error() != "read manifest from standard input: file already closed" {
		t.Errorf("%v", err)
	}
	if got, err := Under(t.Context(), "a manifest", func() (int, error) { return 5, os.ErrClosed }); got != 5 || !errors.Is(err, os.ErrClosed) || strings.Contains(err.Error(), "load") {
		t.Errorf("%d, %v", got, err)
	}
}

// An untrusted manifest is one of the repository, and so is what it names.
func TestManifestsWithinPolicies(t *testing.T) {
	t.Parallel()
	dir := userfile.Real(t.TempDir())
	outside := filepath.Join(userfile.Real(t.TempDir()), "m.yaml")
	for path, text := range map[string]string{filepath.Join(dir, "m.yaml"): oneTask, filepath.Join(dir, "sub/m.yaml"): oneTask + "instructions: [../o.md]\n", outside: "no manifest", filepath.Join(dir, "o.md"): "x", filepath.Join(dir, ".git/HEAD"): "ref: refs/heads/main\n", filepath.Join(dir, "own/m.yaml"): oneTask + "instructions: [../o.md]\n", filepath.Join(dir, "own/.git/HEAD"): "ref: refs/heads/main\n"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "alias.yaml")); err != nil {
		t.Fatal(err)
	}
	only := policy.Set{{Name: "p.yaml", Rules: []policy.Rule{{Key: policy.Paths, Allow: []string{dir}, Source: "p.yaml:1"}}}}
	for path, want := range map[string]string{
		"m.yaml":     "",
		"alias.yaml": "alias.yaml: the manifest's path not allowed by paths (p.yaml:1); remove it, or change the policy",
		outside:      outside + ": the manifest's path not allowed by paths (p.yaml:1); remove it, or change the policy",
	} {
		l := NewLoader(t.Context(), tasks.Options{Dir: dir, Policies: only})
		m, err := l.Manifest(t.Context(), path)
		got := strings.TrimSuffix(reported(l.Found.Err()), "\n")
		if err != nil || got != want || (m == nil) != (want != "") || slices.Contains(l.read, filepath.Join(dir, "alias.yaml")) {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
	untrusted := policy.Set{policy.ForUntrusted(nil)}
	for root, refused := range map[string]bool{"": true, dir: false} { // a worker has the inputs of the run, without their repository
		l := NewLoader(t.Context(), tasks.Options{Dir: dir, Root: root, Policies: untrusted})
		if _, err := l.Manifest(t.Context(), "own/m.yaml"); err != nil || refused != (l.Found.Err() != nil) {
			t.Errorf("another repository below %q: %v, %v", root, err, l.Found.Err())
		}
	}
	for root, refused := range map[string]bool{"": false, dir: false, filepath.Join(dir, "sub"): true} { // without a root, that of the repository
		l := NewLoader(t.Context(), tasks.Options{Dir: dir, Root: root, Policies: untrusted})
		if _, err := l.Manifest(t.Context(), "sub/m.yaml"); err != nil {
			t.Fatal(err)
		}
		if got := reported(l.Found.Err()); refused != strings.Contains(got, `"../o.md"`) {
			t.Errorf("below %q: %s", root, got)
		}
	}
}

// What several manifests define alike is one thing, in the order of the manifests; what they define differently is a mistake.
func TestDefinitionsOfSeveralManifests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := NewLoader(t.Context(), tasks.Options{Dir: dir})
	var all []*Manifest
	for name, tools := range map[string]string{"a.yaml": "x: {description: d, command: a}, y: {description: d, command: a}", "b.yaml": "z: {description: d, command: b}, x: {description: d, command: a}", "c.yaml": "\n  y: {description: d, command: c}"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(oneTask+"tools: {"+tools+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.yaml", "b.yaml", "c.yaml"} {
		m, err := l.Manifest(t.Context(), name)
		if err != nil || m == nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	var names []string
	for _, d := range Gather(all, func(m *Manifest) []form.Definition[tasks.CustomTool] { return m.Tools }) {
		names = append(names, d.Is.Name)
	}
	const want = `c.yaml:5:3: the tool "y" differs from the one at a.yaml:4; make them equal, or rename one of them`
	if got := reported(l.Found.Err()); got != want+"\n" || !slices.Equal(names, []string{"x", "y", "z"}) {
		t.Errorf("%q, %s", names, got)
	}
}

// A file that leads out of an allowed directory is not read, whatever names the directory.
func TestLinksOutOfADirectory(t *testing.T) {
	t.Parallel()
	dir, outside := userfile.Real(t.TempDir()), filepath.Join(userfile.Real(t.TempDir()), "secret.md")
	for _, path := range []string{outside, filepath.Join(dir, "own/a.md")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("Text."), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "own/b.md")); err != nil {
		t.Fatal(err)
	}
	only := policy.Set{{Name: "p.yaml", Rules: []policy.Rule{{Key: policy.Paths, Allow: []string{dir}, Source: "p.yaml:1"}}}}
	for key, read := range map[string]int{"agents_from: [own]": 1, "commands_from: [own]": 0, "instructions: ['own/*.md']": 0} {
		l := NewLoader(t.Context(), tasks.Options{Dir: dir, Policies: only, Stdin: func() ([]byte, error) { return []byte(oneTask + key + "\n"), nil }})
		m, err := l.Manifest(t.Context(), "-")
		if err != nil {
			t.Fatal(err)
		}
		if got := reported(l.Found.Err()); strings.Count(got, "\n") != 1 || !strings.Contains(got, "not allowed by paths (p.yaml:1)") {
			t.Errorf("%s: %s", key, got)
		}
		if n := len(m.Agents) + len(m.Commands) + len(m.Instructions); n != read {
			t.Errorf("%s: %d are read", key, n)
		}
	}
}

func TestFilesThatAreModels(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "m.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ kind, file, id, problem string }{
		{"script", "m.yaml", "script:" + filepath.Join(dir, "m.yaml"), ""},
		{"replay", "m.yaml", "replay:" + filepath.Join(dir, "m.yaml"), ""},
		{"script", "", "", "missing file after script:; write script:FILE"},
		{"script", "nope", "", `script "nope": not found; check its path`},
		{"replay", ".", "", `recording ".": not a file; check its path`},
	} {
		m, what, fix := FileModel(c.kind, c.file, dir)
		if c.problem != "" && (what+"; "+fix != c.problem || m.ID != "") || c.problem == "" && (what != "" || m.ID != c.id || m.Name != c.kind+":"+c.file) {
			t.Errorf("%s:%s: %+v, %s; %s", c.kind, c.file, m, what, fix)
		}
	}
}

// A mistake in a branch is reported where the manifest names it, or else at the task's id.
func TestWhereMistakesInACommitAre(t *testing.T) {
	t.Parallel()
	for commit, want := range map[string]string{
		"":                       "m.yaml:3:14: bad; fix",
		", commit: {branch: b}":  "m.yaml:3:45: bad; fix",
		", commit: {message: b}": "m.yaml:3:14: bad; fix",
	} {
		m, problems := read(t, head+"tasks: [{id: a, prompt: p"+commit+"}]\n")
		if problems != nil {
			t.Fatal(problems)
		}
		task := m.Tasks[0]
		task.BranchProblem("bad", "fix")
		if got := task.Src.Found.Err().Error(); !strings.HasSuffix(got, want[strings.LastIndex(want, ":3:"):]) {
			t.Errorf("%s: %s, want %s", commit, got, want)
		}
		at := task.Commit.Location(task)
		if atTask := at.Use == task.Use; atTask != (commit == "") || task.Commit.IsWritten() != (commit != "") {
			t.Errorf("%s: at the task: %t", commit, atTask)
		}
	}
	if m, _ := read(t, head+"tasks: [{id: a, prompt: p, commit: false}]\n"); m.Tasks[0].Commit.IsWritten() {
		t.Error("commit: false is a commit")
	}
}
