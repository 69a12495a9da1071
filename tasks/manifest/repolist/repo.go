package repolist

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/millhand/millhand/internal/files/pathglob"
	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// Repo is a repository as a manifest or a list names it.
type Repo struct {
	Value form.Value
	tasks.Repo
	Written string // the path or URL as the manifest or list has it, cleaned; the same on every machine
	ID      string // the same for every way to write one repository, or directory of one
	Top     string // id of the repository that it is a directory of; id if it is all of it
	sourced bool   // a forge has listed it
}

// List has the repositories of a manifest or a task.
type List struct {
	Repos     []Repo // empty: those of the manifest, or the current one
	Incorrect bool   // a problem is recorded, and repos is incomplete
}

// Form is the form of the repositories of a manifest or a task.
func (l *Lists) Form() form.Of[List] {
	one := form.Short(form.Of[[]Repo]{Type: form.TypeOf((*repoEntry).keys), Read: l.readRepoEntry}, form.Type{Name: "string"}, repoKey)
	return form.Of[List]{Type: form.ListOf(one).Type, Read: func(v form.Value) (List, bool) { return readRepos(v, one) }}
}

// readRepos reads the repositories of a manifest or a task. Duplicates are a problem:
// their jobs would have the same names.
func readRepos(v form.Value, one form.Of[[]Repo]) (List, bool) {
	reported := v.Src.Found.Reported
	all, _ := form.UpTo(tasks.MaxJobs, form.Flat(one)).Read(v)
	if len(all) > tasks.MaxJobs {
		v.Problem(fmt.Sprintf("%s has more than %d repositories", v.Label, tasks.MaxJobs), "split it")
		return List{Incorrect: true}, true
	}
	all = withoutRepeated(v, all)
	first := make(map[string]*Repo, len(all))
	for i := range all {
		r := &all[i]
		if before := first[r.ID]; before != nil {
			r.Value.Problem(fmt.Sprintf("duplicate repository %s, first %s", problem.Quote(r.Written), r.Value.SeenFrom(before.Value.Origin)), "keep one of them")
			continue
		}
		first[r.ID] = r
	}
	return List{all, v.Src.Found.Reported > reported}, true
}

// maxGlobs bounds the globs of one include or exclude.
const maxGlobs = 1_000

// repoEntry is one entry of repos: one repository, or where to find several.
type repoEntry struct {
	form.Value
	lists   *Lists
	target  form.Text // the value of path, copy, url, file or glob
	ref     string
	depth   int
	include []string
	exclude []string
	source  *tasks.Source // the value of github, gitlab or gitea
}

// readRepoEntry reads one entry of repos.
func (l *Lists) readRepoEntry(v form.Value) ([]Repo, bool) {
	e := repoEntry{Value: v, lists: l}
	got := e.keys().Read(v)
	ways := slices.DeleteFunc(append([]string{"path", "copy", "url", "file", "glob"}, sourceKeys()...), func(key string) bool {
		_, ok := got[key]
		return !ok
	})
	switch {
	case !v.IsMapping(): // its problem is recorded
	case len(ways) != 1:
		v.Problem("a repository must have exactly one of path, copy, url, file, glob, github, gitlab and gitea", "write for example {path: DIR}, {url: URL}, {file: LIST}, {glob: PATTERN} or {github: {org: NAME}}")
	case !fitting(ways[0], got) || e.target.Src == nil && e.source == nil: // likewise
	default:
		return e.find(ways[0])
	}
	return nil, false
}

// fitting records keys that have no meaning beside the way in which an entry
// names its repositories.
func fitting(way string, got map[string]form.Value) bool {
	meant := map[string][]string{"ref": append([]string{"path", "url", "file", "glob"}, sourceKeys()...), "depth": append([]string{"url", "file"}, sourceKeys()...), "include": {"file", "glob"}, "exclude": {"file", "glob"}}
	ok := true
	for _, key := range slices.Sorted(maps.Keys(meant)) {
		v, present := got[key]
		switch {
		case !present || slices.Contains(meant[key], way):
			continue
		case way == "copy" && key == "ref":
			v.KeyProblem("ref is not supported with copy", "remove it, or use path")
		case (key == "include" || key == "exclude") && slices.Contains(sourceKeys(), way):
			v.KeyProblem(fmt.Sprintf("%s is not supported beside %s", v.Label, way), "write it in "+way+": {...}")
		default:
			v.KeyProblem(fmt.Sprintf("%s is not supported with %s", v.Label, way), "remove it; it is for "+strings.Join(meant[key][:len(meant[key])-1], ", ")+" and "+meant[key][len(meant[key])-1])
		}
		ok = false
	}
	return ok
}

// find returns the repositories of an entry.
func (e repoEntry) find(way string) ([]Repo, bool) {
	switch way {
	case "file":
		return e.listed()
	case "glob":
		return e.globbed()
	case "github", "gitlab", "gitea":
		return e.sourced(*e.source)
	}
	r := tasks.Repo{Kind: tasks.RepoKind(way), Dir: e.target.S, Ref: e.ref}
	if r.Kind == tasks.RepoURL {
		a, fault := parseURL(e.target.S)
		if fault != nil {
			e.target.Problem(fault.What, fault.Fix)
			return nil, false
		}
		r = tasks.Repo{Kind: tasks.RepoURL, URL: a, Ref: e.ref, Depth: e.depth}
	}
	one, _, ok := e.one(r, e.target.Value)
	return []Repo{one}, ok
}

// one completes a repository whose directory, if it has one, is still as written.
// It reports whether the entry includes it, and records at a value if its
// directory does not exist.
func (e repoEntry) one(r tasks.Repo, at form.Value) (made Repo, picked, ok bool) {
	if r.Kind == tasks.RepoURL {
		made = Repo{Value: e.Value, Repo: r, Written: r.URL, ID: "url:" + normalURL(r.URL)}
		made.Top = made.ID
		return made, e.picks(made), !e.picks(made) || !refusedRepo(at, made)
	}
	abs := userfile.Resolve(e.Src.Dir, r.Dir)
	made = NewRepo(r.Kind, r.Dir, abs)
	made.Value, made.Ref = e.Value, r.Ref
	if !e.picks(made) {
		return made, false, true
	}
	if refusedRepo(at, made) {
		return made, true, false
	}
	info, err := os.Stat(abs)
	switch {
	case err != nil && strings.ContainsAny(r.Dir, "*?[{"):
		at.Problem(fmt.Sprintf("directory %s: %s", problem.Quote(r.Dir), userfile.Missing(err)), "write {glob: PATTERN} for a pattern")
	case err != nil:
		at.Problem(fmt.Sprintf("directory %s: %s", problem.Quote(r.Dir), userfile.Missing(err)), "check its path; it is relative to the manifest")
	case !info.IsDir():
		at.Problem(fmt.Sprintf("%s is not a directory", problem.Quote(r.Dir)), "name the directory of a repository")
	default:
		return made, true, true
	}
	return made, true, false
}

// NewRepo returns the repository in a directory.
func NewRepo(kind tasks.RepoKind, written, abs string) Repo {
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		real = abs
	}
	r := Repo{Repo: tasks.Repo{Kind: kind, Dir: abs}, Written: path.Clean(filepath.ToSlash(written)), ID: string(kind) + ":" + real}
	r.Top = r.ID
	if top := tasks.TopOf(real); kind == tasks.RepoPath && top != "" {
		r.Top = string(kind) + ":" + top
	}
	return r
}

var revisionForm = form.Of[string]{Type: form.ScalarType(), Read: readRevision}

// readRevision reads the name of a revision; one of digits alone is a name too.
func readRevision(v form.Value) (string, bool) {
	t, ok := v.Scalar()
	if ok && !isRevision(t.S) {
		v.Problem("invalid revision "+problem.Quote(t.S), "name a branch, a tag or a commit")
		return "", false
	}
	return t.S, ok
}

// isRevision reports whether a text can be a revision at all, so that it is
// one word of a list and never an option.
func isRevision(s string) bool {
	return s != "" && s[0] != '-' && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}

// picks reports whether an entry includes a repository that it found: one that a
// pattern of include matches, if there is any, and none of exclude.
func (e repoEntry) picks(r Repo) bool {
	if len(e.include)+len(e.exclude) == 0 {
		return true
	}
	names := []string{r.Written}
	words := r.words()
	for i := range words {
		names = append(names, strings.Join(words[i:], "/"))
	}
	matches := func(glob string) bool {
		pattern, err := pathglob.Parse(glob)
		return err == nil && slices.ContainsFunc(names, pattern.Match)
	}
	return (len(e.include) == 0 || slices.ContainsFunc(e.include, matches)) && !slices.ContainsFunc(e.exclude, matches)
}

// words are the parts of a repository's path or URL that can name it, as
// written; of a path of dots alone, the directory's own name.
func (r Repo) words() []string {
	from := r.Written
	if r.Kind == tasks.RepoURL {
		from = strings.TrimPrefix(r.ID, "url:")
		_, from, _ = strings.Cut(from, "://")
		host, rest, _ := strings.Cut(from, "/")
		from = host[strings.LastIndexByte(host, '@')+1:] + "/" + rest
	}
	words := slices.DeleteFunc(strings.Split(from, "/"), func(s string) bool { return s == "" || s == "." || s == ".." })
	if len(words) == 0 {
		words = []string{cmp.Or(strings.Trim(filepath.Base(r.Dir), `/\`), "root")}
	}
	return words
}

// NameRepos returns the name of each repository by its identity: the last element
// of its path or URL, or as many elements as make it unique. Where all elements
// are the same, a digest of the path is added.
func NameRepos(repos []Repo) map[string]string {
	names := make(map[string]string, len(repos))
	words := make([][]string, len(repos))
	all := make([]int, len(repos))
	for i, r := range repos {
		words[i], all[i] = r.words(), i
	}
	// Names of different lengths differ, so that only those of a group have to
	// be told apart.
	var split func(group []int, parts int)
	split = func(group []int, parts int) {
		byName := map[string][]int{}
		for _, i := range group {
			names[repos[i].ID] = strings.Join(words[i][max(0, len(words[i])-parts):], "/")
			key := strings.ToLower(names[repos[i].ID])
			byName[key] = append(byName[key], i)
		}
		for _, same := range byName {
			short, long := Partition(same, func(i int) bool { return len(words[i]) <= parts })
			if len(same) > 1 && len(long) > 0 {
				split(long, parts+1)
			}
			for _, i := range short {
				if len(short) > 1 {
					names[repos[i].ID] += "-" + tasks.Digest(string(repos[i].Kind), repos[i].Written)[:8]
				}
			}
		}
	}
	split(all, 1)
	return names
}

// Partition returns what is and what is not.
func Partition[T any](all []T, is func(T) bool) (yes, no []T) {
	for _, one := range all {
		if is(one) {
			yes = append(yes, one)
		} else {
			no = append(no, one)
		}
	}
	return yes, no
}

func (e *repoEntry) keys() form.Table {
	return form.Table{
		{Name: "path", Field: form.Into(&e.target, form.Filled), Doc: "Directory of an existing repository, or a directory in one"},
		{Name: "copy", Field: form.Into(&e.target, form.Filled), Doc: "Directory that is copied to a private repository"},
		{Name: "url", Field: form.Into(&e.target, form.Filled), Doc: "URL of a remote repository: https, ssh, git@HOST:PATH or file"},
		{Name: "file", Field: form.Into(&e.target, form.Filled), Doc: "File with one repository per line; - is standard input"},
		{Name: "glob", Field: form.Into(&e.target, form.Filled), Doc: "Glob of directories with repositories"},
		{
			Name: "github", Field: form.Into(&e.source, form.Short(sourceForm(tasks.GitHub, (*githubSource).keys, func(s *githubSource) *tasks.Source { return &s.Source }), form.Type{Name: "string"}, form.IfString("org"))),
			Doc: "Repositories of an organization or user on GitHub",
		},
		{
			Name: "gitlab", Field: form.Into(&e.source, form.Short(sourceForm(tasks.GitLab, (*gitlabSource).keys, func(s *gitlabSource) *tasks.Source { return &s.Source }), form.Type{Name: "string"}, form.IfString("group"))),
			Doc: "Repositories of a group or user on GitLab",
		},
		{Name: "gitea", Field: form.Into(&e.source, sourceForm(tasks.Gitea, (*giteaSource).keys, func(s *giteaSource) *tasks.Source { return &s.Source })), Doc: "Repositories of an organization or user on Gitea or Forgejo"},
		{Name: "ref", Field: form.Into(&e.ref, revisionForm), Doc: "Branch, tag or commit to start from (HEAD, the default branch, if absent)"},
		{Name: "depth", Field: form.Into(&e.depth, form.Between(0, math.MaxInt32)), Def: "0", Doc: "Commits of history to fetch from a remote repository; 0 is all"},
		{Name: "include", Field: form.Into(&e.include, form.UpTo(maxGlobs, form.ListOf(form.Glob))), Doc: "Globs that select repositories of file or glob"},
		{Name: "exclude", Field: form.Into(&e.exclude, form.UpTo(maxGlobs, form.ListOf(form.Glob))), Doc: "Globs that leave out repositories of file or glob"},
	}
}

// repoKey is the key of a repository that is written as a path or a URL, in the same way as in a
// line of a list.
func repoKey(v form.Value) string {
	s := v.Node.Value
	switch {
	case form.IfString("path")(v) == "" || strings.TrimSpace(s) == "":
		return ""
	case tasks.IsPath(s):
		return "path"
	}
	return "url"
}
