package forge_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/forge/connect"
	"github.com/millhand/millhand/internal/testing/forgetest"
)

// many is the number of entries of long lists: several pages of each forge.
const many = 230

// openLong starts a forge with the page sizes that real ones have.
func openLong(t *testing.T, kind forge.Kind) testForge {
	t.Helper()
	p := open(t, kind)
	p.Page = 100
	if kind == forge.Gitea {
		p.Page = 50
	}
	return p
}

func TestLongListsOfPullRequests(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			p := openLong(t, kind)
			pull := func(number int64, branch, state string) {
				p.AddPull(forgetest.Pull{Repo: web.String(), Head: web.String(), Number: number, Branch: branch, Base: "main", State: state})
			}
			pull(1, "fix", "open") // the oldest are in the last position
			pull(2, "done", "merged")
			for i := range int64(many) {
				pull(3+i, "other", "open")
				if kind != forge.Gitea { // closed ones are requested only without an open one
					pull(3+many+i, "fix", "closed")
				}
				pull(3+2*many+i, "another", "closed")
			}
			found, err := p.Find(t.Context(), web, forge.Head{Branch: "fix"})
			if err != nil || found.Number != 1 || found.State != forge.Open {
				t.Error(found, err)
			}
			if found, err = p.FindOpen(t.Context(), web, forge.Head{Branch: "fix"}); err != nil || found.Number != 1 {
				t.Error(found, err)
			}
			if found, err = p.Find(t.Context(), web, forge.Head{Branch: "done"}); err != nil || found.Number != 2 || found.State != forge.Merged {
				t.Error(found, err)
			}
			calls := len(p.Calls())
			if found, err = p.FindOpen(t.Context(), web, forge.Head{Branch: "done"}); !errors.Is(err, forge.ErrNotFound) {
				t.Error(found, err)
			}
			if sent := len(p.Calls()) - calls; kind != forge.Gitea && sent != 1 || kind == forge.Gitea && sent != 5 {
				t.Errorf("%d requests for an open one", sent)
			}
			all, err := p.FindAll(t.Context(), web, forge.Head{Branch: "other"})
			if err != nil || len(all) != many {
				t.Error(len(all), err)
			}
		})
	}
}

func TestLongListsOfRepositories(t *testing.T) {
	for _, kind := range kinds {
		p := openLong(t, kind)
		for i := range many {
			p.Add(forgetest.Repo{Owner: web.Owner, Name: fmt.Sprintf("r%d", i), Topics: []string{"x"}})
		}
		all, err := p.ListRepos(t.Context(), forge.Filter{Owner: web.Owner})
		if err != nil || len(all.Repos) != many+1 {
			t.Errorf("%s: %d, %v", kind, len(all.Repos), err)
		}
	}
}

func TestLongListsOfComments(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			p := openLong(t, kind)
			pr, _, err := p.Create(t.Context(), web, forge.New{Head: forge.Head{Branch: "fix"}, Base: "main", Title: "Fix"})
			must(t, err)
			note := func(n forgetest.Note) {
				n.Repo, n.Number, n.Author = web.String(), pr.Number, "ada"
				p.AddNote(n)
			}
			lines := many
			if kind == forge.Gitea {
				lines = 2 // they are read for each review
			}
			for kind, n := range map[string]int{"": many, forgetest.ReviewNote: many, forgetest.LineNote: lines} {
				for i := range n {
					note(forgetest.Note{Kind: kind, Body: fmt.Sprint(kind, i), State: "COMMENT", Path: "a.go", Line: 1})
				}
			}
			thread := forge.Thread{Number: pr.Number}
			first, err := p.Comment(t.Context(), web, thread, "report", "red")
			if err != nil || !first.Created {
				t.Errorf("%+v, %v", first, err)
			}
			for range many { // ours is neither on the first page nor on the last one
				note(forgetest.Note{Body: "more"})
			}
			again, err := p.Comment(t.Context(), web, thread, "report", "green")
			if err != nil || again.Created {
				t.Errorf("%+v, %v", again, err)
			}
			list, err := p.Remarks(t.Context(), web, pr.Number)
			must(t, err)
			seen := map[string]bool{}
			for _, r := range list {
				seen[r.ID] = true
			}
			if want := 3*many + lines + 1; len(seen) != want {
				t.Errorf("%d remarks, want %d", len(seen), want)
			}
		})
	}
}

// TestLongListsOfChecks has the only failure in the last position.
func TestLongListsOfChecks(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			p := openLong(t, kind)
			pr, _, err := p.Create(t.Context(), web, forge.New{Head: forge.Head{Branch: "fix"}, Base: "main", Title: "Fix"})
			must(t, err)
			p.AddRun(web.String(), "fix", forgetest.Run{Name: "first", Status: "failure"})
			for i := range many {
				p.AddRun(web.String(), "fix", forgetest.Run{Name: fmt.Sprint("check ", i), Status: "success"})
			}
			p.SetChecks(web.String(), "fix")
			list, err := p.CheckList(t.Context(), web, pr.SHA)
			if err != nil || len(list) != many+1 || list[many].Name != "first" || list[many].Status != forge.ChecksFailed {
				t.Errorf("%d checks, %v", len(list), err)
			}
			now, err := p.Get(t.Context(), web, pr.Number)
			if err != nil || now.Checks != forge.ChecksFailed {
				t.Errorf("checks %s, %v", now.Checks, err)
			}
			if kind != forge.GitHub {
				return
			}
			p.Set(web.String(), pr.Number, func(p *forgetest.Pull) { p.Minutes = 7 }) // of the last one
			if took, err := p.CheckTime(t.Context(), web, pr.SHA); err != nil || took != 7*time.Minute {
				t.Errorf("checks ran %s, %v", took, err)
			}
		})
	}
}

// TestTheNewestStatusOfGiteaCounts has two statuses of one second, which Gitea sorts as it likes.
func TestTheNewestStatusOfGiteaCounts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/statuses") {
			_, _ = w.Write([]byte(`[{"id": 1, "status": "pending", "context": "ci"}, {"id": 2, "status": "success", "context": "ci"}]`))
		}
	}))
	defer server.Close()
	list, err := clientOf(t, forge.Gitea, server.URL).CheckList(t.Context(), web, strings.Repeat("1", 40))
	if err != nil || len(list) != 1 || list[0].Status != forge.ChecksPassed {
		t.Error(list, err)
	}
}

// TestLongListsOfLabels loses the response of Gitea's that creates a label: it is in the last position of the list.
func TestLongListsOfLabels(t *testing.T) {
	p := openLong(t, forge.Gitea)
	for i := range many {
		p.Review.Labels = append(p.Review.Labels, fmt.Sprint("label ", i))
	}
	p.NoLabels = []string{"needs-human"}
	pr, _, err := p.Create(t.Context(), web, forge.New{Head: forge.Head{Branch: "fix"}, Base: "main", Title: "Fix"})
	must(t, err)
	p.Fail(1, forgetest.CutAfter, "POST", "/web/labels")
	must(t, p.AddLabel(t.Context(), web, forge.Thread{Number: pr.Number}, "needs-human"))
	if len(p.Review.Labels) != many+1 {
		t.Errorf("%d labels, want %d", len(p.Review.Labels), many+1)
	}
}

const pageHeader = "Link" // RFC 8288

// clientOf returns a client of a server of a test, without waits.
func clientOf(t *testing.T, kind forge.Kind, server string) *forge.Client {
	t.Helper()
	c := &clock{now: time.Unix(2000000000, 0)}
	client, err := connect.Client(forge.Options{Kind: kind, Server: server, UserAgent: "millhand/test", Now: c.Now, Sleep: c.Sleep, Token: func(context.Context, string) (string, error) { return "good-token", nil }})
	must(t, err)
	return client
}

// TestPagesByLinks follows the URLs of pages that are not numbered, in all lists.
func TestPagesByLinks(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		at, _ := strconv.Atoi(query.Get("cursor"))
		if strings.HasSuffix(r.URL.Path, "/issues/1") || at == 0 && query.Has("cursor") {
			_, _ = w.Write([]byte("{}"))
			return
		}
		if at < 4 {
			query.Set("cursor", strconv.Itoa(at+1))
			w.Header().Set(pageHeader, "<https://elsewhere.example"+r.URL.Path+"?"+query.Encode()+`>; rel="next"`)
		}
		fmt.Fprintf(w, `[{"id": %d, "body": "x", "author": {"username": "ada"}, "user": {"login": "ada"}}]`, at+1)
	}))
	defer server.Close()
	for _, kind := range kinds {
		list, err := clientOf(t, kind, server.URL).Remarks(t.Context(), web, 1)
		lists := map[forge.Kind]int{forge.GitHub: 3, forge.GitLab: 1, forge.Gitea: 2 + 5}[kind]
		if err != nil || len(list) != 5*lists {
			t.Errorf("%s: %d, %v", kind, len(list), err)
		}
	}
}

// endless is a forge whose lists always have another page. The same page is announced again if
// same is set.
type endless struct {
	kind  forge.Kind
	same  bool
	calls atomic.Int64
}

// ServeHTTP implements http.Handler.
func (e *endless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := e.calls.Add(1)
	query := r.URL.Query()
	page, _ := strconv.Atoi(query.Get("page"))
	if !e.same || page == 0 {
		query.Set("page", strconv.FormatInt(n+1, 10))
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/pulls/1") || strings.HasSuffix(r.URL.Path, "/issues/1"):
		_, _ = w.Write([]byte(`{"number": 1, "html_url": "http://localhost/1", "state": "open", "head": {"sha": "1"}}`))
		return
	case strings.HasSuffix(r.URL.Path, "/status"):
		_, _ = w.Write([]byte(`{"state": "success", "total_count": 1}`))
		return
	case strings.HasSuffix(r.URL.Path, "/pipelines"):
		_, _ = w.Write([]byte(`[{"id": 1}]`))
		return
	}
	switch {
	case e.kind == forge.GitLab && n%2 == 0:
		w.Header().Set("X-Next-Page", query.Get("page"))
	case e.kind == forge.Gitea && strings.HasSuffix(r.URL.Path, "/reviews"):
		w.Header().Set("X-Total-Count", "1000000000")
	default:
		next := url.URL{Path: r.URL.Path, RawQuery: query.Encode()}
		w.Header().Set(pageHeader, "<"+next.String()+`>; rel="next"`)
	}
	text := `[{"id": 1, "iid": 1, "number": 1, "name": "a", "full_name": "Acme/web", "path_with_namespace": "Acme/web", "html_url": "http://localhost/1", "web_url": "http://localhost/1"}]`
	if strings.HasSuffix(r.URL.Path, "/check-runs") {
		text = `{"total_count": 1, "check_runs": [{"id": 1, "name": "a", "status": "completed", "conclusion": "success"}]}`
	}
	_, _ = w.Write([]byte(text))
}

// TestListsThatDoNotEnd fails them after a number of requests: none is returned incomplete.
func TestListsThatDoNotEnd(t *testing.T) {
	sha := strings.Repeat("1", 40)
	for name, read := range map[string]func(*testing.T, *forge.Client) error{
		"pull requests": func(t *testing.T, c *forge.Client) error {
			t.Helper()
			_, err := c.FindAll(t.Context(), web, forge.Head{Branch: "fix"})
			return err
		},
		"repositories": func(t *testing.T, c *forge.Client) error {
			t.Helper()
			_, err := c.ListRepos(t.Context(), forge.Filter{Owner: "Acme"})
			return err
		},
		"comments": func(t *testing.T, c *forge.Client) error {
			t.Helper()
			return c.CheckThread(t.Context(), web, forge.Thread{Number: 1})
		},
		"remarks": func(t *testing.T, c *forge.Client) error {
			t.Helper()
			_, err := c.Remarks(t.Context(), web, 1)
			return err
		},
		"check list": func(t *testing.T, c *forge.Client) error {
			t.Helper()
			_, err := c.CheckList(t.Context(), web, sha)
			return err
		},
		"check time": func(t *testing.T, c *forge.Client) error {
			t.Helper()
			_, err := c.CheckTime(t.Context(), web, sha)
			return err
		},
		"checks": func(t *testing.T, c *forge.Client) error {
			t.Helper()
			_, err := c.Get(t.Context(), web, 1)
			return err
		},
	} {
		for _, kind := range kinds {
			for _, same := range []bool{false, true} {
				if kind == forge.GitLab && (name == "checks" || !same && name != "remarks") {
					continue // they are in the merge request; the lists share their code
				}
				e := &endless{kind: kind, same: same}
				server := httptest.NewServer(e)
				err := read(t, clientOf(t, kind, server.URL))
				server.Close()
				most := map[bool]int64{false: 510, true: 12}[same]
				if !errors.Is(err, forge.ErrIncomplete) || e.calls.Load() > most {
					t.Errorf("%s of %s, same %t: %v after %d requests", name, kind, same, err, e.calls.Load())
				}
			}
		}
	}
}
