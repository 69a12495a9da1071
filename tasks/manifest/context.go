package manifest

import (
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
)

var contextEntryForm = form.OneOf([]tasks.ContextPart{tasks.ContextEvent, tasks.ContextThread, tasks.ContextDiff, tasks.ContextChecks})

// contextForm is the form of what the first prompt of a task has of an event, as far as policies allow it.
var contextForm = form.ListOf(form.Of[tasks.ContextPart]{Type: contextEntryForm.Type, Read: func(v form.Value) (tasks.ContextPart, bool) {
	entry, ok := contextEntryForm.Read(v)
	return entry, ok && !v.Refused(policy.Context, "context: "+string(entry), string(entry))
}})
