package fleet

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/e2e/scripts"
)

// Larger modules are left out.
const (
	maxFiles = 600
	maxBytes = 3 << 20
)

// module is a published Go module that uses io/ioutil.
type module struct {
	name  string // of its repository
	dir   string // in the module cache
	tests bool   // tests use io/ioutil
	other bool   // other files use io/ioutil
}

// findModules returns modules of Go's module cache, in the order of their names.
func findModules(t *testing.T, n int) []module {
	t.Helper()
	all, err := scripts.UsesIoutil()
	if err != nil {
		t.Skipf("read the module cache: %v", err)
	}
	root := commonDir(slices.Collect(maps.Values(all)))
	var found []module
	for _, path := range slices.Sorted(maps.Keys(all)) {
		m := module{name: strings.NewReplacer("/", "-", "!", "").Replace(strings.TrimPrefix(path, root)), dir: all[path]}
		if len(found) < n && m.small() {
			m.look(t)
			found = append(found, m)
		}
	}
	if len(found) < n {
		t.Skipf("the module cache has %d such modules; this test needs %d", len(found), n)
	}
	return found
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

func (m *module) small() bool {
	files, size := 0, int64(0)
	err := filepath.WalkDir(m.dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if files++; err == nil {
			size += info.Size()
		}
		return err
	})
	return err == nil && files <= maxFiles && size <= maxBytes
}

// look finds out which files use io/ioutil.
func (m *module) look(t *testing.T) {
	t.Helper()
	for name := range scripts.IoutilFiles(m.dir) {
		if strings.HasSuffix(name, "_test.go") {
			m.tests = true
		} else {
			m.other = true
		}
	}
}

// publish makes the repository of a module.
func (f *fleet) publish(m module) {
	f.t.Helper()
	work := filepath.Join(f.dir, "work")
	f.must(os.CopyFS(work, os.DirFS(m.dir)))
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A", "-f"}, {"commit", "-q", "-m", "Published"}, {"clone", "-q", "--bare", ".", "../acme/" + m.name + ".git"}} {
		f.run("work", "git", args...)
	}
	f.must(os.RemoveAll(work))
	f.run("acme/"+m.name+".git", "git", "config", "http.receivepack", "true")
}
