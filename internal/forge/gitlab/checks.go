package gitlab

import (
	"context"
	"fmt"
	"time"

	gl "gitlab.com/gitlab-org/api/client-go/v2"

	"github.com/millhand/millhand/internal/forge"
)

// status summarizes the status of a pipeline or a job, which may be allowed to fail.
func status(of string, mayFail bool) forge.Checks {
	switch {
	case of == "success" || of == "skipped" || mayFail && of == "failed":
		return forge.ChecksPassed
	case of == "failed" || of == "canceled":
		return forge.ChecksFailed
	}
	return forge.ChecksPending
}

// Checks returns a pull request as it is: those of the pipeline are in the merge request.
func (a *API) Checks(_ context.Context, _ forge.Path, pr forge.PullRequest) (forge.PullRequest, error) {
	return pr, nil
}

// CheckList returns the jobs of the newest pipeline of a commit.
func (a *API) CheckList(ctx context.Context, p forge.Path, sha string) ([]forge.Check, error) {
	c := forge.OfCommit(p, sha)
	found, err := forge.One(ctx, a.Sender, c, func(ctx context.Context) ([]*gl.PipelineInfo, *gl.Response, error) {
		return a.gl.Pipelines.ListProjectPipelines(p.String(), &gl.ListProjectPipelinesOptions{SHA: &sha, OrderBy: new("id"), Sort: new("desc"), ListOptions: gl.ListOptions{PerPage: 1}}, gl.WithContext(ctx))
	})
	if err != nil || len(found) == 0 || found[0] == nil {
		return nil, err
	}
	var all []forge.Check
	err = forge.Each(ctx, a.Sender, c, func(ctx context.Context) ([]*gl.Job, *gl.Response, error) {
		return a.gl.Jobs.ListPipelineJobs(p.String(), found[0].ID, &gl.ListJobsOptions{ListOptions: largest()}, gl.WithContext(ctx))
	}, func(j *gl.Job) error {
		if j == nil {
			return fmt.Errorf("%w: a job that is null", forge.ErrResponse)
		}
		check := forge.Check{Name: j.Name, URL: j.WebURL, Status: status(j.Status, j.AllowFailure), Job: j.ID}
		if j.Status == "manual" { // nobody has started it
			check.Status = forge.ChecksPassed
		}
		all = append(all, check)
		return nil
	})
	return forge.Latest(all), err
}

// CheckLog implements [forge.API]. client-go reads a log completely, without a limit.
func (a *API) CheckLog(ctx context.Context, p forge.Path, check forge.Check, most int) (string, error) {
	c := forge.Call{What: "get the log of job " + check.Name + " in " + p.String(), Repo: p}
	return a.Tail(ctx, c, fmt.Sprintf("/projects/%s/jobs/%d/trace", gl.PathEscape(p.String()), check.Job), most)
}

// CheckTime implements [forge.API].
func (a *API) CheckTime(ctx context.Context, p forge.Path, sha string) (sum time.Duration, err error) {
	err = forge.Each(ctx, a.Sender, forge.OfCommit(p, sha), func(ctx context.Context) ([]*gl.CommitStatus, *gl.Response, error) {
		return a.gl.Commits.GetCommitStatuses(p.String(), sha, &gl.GetCommitStatusesOptions{ListOptions: largest()}, gl.WithContext(ctx))
	}, func(j *gl.CommitStatus) error {
		if j != nil && j.StartedAt != nil && j.FinishedAt != nil && j.FinishedAt.After(*j.StartedAt) {
			sum += j.FinishedAt.Sub(*j.StartedAt)
		}
		return nil
	})
	return sum, err
}

// CommitOf implements [forge.API].
func (a *API) CommitOf(ctx context.Context, p forge.Path, sha string) (forge.CommitInfo, error) {
	j, err := forge.One(ctx, a.Sender, forge.Call{What: "get commit " + sha + " of " + p.String(), Repo: p}, func(ctx context.Context) (*gl.Commit, *gl.Response, error) {
		return a.gl.Commits.GetCommit(p.String(), sha, nil, gl.WithContext(ctx))
	})
	if err != nil || j == nil {
		return forge.CommitInfo{}, err
	}
	info := forge.CommitInfo{Message: j.Message}
	if len(j.ParentIDs) > 0 {
		info.Parent = j.ParentIDs[0]
	}
	return info, nil
}

// Created implements [forge.API].
func (a *API) Created(ctx context.Context, p forge.Path, number int64) (time.Time, error) {
	j, err := forge.One(ctx, a.Sender, forge.OfPull("get", p, number), func(ctx context.Context) (*gl.MergeRequest, *gl.Response, error) {
		return a.gl.MergeRequests.GetMergeRequest(p.String(), number, nil, gl.WithContext(ctx))
	})
	if err != nil || j == nil || j.CreatedAt == nil {
		return time.Time{}, err
	}
	return *j.CreatedAt, nil
}
