package tasks

import "time"

// ContextPart is something of the issue or pull request of the CI's event.
type ContextPart string

// The parts of a context.
const (
	ContextEvent  ContextPart = "event"  // its title and description, and the comment that caused the event
	ContextThread ContextPart = "thread" // comments, on lines, too
	ContextDiff   ContextPart = "diff"   // the changed files
	ContextChecks ContextPart = "checks" // the logs of failed checks
)

// Context is what of the issue or pull request of the CI's event is in the first prompt of a job.
type Context struct {
	Thread
	Parts []ContextPart
	At    time.Time // of the event: what was written or changed later is left out
	Head  string    `json:",omitempty"` // commit of the pull request at that time; "" if the event does not have it
	Texts string    `json:",omitempty"` // of the event, as blocks of a prompt; "" if it has none
}
