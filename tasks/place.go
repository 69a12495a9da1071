package tasks

import (
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/millhand/millhand/tasks/problem"
)

// HoldsRepository reports whether a directory is the top of a work tree: it has a
// directory .git, or a file of that name.
func HoldsRepository(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, ".git"))
	return err == nil && (info.IsDir() || info.Mode().IsRegular())
}

// drivePath begins an absolute path of Windows.
var drivePath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z]:[\\/]`) })

// Location returns the repository as a line of a list that [ParseRepoLine]
// reads: an absolute path, copy: and an absolute path, or a URL, and the
// revision if there is one.
func (r Repo) Location() string {
	line := r.URL
	switch r.Kind {
	case RepoPath:
		line = listedPath(r.Dir)
	case RepoCopy:
		line = "copy:" + listedPath(r.Dir)
	case RepoURL:
	}
	if r.Ref != "" {
		line += " ref=" + r.Ref
	}
	return line
}

func listedPath(dir string) string {
	unusual := func(r rune) bool {
		return r == utf8.RuneError || r == '"' || r == '#' || r == ' ' || !strconv.IsPrint(r)
	}
	if dir == "" || strings.ContainsFunc(dir, unusual) || !IsPath(dir) {
		return strconv.Quote(dir)
	}
	return dir
}

// RepoKind is how a repository is accessed.
type RepoKind string

// The kinds of repositories.
const (
	RepoPath RepoKind = "path" // an existing repository, worked on in a linked worktree
	RepoCopy RepoKind = "copy" // a private repository made from a directory
	RepoURL  RepoKind = "url"  // a repository on a server, worked on in a worktree of a local mirror
)

// Repo is where a job works.
type Repo struct {
	Name string // as reports show it; nothing in it is specific to one run or machine
	Kind RepoKind
	Dir  string // absolute; empty for RepoURL
	URL  string // of RepoURL: https, http, ssh, the scp form (git@host:path) or file; without credentials
	Ref  string // revision to start from; empty is HEAD
	// Depth is how many commits of history a mirror of its own gets, 0 for all.
	Depth int

	Unlisted bool `json:"-"` // it represents those of a source without a list
}

// TopOf returns the top of the work tree that a directory is in, "" for none.
func TopOf(dir string) string {
	for !HoldsRepository(dir) {
		if filepath.Dir(dir) == dir {
			return ""
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// IsPath reports whether a line without quotes names a path, and not a URL:
// nothing before its first slash ends in a colon.
func IsPath(s string) bool {
	if drivePath().MatchString(s) || s[0] == '.' || s[0] == '/' {
		return true
	}
	first, _, _ := strings.Cut(s, "/")
	return !strings.Contains(first, ":")
}

// Source is an entry of repos that stands for repositories of an owner on a forge.
type Source struct {
	Kind  ForgeKind
	Host  string // lower case, with its port unless that is 443
	Owner string // organization, group or user

	Topic, Search, Language string // "" for any
	Archived, Forks         bool   // whether they are included
	Include, Exclude        []string

	At string `json:"-"` // FILE:LINE of the entry, for messages
}

// Listed is a source with the repositories that its forge has listed.
type Listed struct {
	Source
	Repos   []ListedRepo // in the order of their names
	LeftOut LeftOut

	Unlisted bool `json:"-"` // without a list
}

// ListedRepo is a repository that a forge has listed.
type ListedRepo struct {
	Name          string // OWNER/NAME
	DefaultBranch string
}

// LeftOut counts the repositories that match the other keys of a source and were left out.
type LeftOut struct{ Archived, Forks, Empty, Excluded int }

// String returns the counts that are not 0; "" for none.
func (l LeftOut) String() string {
	forks := "forks"
	if l.Forks == 1 {
		forks = "fork"
	}
	var counts []string
	for _, c := range []struct {
		n    int
		what string
	}{{l.Archived, "archived"}, {l.Forks, forks}, {l.Empty, "empty"}, {l.Excluded, "by include and exclude"}} {
		if c.n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return strings.Join(counts, ", ")
}

// String returns HOST/OWNER and the filters.
func (s Source) String() string {
	words := []string{s.Host + "/" + s.Owner}
	for _, f := range []struct{ key, value string }{{"topic", s.Topic}, {"search", s.Search}, {"language", s.Language}} {
		if f.value != "" {
			words = append(words, f.key+"="+problem.Quote(f.value))
		}
	}
	return strings.Join(words, " ")
}

// Same reports whether two sources ask for the same repositories.
func (s Source) Same(other Source) bool {
	for _, one := range []*Source{&s, &other} {
		one.Include, one.Exclude = append([]string{}, one.Include...), append([]string{}, one.Exclude...)
	}
	return Digest(s) == Digest(other)
}

// Server returns the URL of the forge: https, and http on loopback.
func (s Source) Server() string {
	name := (&url.URL{Host: s.Host}).Hostname()
	ip, err := netip.ParseAddr(name)
	if name == "localhost" || err == nil && ip.IsLoopback() {
		return "http://" + s.Host
	}
	return "https://" + s.Host
}

// URL returns the URL of a repository of the forge.
func (s Source) URL(name string) string { return s.Server() + "/" + name + ".git" }

// Unlisted returns the sources without a list. The repository of each of their jobs
// represents those that the list would have.
func (p *Plan) Unlisted() []Source {
	var all []Source
	for _, l := range p.Sources {
		if l.Unlisted {
			all = append(all, l.Source)
		}
	}
	return all
}
