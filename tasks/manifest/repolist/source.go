package repolist

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/permission/reach"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// Selects reports whether include and exclude of a source select a repository, OWNER/NAME.
func Selects(s tasks.Source, name string) bool {
	r := Repo{Repo: tasks.Repo{Kind: tasks.RepoURL}, Written: s.URL(name), ID: "url:" + normalURL(s.URL(name))}
	return repoEntry{include: s.Include, exclude: s.Exclude}.picks(r)
}

// The forms of a source; organizations and groups have different names.
type (
	githubSource struct{ tasks.Source }
	gitlabSource struct{ tasks.Source }
	giteaSource  struct{ tasks.Source }
)

// sourceKeys are the keys of sources in an entry of repos.
func sourceKeys() []string {
	return []string{string(tasks.GitHub), string(tasks.GitLab), string(tasks.Gitea)}
}

// sourceEntry is a source at its position in a manifest.
type sourceEntry struct {
	Value form.Value
	tasks.Source
}

// sourceForm is the form of a source of one kind.
func sourceForm[T any](kind tasks.ForgeKind, of func(*T) form.Table, common func(*T) *tasks.Source) form.Of[*tasks.Source] {
	return form.Of[*tasks.Source]{Type: form.TypeOf(of), Read: func(v form.Value) (*tasks.Source, bool) {
		x := form.WithDefaults(of)
		reported := v.Src.Found.Reported
		of(&x).Read(v)
		s := common(&x)
		if v.Src.Found.Reported > reported {
			return nil, false
		}
		s.Kind, s.At = kind, v.RuleSource()
		if known := tasks.KindOfHost(s.Host); known != "" && known != kind {
			v.Problem(fmt.Sprintf("%s is not a server of %s", s.Host, kind), fmt.Sprintf("write %s instead of %s, or another host", known, kind))
			return nil, false
		}
		if v.Refused(policy.Hosts, "the host "+problem.Quote(s.Host), reach.WithPort("https", s.Host)) {
			return nil, false
		}
		return s, true
	}}
}

var (
	ownerForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	// groupForm is a group of GitLab, perhaps in another one.
	groupForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$`)
	// listedForm is the full name of a repository.
	listedForm = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+$`)
)

// ownerOf is the form of an owner's name.
func ownerOf(valid *regexp.Regexp) form.Of[string] {
	return form.Of[string]{Type: form.Type{Name: "string"}, Read: func(v form.Value) (string, bool) {
		t, ok := v.Filled()
		if ok && !valid.MatchString(t.S) {
			v.Problem("invalid name "+problem.Quote(t.S), "write the name as it is in the URLs of its repositories")
			return "", false
		}
		return t.S, ok
	}}
}

// Lists are the lists of sources that one load is given, and the sources that it has read.
type Lists struct {
	Given   []tasks.Listed
	sources []sourceEntry
}

// sourced returns the repositories of a source: those of the list that was made of it, or
// without one a repository in their stead, so that everything else can be checked.
func (e repoEntry) sourced(s tasks.Source) ([]Repo, bool) {
	in := e.lists
	in.sources = append(in.sources, sourceEntry{e.Value, s})
	at := slices.IndexFunc(in.Given, func(l tasks.Listed) bool { return s.Same(l.Source) })
	if at < 0 {
		name := fmt.Sprintf("%s/repositories-%d", s.Owner, len(in.sources))
		r := e.fromSource(s, tasks.ListedRepo{Name: name})
		r.Unlisted = true
		return []Repo{r}, true
	}
	l := in.Given[at]
	if len(l.Repos) == 0 {
		left := ""
		if text := l.LeftOut.String(); text != "" {
			left = " (left out: " + text + ")"
		}
		e.Problem(fmt.Sprintf("no repository of %s is selected%s", s, left), "compare the keys with the repositories there")
		return nil, false
	}
	var all []Repo
	ok := true
	for _, listed := range slices.SortedFunc(slices.Values(l.Repos), func(a, b tasks.ListedRepo) int { return cmp.Compare(a.Name, b.Name) }) {
		r := e.fromSource(s, listed)
		if u, fault := parseURL(r.URL); fault != nil || u != r.URL || !validListed(listed.Name) {
			e.Problem(fmt.Sprintf("%s lists a repository with the invalid name %s", s.Host, problem.Quote(listed.Name)), "exclude it, or rename it there")
			ok = false
			continue
		}
		if by, what := r.Refused(e.Src.Policies); what != "" {
			what, _ := form.Refusal(what, by)
			e.Problem(what, "exclude it, or change the policy")
			ok = false
			continue
		}
		all = append(all, r)
	}
	return all, ok
}

// validListed reports whether a text is the full name of a repository.
func validListed(name string) bool {
	elements := strings.Split(name, "/")
	return listedForm.MatchString(name) && !slices.Contains(elements, ".") && !slices.Contains(elements, "..")
}

// fromSource returns a repository of a source.
func (e repoEntry) fromSource(s tasks.Source, listed tasks.ListedRepo) Repo {
	u := s.URL(listed.Name)
	r := Repo{Value: e.Value, Repo: tasks.Repo{Kind: tasks.RepoURL, URL: u, Ref: e.ref, Depth: e.depth}, Written: u, ID: "url:" + normalURL(u), sourced: true}
	r.Top = r.ID
	return r
}

// withoutRepeated removes the repositories of sources that another entry names, too, or
// another source before.
func withoutRepeated(v form.Value, all []Repo) []Repo {
	key := func(r Repo) string { return strings.ToLower(strings.Join(r.words(), "/")) }
	named := map[string]bool{}
	for _, r := range all {
		if r.Kind == tasks.RepoURL && !r.sourced {
			named[key(r)] = true
		}
	}
	before := len(all)
	all = slices.DeleteFunc(all, func(r Repo) bool {
		if !r.sourced {
			return false
		}
		repeated := named[key(r)]
		named[key(r)] = true
		return repeated
	})
	switch n := before - len(all); {
	case n == 1:
		v.Src.Found.Note("1 repository is in several entries of " + v.Label + ", and is used once")
	case n > 1:
		v.Src.Found.Note(fmt.Sprintf("%d repositories are in several entries of %s, and are used once", n, v.Label))
	}
	return all
}

// WithHosts checks that sources and forges agree what the hosts are, and adds the hosts
// that only sources name.
func (in *Lists) WithHosts(forges []tasks.Forge) []tasks.Forge {
	for _, s := range in.sources {
		at := slices.IndexFunc(forges, func(f tasks.Forge) bool { return f.Host == s.Host })
		switch {
		case at < 0:
			forges = append(forges, tasks.Forge{Host: s.Host, Kind: s.Kind, Source: s.At})
		case forges[at].Kind != s.Kind && forges[at].Kind != "":
			s.Value.Problem(fmt.Sprintf("the kind of %s is %s, and not %s", s.Host, forges[at].Kind, s.Kind), "correct one of them; it is also stated at "+forges[at].Source)
		}
	}
	return forges
}

// Planned returns the sources with their lists, each once.
func (in *Lists) Planned() []tasks.Listed {
	var all []tasks.Listed
	for _, s := range in.sources {
		same := func(l tasks.Listed) bool { return s.Same(l.Source) }
		if slices.ContainsFunc(all, same) {
			continue
		}
		one := tasks.Listed{Source: s.Source, Unlisted: true}
		if at := slices.IndexFunc(in.Given, same); at >= 0 {
			one = in.Given[at]
			one.At = s.At
		}
		all = append(all, one)
	}
	return all
}

func (s *githubSource) keys() form.Table {
	return append(form.Table{
		{Name: "host", Field: form.Into(&s.Host, sourceHostForm), Def: "github.com", Doc: "Host of the server, as HOST or HOST:PORT"},
		{Name: "org", Field: form.Required("org: NAME", form.Into(&s.Owner, ownerOf(ownerForm))), Doc: "Organization or user"},
	}, sourceFilters(&s.Source)...)
}

func (s *gitlabSource) keys() form.Table {
	return append(form.Table{
		{Name: "host", Field: form.Into(&s.Host, sourceHostForm), Def: "gitlab.com", Doc: "Host of the server, as HOST or HOST:PORT"},
		{Name: "group", Field: form.Required("group: NAME", form.Into(&s.Owner, ownerOf(groupForm))), Doc: "Group with its subgroups, or user"},
	}, sourceFilters(&s.Source)...)
}

func (s *giteaSource) keys() form.Table {
	return append(form.Table{
		{Name: "host", Field: form.Required("host: git.example.com", form.Into(&s.Host, sourceHostForm)), Doc: "Host of the server, as HOST or HOST:PORT"},
		{Name: "org", Field: form.Required("org: NAME", form.Into(&s.Owner, ownerOf(ownerForm))), Doc: "Organization or user"},
	}, sourceFilters(&s.Source)...)
}

// sourceFilters are the keys that sources of all kinds have.
func sourceFilters(s *tasks.Source) form.Table {
	return form.Table{
		{Name: "topic", Field: form.Into(&s.Topic, form.String), Doc: "Only repositories with this topic"},
		{Name: "search", Field: form.Into(&s.Search, form.String), Doc: "Only repositories with this text in their name or description, ignoring case"},
		{Name: "language", Field: form.Into(&s.Language, form.String), Doc: "Only repositories with this main programming language"},
		{Name: "archived", Field: form.Into(&s.Archived, form.Bool), Def: "false", Doc: "Include archived repositories"},
		{Name: "forks", Field: form.Into(&s.Forks, form.Bool), Def: "false", Doc: "Include forks"},
		{Name: "include", Field: form.Into(&s.Include, form.UpTo(maxGlobs, form.ListOf(form.Glob))), Doc: "Globs that select repositories, such as OWNER/NAME or NAME"},
		{Name: "exclude", Field: form.Into(&s.Exclude, form.UpTo(maxGlobs, form.ListOf(form.Glob))), Doc: "Globs that leave out repositories"},
	}
}
