package jsprogram

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/extension/jshost"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tasks"
)

// filesIn creates files in a directory.
func filesIn(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func bases(p *Program) (names []string) {
	for _, m := range p.modules {
		names = append(names, m.Base)
	}
	slices.Sort(names)
	return names
}

func TestOptionalPluginsThatDontCompileAreLeftOut(t *testing.T) {
	dir := filesIn(t, map[string]string{"mine/tools/a.ts": "export default 1", "guard/index.ts": "export default 2", "guard/package.json": `{"main": "index.ts"}`, "broken.ts": "export default ("})
	broken := tasks.ScriptFile{Name: "broken.ts", Path: filepath.Join(dir, "broken.ts"), Optional: true}
	missing := tasks.ScriptFile{Name: "missing.ts", Path: filepath.Join(dir, "missing.ts"), Optional: true}
	s := tasks.Scripts{
		ToolFiles: []tasks.ScriptFile{{Name: "mine", Path: filepath.Join(dir, "mine")}},
		Plugins:   []tasks.ScriptFile{{Name: "guard", Path: filepath.Join(dir, "guard")}, broken, missing},
	}
	to := filepath.Join(t.TempDir(), "js")
	p, err := Compile(s, "", nil, to)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "guard"}, bases(p)); diff != "" {
		t.Errorf("modules (-want +got):\n%s", diff)
	}
	if all := strings.Join(p.Absent, "\n"); len(p.Absent) != 2 || !strings.Contains(all, "plugin broken.ts is not loaded") || !strings.Contains(all, "plugin missing.ts is not loaded") {
		t.Errorf("absent: %s", all)
	}
	if written, err := os.ReadDir(to); err != nil || len(written) == 0 {
		t.Errorf("nothing was written: %v", err)
	}
	for _, f := range []*tasks.ScriptFile{&broken, &missing} {
		f.Optional = false
		if _, err := Compile(tasks.Scripts{Plugins: []tasks.ScriptFile{*f}}, "", nil, to); err == nil {
			t.Errorf("%s compiles", f.Name)
		}
	}
}

// What can't be launched needs no release.
func TestAProgramWithoutARuntime(t *testing.T) {
	p := &Program{dir: t.TempDir(), compiled: &jshost.Program{}}
	var others confinement.Processes
	g := confinement.Env{Level: sandbox.Outside, Dirs: confinement.Dirs{Workspace: t.TempDir()}, Getenv: func(string) string { return "" }}
	work := t.TempDir()
	if c := p.Config(t.Context(), &others, tasks.Scripts{Runtime: "no-such-runtime"}, g, "", work, "x"); c.Failed == nil || c.Command.Args != nil {
		t.Errorf("%v, %+v", c.Failed, c.Command)
	}
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 || others.Close() != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestToolFilesOfARepositoryAreThoseOfItsBase(t *testing.T) {
	root := filesIn(t, map[string]string{".opencode/tool/old.ts": "export default 'of-the-agent'", ".opencode/tool/new.ts": "export default 1"})
	s := tasks.Scripts{ToolFiles: []tasks.ScriptFile{{Name: ".opencode", Path: ".opencode", Workspace: true}}}
	base := func(name string) ([]byte, error) {
		if name == ".opencode/tool/old.ts" {
			return []byte("export default 'as committed'"), nil
		}
		return nil, os.ErrNotExist
	}
	to := filepath.Join(t.TempDir(), "js")
	p, err := Compile(s, root, base, to)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"old"}, bases(p)); diff != "" {
		t.Errorf("modules (-want +got):\n%s", diff)
	}
	var text strings.Builder
	written, _ := os.ReadDir(to)
	for _, f := range written {
		data, _ := os.ReadFile(filepath.Join(to, f.Name()))
		text.Write(data)
	}
	if !strings.Contains(text.String(), "as committed") || strings.Contains(text.String(), "of-the-agent") {
		t.Errorf("%d bytes without the committed file, or with the agent's", text.Len())
	}
	for want, base := range map[string]func(string) ([]byte, error){
		"has no tool files at the base commit": func(string) ([]byte, error) { return nil, os.ErrNotExist },
		state.ErrNoCommit.Error():              func(string) ([]byte, error) { return nil, state.ErrNoCommit },
	} {
		if _, err := Compile(s, root, base, to); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
