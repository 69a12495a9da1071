package gitlab_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	gl "gitlab.com/gitlab-org/api/client-go/v2"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/forge/gitlab"
	"github.com/millhand/millhand/internal/testing/forgetest"
)

// The tests of this file show what client-go loses without the sender, each with the same server for both. Where one
// of them fails with a newer client-go, lines of our own can go.

// both returns a client of client-go alone, and ours.
func both(t *testing.T, handler http.HandlerFunc) (*gl.Client, *forge.Client) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	alone, err := gl.NewClient("good-token", gl.WithBaseURL(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	s := forgetest.Sender(t, forge.GitLab, server.URL)
	api, err := gitlab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return alone, forge.NewClient(s, api)
}

var web = forge.Path{Owner: "Acme", Name: "web"}

// TestAWriteWithoutAResponseIsNotRepeated loses the response of a write: client-go repeats it without a look at what it did.
func TestAWriteWithoutAResponseIsNotRepeated(t *testing.T) {
	notes := 0
	alone, ours := both(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			if notes++; notes == 1 {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"id": 2}`)
		case strings.HasSuffix(r.URL.Path, "/user"):
			_, _ = io.WriteString(w, `{"username": "mill"}`)
		case notes == 0:
			_, _ = io.WriteString(w, `[]`)
		default:
			_, _ = io.WriteString(w, `[{"id": 1, "body": "a\n\n<!-- millhand:x -->\n", "author": {"username": "mill"}}]`)
		}
	})
	body := "a"
	if _, _, err := alone.Notes.CreateMergeRequestNote("Acme/web", 1, &gl.CreateMergeRequestNoteOptions{Body: &body}); err != nil || notes != 2 {
		t.Errorf("client-go creates %d comments (%v): retries may be its own", notes, err)
	}
	notes = 0
	if c, err := ours.Comment(t.Context(), web, forge.Thread{Number: 1}, "x", "a"); err != nil || notes != 1 || c.ID != 1 {
		t.Errorf("%d comments, %+v, %v", notes, c, err)
	}
}

// TestAnUpdateOfAMovedProjectIsAnError redirects a write, which becomes a read: client-go returns the unchanged merge request.
func TestAnUpdateOfAMovedProjectIsAnError(t *testing.T) {
	title := "new"
	updates := 0
	alone, ours := both(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"iid": 1, "web_url": "http://localhost/1", "state": "opened", "title": "old"}`)
		case strings.Contains(r.URL.Path, "/web/"):
			http.Redirect(w, r, "/api/v4/projects/2/merge_requests/1", http.StatusMovedPermanently)
		default:
			updates++
		}
	})
	pr, _, err := alone.MergeRequests.UpdateMergeRequest("Acme/web", 1, &gl.UpdateMergeRequestOptions{Title: &title})
	if err != nil || pr.Title != "old" || updates != 0 {
		t.Errorf("client-go returns %+v after %d updates (%v): the rule for redirects may be its own", pr, updates, err)
	}
	if _, err := ours.Update(t.Context(), web, 1, forge.Change{Title: &title}); err == nil || !strings.Contains(err.Error(), "the repository was moved; use its new name") {
		t.Error(err)
	}
}

// TestResponsesAboveTheLimitAreErrorsExceptLogs has one that is larger than the memory that it may use.
func TestResponsesAboveTheLimitAreErrorsExceptLogs(t *testing.T) {
	alone, ours := both(t, func(w http.ResponseWriter, r *http.Request) {
		large := strings.Repeat("x", 33<<20)
		if strings.HasSuffix(r.URL.Path, "/trace") {
			_, _ = io.WriteString(w, large+"the end")
			return
		}
		_, _ = io.WriteString(w, `{"path_with_namespace": "Acme/web", "description": "`+large+`"}`)
	})
	if r, _, err := alone.Projects.GetProject("Acme/web", nil); err != nil || len(r.Description) != 33<<20 {
		t.Errorf("client-go refuses a large response (%v): the limit may be its own", err)
	}
	if _, err := ours.Repo(t.Context(), web); !errors.Is(err, forge.ErrUnreachable) || !strings.Contains(err.Error(), "larger than") {
		t.Error(err)
	}
	if text, _, err := alone.Jobs.GetTraceFile("Acme/web", 1); err != nil || text.Len() <= 33<<20 {
		t.Errorf("client-go does not read a log completely (%v): reading its end may be its own", err)
	}
	if text, err := ours.CheckLog(t.Context(), web, forge.Check{Job: 1}, 10); err != nil || text != "xxxthe end" {
		t.Errorf("%q, %v", text, err)
	}
}
