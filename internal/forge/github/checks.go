package github

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	gh "github.com/google/go-github/v88/github"

	"github.com/millhand/millhand/internal/forge"
)

// runs passes the check runs of a commit to add.
func (a *API) runs(ctx context.Context, c forge.Call, sha string, add func(*gh.CheckRun)) error {
	return forge.Each(ctx, a.Sender, c, func(ctx context.Context) ([]*gh.CheckRun, *gh.Response, error) {
		page, res, err := a.gh.Checks.ListCheckRunsForRef(ctx, c.Repo.Owner, c.Repo.Name, sha, &gh.ListCheckRunsOptions{ListOptions: largest()})
		if page == nil {
			return nil, res, err
		}
		return page.CheckRuns, res, err
	}, func(run *gh.CheckRun) error {
		add(run)
		return nil
	})
}

// status summarizes a check run.
func status(run *gh.CheckRun) forge.Checks {
	conclusion := run.GetConclusion()
	switch {
	case run.GetStatus() != "completed":
		return forge.ChecksPending
	case conclusion == "success" || conclusion == "neutral" || conclusion == "skipped":
		return forge.ChecksPassed
	}
	return forge.ChecksFailed
}

// Checks implements [forge.API].
func (a *API) Checks(ctx context.Context, p forge.Path, pr forge.PullRequest) (forge.PullRequest, error) {
	c := forge.OfPull("get", p, pr.Number)
	if err := a.runs(ctx, c, pr.SHA, func(run *gh.CheckRun) { pr.Checks = pr.Checks.With(status(run)) }); err != nil {
		return pr, err
	}
	combined, err := forge.One(ctx, a.Sender, c, func(ctx context.Context) (*gh.CombinedStatus, *gh.Response, error) {
		return a.gh.Repositories.GetCombinedStatus(ctx, p.Owner, p.Name, pr.SHA, nil)
	})
	switch { // commit statuses are not check runs
	case err != nil || combined.GetTotalCount() == 0:
	case combined.GetState() == "pending":
		pr.Checks = pr.Checks.With(forge.ChecksPending)
	case combined.GetState() == "success":
		pr.Checks = pr.Checks.With(forge.ChecksPassed)
	default:
		pr.Checks = pr.Checks.With(forge.ChecksFailed)
	}
	if err == nil && pr.Ruled {
		pr.Blocked, _ = a.blocked(ctx, p, pr) // without it, the reason is a guess
	}
	return pr, err
}

// CheckList implements [forge.API].
func (a *API) CheckList(ctx context.Context, p forge.Path, sha string) ([]forge.Check, error) {
	c := forge.OfCommit(p, sha)
	var all []forge.Check
	err := a.runs(ctx, c, sha, func(run *gh.CheckRun) {
		o := run.GetOutput()
		check := forge.Check{
			Name: run.GetName(), Status: status(run), URL: run.GetHTMLURL(),
			Text: strings.TrimSpace(strings.Join([]string{o.GetTitle(), o.GetSummary(), o.GetText()}, "\n\n")),
		}
		if run.GetApp().GetSlug() == "github-actions" {
			check.Job = run.GetID()
		}
		all = append(all, check)
	})
	if err != nil {
		return nil, err
	}
	var found []*gh.RepoStatus
	err = forge.Each(ctx, a.Sender, c, func(ctx context.Context) ([]*gh.RepoStatus, *gh.Response, error) {
		return a.gh.Repositories.ListStatuses(ctx, p.Owner, p.Name, sha, new(largest()))
	}, func(j *gh.RepoStatus) error {
		found = append(found, j)
		return nil
	})
	slices.SortStableFunc(found, func(a, b *gh.RepoStatus) int { return cmp.Compare(b.GetID(), a.GetID()) })
	for _, j := range found {
		check := forge.Check{Name: j.GetContext(), Status: forge.ChecksFailed, Text: j.GetDescription(), URL: j.GetTargetURL()}
		switch j.GetState() {
		case "pending":
			check.Status = forge.ChecksPending
		case "success", "warning", "skipped":
			check.Status = forge.ChecksPassed
		}
		all = append(all, check)
	}
	return forge.Latest(all), err
}

// CheckLog implements [forge.API]. go-github returns only the URL of a log.
func (a *API) CheckLog(ctx context.Context, p forge.Path, check forge.Check, most int) (string, error) {
	c := forge.Call{What: "get the log of check " + check.Name + " in " + p.String(), Repo: p}
	return a.Tail(ctx, c, fmt.Sprintf("/repos/%s/%s/actions/jobs/%d/logs", p.Owner, p.Name, check.Job), most)
}

// CheckTime implements [forge.API].
func (a *API) CheckTime(ctx context.Context, p forge.Path, sha string) (sum time.Duration, err error) {
	err = a.runs(ctx, forge.OfCommit(p, sha), sha, func(run *gh.CheckRun) {
		if from, to := run.GetStartedAt().Time, run.GetCompletedAt().Time; !from.IsZero() && to.After(from) {
			sum += to.Sub(from)
		}
	})
	return sum, err
}
