package pulls

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"sync"

	"github.com/millhand/millhand/internal/app/forges"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/patterns"
	"github.com/millhand/millhand/runner"
	"github.com/millhand/millhand/runner/publish"
)

// Annotate adds the patterns of a run that has ended to its open pull requests, which
// were created before the other jobs ended. It reports what can't be changed: the run has its
// result, and the report has the patterns.
func Annotate(ctx context.Context, open func(remote string) (*forge.Client, forge.Path, error), r *report.Report, files fs.FS, known *redact.Redactor, note func(text string)) {
	if ctx.Err() != nil || !publish.Compares(reposOf(r)) {
		return
	}
	found := sync.OnceValue(func() *patterns.Result { return rundir.Patterns(files, r) })
	var all sync.WaitGroup
	next := make(chan *report.Job)
	for range runner.MaxPublications {
		all.Go(func() {
			for j := range next {
				text := known.Text(publish.Patterns(found(), j.ID))
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
		if j := &r.Jobs[i]; j.PullRequest != nil && j.Published != nil {
			next <- j
		}
	}
	close(next)
	all.Wait()
}

func annotatePull(ctx context.Context, open func(remote string) (*forge.Client, forge.Path, error), j *report.Job, text string) error {
	server, _, err := forges.Server(j.Published.Remote)
	if err != nil {
		return err
	}
	client, path, err := open(j.Published.Remote)
	if err != nil {
		return err
	}
	return publish.Annotate(ctx, client, forges.PullPath(j.PullRequest.URL, server, path), j.PullRequest.Number, text)
}

// reposOf returns the repositories of the jobs of a report.
func reposOf(r *report.Report) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range r.Jobs {
			if !yield(r.Jobs[i].Repo) {
				return
			}
		}
	}
}
