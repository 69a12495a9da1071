package tasks

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// repo is a repository as a manifest names it.
type repo struct {
	value
	Repo
	written string // the path as the manifest has it, cleaned; the same on every machine
	real    string // Dir without symbolic links
}

// identity is the same for every way to write one repository.
func (r repo) identity() string { return string(r.Kind) + ":" + r.real }

// repos reads the repositories of a manifest or a task. There is a problem if
// one stands there twice: its jobs would have the same names.
func (v value) repos() ([]repo, bool) {
	all, ok := upTo(maxJobs, list(value.repo))(v)
	first := map[string]repo{}
	for _, r := range all {
		if before, twice := first[r.identity()]; twice {
			r.problem(fmt.Sprintf("the repository %s stands here twice, first in line %d", quote(r.written), before.use.Line), "keep one of them")
			ok = false
			continue
		}
		first[r.identity()] = r
	}
	return all, ok
}

// repo reads one repository.
func (v value) repo() (repo, bool) {
	var dirs []text
	var kind RepoKind
	var ref text
	take := func(k RepoKind) func(value) {
		return func(v value) {
			if t, ok := v.filled(); ok {
				kind, dirs = k, append(dirs, t)
			}
		}
	}
	got := fields{
		"path": take(RepoPath),
		"copy": take(RepoCopy),
		"ref":  func(v value) { ref, _ = v.revision() },
		"url":  laterRepo, "file": laterRepo, "glob": laterRepo,
	}.read(v)
	ways := 0
	for _, key := range []string{"path", "copy", "url", "file", "glob"} {
		if _, ok := got[key]; ok {
			ways++
		}
	}
	switch refValue, hasRef := got["ref"]; {
	case !v.isMapping(): // its problem is recorded
	case ways != 1:
		v.problem("a repository is named in exactly one way", "write {path: DIR} or {copy: DIR}")
	case len(dirs) == 0: // its problem is recorded
	case kind == RepoCopy && hasRef:
		refValue.keyProblem("a copied folder has no ref", "leave it out, or use path")
	default:
		return v.repoAt(kind, dirs[0], ref.s)
	}
	return repo{}, false
}

// laterRepo is the reader of a way to name repositories that is not there yet.
func laterRepo(v value) {
	if !v.empty() {
		v.keyProblem(v.name+" is not supported yet", "clone the repositories, and name each with path")
	}
}

// revision reads the name of a revision; one of digits alone is a name too.
func (v value) revision() (text, bool) {
	t, ok := v.scalar()
	if ok && (t.s == "" || strings.HasPrefix(t.s, "-") || strings.ContainsAny(t.s, " \t\r\n")) {
		v.problem(quote(t.s)+" is not a revision", "name a branch, a tag or a commit")
		return text{}, false
	}
	return t, ok
}

// repoAt checks that a repository's folder is there.
func (v value) repoAt(kind RepoKind, dir text, ref string) (repo, bool) {
	abs := resolvePath(v.src.dir, dir.s)
	info, err := os.Stat(abs)
	switch {
	case err != nil:
		dir.problem(fmt.Sprintf("the folder %s %s", quote(dir.s), missing(err)), "check its path; it is relative to the manifest")
		return repo{}, false
	case !info.IsDir():
		dir.problem(fmt.Sprintf("%s is not a folder", quote(dir.s)), "name the folder of a repository")
		return repo{}, false
	}
	r := newRepo(kind, dir.s, abs)
	r.value, r.Ref = v, ref
	return r, true
}

func newRepo(kind RepoKind, written, abs string) repo {
	r := repo{Repo: Repo{Kind: kind, Dir: abs}, written: path.Clean(filepath.ToSlash(written)), real: abs}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		r.real = real
	}
	return r
}

// words are the parts of a repository's path that can name it: as written, or
// the folder's own name where the path has only dots.
func (r repo) words() []string {
	words := slices.DeleteFunc(strings.Split(r.written, "/"), func(s string) bool { return s == "" || s == "." || s == ".." })
	if len(words) == 0 {
		words = []string{cmp.Or(strings.Trim(filepath.Base(r.Dir), `/\`), "root")}
	}
	return words
}

// nameRepos returns the name of each repository by its identity: the last part
// of its path, or as many parts as tell it from the others. Where no part
// does, a digest of the path is added.
func nameRepos(repos []repo) map[string]string {
	parts := slices.Repeat([]int{1}, len(repos))
	name := func(i int) string {
		words := repos[i].words()
		return strings.Join(words[max(0, len(words)-parts[i]):], "/")
	}
	clashes := func() []int {
		byName := map[string][]int{}
		for i := range repos {
			key := strings.ToLower(name(i))
			byName[key] = append(byName[key], i)
		}
		maps.DeleteFunc(byName, func(_ string, same []int) bool { return len(same) == 1 })
		return slices.Concat(slices.Collect(maps.Values(byName))...)
	}
	same := clashes()
	for grown := true; grown; same = clashes() {
		grown = false
		for _, i := range same {
			if parts[i] < len(repos[i].words()) {
				parts[i]++
				grown = true
			}
		}
	}
	names := map[string]string{}
	for i, r := range repos {
		names[r.identity()] = name(i)
		if slices.Contains(same, i) {
			names[r.identity()] += "-" + digest(string(r.Kind), r.written)[:8]
		}
	}
	return names
}
