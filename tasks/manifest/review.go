package manifest

import (
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/template"
)

// Review is how the changes of a task are reviewed.
type Review struct {
	form.Value
	Model    *form.Text
	Agent    *form.Text
	Prompt   *template.Template
	OnReject OnReject
}

// OnReject is what follows from a review that does not accept the changes.
type OnReject string

// The values of OnReject.
const (
	FeedbackOnReject OnReject = "feedback"
	BlockOnReject    OnReject = "block"
)

var reviewForm = form.Of[Review]{Type: form.TypeOf((*Review).keys), Read: readReview}

func readReview(v form.Value) (Review, bool) {
	r := form.WithDefaults((*Review).keys)
	r.Value = v
	r.keys().Read(v)
	return r, v.IsMapping()
}

func (r *Review) keys() form.Table {
	return form.Table{
		{Name: "model", Field: form.Into(&r.Model, form.Optional(form.Filled)), Doc: "Model of the reviewer (the agent's or the task's if absent); --model does not replace it"},
		{Name: "agent", Field: form.Into(&r.Agent, form.Optional(form.Filled)), Def: "review", Doc: "Agent that reviews; it can only read, whatever its profile allows"},
		{Name: "prompt", Field: form.Into(&r.Prompt, form.Optional(template.TemplateForm)), Doc: "What the reviewer has to look for, in addition to the task; may contain ${{ VARIABLE }}"},
		{Name: "on_reject", Field: form.Into(&r.OnReject, form.OneOf([]OnReject{FeedbackOnReject, BlockOnReject})), Def: "feedback", Doc: "feedback: objections are returned to the agent once, those that are left are reported; block: likewise, and the job fails unless the last verdict is accepted"},
	}
}
