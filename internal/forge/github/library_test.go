package github_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	gh "github.com/google/go-github/v88/github"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/forge/github"
	"github.com/millhand/millhand/internal/testing/forgetest"
)

// The tests of this file show what go-github loses without the sender, each with the same server for both. Where
// one of them fails with a newer go-github, lines of our own can go.

// both returns a client of go-github alone, and ours.
func both(t *testing.T, handler http.HandlerFunc) (*gh.Client, *forge.Client) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	base := server.URL + "/api/v3/"
	alone, err := gh.NewClient(gh.WithURLs(&base, &base))
	if err != nil {
		t.Fatal(err)
	}
	s := forgetest.Sender(t, forge.GitHub, server.URL)
	api, err := github.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return alone, forge.NewClient(s, api)
}

var web = forge.Path{Owner: "Acme", Name: "web"}

// TestPagesWithoutNumbers has a list whose second page is announced by an unknown parameter: go-github ends it
// without an error.
func TestPagesWithoutNumbers(t *testing.T) {
	alone, ours := both(t, func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("start") && strings.Contains(r.URL.Path, "/issues/") {
			w.Header().Set("Link", `<https://elsewhere.example/?start=x>; rel="next"`)
		}
		_, _ = io.WriteString(w, `[{"id": 1, "body": "a"}]`)
	})
	entries := 0
	for _, err := range alone.Issues.ListCommentsIter(t.Context(), "Acme", "web", 1, nil) {
		if entries++; err != nil {
			t.Fatal(err)
		}
	}
	if entries != 1 {
		t.Errorf("go-github returns %d entries: the pages may be its own", entries)
	}
	if all, err := ours.Remarks(t.Context(), web, 1); err != nil || len(all) != 4 {
		t.Errorf("%d remarks, %v", len(all), err)
	}
}

// TestNamesAreNotEscaped has names that become other resources.
func TestNamesAreNotEscaped(t *testing.T) {
	asked := ""
	alone, ours := both(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.RequestURI
		_, _ = io.WriteString(w, "{}")
	})
	for name, want := range map[string]string{".": "/api/v3/repos/Acme/", "web?page=2": "/api/v3/repos/Acme/web?page=2", "web%2Fpulls": "/api/v3/repos/Acme/web%2Fpulls"} {
		if _, _, err := alone.Repositories.Get(t.Context(), "Acme", name); err != nil || asked != want {
			t.Errorf("go-github asks %q for %q (%v): the check of names may be its own", asked, name, err)
		}
		asked = ""
		if _, err := ours.Repo(t.Context(), forge.Path{Owner: "Acme", Name: name}); err == nil || !strings.Contains(err.Error(), "invalid name") || asked != "" {
			t.Errorf("%q: asked %q, %v", name, asked, err)
		}
	}
}

// TestAnUpdateOfAMovedRepositoryIsAnError redirects an update, which becomes a read: go-github returns the unchanged pull request.
func TestAnUpdateOfAMovedRepositoryIsAnError(t *testing.T) {
	title := "new"
	updates := 0
	alone, ours := both(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"number": 1, "html_url": "http://localhost/1", "state": "open", "title": "old"}`)
		case strings.Contains(r.URL.Path, "/web/"):
			http.Redirect(w, r, strings.Replace(r.URL.Path, "/web/", "/site/", 1), http.StatusMovedPermanently)
		default:
			updates++
		}
	})
	pr, _, err := alone.PullRequests.Edit(t.Context(), "Acme", "web", 1, &gh.PullRequest{Title: &title})
	if err != nil || pr.GetTitle() != "old" || updates != 0 {
		t.Errorf("go-github returns %q after %d updates (%v): the rule for redirects may be its own", pr.GetTitle(), updates, err)
	}
	if _, err := ours.Update(t.Context(), web, 1, forge.Change{Title: &title}); err == nil || !strings.Contains(err.Error(), "the repository was moved; use its new name") {
		t.Error(err)
	}
}

// TestResponsesAboveTheLimitAreErrors has one that is larger than the memory that it may use.
func TestResponsesAboveTheLimitAreErrors(t *testing.T) {
	alone, ours := both(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"full_name": "Acme/web", "description": "`+strings.Repeat("x", 33<<20)+`"}`)
	})
	if r, _, err := alone.Repositories.Get(t.Context(), "Acme", "web"); err != nil || len(r.GetDescription()) != 33<<20 {
		t.Errorf("go-github reads %d bytes (%v): the limit may be its own", len(r.GetDescription()), err)
	}
	if _, err := ours.Repo(t.Context(), web); !errors.Is(err, forge.ErrUnreachable) || !strings.Contains(err.Error(), "larger than") {
		t.Error(err)
	}
}

// TestAnEmptyResponseIsNoRepository has one without a body, of which go-github makes a repository without a name.
func TestAnEmptyResponseIsNoRepository(t *testing.T) {
	alone, ours := both(t, func(http.ResponseWriter, *http.Request) {})
	if r, _, err := alone.Repositories.Get(t.Context(), "Acme", "web"); err != nil || r.GetFullName() != "" {
		t.Errorf("go-github returns %v (%v): the check may be its own", r, err)
	}
	if r, err := ours.Repo(t.Context(), web); !errors.Is(err, forge.ErrUnreachable) {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestLabelsAreAnObject compares the body with the one that GitHub documents.
func TestLabelsAreAnObject(t *testing.T) {
	body := ""
	alone, ours := both(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		body = strings.TrimSpace(string(text))
		_, _ = io.WriteString(w, "[]")
	})
	if _, _, err := alone.Issues.AddLabelsToIssue(t.Context(), "Acme", "web", 1, []string{"bot"}); err != nil || body != `["bot"]` {
		t.Errorf("go-github sends %s (%v): labels may be added by it", body, err)
	}
	if err := ours.AddLabel(t.Context(), web, forge.Thread{Number: 1}, "bot"); err != nil || body != `{"labels":["bot"]}` {
		t.Errorf("body %s, %v", body, err)
	}
}

// TestTheSenderSendsNoRequestElsewhere gives the sender requests that it must not send, because it would add a token.
func TestTheSenderSendsNoRequestElsewhere(t *testing.T) {
	s, err := forge.NewSender(forge.Options{Kind: forge.GitHub, Server: "https://github.com", Token: func(context.Context, string) (string, error) { return "good-token", nil }})
	if err != nil {
		t.Fatal(err)
	}
	send := func(ctx context.Context, address string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		res, err := s.RoundTrip(req)
		if err == nil {
			res.Body.Close()
		}
		return err
	}
	for _, address := range []string{"https://elsewhere.example/repos", "http://api.github.com/repos"} {
		err := s.Do(t.Context(), forge.Call{What: "test", Repo: web}, func(ctx context.Context) error { return send(ctx, address) })
		if err == nil || !strings.Contains(err.Error(), "not sent") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := send(t.Context(), "https://api.github.com/repos"); err == nil || !strings.Contains(err.Error(), "not sent") {
		t.Errorf("a request that the sender knows nothing of: %v", err)
	}
}
