package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
)

// args are a call's arguments.
type args map[string]any

// stage is a workspace under a profile, with a directory beside it that nothing
// may touch.
type stage struct {
	*testing.T
	env     *Env
	tools   *Registry
	base    string // holds the workspace, its neighbour and the kept outputs
	dir     string
	outside string
}

// setUp makes a stage of files, given with their paths relative to the
// workspace; a path that ends in a slash makes a directory.
func setUp(t *testing.T, preset string, files map[string]string) *stage {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{T: t, base: base, dir: filepath.Join(base, "work"), outside: filepath.Join(base, "work-beside")}
	s.put("../work-beside/secret", "s3cret\n")
	s.put("./", "")
	for name, text := range files {
		s.put(name, text)
	}
	space, err := workspace.Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { space.Close() })
	profile, ok := permission.Preset(preset)
	if !ok {
		t.Fatalf("there is no preset %s", preset)
	}
	s.env = &Env{
		Workspace: space, Profile: profile, Todos: &Todos{}, Now: time.Now, Outputs: outputsIn(t, base),
		ChildEnv: proc.ChildEnv(func(name string) string {
			if name == "HOME" {
				return filepath.Join(base, "home")
			}
			return os.Getenv(name)
		}, nil),
	}
	s.equip(nil)
	return s
}

// outputsIn opens a directory, and returns "outputs" below it.
func outputsIn(tb testing.TB, dir string) *files.Dir {
	tb.Helper()
	d, err := files.Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { d.Close() })
	return d.Sub("outputs")
}

// equip changes what the session has, and makes its tools again.
func (s *stage) equip(change func(*Env), more ...Tool) {
	s.Helper()
	if change != nil {
		change(s.env)
	}
	var err error
	if s.tools, err = For(s.env, more...); err != nil {
		s.Fatal(err)
	}
}

// put makes a file or directory of the workspace.
func (s *stage) put(name, text string) {
	s.Helper()
	path := filepath.Join(s.dir, name)
	dir := filepath.Dir(path)
	if strings.HasSuffix(name, "/") {
		dir = path
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.Fatal(err)
	}
	if dir == path {
		return
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) symlink(target, name string) {
	s.Helper()
	if err := os.Symlink(target, filepath.Join(s.dir, name)); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) content(name string) string {
	s.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.Error(err)
	}
	return string(data)
}

// allow adds rules after those of the preset.
func (s *stage) allow(perm, pattern string) {
	s.env.Profile.Rules = append(s.env.Profile.Rules, permission.Rule{Permission: perm, Pattern: pattern, Effect: permission.Allow, Source: "m.yaml:3"})
}

func (s *stage) deny(perm, pattern string) {
	s.env.Profile.Rules = append(s.env.Profile.Rules, permission.Rule{Permission: perm, Pattern: pattern, Effect: permission.Deny, Source: "m.yaml:4"})
}

// call makes one call.
func (s *stage) call(tool string, in args) Outcome {
	s.Helper()
	data, err := json.Marshal(in)
	if err != nil {
		s.Fatal(err)
	}
	return s.raw(tool, string(data))
}

// raw makes one call with arguments as a model wrote them, and checks what
// holds for every outcome.
func (s *stage) raw(tool, input string) Outcome {
	s.Helper()
	ran := false
	out := s.tools.Dispatch(context.Background(), s.env, Call{ID: "call_1", Name: tool, Input: input}, func(string) { ran = true })
	if problem := incoherent(out); problem != "" {
		s.Errorf("%s %.200s: %s: %+v", tool, input, problem, out)
	}
	if ran && out.Status == Denied {
		s.Errorf("%s %.200s: was denied and yet began", tool, input)
	}
	return out
}

// incoherent says what is wrong with an outcome whatever the call was.
func incoherent(o Outcome) string {
	switch {
	case !slices.Contains([]Status{Completed, Failed, Denied}, o.Status):
		return "unknown status"
	case (o.Error == "") != (o.Status == Completed):
		return "status and error contradict each other"
	case o.Status == Denied && (o.Decision == nil || o.Decision.Allowed()):
		return "a denial without a decision that denies"
	case o.Status == Completed && (o.Decision == nil || !o.Decision.Allowed()):
		return "completed without a decision that allows"
	}
	return ""
}

// want checks that a call ended so, and that the model reads each of the texts.
func (s *stage) want(out Outcome, status Status, texts ...string) {
	s.Helper()
	if out.Status != status {
		s.Errorf("ended %s, want %s: %.2000s", out.Status, status, out.Text())
		return
	}
	for _, text := range texts {
		if !strings.Contains(out.Text(), text) {
			s.Errorf("the model does not read %q but %.2000q", text, out.Text())
		}
	}
}

// tree describes everything below the stage's base: a call that changes
// nothing leaves it as it is.
func (s *stage) tree() map[string]string {
	s.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(s.base, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := ""
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			if text, err = os.Readlink(path); err != nil {
				return err
			}
		}
		tree[path] = fmt.Sprintf("%s %s %q", info.Mode(), info.ModTime(), text)
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
	return tree
}

// unchanged fails if the tree is another than before.
func (s *stage) unchanged(before map[string]string) {
	s.Helper()
	if diff := cmp.Diff(before, s.tree()); diff != "" {
		s.Errorf("the files changed:\n%s", diff)
	}
}

// names lists the workspace's files, directories left out.
func (s *stage) names() []string {
	var names []string
	for path, what := range s.tree() {
		if rel, ok := strings.CutPrefix(path, s.dir+"/"); ok && what[0] != 'd' {
			names = append(names, rel)
		}
	}
	slices.Sort(names)
	return names
}

// with returns a copy of the arguments with some replaced.
func (a args) with(b args) args {
	c := maps.Clone(a)
	maps.Copy(c, b)
	return c
}
