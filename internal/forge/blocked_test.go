package forge_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/testing/forgetest"
)

// TestMergesThatRulesRefuse has what forges respond to a merge, and what it depends on.
func TestMergesThatRulesRefuse(t *testing.T) {
	sha := strings.Repeat("1", 40)
	for text, want := range map[string]string{
		"At least 1 approving review is required by reviewers with write access.":                            "have it approved, and merge it again",
		"Repository rule violations found\\n\\nWaiting on code owner review from acme/owners.\\n\\n":         "have a code owner approve it, and merge it again",
		`Required status check \"ci\" is expected.`:                                                          "merge it again when these checks have passed",
		"2 of 3 required status checks have not succeeded: 1 expected and 1 failing.":                        "merge it again when these checks have passed",
		"Waiting on code owner review from ada. 4 of 4 required status checks have not succeeded.":           "have a code owner approve it, and merge it again; merge it again when these checks have passed",
		"New changes require approval from someone other than the last pusher.":                              "have it approved, and merge it again",
		"A conversation must be resolved before this pull request can be merged.":                            "resolve its conversations, and merge it again",
		"Commits must have verified signatures.":                                                             "use --method squash, whose commit GitHub signs, or sign commits (commit.sign) in the next run",
		"Pull Request is still a draft":                                                                      "mark it as ready for review",
		"Changes must be made through the merge queue":                                                       "add it to the merge queue of its base",
		"You're not authorized to push to this branch. Visit https://docs.github.com/ for more information.": "use the token of a user who may merge into its base",
		"Does not have enough approvals":                                                                     "have it approved, and merge it again",
		"There are official review requests":                                                                 "have it approved, and merge it again",
		"There are requested changes":                                                                        "respond to the review (millhand follow), and merge it again",
		"Not all required status checks successful":                                                          "merge it again when these checks have passed",
		"The head branch is behind the base branch":                                                          "update its branch",
		"Work in progress PRs cannot be merged":                                                              "mark it as ready for review",
		"User not allowed to merge PR":                                                                       "use the token of a user who may merge into its base",
	} {
		merges := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				fmt.Fprintf(w, `{"number": 1, "html_url": "http://localhost/1", "state": "open", "head": {"sha": %q}}`, sha)
				return
			}
			merges++
			w.WriteHeader(http.StatusMethodNotAllowed)
			fmt.Fprintf(w, `{"message": "%s"}`, text)
		}))
		for _, kind := range []forge.Kind{forge.GitHub, forge.Gitea} {
			err := clientOf(t, kind, server.URL).Merge(t.Context(), web, 1, sha, forge.MergeCommit)
			if !errors.Is(err, forge.ErrConflict) || !strings.HasSuffix(err.Error(), "; "+want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %q: %v", kind, text, err)
			}
		}
		if server.Close(); merges != 2 {
			t.Errorf("%q: %d requests to merge", text, merges)
		}
	}
}

// TestBlockedPullRequests reads why a rule blocks them.
func TestBlockedPullRequests(t *testing.T) {
	for _, kind := range []forge.Kind{forge.GitHub, forge.GitLab} {
		for review, want := range map[string]string{"": "", "REVIEW_REQUIRED": "it requires an approving review", "CHANGES_REQUESTED": "a reviewer has requested changes"} {
			p := open(t, kind)
			p.AddPull(forgetest.Pull{Repo: web.String(), Head: web.String(), Number: 1, Branch: "x", Base: "main", State: "open", Review: review})
			got, err := p.Get(t.Context(), web, 1)
			if err != nil || !strings.HasPrefix(got.Blocked, want) || (got.Blocked == "") != (want == "") || (got.Mergeable == forge.CannotMerge) != (want != "") || got.Conflict {
				t.Errorf("%s %s: %q %q (%v)", kind, review, got.Mergeable, got.Blocked, err)
			}
			if p.clock.total() != 0 {
				t.Errorf("waited %s for a read", p.clock.total())
			}
			if kind == forge.GitHub {
				p.Fail(9, forgetest.Denied, "POST", "/graphql")
				if got, err := p.Get(t.Context(), web, 1); err != nil || got.Blocked != "" {
					t.Errorf("without GraphQL: %q (%v)", got.Blocked, err)
				}
			}
		}
	}
	for status, want := range map[string]string{
		"need_rebase": "it is behind main: update its branch", "discussions_not_resolved": "it has threads that are not resolved", "ci_must_pass": "its pipeline must pass",
		"jira_association_missing": "its title or description must name a Jira issue", "mergeable": "", "conflict": "", "a new one": "",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = w.Write([]byte(`{"message": "401 Unauthorized"}`))
				return
			}
			fmt.Fprintf(w, `{"iid": 1, "web_url": "http://localhost/1", "state": "opened", "target_branch": "main", "sha": "1", "detailed_merge_status": %q}`, status)
		}))
		c := clientOf(t, forge.GitLab, server.URL)
		got, err := c.Get(t.Context(), web, 1)
		if err != nil || !strings.HasPrefix(got.Blocked, want) || (got.Blocked == "") != (want == "") {
			t.Errorf("%s: %q (%v)", status, got.Blocked, err)
		}
		if err := c.Merge(t.Context(), web, 1, "1", forge.Squash); !errors.Is(err, forge.ErrDenied) || !strings.HasSuffix(err.Error(), "; use the token of a user who may merge into main") {
			t.Errorf("a token that may not merge: %v", err)
		}
		server.Close()
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"number": 1, "html_url": "http://localhost/1", "state": "open", "head": {"sha": "1"}, "base": {"ref": "main"}, "mergeable": true, "mergeable_state": "behind"}`))
	}))
	defer server.Close()
	if got, err := clientOf(t, forge.GitHub, server.URL).Get(t.Context(), web, 1); err != nil || got.Blocked != "it is behind main: update its branch" || got.Mergeable != forge.CannotMerge {
		t.Errorf("behind: %q (%v)", got.Blocked, err)
	}
}
