package jshost

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		full := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o700), os.WriteFile(full, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// The packages that a plugin imports are those whose files it may read.
func TestPackages(t *testing.T) {
	for file, want := range map[string]string{
		"/p/node_modules/a/dist/index.js": "/p/node_modules/a", "/p/node_modules/@s/a/index.js": "/p/node_modules/@s/a",
		"/p/node_modules/a/node_modules/b/x.js": "/p/node_modules/a/node_modules/b", "/p/lib/a.js": "", "/p/node_modules/a.js": "", "/p/node_modules/@s/a.js": "",
	} {
		if got, ok := packageOf(file); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %s, %t", file, got, ok)
		}
	}
	all, many := map[string]bool{"/p/node_modules/a": true, "/p/node_modules/a/node_modules/b": true, "/p/node_modules/ab": true}, map[string]bool{}
	for i := range maxPackages + 1 {
		many[fmt.Sprintf("/p/node_modules/a%d/node_modules/b", i)] = true
	}
	if got := strings.Join(packageDirs(all), " "); got != "/p/node_modules/a /p/node_modules/ab" {
		t.Errorf("directories %s", got)
	}
	if got := strings.Join(packageDirs(many), " "); got != "/p/node_modules" {
		t.Errorf("directories of many: %s", got)
	}
}

func TestMistakesInFiles(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"a.ts": "export const a = 1;\nexport const b = ;\n",
		"b.ts": `import x from "left-pad"; export default x;`,
		"c.ts": `import x from "./missing.js"; export default x;`,
	})
	for want, files := range map[string][]string{
		`/a.ts:2:18: Unexpected ";"`: {"a.ts"},
		`/b.ts:1:15: package "left-pad" was not found; install it beside the file: millhand installs nothing`: {"b.ts", "c.ts"},
		`/c.ts:1:15: Could not resolve "./missing.js"`:                                                        {"c.ts", "b.ts"},
	} {
		var entries []Entry
		for _, f := range files {
			entries = append(entries, Entry{Path: filepath.Join(dir, f)})
		}
		if _, err := Compile(entries, nil); err == nil || !strings.Contains(err.Error(), dir+want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// Packages beside a file are used, with their own files; zod is that of the file if it has one.
func TestPackagesBesideAFile(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"tools/a.ts":                         `import { z } from "zod"; import dep from "dep"; export default z + dep;`,
		"node_modules/dep/package.json":      `{"main": "main.cjs"}`,
		"node_modules/dep/main.cjs":          "#!/usr/bin/env node\nmodule.exports = 'dep in ' + __dirname + require('node:path').sep;",
		"beside/b.ts":                        `import { z } from "zod"; export default z;`,
		"beside/node_modules/zod/index.js":   `export const z = "own zod";`,
		"beside/node_modules/zod/index.d.ts": `export const z: string;`,
	})
	p, err := Compile([]Entry{{Path: filepath.Join(dir, "tools/a.ts")}, {Path: filepath.Join(dir, "beside/b.ts")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, b := string(p.Files[p.Modules[0]]), string(p.Files[p.Modules[1]])
	if !strings.Contains(a, `from "./zod.mjs"`) || !strings.Contains(a, `"`+dir+`/node_modules/dep"`) {
		t.Errorf("a:\n%s", a)
	}
	if !strings.Contains(b, "own zod") || strings.Contains(b, "./zod.mjs") {
		t.Errorf("b:\n%s", b)
	}
}

// Files of a repository are those of the base commit, and import nothing outside of it.
func TestFilesOfARepository(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "repo")
	writeFiles(t, base, map[string]string{
		"secret.json": `{"key": "secret-4711"}`,
		"repo/a.ts":   `import { lib } from "./lib"; import dep from "dep"; export default lib + dep;`,
		"repo/lib.ts": `export const lib = "changed by the agent";`,
		"repo/b.ts":   `import secret from "../secret.json"; export default secret;`,
		"repo/c.ts":   `import secret from "./alias.json"; export default secret;`,
		"repo/d.ts":   `import x from "./new"; export default x;`, "repo/new.ts": `export default "by the agent";`,
		"repo/node_modules/dep/index.js": `export default "installed by setup";`,
	})
	if err := os.Symlink("../secret.json", filepath.Join(dir, "alias.json")); err != nil {
		t.Fatal(err)
	}
	ws := &Workspace{Dir: dir, Read: func(name string) ([]byte, error) {
		switch name {
		case "lib.ts":
			return []byte(`export const lib = "of the commit";`), nil
		case "new.ts":
			return nil, fs.ErrNotExist
		}
		return os.ReadFile(filepath.Join(dir, name))
	}}
	for file, want := range map[string]string{
		"b.ts": `"../secret.json" is outside of the repository`, "c.ts": `"./alias.json" is outside of the repository`, "d.ts": "file does not exist",
	} {
		if _, err := Compile([]Entry{{Path: filepath.Join(dir, file)}}, ws); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "4711") {
			t.Errorf("%s: %v", file, err)
		}
	}
	p, err := Compile([]Entry{{Path: filepath.Join(dir, "a.ts")}}, ws)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(p.Files[p.Modules[0]]); !strings.Contains(text, "of the commit") || strings.Contains(text, "agent") || !strings.Contains(text, "installed by setup") {
		t.Errorf("a:\n%s", text)
	}
}
