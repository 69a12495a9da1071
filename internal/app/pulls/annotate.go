package pulls

import (
	"context"
	"fmt"
	"io/fs"
	"sync"

	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/forge/credentials/apis"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/tasks"
)

// Annotate adds the patterns of a run that has ended to the open pull requests of some of its jobs, which
// were created before the other jobs ended. It reports what can't be changed: the run has its
// result.
func Annotate(
	ctx context.Context, w world.World, open func(remote string) (*forge.Client, forge.Path, error), r *report.Report, files fs.FS, jobs map[string]bool,
	known *redact.Redactor, note func(text string),
) {
	if ctx.Err() != nil || len(jobs) == 0 || w.PullTexts == nil {
		return
	}
	texts := sync.OnceValue(func() func(job string) string { return w.PullTexts(files, r) })
	var all sync.WaitGroup
	next := make(chan *report.Job)
	for range publish.MaxParallel {
		all.Go(func() {
			for j := range next {
				text := known.Text(texts()(j.ID))
				if text == "" || ctx.Err() != nil {
					continue
				}
				if err := annotatePull(ctx, open, j, text); err != nil && ctx.Err() == nil {
					note(fmt.Sprintf("%s: pull request without the patterns of the run: %v", j.ID, err))
				}
			}
		})
	}
	for i := range r.Jobs {
		if j := &r.Jobs[i]; jobs[j.ID] && j.PullRequest != nil && j.Published != nil {
			next <- j
		}
	}
	close(next)
	all.Wait()
}

func annotatePull(ctx context.Context, open func(remote string) (*forge.Client, forge.Path, error), j *report.Job, text string) error {
	server, _, err := apis.Server(j.Published.Remote)
	if err != nil {
		return err
	}
	client, path, err := open(j.Published.Remote)
	if err != nil {
		return err
	}
	return publish.Annotate(ctx, client, apis.PullPath(j.PullRequest.URL, server, path), j.PullRequest.Number, text)
}

// WithPatterns returns the jobs of a plan whose pull requests have the patterns of the run.
func WithPatterns(plan *tasks.Plan) map[string]bool {
	jobs := map[string]bool{}
	for i := range plan.Jobs {
		if j := &plan.Jobs[i]; j.Pull != nil && publish.HasPatterns(j.Pull.Body) {
			jobs[j.ID] = true
		}
	}
	return jobs
}

// withPatterns is like [WithPatterns], of the jobs of a saved run.
func (p *Publishing) withPatterns() map[string]bool {
	jobs := map[string]bool{}
	for id, j := range p.state.jobs {
		if j.Start != nil && j.Start.Landing != nil && j.Start.Landing.PullRequest != nil && publish.HasPatterns(j.Start.Landing.PullRequest.Body) {
			jobs[id] = true
		}
	}
	return jobs
}
