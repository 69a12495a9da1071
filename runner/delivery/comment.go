package delivery

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/runner/site"
)

// Comments reports whether the job's final message is to be posted.
func Comments(j *site.Job) bool {
	_, posted := j.History.Comments()
	return j.Spec.Comment != nil && !posted
}

// Comment posts the job's final message. A job that only pushes the commit of another run
// has none.
func (d *Delivery) Comment(ctx context.Context) *ending.Stop {
	j := d.Job
	if !Comments(j) || d.Result == nil {
		return nil
	}
	if d.Result.Final == "" && len(d.Result.Output) == 0 {
		j.Warn("no comment was posted: the final message is empty")
		return nil
	}
	c := &publish.Comment{CommentTarget: j.Start.Comment, Spec: *j.Spec.Comment, Job: j.Spec.ID, Facts: d.facts(), Emit: j.Emit}
	earlier, _ := j.History.Comments()
	c.Earlier = publish.Earlier(earlier)
	if len(d.Result.Output) > 0 {
		c.Output = d.Options.Redact.JSON(d.Result.Output)
		if review, err := findings.Parse(c.Output); err == nil && j.Spec.Findings {
			c.Facts.Review = review
		}
	}
	c.Facts.Pull = d.pull.URL
	c.Warn, c.Read = j.Warn, d.reviewed
	err := c.Post(ctx)
	var failed *publish.Failure
	switch {
	case errors.As(err, &failed):
		return &ending.Stop{Code: failed.Code, Detail: failed.Detail}
	case err != nil:
		return ending.Of(ctx)
	}
	return nil
}

// reviewed returns the lines of a file as the job has left it, or as it was when it started; nil if it can't be read.
func (d *Delivery) reviewed(path string) []string {
	text, err := d.Site.Origin.File(cmp.Or(d.Made.Hash, d.Site.Base), path)
	if err != nil {
		return nil
	}
	return strings.Split(string(text), "\n")
}
