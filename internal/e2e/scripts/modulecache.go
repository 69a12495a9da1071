package scripts

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// UsesIoutil returns, for each module of Go's module cache that uses io/ioutil, the directory
// of one of its versions, by name.
func UsesIoutil() (map[string]string, error) {
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		return nil, err
	}
	root := strings.TrimSpace(string(out))
	all := map[string]string{}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch name, _, found := strings.Cut(filepath.Base(path), "@"); {
		case err != nil || !entry.IsDir():
			return nil //nolint:nilerr // what can't be read is no module
		case path == filepath.Join(root, "cache"):
			return filepath.SkipDir
		case found:
			if module := filepath.Join(filepath.Dir(path), name); path > all[module] && len(IoutilFiles(path)) > 0 {
				all[module] = path
			}
			return filepath.SkipDir
		}
		return nil
	})
	return all, err
}

// IoutilFiles returns the Go files of a module that use io/ioutil, by path.
func IoutilFiles(dir string) map[string][]byte {
	all := map[string][]byte{}
	filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.Contains(path, "/testdata/") || strings.Contains(path, "/vendor/") {
			return nil //nolint:nilerr // likewise
		}
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte("\"io/ioutil\"\n")) {
			if rel, err := filepath.Rel(dir, path); err == nil {
				all[rel] = data
			}
		}
		return nil
	})
	return all
}

// ioutilModules makes N repositories, each of the files of a module of Go's module cache that
// use io/ioutil, and lists them in repos.txt.
func ioutilModules(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ioutil-modules N")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	modules, err := UsesIoutil()
	ts.Check(err)
	if len(modules) < n {
		ts.Fatalf("the module cache has %d modules that use io/ioutil", len(modules))
	}
	var list strings.Builder
	for i, module := range slices.Sorted(maps.Keys(modules))[:n] {
		dir := ts.MkAbs(fmt.Sprintf("module%d", i))
		for file, data := range IoutilFiles(modules[module]) {
			ts.Check(os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755))
			ts.Check(os.WriteFile(filepath.Join(dir, file), data, 0o644))
		}
		for _, git := range [][]string{{"init", "-q", "-b", "main", dir}, {"-C", dir, "add", "-A", "-f"}, {"-C", dir, "commit", "-q", "-m", "published"}} {
			ts.Check(ts.Exec("git", git...))
		}
		fmt.Fprintln(&list, dir)
	}
	ts.Check(os.WriteFile(ts.MkAbs("repos.txt"), []byte(list.String()), 0o644))
}
