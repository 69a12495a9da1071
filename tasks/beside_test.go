package tasks

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/files/userfile"
)

func TestCommandsNameFilesNextToTheManifest(t *testing.T) {
	top := userfile.Real(t.TempDir())
	ops, repo := filepath.Join(top, "home", "ops"), filepath.Join(top, "repo")
	for name, mode := range map[string]os.FileMode{
		"ops/check.sh": 0o755, "ops/.env": 0o644, "ops/lib/a.sh": 0o755, "ops/lib/id_rsa": 0o644, "ops/lib/db-credentials.json": 0o644,
		"ops/lib/own.txt": 0o600, "ops/lib/.git/config": 0o644, "ops/lib/b.txt": 0o644, "x.sh": 0o755,
	} {
		at := filepath.Join(top, "home", name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(repo, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	b, elsewhere := Beside{Dir: ops, Home: filepath.Join(top, "home")}, Repo{Kind: RepoPath, Dir: repo}
	all := []string{ops + "/.env"}
	lib := []string{ops + "/lib/.git", ops + "/lib/db-credentials.json", ops + "/lib/id_rsa", ops + "/lib/own.txt"}
	tests := []struct {
		b          Beside
		line, want string
		has        string // in the workspace
		readable   []Readable
	}{
		{b, "./check.sh -v", ops + "/check.sh -v", "", []Readable{{ops, append(all, lib...)}}},
		{b, "sh lib/a.sh; cat 'lib/b.txt' x/y", "sh " + ops + "/lib/a.sh; cat '" + ops + "/lib/b.txt' x/y", "", []Readable{{ops + "/lib", lib}, {ops + "/lib", lib}}},
		{b, "ls " + ops + "/lib", "ls " + ops + "/lib", "", []Readable{{ops + "/lib", lib}}},
		{b, "./check.sh", "./check.sh", "./check.sh", nil},
		{b, "check.sh ../x.sh go test ./... " + top + "/home/x.sh", "check.sh ../x.sh go test ./... " + top + "/home/x.sh", "", nil},
		{b, "ls " + ops, "ls " + ops, "", nil},
		{b, "cat lib/id_rsa " + ops + "/lib/id_rsa", "cat lib/id_rsa " + ops + "/lib/id_rsa", "", nil},
		{Beside{}, ops + "/check.sh", ops + "/check.sh", "", nil}, // of others
		{Beside{Dir: ops, Home: ops}, "./check.sh", ops + "/check.sh", "", []Readable{{Path: ops + "/check.sh"}}},
		{Beside{Dir: repo}, "./lib/a.sh", "./lib/a.sh", "", nil},
	}
	for _, tt := range tests {
		line, readable := tt.b.resolve(tt.line, []Repo{elsewhere}, func(path string) bool { return path == tt.has })
		if diff := cmp.Diff(tt.readable, readable); line != tt.want || diff != "" {
			t.Errorf("%s: got %s, want %s; readable (-want +got):\n%s", tt.line, line, tt.want, diff)
		}
	}
	inside := filepath.Join(repo, "ops", "check.sh")
	if err := os.MkdirAll(filepath.Dir(inside), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(inside, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	line, readable := Beside{Dir: filepath.Dir(inside)}.resolve("./check.sh "+inside, []Repo{elsewhere}, func(string) bool { return false })
	if diff := cmp.Diff([]Readable{{Path: inside}}, readable); !strings.HasPrefix(line, "./check.sh ") || diff != "" {
		t.Errorf("in the repository: %s (-want +got):\n%s", line, diff)
	}
}

// The program that a command names is readable, although its name has a word as those of
// secrets have, or it is the user's alone. Data is not.
func TestNamedProgramsAreReadable(t *testing.T) {
	ops := userfile.Real(t.TempDir())
	for name, text := range map[string]string{"scan_secrets.sh": "#!/bin/sh", "secrets.txt": "s3cret", "own.sh": "#!/bin/sh", "own.txt": "text", ".run.sh": "#!/bin/sh"} {
		if err := os.WriteFile(filepath.Join(ops, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hidden, _ := secretsIn(ops)
	all := Readable{ops, hidden}
	if len(hidden) != 5 {
		t.Errorf("hidden: %v", hidden)
	}
	for line, want := range map[string][]Readable{
		"./scan_secrets.sh": {all, {Path: ops + "/scan_secrets.sh"}}, "sh ./own.sh": {all, {Path: ops + "/own.sh"}},
		"cat ./own.txt": {all}, "cat ./secrets.txt": nil, "./.run.sh": nil,
	} {
		_, readable := Beside{Dir: ops}.resolve(line, nil, func(string) bool { return false })
		if diff := cmp.Diff(want, readable); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

// The program of a custom tool is readable wherever it is. What is next to it is so without
// files that may have secrets.
func TestProgramsOfToolsAreReadable(t *testing.T) {
	top := userfile.Real(t.TempDir())
	for _, name := range []string{"ops/m.yaml", "ops/.run.sh", "ops/.env", "ops/bare", "other/run", "other/.env", "home/run", "home/x"} {
		at := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte("echo x\n"), 0o700); err != nil { // without an interpreter, as umask 077 creates it
			t.Fatal(err)
		}
	}
	in := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(top, name))
		}
		return paths
	}
	ops := Readable{top + "/ops", in("ops/.env", "ops/.run.sh", "ops/bare", "ops/m.yaml")}
	for program, want := range map[string][]Readable{
		"ops/.run.sh": {ops, {Path: top + "/ops/.run.sh"}},
		"ops/bare":    {ops, {Path: top + "/ops/bare"}},
		"other/run":   {{top + "/other", in("other/.env", "other/run")}, {Path: top + "/other/run"}},
		"home/run":    {{Path: top + "/home/run"}},
		"other/none":  nil,
	} {
		_, readable := Beside{Dir: top + "/ops", Home: top + "/home"}.ResolveProgram([]string{filepath.Join(top, program)}, nil)
		if diff := cmp.Diff(want, readable); diff != "" {
			t.Errorf("%s (-want +got):\n%s", program, diff)
		}
	}
}

// A directory with too many files is not shared: only the program.
func TestFilesNextToAProgramAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	ops := userfile.Real(t.TempDir())
	for i := range maxHidden + 2 {
		if err := os.WriteFile(filepath.Join(ops, fmt.Sprintf("%d.key", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(ops, "run.sh"), []byte("#!/bin/sh"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, readable := Beside{Dir: ops}.resolve("./run.sh; ls "+ops+"/1.key", nil, func(string) bool { return false })
	if diff := cmp.Diff([]Readable{{Path: ops + "/run.sh"}}, readable); diff != "" {
		t.Error(diff)
	}
}

// Published modules with names as secrets have are not hidden; files that hold keys are.
func TestSecretsOfASymlinkedDirectoryAreHidden(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	for _, name := range []string{"check.sh", "key.pem"} {
		if err := os.WriteFile(filepath.Join(elsewhere, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	scripts := filepath.Join(dir, "scripts")
	if err := os.Symlink(elsewhere, scripts); err != nil {
		t.Fatal(err)
	}
	_, readable := Beside{Dir: dir}.resolve("bash scripts/check.sh", nil, func(string) bool { return false })
	if len(readable) != 1 || readable[0].Path != scripts || !slices.Contains(readable[0].Hidden, filepath.Join(scripts, "key.pem")) {
		t.Errorf("readable: %+v", readable)
	}
}

func TestInstalledModulesAreReadable(t *testing.T) {
	ops := userfile.Real(t.TempDir())
	for _, name := range []string{"node_modules/js-tokens/index.js", "node_modules/js-tokens/.env", "node_modules/a/server.key", "venv/lib/site-packages/secrets.py", "token.txt"} {
		file := filepath.Join(ops, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil { //nolint:gosec // readable by all
			t.Fatal(err)
		}
	}
	hidden, ok := secretsIn(ops)
	for i := range hidden {
		hidden[i] = strings.TrimPrefix(hidden[i], ops+"/")
	}
	if diff := cmp.Diff([]string{"node_modules/a/server.key", "node_modules/js-tokens/.env", "token.txt"}, hidden); diff != "" || !ok {
		t.Errorf("%t, hidden files (-want +got):\n%s", ok, diff)
	}
}
