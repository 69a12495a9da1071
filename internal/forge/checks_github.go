package forge

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// githubCheck is a check run with its texts.
type githubCheck struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"`
	URL        string `json:"html_url"`
	Output     struct {
		Title   string `json:"title"`
		Summary string `json:"summary"`
		Text    string `json:"text"`
	} `json:"output"`
	App *struct {
		Slug string `json:"slug"`
	} `json:"app"`
}

type githubChecks struct {
	Runs []githubCheck `json:"check_runs"`
}

// commitStatus is a status of a commit, as GitHub and Gitea have it.
type commitStatus struct {
	ID          int64  `json:"id"`     // increases
	State       string `json:"state"`  // GitHub's
	Status      string `json:"status"` // Gitea's
	Context     string `json:"context"`
	Description string `json:"description"`
	URL         string `json:"target_url"`
}

func (g *github) CheckList(ctx context.Context, p Path, sha string) ([]Check, error) {
	var all []Check
	c := call{what: checksWhat(p, sha), owner: p.Owner, method: http.MethodGet, path: inRepo(p, "commits", sha, "check-runs"), query: url.Values{"per_page": {perPage}}}
	err := eachPage(ctx, g.Sender, c, func(page githubChecks, _ http.Header) (int, bool) {
		for _, r := range page.Runs {
			o := r.Output
			check := Check{
				Name: r.Name, Status: githubRun{r.Status, r.Conclusion}.summary(), URL: r.URL,
				Text: strings.TrimSpace(strings.Join([]string{o.Title, o.Summary, o.Text}, "\n\n")),
			}
			if r.App != nil && r.App.Slug == "github-actions" {
				check.Job = r.ID
			}
			all = append(all, check)
		}
		return len(page.Runs), true
	})
	if err != nil {
		return nil, err
	}
	statuses, err := commitStatuses(ctx, g.Sender, p, sha, url.Values{"per_page": {perPage}})
	return Latest(append(all, statuses...)), err
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

func (g *github) CheckLog(ctx context.Context, p Path, check Check, most int) (string, error) {
	return g.tail(ctx, call{what: "get the log of check " + check.Name + " in " + p.String(), owner: p.Owner, method: http.MethodGet, path: inRepo(p, "actions", "jobs", decimal(check.Job), "logs")}, most)
}
