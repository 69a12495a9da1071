package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/e2e/scripts"
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
	all, err := scripts.SmallModules(n)
	if err != nil {
		t.Skip(err)
	}
	var found []module
	for _, small := range all {
		m := module{name: small.Name, dir: small.Dir}
		m.look(t)
		found = append(found, m)
	}
	return found
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
