// Package tooltest gives tests a workspace under a profile and calls tools in it, as a session does.
package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/change"
	"github.com/millhand/millhand/tools/command"
	"github.com/millhand/millhand/tools/skill"
	"github.com/millhand/millhand/tools/websearch"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/extension/lsp"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
)

// Args are a call's arguments.
type Args map[string]any

// Stage is a workspace under a profile, with a directory beside it that nothing
// may touch.
type Stage struct {
	*testing.T
	Env     *tools.Env
	Tools   *tools.Registry
	Base    string // holds the workspace, its neighbour and the stored outputs
	Dir     string
	Outside string
}

// SetUp makes a stage of files, given with their paths relative to the
// workspace; a path that ends in a slash makes a directory.
func SetUp(t *testing.T, preset string, files map[string]string) *Stage {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &Stage{T: t, Base: base, Dir: filepath.Join(base, "work"), Outside: filepath.Join(base, "work-beside")}
	s.Put("../work-beside/secret", "s3cret\n")
	s.Put("./", "")
	for name, text := range files {
		s.Put(name, text)
	}
	space, err := workspace.Open(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { space.Close() })
	profile, ok := permission.Preset(preset)
	if !ok {
		t.Fatalf("there is no preset %s", preset)
	}
	s.Env = &tools.Env{
		Workplace: tools.Workplace{Workspace: space, ChildEnv: proc.ChildEnv(func(name string) string {
			if name == "HOME" {
				return filepath.Join(base, "home")
			}
			return os.Getenv(name)
		}, nil)},
		Results: tools.Results{Outputs: OutputsIn(t, base)},
		Profile: profile, Todos: &tools.Todos{}, Now: time.Now,
	}
	s.Equip(nil)
	return s
}

// OutputsIn opens a directory, and returns "outputs" below it.
func OutputsIn(tb testing.TB, dir string) *files.Dir {
	tb.Helper()
	d, err := files.Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { d.Close() })
	return d.Sub("outputs")
}

// Equip changes what the session has, and makes its tools again.
func (s *Stage) Equip(change func(*tools.Env), more ...tools.Tool) {
	s.Helper()
	if change != nil {
		change(s.Env)
	}
	var err error
	if s.Tools, err = tools.For(s.Env, more...); err != nil {
		s.Fatal(err)
	}
}

// Spec returns the specification of a tool that is offered.
func (s *Stage) Spec(name string) tools.Spec {
	s.Helper()
	offer := s.Tools.Offer(s.Env.Profile)
	i := slices.IndexFunc(offer, func(spec tools.Spec) bool { return spec.Name == name })
	if i < 0 {
		s.Fatalf("%s is not offered", name)
	}
	return offer[i]
}

// Put makes a file or directory of the workspace.
func (s *Stage) Put(name, text string) {
	s.Helper()
	path := filepath.Join(s.Dir, name)
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

// Symlink makes a symlink in the workspace.
func (s *Stage) Symlink(target, name string) {
	s.Helper()
	if err := os.Symlink(target, filepath.Join(s.Dir, name)); err != nil {
		s.Fatal(err)
	}
}

// Content returns the content of a file.
func (s *Stage) Content(name string) string {
	s.Helper()
	data, err := os.ReadFile(filepath.Join(s.Dir, name))
	if err != nil {
		s.Error(err)
	}
	return string(data)
}

// Allow adds rules after those of the preset.
func (s *Stage) Allow(perm, pattern string) {
	s.Env.Profile.Rules = append(s.Env.Profile.Rules, permission.Rule{Permission: perm, Pattern: pattern, Effect: permission.Allow, Source: "m.yaml:3"})
}

// Deny adds rules after those of the preset.
func (s *Stage) Deny(perm, pattern string) {
	s.Env.Profile.Rules = append(s.Env.Profile.Rules, permission.Rule{Permission: perm, Pattern: pattern, Effect: permission.Deny, Source: "m.yaml:4"})
}

// Call makes one call.
func (s *Stage) Call(tool string, in Args) tools.Outcome {
	s.Helper()
	data, err := json.Marshal(in)
	if err != nil {
		s.Fatal(err)
	}
	return s.Raw(tool, string(data))
}

// Raw makes one call with arguments as a model wrote them, and checks what
// holds for every outcome.
func (s *Stage) Raw(tool, input string) tools.Outcome {
	s.Helper()
	ran := false
	out := s.Tools.Dispatch(context.Background(), s.Env, tools.Call{ID: "call_1", Name: tool, Input: input}, func(string) { ran = true })
	if problem := Incoherent(out); problem != "" {
		s.Errorf("%s %.200s: %s: %+v", tool, input, problem, out)
	}
	if ran && out.Status == tools.Denied {
		s.Errorf("%s %.200s: was denied and yet began", tool, input)
	}
	return out
}

// Incoherent describes what is wrong with an outcome whatever the call was.
func Incoherent(o tools.Outcome) string {
	switch {
	case !slices.Contains([]tools.Status{tools.Completed, tools.Failed, tools.Denied}, o.Status):
		return "unknown status"
	case (o.Error == "") != (o.Status == tools.Completed):
		return "status and error contradict each other"
	case o.Status == tools.Denied && (o.Decision == nil || o.Decision.Allowed()):
		return "a denial without a decision that denies"
	case o.Status == tools.Completed && (o.Decision == nil || !o.Decision.Allowed()):
		return "completed without a decision that allows"
	}
	return ""
}

// Want checks that a call ended so, and that the model reads each of the texts.
func (s *Stage) Want(out tools.Outcome, status tools.Status, texts ...string) {
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

// Tree describes everything below the stage's base: a call that changes
// nothing leaves it as it is.
func (s *Stage) Tree() map[string]string {
	s.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(s.Base, func(path string, e fs.DirEntry, err error) error {
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

// Unchanged fails if the tree is another than before.
func (s *Stage) Unchanged(before map[string]string) {
	s.Helper()
	if diff := cmp.Diff(before, s.Tree()); diff != "" {
		s.Errorf("the files changed:\n%s", diff)
	}
}

// Names lists the workspace's files, directories left out.
func (s *Stage) Names() []string {
	var names []string
	for path, what := range s.Tree() {
		if rel, ok := strings.CutPrefix(path, s.Dir+"/"); ok && what[0] != 'd' {
			names = append(names, rel)
		}
	}
	slices.Sort(names)
	return names
}

// With returns a copy of the arguments with some replaced.
func (a Args) With(b Args) Args {
	c := maps.Clone(a)
	maps.Copy(c, b)
	return c
}

// PatchOf makes the arguments of a patch of these lines.
func PatchOf(lines ...string) Args {
	return Args{"patchText": "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch"}
}

// Mode returns the permissions of a file.
func (s *Stage) Mode(name string) os.FileMode {
	s.Helper()
	st, err := os.Stat(filepath.Join(s.Dir, name))
	if err != nil {
		s.Fatal(err)
	}
	return st.Mode().Perm()
}

// Guarded are the files that no tool may change: those outside, git's, and those
// that a rule denies.
func (s *Stage) Guarded() map[string]string {
	s.Helper()
	tree := s.Tree()
	for path := range tree {
		rel, inside := strings.CutPrefix(path, s.Dir+"/")
		if inside && !strings.Contains(rel, ".git") && !strings.HasPrefix(rel, "keep") || path == s.Dir || strings.HasPrefix(path, s.Env.Outputs.Path()) || path == s.Base {
			delete(tree, path)
		}
	}
	return tree
}

// BatchOf makes a batch's arguments.
func BatchOf(calls ...Args) Args { return Args{"tool_calls": append([]Args{}, calls...)} }

// Batched is one call of a batch.
func Batched(tool string, in Args) Args { return Args{"tool": tool, "parameters": in} }

// WithBatch enables the batch tool.
func WithBatch(env *tools.Env) { env.Batch = true }

// WithCache makes results cached, and enables the batch tool.
func WithCache(env *tools.Env) {
	env.Changes, env.Cache, env.Batch = &change.Tracker{}, &tools.Cache{}, true
}

// WithCustom gives a stage a custom tool of the name deploy.
func (s *Stage) WithCustom(c command.Custom) {
	s.Helper()
	c.Name, c.Description = "deploy", "puts the shop into service"
	tool, err := tools.NewCustom(c)
	if err != nil {
		s.Fatal(err)
	}
	s.Allow("deploy", "*")
	s.Equip(nil, tool)
}

// Script is the command of a custom tool.
func Script(text string) []string { return []string{"bash", "-c", text} }

// Sorted returns a sorted list.
func Sorted(list []string) []string {
	slices.Sort(list)
	return list
}

// WithExternal gives a stage an external tool of the name files_read.
func (s *Stage) WithExternal(schema string, call func(arguments string) (tools.ExternalResult, error)) {
	s.Helper()
	s.Allow("files_read", "*")
	s.Equip(nil, tools.NewExternal(tools.External{
		Name: "files_read", Description: "Read a file. " + strings.Repeat("x", 4096), Extension: "files", Schema: json.RawMessage(schema),
		Call: func(_ context.Context, c tools.ExternalCall) (tools.ExternalResult, error) {
			return call(string(c.Arguments))
		},
	}))
}

// Project is a stage of many kinds of files.
func Project(t *testing.T) *Stage {
	t.Helper()
	s := SetUp(t, "readonly", map[string]string{
		"main.go": "package main // total\n", "sub/cart.go": "package sub\n\nfunc Total() {}\n", "sub/deep/x_test.go": "// total\n", "README.md": "Total\n",
		".hidden/h.go": "// total\n", ".env": "TOTAL=total\n", "sub/.env.local": "total\n", ".env.example": "TOTAL=\n",
		".git/config": "total\n", ".gitignore": "*.log\n/out/\n", "a.log": "total\n", "out/o.go": "total\n", "bin.dat": "total\x00\n",
		"secret/key.go": "total\n",
	})
	s.Deny("read", "secret/*")
	s.Symlink(s.Outside, "away")
	s.Symlink("secret", "alias")
	return s
}

// Age makes a file older by so many hours.
func (s *Stage) Age(name string, hours int) {
	s.Helper()
	then := time.Now().Add(-time.Duration(hours) * time.Hour)
	if err := os.Chtimes(filepath.Join(s.Dir, name), then, then); err != nil {
		s.Fatal(err)
	}
}

// WithLanguages gives a stage language servers.
func (s *Stage) WithLanguages(servers ...*lsp.Server) {
	s.Helper()
	s.Equip(func(env *tools.Env) { env.Languages = lsp.NewServers(env.Workspace.Root(), servers...) })
}

// Lines makes n numbered lines.
func Lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

// Equipped is an Env with everything there can be.
func Equipped(model string) *tools.Env {
	full, _ := permission.Preset("full")
	return &tools.Env{
		Offer: tools.Offer{
			Model: model, Batch: true, Search: websearch.Config{Backend: "json", URL: "https://search.example.com/"},
			Skills: skill.Set{List: []skill.Skill{{Name: "deploy", Description: "how this shop is put into service"}}},
			Agents: []tools.Agent{{Name: "explore", Description: "looks through files"}},
		},
		Profile: full,
		Now:     func() time.Time { return time.Date(2031, 12, 31, 23, 30, 0, 0, time.FixedZone("", -3600)) },
		Spawn: func(context.Context, tools.SpawnRequest) (tools.SpawnResult, error) {
			return tools.SpawnResult{}, errors.New("not here")
		},
	}
}

// SkillFile returns the text of a SKILL.md.
func SkillFile(name, description, body string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n" + body
}

// WithSkills finds a stage's skills, and returns what was wrong with others.
func (s *Stage) WithSkills(dirs ...string) []string {
	s.Helper()
	skills := skill.Find(s.Env.Workspace, dirs)
	s.Equip(func(env *tools.Env) { env.Skills = skills })
	var texts []string
	for _, p := range skills.Problems {
		texts = append(texts, strings.ReplaceAll(p.Error(), s.Base, "$B"))
	}
	return Sorted(texts)
}

// Pixel starts as a PNG image does.
const Pixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR rest of it"

// Site serves pages on loopback, to a stage whose profile names it.
func Site(t *testing.T, handler http.HandlerFunc) (s *Stage, at string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s = SetUp(t, "full", nil)
	s.Env.Profile.Network.Hosts = []string{u.Host}
	return s, server.URL
}

// Serves responds with a body as a type of content.
func Serves(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil // none but what is asked for
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		fmt.Fprint(w, body)
	}
}

// WithTimeouts calls a command that prints "so far" with growing timeouts, until it had
// the time to: a busy machine starts programs slowly.
func WithTimeouts(call func(limit time.Duration) tools.Outcome) (out tools.Outcome, limit time.Duration) {
	for limit = 250 * time.Millisecond; ; limit *= 2 {
		if out = call(limit); limit > 20*time.Second || strings.Contains(out.Text(), "\nso far") {
			return out, limit
		}
	}
}

// Only leaves the arguments that the tool accepts.
func (a Args) Only(tool string) Args {
	taken := map[string][]string{"read": {"filePath"}, "list": {"path"}, "glob": {"pattern", "path"}, "grep": {"pattern", "path"}}
	b := Args{}
	for _, name := range taken[tool] {
		b[name] = a[name]
	}
	return b
}
