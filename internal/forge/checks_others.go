package forge

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
)

// checkList returns the statuses of a commit: Gitea's API has no logs for them.
func (g *gitea) CheckList(ctx context.Context, p Path, sha string) ([]Check, error) {
	return commitStatuses(ctx, g.Sender, p, sha, url.Values{"sort": {"recentupdate"}, "limit": {giteaPage}})
}

func (g *gitea) CheckLog(context.Context, Path, Check, int) (string, error) { return "", nil }

// commitStatus is a status of a commit, as GitHub and Gitea have it.
type commitStatus struct {
	ID          int64  `json:"id"`     // increases
	State       string `json:"state"`  // GitHub's
	Status      string `json:"status"` // Gitea's
	Context     string `json:"context"`
	Description string `json:"description"`
	URL         string `json:"target_url"`
}

// commitStatuses returns the statuses of a commit, the newest first.
func commitStatuses(ctx context.Context, s *Sender, p Path, sha string, query url.Values) ([]Check, error) {
	var found []commitStatus
	c := call{what: checksWhat(p, sha), owner: p.Owner, method: http.MethodGet, path: inRepo(p, "commits", sha, "statuses"), query: query}
	err := pages(ctx, s, c, func(page []commitStatus, _ http.Header) bool {
		found = append(found, page...)
		return true
	})
	// Gitea sorts by times in seconds, in which several are created.
	slices.SortStableFunc(found, func(a, b commitStatus) int { return cmp.Compare(b.ID, a.ID) })
	var all []Check
	for _, j := range found {
		check := Check{Name: j.Context, Status: ChecksFailed, Text: j.Description, URL: j.URL}
		switch cmp.Or(j.State, j.Status) {
		case "pending":
			check.Status = ChecksPending
		case "success", "warning", "skipped":
			check.Status = ChecksPassed
		}
		all = append(all, check)
	}
	return Latest(all), err
}
