package expand

import (
	"slices"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/template"
)

// reviewOf returns how the changes of a task's jobs are reviewed, without the prompt; nil for no review.
func (f *jobFiller) reviewOf(t *manifest.Task) *tasks.Review {
	w := t.Review
	if w == nil {
		return nil
	}
	r := &tasks.Review{Agent: tasks.DefaultReviewer, Block: w.OnReject == manifest.BlockOnReject}
	if w.Agent != nil {
		r.Agent = w.Agent.S
	}
	defined := slices.ContainsFunc(f.agents.defined, func(d form.Definition[tasks.Agent]) bool { return d.Is.Name == r.Agent })
	if defined || w.Agent != nil && r.Agent != tasks.DefaultReviewer {
		if a := f.agents.named(r.Agent, w.Agent); a.Model != nil {
			r.Model = *a.Model
		}
	}
	if w.Model != nil {
		r.Model = f.models.modelAt(*w.Model)
	}
	return r
}

// prompted returns a review with the prompt of a job.
func (f *jobFiller) prompted(r *tasks.Review, t *manifest.Task, s template.Scope) *tasks.Review {
	if r == nil || t.Review.Prompt == nil {
		return r
	}
	own := *r
	own.Prompt = f.texts.render(*t.Review.Prompt, s)
	return &own
}
