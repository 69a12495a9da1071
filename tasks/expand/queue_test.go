package expand

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
)

// dump writes a value with everything that it refers to, unexported fields included. Problems are
// without their sources, which have the functions of one load.
func dump(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil\n")
			return
		}
		if v.Type() == reflect.TypeFor[*form.Source]() {
			return
		}
		dump(b, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type() == reflect.TypeFor[tasks.Readable]() && v.Type().Field(i).Name == "Hidden" {
				continue // secrets stay on their machine
			}
			fmt.Fprintf(b, "%s.%s: ", v.Type(), v.Type().Field(i).Name)
			dump(b, v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(b, "%s of %d, nil %t\n", v.Type(), v.Len(), v.Kind() == reflect.Slice && v.IsNil())
		for i := range v.Len() {
			dump(b, v.Index(i))
		}
	case reflect.Map:
		entries := map[string]reflect.Value{}
		for _, k := range v.MapKeys() {
			entries[fmt.Sprintf("%#v", k)] = v.MapIndex(k)
		}
		fmt.Fprintf(b, "%s of %d, nil %t\n", v.Type(), v.Len(), v.IsNil())
		for _, k := range slices.Sorted(maps.Keys(entries)) {
			fmt.Fprintf(b, "%s: ", k)
			dump(b, entries[k])
		}
	case reflect.Func:
		fmt.Fprintf(b, "func %t\n", v.IsNil())
	default:
		fmt.Fprintf(b, "%#v\n", v)
	}
}

func dumped(p *tasks.Plan, root string) string {
	var b strings.Builder
	dump(&b, reflect.ValueOf(p))
	return strings.ReplaceAll(b.String(), root, "")
}

// comparePlans loads manifests again below another directory, after the first one has been
// removed, and compares the plans.
func comparePlans(t *testing.T, manifests []string, o tasks.Options, before *tasks.Plan, remove string) {
	t.Helper()
	inputs, err := before.ReadInputs()
	if err != nil {
		t.Fatal(err)
	}
	want := dumped(before, "\x00")
	if err := os.RemoveAll(remove); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(t.TempDir(), "worker", "one")
	if err := tasks.Materialize(root, inputs); err != nil {
		t.Fatal(err)
	}
	o.Event = before.Event()
	moved, below := tasks.Below(root, manifests, o)
	after, err := Load(t.Context(), moved, below)
	if err != nil {
		t.Fatalf("%v\n%v", err, before.Inputs())
	}
	if after.Hash != before.Hash {
		t.Errorf("hash %s, want %s", after.Hash, before.Hash)
	}
	for i, j := range after.Jobs {
		if j.ID != before.Jobs[i].ID || j.Hash != before.Jobs[i].Hash {
			t.Errorf("job %s %s, want %s %s", j.ID, j.Hash, before.Jobs[i].ID, before.Jobs[i].Hash)
		}
	}
	if got := dumped(after, root); got != want {
		a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("line %d: got %s\nwant %s", i+1, b[i], a[i])
			}
		}
		t.Fatalf("%d lines, want %d", len(b), len(a))
	}
}

// withURLs returns a manifest whose repositories have URLs, and that changes no working tree.
func withURLs(t *testing.T, data []byte) []byte {
	t.Helper()
	var doc map[string]any
	if err := yaml.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	doc["repos"] = []any{map[string]string{"url": "https://git.example.com/a/shop"}, map[string]string{"url": "https://git.example.com/b/shop.git"}}
	delete(doc, "rollout")
	delete(doc, "evidence")
	all, _ := doc["tasks"].([]any)
	for _, one := range all {
		task, _ := one.(map[string]any)
		delete(task, "repos")
		if commit, _ := task["commit"].(map[string]any); task["commit"] == false || commit["branch"] == tasks.CurrentBranch {
			delete(task, "commit")
		}
	}
	out, err := yaml.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestQueuedExamples is the same for the manifests of the examples and those of other tests, as
// far as they can be queued if their repositories have URLs.
func TestQueuedExamples(t *testing.T) {
	same := 0
	for _, root := range []string{"../../examples", "testdata"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".yaml" {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(data), "\ntasks:") {
				return err
			}
			t.Run(path, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "tree")
				if err := os.CopyFS(dir, os.DirFS(filepath.Dir(path))); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), withURLs(t, data), 0o644); err != nil {
					t.Fatal(err)
				}
				o := options(dir)
				o.Getenv = func(name string) string { return map[string]string{"HOME": "/home/ann"}[name] + name }
				o.Event = filepath.Join(dir, "event.json")
				if err := os.WriteFile(o.Event, []byte(`{"number": 7, "issue": {"number": 7, "id": 7, "title": "T", "body": "B"}, "comment": {"id": 7, "body": "C"}, "pull_request": {"number": 7, "title": "T", "body": "B"}}`), 0o644); err != nil {
					t.Fatal(err)
				}
				p, err := Load(t.Context(), []string{filepath.Base(path)}, o)
				if err != nil {
					t.Log(err)
					return
				}
				if err := p.Unqueueable(); err != nil {
					t.Log(err)
					return
				}
				comparePlans(t, []string{filepath.Base(path)}, o, p, dir)
				same++
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Log(same)
	if same < 10 {
		t.Errorf("only %d manifests can be queued", same)
	}
}

func TestUnqueueable(t *testing.T) {
	for name, of := range map[string]struct{ manifest, want string }{
		"path": {"repos: [{path: repo}, {copy: other}]", `m.yaml:4:9: repository repo is a path on this machine, and workers may be others; use url:
m.yaml:4:23: repository other is a path on this machine, and workers may be others; use url:`},
		"directory": {"", `m.yaml:5:9: repository shop is a path on this machine, and workers may be others; use url:`},
		"rollout":   {"repos: [{url: 'https://x.example.com/a'}]\nrollout: {waves: [1]}", "m.yaml:5:10: a rollout decides from earlier runs which jobs are next, and a queue runs all jobs; remove it, or use millhand run"},
		"evidence":  {"repos: [{url: 'https://x.example.com/a'}]\nevidence: {sign: none}", "m.yaml:5:11: the events of a queued run are recorded by several workers, so they are not one chain; remove it, or use millhand run"},
		"scripts": {"repos: [{url: 'https://x.example.com/a'}]\ntools_from: [t.ts, 'workspace:x.ts']\nplugins: [./t.ts]", `js: the modules of "t.ts" are searched on this machine, and workers may be others; write a path in the repository: workspace:PATH
js: the modules of "./t.ts" are searched on this machine, and workers may be others; write a path in the repository: workspace:PATH`},
		"run hooks": {"repos: [{url: 'https://x.example.com/a'}]\nhooks: {run_end: [{run: 'true'}]}", "m.yaml:5: the hook run_end would run once for each job, on its worker; use job_end"},
		"keys": {"repos: [{url: 'https://x.example.com/a'}]\nproviders: {p: {kind: openai, base_url: 'https://x.example.com', key_command: [cat, key.txt]}, q: {kind: openai, base_url: 'https://x.example.com', token_file: key.txt}, r: {kind: openai, base_url: 'https://x.example.com', token_file: /run/key}, s: {kind: openai, base_url: 'https://x.example.com', key_command: [vault, read]}}", `m.yaml:5:79: "key_command" uses the file "key.txt" of this machine, and secrets are not sent to workers; name an environment variable, a program on the PATH of the workers, or an absolute path of theirs
m.yaml:5:161: "token_file" uses the file "key.txt" of this machine, and secrets are not sent to workers; name an environment variable, a program on the PATH of the workers, or an absolute path of theirs`},
		"output": {"repos: [{url: 'https://x.example.com/a'}, {url: 'https://x.example.com/b'}]\ntasks: [{id: a, prompt: A, output: {file: '${{ repo.name }}.md'}}]", `m.yaml:5:9: output.file "a.md" would be written on the machine of the worker; remove it: the report has the final message`},
		"write":  {"repos: [{url: 'https://x.example.com/a'}]\nmcp: {i: {command: [cat], write: [out, /var/out]}}", `MCP server i: write: "DIR/..." is a path on this machine, and workers may be others; write an absolute path of the workers`},
		"absolute": {"repos: [{url: 'https://x.example.com/a'}]\ninstructions: [DIR/key.txt]\ntasks: [{id: a, prompt: A, setup: [bash DIR/key.txt]}]", `m.yaml:5:16: "DIR/..." is an absolute path, which workers may not have; write it relative to the manifest
m.yaml:6:36: entry 1 of "setup" contains an absolute path, which workers may not have: "DIR/..."; write it relative to the manifest`},
		"size": {"repos: [{url: 'https://x.example.com/a'}]\nskills: [large]", `inputs: the files that the plan reads have 65 MiB, and a queue stores at most 64 MiB; the largest is DIR/large/file; move what jobs do not need to other directories, or put it into the repository`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "shop")
			for _, sub := range []string{"repo/.git", "other", "large", ".git"} {
				if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			text := "version: 1\nname: n\nmodel: openai/gpt-5-mini\n" + strings.ReplaceAll(of.manifest, "DIR", dir)
			if !strings.Contains(text, "tasks:") {
				text += "\ntasks: [{id: a, prompt: A}]\n"
			}
			for name, content := range map[string]string{"m.yaml": text, "t.ts": "", "key.txt": "", "large/file": ""} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Truncate(filepath.Join(dir, "large/file"), 65<<20); err != nil {
				t.Fatal(err)
			}
			o := options(dir)
			o.Stdin = func() ([]byte, error) { return []byte("https://x.example.com/a\n"), nil }
			p, err := Load(t.Context(), []string{"m.yaml"}, o)
			if err != nil {
				t.Fatal(err)
			}
			cut := regexp.MustCompile(`"` + regexp.QuoteMeta(dir[:20]) + `[^"]*"`) // how much is shown of a path depends on the length of TMPDIR
			got := cut.ReplaceAllString(strings.Join(lines(t, p.Unqueueable()), "\n"), `"DIR/..."`)
			if got = strings.ReplaceAll(got, dir, "DIR"); got != of.want {
				t.Errorf("got\n%s\nwant\n%s", got, of.want)
			}
		})
	}
	p, err := LoadPrompt(t.Context(), Prompt{Text: "x"}.Manifest(), tasks.Options{Dir: t.TempDir(), Overrides: tasks.Overrides{Model: "openai/gpt-5-mini"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := lines(t, p.Unqueueable()); !strings.HasPrefix(got[1], "-: the manifest is not a regular file") {
		t.Error(got)
	}
}

func TestMaterializeStaysBelow(t *testing.T) {
	for _, path := range []string{"x", "/../x", "/a/../../x", "/a//b", ""} {
		if err := tasks.Materialize(filepath.Join(t.TempDir(), "r"), []tasks.Input{{Path: path, Mode: 0o644}}); err == nil {
			t.Errorf("%q was written", path)
		}
	}
}
