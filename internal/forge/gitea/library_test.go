package gitea_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/forge/gitea"
	"github.com/millhand/millhand/internal/testing/forgetest"
)

// The tests of this file show what Gitea's SDK loses without the sender, each with the same server for both. Where one of
// them fails with a newer SDK, lines of our own can go.

// both returns a client of the SDK alone, and ours.
func both(t *testing.T, handler http.HandlerFunc) (*sdk.Client, *forge.Client) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	alone, err := sdk.NewClient(server.URL, sdk.SetGiteaVersion(""), sdk.SetToken("good-token"))
	if err != nil {
		t.Fatal(err)
	}
	s := forgetest.Sender(t, forge.Gitea, server.URL)
	return alone, forge.NewClient(s, gitea.New(s))
}

var web = forge.Path{Owner: "Acme", Name: "web"}

// TestServersWithoutAVersion has a server that hides its version: the SDK makes no client of it.
func TestServersWithoutAVersion(t *testing.T) {
	var asked []string
	_, ours := both(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		_, _ = io.WriteString(w, `{"full_name": "Acme/web"}`)
	})
	hidden := httptest.NewServer(http.NotFoundHandler())
	defer hidden.Close()
	if _, err := sdk.NewClient(hidden.URL); err == nil {
		t.Error("the SDK accepts a server without a version: it may ask for it")
	}
	if r, err := ours.Repo(t.Context(), web); err != nil || r.Path != web || len(asked) != 1 {
		t.Errorf("%+v, %v after %q", r, err, asked)
	}
}

// TestPagesWithoutLinks has a list that states only the number of its entries, as Gitea does for reviews: the SDK knows
// of no second page.
func TestPagesWithoutLinks(t *testing.T) {
	alone, ours := both(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/reviews") {
			_, _ = io.WriteString(w, "[]")
			return
		}
		w.Header().Set("X-Total-Count", "3")
		_, _ = io.WriteString(w, `[{"id": `+r.URL.Query().Get("page")+`, "body": "a", "state": "COMMENT"}]`)
	})
	page, res, err := alone.ListPullReviews("Acme", "web", 1, sdk.ListPullReviewsOptions{})
	if err != nil || len(page) != 1 || res.NextPage != 0 {
		t.Errorf("the SDK returns %d entries and page %d (%v): the pages may be its own", len(page), res.NextPage, err)
	}
	if all, err := ours.Remarks(t.Context(), web, 1); err != nil || len(all) != 3 {
		t.Errorf("%d remarks, %v", len(all), err)
	}
}

// TestARefusedMergeIsAnErrorWithItsReason has a merge that is refused, which the SDK returns without an error and a reason, and with fields that are
// not documented.
func TestARefusedMergeIsAnErrorWithItsReason(t *testing.T) {
	body := ""
	alone, ours := both(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"number": 1, "html_url": "http://localhost/1", "state": "open", "head": {"sha": "1"}}`)
			return
		}
		text, _ := io.ReadAll(r.Body)
		body = strings.TrimSpace(string(text))
		w.WriteHeader(http.StatusMethodNotAllowed)
		_, _ = io.WriteString(w, `{"message": "Does not have enough approvals"}`)
	})
	merged, _, err := alone.MergePullRequest("Acme", "web", 1, sdk.MergePullRequestOption{Style: sdk.MergeStyleSquash, HeadCommitId: "1"})
	if err != nil || merged || !strings.Contains(body, `"Do":"squash"`) || !strings.Contains(body, "MergeTitleField") {
		t.Errorf("the SDK sends %s and returns %t, %v: a merge may be its own", body, merged, err)
	}
	err = ours.Merge(t.Context(), web, 1, "1", forge.Squash)
	if !errors.Is(err, forge.ErrConflict) || !strings.Contains(err.Error(), "have it approved, and merge it again") || body != `{"do":"squash","head_commit_id":"1"}` {
		t.Errorf("%s: %v", body, err)
	}
}

// TestLabelsByName adds a label whose id is unknown; the SDK requires ids.
func TestLabelsByName(t *testing.T) {
	body := ""
	_, ours := both(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		body = strings.TrimSpace(string(text))
		_, _ = io.WriteString(w, `[{"id": 7, "name": "bot"}]`)
	})
	if err := ours.AddLabel(t.Context(), web, forge.Thread{Number: 1}, "bot"); err != nil || body != `{"labels":["bot"]}` {
		t.Errorf("body %s, %v", body, err)
	}
}

// TestResponsesAboveTheLimitAreErrors has one that is larger than the memory that it may use.
func TestResponsesAboveTheLimitAreErrors(t *testing.T) {
	alone, ours := both(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"full_name": "Acme/web", "description": "`+strings.Repeat("x", 33<<20)+`"}`)
	})
	if r, _, err := alone.GetRepo("Acme", "web"); err != nil || len(r.Description) != 33<<20 {
		t.Errorf("the SDK refuses a large response (%v): the limit may be its own", err)
	}
	if _, err := ours.Repo(t.Context(), web); !errors.Is(err, forge.ErrUnreachable) || !strings.Contains(err.Error(), "larger than") {
		t.Error(err)
	}
}
