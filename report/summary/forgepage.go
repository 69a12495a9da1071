package summary

import (
	"net/url"
	"path"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/markdown"
	"github.com/millhand/millhand/report"
)

// forgePage is the page of a repository on its forge. The zero value is unknown, and has no hyperlinks.
type forgePage struct {
	url  string // without a slash at the end
	name string // OWNER/NAME
	kind string // github, gitlab or gitea
}

// newForgePage returns the page of a remote. Its forge is known by the manifest, its host, or as the server of the CI
// that started the run.
func newForgePage(o report.Origin, by *event.StartedBy) forgePage {
	scheme, host, name := "https", "", ""
	if u, err := url.Parse(o.Remote); err == nil && u.Host != "" {
		host, name = u.Host, u.Path
		if u.Scheme == "ssh" {
			host = u.Hostname() // the port is that of ssh
		}
		if u.Scheme == "http" {
			scheme = "http"
		}
	} else if before, after, ok := strings.Cut(o.Remote, ":"); ok && !strings.Contains(before, "/") {
		host, name = before[strings.LastIndexByte(before, '@')+1:], after
	}
	page := forgePage{name: strings.TrimSuffix(strings.Trim(path.Clean("/"+name), "/"), ".git"), kind: o.Forge}
	if page.kind == "" {
		page.kind = kindOf(host, by)
	}
	if page.kind == "" || !strings.Contains(page.name, "/") {
		return forgePage{}
	}
	page.url = (&url.URL{Scheme: scheme, Host: host, Path: "/" + page.name}).String()
	return page
}

// kindOf returns the kind of the forge at a host, "" if it is unknown.
func kindOf(host string, by *event.StartedBy) string {
	switch known := map[string]string{"github.com": "github", "gitlab.com": "gitlab", "codeberg.org": "gitea", "gitea.com": "gitea"}[strings.ToLower(host)]; {
	case known != "":
		return known
	case by == nil || by.CI != "github" && by.CI != "gitlab" && by.CI != "gitea":
		return ""
	}
	if u, err := url.Parse(by.RunURL); err != nil || !strings.EqualFold(u.Host, host) {
		return ""
	}
	return by.CI
}

// checkout returns the page of the repository whose CI started the run, by the address of the run.
func checkout(by *event.StartedBy) forgePage {
	if by == nil {
		return forgePage{}
	}
	for _, runs := range []string{"/actions/runs/", "/-/pipelines/"} {
		if repo, _, ok := strings.Cut(by.RunURL, runs); ok {
			return newForgePage(report.Origin{Remote: repo}, by)
		}
	}
	return forgePage{}
}

// hyperlink returns a label, which is Markdown, as a hyperlink to a path below the page; only the label if the page is unknown.
func (p forgePage) hyperlink(label, below string) string {
	if p.url == "" {
		return label
	}
	if p.kind == "gitlab" && below != "" {
		below = "/-" + below
	}
	return markdown.Hyperlink(label, p.url+below)
}

func (p forgePage) commit(label, hash string) string {
	return p.hyperlink(label, "/commit/"+url.PathEscape(hash))
}

func (p forgePage) branch(label, name string) string {
	below := "/tree/"
	if p.kind == "gitea" {
		below = "/src/branch/"
	}
	return p.hyperlink(label, below+escapePath(name))
}

func (p forgePage) file(label, hash, name string) string {
	below := "/blob/"
	if p.kind == "gitea" {
		below = "/src/commit/"
	}
	return p.hyperlink(label, below+url.PathEscape(hash)+"/"+escapePath(name))
}

func escapePath(name string) string { return (&url.URL{Path: "/" + name}).EscapedPath()[1:] }

// repository returns the name of the job's repository, as OWNER/NAME with a hyperlink if its page is known.
func repository(j *report.Job, by *event.StartedBy) string {
	page := newForgePage(j.Origin, by)
	if page.url == "" {
		return codeDetail(j.Repo)
	}
	return page.hyperlink(codeDetail(strings.TrimSuffix(page.name+"/"+j.Origin.Below, "/")), "")
}

// pushedTo returns the page of the repository that has the job's commit; the zero value if nothing was pushed.
func pushedTo(j *report.Job, by *event.StartedBy) forgePage {
	if j.Published == nil {
		return forgePage{}
	}
	return newForgePage(report.Origin{Remote: j.Published.Remote, Forge: j.Origin.Forge}, by)
}
