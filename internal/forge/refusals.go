package forge

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// refusal is a response of a forge that another request may get around, or that has a remedy. It is
// found by its status and its text, because forges use statuses for it that usually are final.
type refusal struct {
	status int    // 0 for each below 500
	text   string // in the message, in lower case

	wait  time.Duration // before the next attempt; it doubles. 0: it is final
	tries int           // number of attempts after the first one; 0 for as many as the patience allows
	all   bool          // it is a limit, which holds up all other requests, too

	remedy string // added to the message
}

// refusals are what GitHub, GitLab, and Gitea with Forgejo respond; docs/bulk.md has the same table.
// Status 200 is that of GitHub's GraphQL.
var refusals = []refusal{
	{status: http.StatusForbidden, text: "rate limit", wait: limitWait, all: true},
	{status: http.StatusForbidden, text: "abuse detection", wait: limitWait, all: true},
	{status: http.StatusUnprocessableEntity, text: "was submitted too quickly", wait: limitWait, all: true},
	{status: http.StatusOK, text: "was submitted too quickly", wait: limitWait, all: true},
	{status: http.StatusOK, text: "rate limit", wait: limitWait, all: true},
	{status: http.StatusOK, text: "something went wrong while executing your query", wait: firstWait, tries: 3},
	{status: http.StatusTooManyRequests, wait: limitWait, all: true},

	{status: http.StatusMethodNotAllowed, text: "base branch was modified", wait: firstWait, tries: 3},
	{status: http.StatusMethodNotAllowed, text: "merge already in progress", wait: firstWait, tries: 3},

	{status: http.StatusMethodNotAllowed, text: "merge commits are not allowed", remedy: "use --method squash or --method rebase"},
	{status: http.StatusMethodNotAllowed, text: "squash merges are not allowed", remedy: "use --method merge or --method rebase"},
	{status: http.StatusMethodNotAllowed, text: "rebase merges are not allowed", remedy: "use --method merge or --method squash"},
	{status: http.StatusMethodNotAllowed, text: "doesn't allow merge", remedy: "use another --method"},
	{status: http.StatusMethodNotAllowed, text: "code owner", remedy: "have a code owner approve it, and merge it again"},
	{status: http.StatusMethodNotAllowed, text: "approving review", remedy: approve},
	{status: http.StatusMethodNotAllowed, text: "enough approvals", remedy: approve},
	{status: http.StatusMethodNotAllowed, text: "official review requests", remedy: approve},
	{status: http.StatusMethodNotAllowed, text: "someone other than the last pusher", remedy: approve},
	{status: http.StatusMethodNotAllowed, text: "requested changes", remedy: "respond to the review (millhand follow), and merge it again"},
	{status: http.StatusMethodNotAllowed, text: "changes requested", remedy: "respond to the review (millhand follow), and merge it again"},
	{status: http.StatusMethodNotAllowed, text: "status check", remedy: "merge it again when these checks have passed"},
	{status: http.StatusMethodNotAllowed, text: "be resolved", remedy: "resolve its conversations, and merge it again"},
	{status: http.StatusMethodNotAllowed, text: "verified signatures", remedy: signed},
	{status: http.StatusMethodNotAllowed, text: "valid signatures", remedy: signed},
	{status: http.StatusMethodNotAllowed, text: "draft", remedy: "mark it as ready for review"},
	{status: http.StatusMethodNotAllowed, text: "work in progress", remedy: "mark it as ready for review"},
	{status: http.StatusMethodNotAllowed, text: "merge queue", remedy: "add it to the merge queue of its base"},
	{status: http.StatusMethodNotAllowed, text: "behind the base branch", remedy: "update its branch"},
	{status: http.StatusMethodNotAllowed, text: "out of date", remedy: "update its branch"},
	{status: http.StatusMethodNotAllowed, text: "not allowed to merge", remedy: "use the token of a user who may merge into its base"},
	{status: http.StatusMethodNotAllowed, text: "not authorized to push", remedy: "use the token of a user who may merge into its base"},
	{status: http.StatusUnauthorized, text: "bad credentials", remedy: expired},
	{status: http.StatusUnauthorized, text: "invalid_token", remedy: expired},
	{text: "draft pull requests are not supported", remedy: "set publish.draft: false"},
	{text: "is too long", remedy: "shorten publish.title or publish.body"},
}

// Remedies of several rows.
const (
	approve = "have it approved, and merge it again"
	signed  = "use --method squash, whose commit GitHub signs, or sign commits (commit.sign) in the next run"
	expired = "the token is invalid or has expired: for longer runs use a GitHub App or key_command in forges"
)

// remedies returns those of all rows of a response.
func remedies(status int, text string) []string {
	text = strings.ToLower(text)
	var all []string
	for _, r := range refusals {
		if r.remedy != "" && (r.status == 0 || r.status == status) && strings.Contains(text, r.text) && !slices.Contains(all, r.remedy) {
			all = append(all, r.remedy)
		}
	}
	return all
}

// refusalOf returns the row of a response; the zero value for none.
func refusalOf(status int, text string) refusal {
	text = strings.ToLower(text)
	for _, r := range refusals {
		if (r.status == 0 || r.status == status) && strings.Contains(text, r.text) {
			return r
		}
	}
	return refusal{}
}

// delay returns how long to wait after a response without success, of which there were n before;
// again is false if no other attempt can help. all: it holds up all other requests, too.
func (res *response) delay(now time.Time, n int) (wait time.Duration, all, again bool) {
	if wait, ok := limit(res, now); ok {
		return wait, true, true
	}
	r := refusalOf(res.status, message(res.body))
	return r.wait << min(n, 8), r.all, r.wait > 0 && (r.tries == 0 || n < r.tries)
}

// singleSignOn returns the address at which a token is authorized for an organization of GitHub;
// "" for none.
func singleSignOn(h http.Header) string {
	required, address, ok := strings.Cut(h.Get("X-GitHub-SSO"), "url=")
	if !ok || !strings.HasPrefix(strings.TrimSpace(required), "required") {
		return ""
	}
	return address
}
