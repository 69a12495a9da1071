package manifest

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGoldenReading reads the manifests (m*.yaml) and policies (p*.yaml) of each archive, next to its other files. The policy bounds.yaml
// holds for the manifests, or that of untrusted ones if the archive has .git/untrusted. The golden file has everything that is read, with its positions, and everything that is reported.
func TestGoldenReading(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/reading/*.txt")
	if err != nil || len(archives) == 0 {
		t.Fatal(len(archives), err)
	}
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".txt"), func(t *testing.T) {
			t.Parallel()
			golden := strings.TrimSuffix(archive, ".txt") + ".golden"
			got := readArchive(t, archive)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// readArchive returns what is read of the files of an archive.
func readArchive(t *testing.T, file string) string {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(userfile.Real(t.TempDir()), "shop")
	for _, f := range archive.Files {
		path, mode := filepath.Join(dir, f.Name), os.FileMode(0o600)
		if filepath.Ext(path) == ".sh" {
			mode = 0o700
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, mode); err != nil {
			t.Fatal(err)
		}
	}
	variables := map[string]string{"HOME": "/home/ann", "BUILD": "17"}
	o := tasks.Options{Dir: dir, Getenv: func(name string) string { return variables[name] }}
	has := func(name string) bool {
		return slices.ContainsFunc(archive.Files, func(f txtar.File) bool { return f.Name == name })
	}
	if has(".git/untrusted") {
		o.Policies = policy.Set{policy.ForUntrusted(nil)}
	}
	if has("bounds.yaml") {
		bounds, err := LoadPolicy(t.Context(), "bounds.yaml", o)
		if err != nil {
			t.Fatal(err)
		}
		o.Policies = policy.Set{bounds}
	}
	d := describer{dir}
	var out strings.Builder
	for _, f := range archive.Files {
		switch name := f.Name; {
		case filepath.Ext(name) != ".yaml" || strings.Contains(name, "/"):
		case name[0] == 'm':
			out.WriteString("-- " + name + " --\n" + readGolden(t, name, o, d))
		case name[0] == 'p':
			p, err := LoadPolicy(t.Context(), name, o)
			out.WriteString("-- " + name + " --\n" + d.text("", p) + reported(err))
		}
	}
	return strings.ReplaceAll(out.String(), dir, "DIR")
}

// readGolden returns what is read of one manifest, what is reported, and what of the machine is used.
func readGolden(t *testing.T, name string, o tasks.Options, d describer) string {
	t.Helper()
	l := NewLoader(t.Context(), o)
	m, err := l.Manifest(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	parts := []string{reported(l.Found.Err())}
	for _, note := range l.Found.Notes {
		parts = append(parts, "note "+note+"\n")
	}
	if m != nil {
		parts = append(parts, d.text("", *m), d.text("entered", m.Src.Entered), d.text("passed over", m.Src.Passed))
	}
	return strings.Join(append(parts, d.text("names", l.Names), d.text("uses", *l.Inputs.Uses)), "")
}

// reported is the text of problems.
func reported(err error) string {
	if err == nil {
		return ""
	}
	return err.Error() + "\n"
}

// A key that no archive sets could be read into nothing. The keys of a task's limits and repositories are those of the manifest.
func TestGoldenReadingHasEachKey(t *testing.T) {
	t.Parallel()
	var roots []*yaml.Node
	for _, name := range []string{"everything", "policies"} {
		archive, err := txtar.ParseFile("testdata/reading/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			var root yaml.Node
			if strings.HasSuffix(f.Name, ".yaml") && yaml.Unmarshal(f.Data, &root) == nil && len(root.Content) > 0 {
				roots = append(roots, root.Content[0])
			}
		}
	}
	for _, key := range slices.Concat(EveryKey(), PolicyKeys()) {
		path := key.Path
		if strings.HasPrefix(path, "tasks[].limits.") || strings.HasPrefix(path, "tasks[].repos[].") {
			path = strings.TrimPrefix(path, "tasks[].")
		}
		if !slices.ContainsFunc(roots, func(root *yaml.Node) bool { return hasKey(root, strings.Split(path, ".")) }) {
			t.Errorf("no archive sets %s", key.Path)
		}
	}
}

// hasKey reports whether a document has a key with a path such as a.NAME.b[].c, in which NAME is any key.
func hasKey(n *yaml.Node, path []string) bool {
	if len(path) == 0 {
		return true
	}
	name, isList := strings.CutSuffix(path[0], "[]")
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if n.Content[i].Value != name && strings.ToUpper(name) != name {
			continue
		}
		below := []*yaml.Node{n.Content[i+1]}
		if isList {
			below = below[0].Content
		}
		if slices.ContainsFunc(below, func(one *yaml.Node) bool { return hasKey(one, path[1:]) }) {
			return true
		}
	}
	return false
}
