package fleet

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/testing/forgetest"
)

// open returns the open pull requests.
func (f *fleet) open() []forgetest.Pull {
	return slices.DeleteFunc(f.forge.Pulls(), func(p forgetest.Pull) bool { return p.State != "open" })
}

// ci checks the heads of the open pull requests, and finds conflicts, as forges do.
func (f *fleet) ci() {
	f.t.Helper()
	for _, p := range f.open() {
		head, err := f.git(p.Repo, "rev-parse", p.Branch)
		f.must(err)
		_, err = f.git(p.Repo, "merge-tree", "--write-tree", "main", p.Branch)
		conflict := err != nil
		if _, err := f.git(p.Repo, "merge-base", "--is-ancestor", "main", p.Branch); err != nil && f.current[p.Repo] {
			conflict = true
		}
		f.forge.Set(p.Repo, p.Number, func(p *forgetest.Pull) { p.Conflict = conflict })
		_, err = f.git(p.Repo, "update-ref", fmt.Sprintf("refs/pull/%d/head", p.Number), head)
		f.must(err)
		if f.checked[head] {
			continue
		}
		f.checked[head] = true
		run := forgetest.Run{Name: "lint", Status: "success"}
		if log := f.lint(p.Repo, p.Branch); log != "" {
			run.Status, run.Log = "failure", log
			f.reds++
			f.t.Logf("red: %s: %.300s", p.Repo, log)
		}
		f.forge.AddRun(p.Repo, p.Branch, run)
	}
}

// lint checks the Go files that a branch changes, and returns what it found.
func (f *fleet) lint(repo, branch string) string {
	f.t.Helper()
	names, err := f.git(repo, "diff", "--name-only", "main..."+branch, "--", "*.go")
	f.must(err)
	base, err := f.git(repo, "merge-base", "main", branch)
	f.must(err)
	var log strings.Builder
	if entries, err := f.git(repo, "diff", "--name-only", "main..."+branch, "--", "CHANGES.md"); f.entries[repo] && err == nil && entries == "" {
		log.WriteString(noEntry)
	}
	for name := range strings.FieldsSeq(names) {
		before, after := f.show(repo, base, name), f.show(repo, branch, name)
		if tidy(before) && !tidy(after) {
			fmt.Fprintf(&log, "%s: not formatted\n", name)
		}
		for _, problem := range imports(after) {
			fmt.Fprintf(&log, "%s: %s\n", name, problem)
		}
	}
	return log.String()
}

func (f *fleet) show(repo, commit, name string) []byte {
	out, err := f.command(repo+".git", "git", "show", commit+":"+name).Output()
	f.must(err)
	return out
}

func tidy(text []byte) bool {
	formatted, err := format.Source(text)
	return err == nil && bytes.Equal(formatted, text)
}

// imports returns which of the packages io, os and io/ioutil a file imports without using
// them, and the other way around.
func imports(text []byte) (problems []string) {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments)
	if err != nil {
		return []string{err.Error()}
	}
	imported, used := map[string]bool{}, map[string]bool{}
	for _, i := range file.Imports {
		if path := strings.Trim(i.Path.Value, `"`); i.Name == nil {
			imported[path] = true
			if path == "example.com/acme/fsutil" {
				problems = append(problems, "package example.com/acme/fsutil not found")
			}
		} else if strings.HasSuffix(path, "/fsutil") {
			problems = append(problems, "package "+path+" not found")
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Obj == nil { // local names are enough
				used[x.Name] = true
			}
		}
		return true
	})
	for _, name := range []string{"io", "os"} {
		switch {
		case used[name] && !imported[name] && !renamed(file, name):
			problems = append(problems, "undefined: "+name)
		case imported[name] && !used[name]:
			problems = append(problems, fmt.Sprintf("%q imported and not used", name))
		}
	}
	return problems
}

// renamed reports whether a file imports a package under a name.
func renamed(file *ast.File, name string) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
		return i.Name != nil && i.Name.Name == name || strings.HasSuffix(strings.Trim(i.Path.Value, `"`), "/"+name)
	})
}

// merge merges the open pull requests that can be merged, and returns their number.
func (f *fleet) merge() (n int) {
	f.t.Helper()
	for _, p := range f.open() {
		if p.Conflict || p.Draft || slices.Contains(p.Labels, "needs-human") || f.lint(p.Repo, p.Branch) != "" {
			continue
		}
		f.mergeOne(p)
		n++
	}
	return n
}

// mergeOne merges a pull request by a merge commit.
func (f *fleet) mergeOne(p forgetest.Pull) {
	f.t.Helper()
	tree, err := f.git(p.Repo, "merge-tree", "--write-tree", "main", p.Branch)
	f.must(err)
	head, err := f.git(p.Repo, "rev-parse", p.Branch)
	f.must(err)
	commit, err := f.git(p.Repo, "commit-tree", tree, "-p", "main", "-p", head, "-m", fmt.Sprintf("Merge pull request #%d", p.Number))
	f.must(err)
	_, err = f.git(p.Repo, "update-ref", "refs/heads/main", commit)
	f.must(err)
	f.forge.Set(p.Repo, p.Number, func(p *forgetest.Pull) { p.State, p.SHA = "merged", head })
}

// push commits a change of people to the base of a repository.
func (f *fleet) push(repo string, change func(dir string)) {
	f.t.Helper()
	dir := filepath.Join(f.dir, "work")
	f.run(".", "git", "clone", "-q", repo+".git", dir)
	change(dir)
	f.run("work", "git", "add", "-A")
	f.run("work", "git", "commit", "-q", "-m", "Work of people")
	f.run("work", "git", "push", "-q", "origin", "main")
	f.must(os.RemoveAll(dir))
}

// disturb lets people change the bases of some open pull requests: in late ones another file, and
// forges only merge what has the base's head; in hard ones a line that the pull request changes. In
// others CI requires an entry in CHANGES.md.
func (f *fleet) disturb(late, hard, entries int) {
	f.t.Helper()
	for i, p := range f.open() {
		switch {
		case entries > 0 && i%3 == 2:
			entries--
			f.entries[p.Repo] = true
		case late > 0 && i%3 == 0:
			late--
			f.current[p.Repo] = true
			f.push(p.Repo, func(dir string) {
				f.must(os.WriteFile(filepath.Join(dir, "CHANGES.of-people"), []byte("a change\n"), 0o600))
			})
		case hard > 0 && i%3 == 1:
			names, err := f.git(p.Repo, "diff", "--name-only", "main..."+p.Branch, "--", "*.go")
			f.must(err)
			name, _, _ := strings.Cut(names, "\n")
			if !bytes.Contains(f.show(p.Repo, "main", name), []byte("\"io/ioutil\"\n")) {
				continue
			}
			hard--
			f.push(p.Repo, func(dir string) {
				text := bytes.Replace(f.show(p.Repo, "main", name), []byte("\"io/ioutil\"\n"), []byte("\"io/ioutil\" // deprecated\n"), 1)
				f.must(os.WriteFile(filepath.Join(dir, name), text, 0o600))
			})
		}
	}
}
