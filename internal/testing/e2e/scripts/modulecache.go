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

// Module is a module of Go's module cache.
type Module struct {
	Name string // for a repository
	Dir  string
}

// SmallModules returns n modules that use io/ioutil, and are not large, in the order of their names.
func SmallModules(n int) ([]Module, error) {
	all, err := UsesIoutil()
	if err != nil {
		return nil, fmt.Errorf("read the module cache: %w", err)
	}
	root := commonDir(slices.Collect(maps.Values(all)))
	var found []Module
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if len(found) < n && isSmall(all[path]) {
			found = append(found, Module{Name: strings.NewReplacer("/", "-", "!", "").Replace(strings.TrimPrefix(path, root)), Dir: all[path]})
		}
	}
	if len(found) < n {
		return nil, fmt.Errorf("the module cache has %d such modules; this test needs %d", len(found), n)
	}
	return found, nil
}

// commonDir returns the directory that all paths are in, with a slash.
func commonDir(paths []string) string {
	dir := ""
	if len(paths) > 0 {
		dir = filepath.Dir(paths[0])
	}
	for _, p := range paths {
		for !strings.HasPrefix(p, dir+"/") {
			dir = filepath.Dir(dir)
		}
	}
	return dir + "/"
}

// isSmall reports whether a module has at most 600 files and 3 MiB.
func isSmall(dir string) bool {
	files, size := 0, int64(0)
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if files++; err == nil {
			size += info.Size()
		}
		return err
	})
	return err == nil && files <= 600 && size <= 3<<20
}
