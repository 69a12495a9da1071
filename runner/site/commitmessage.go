package site

import (
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/tasks"
)

// Signatures returns the author and the committer of the job's commit.
func (j *Job) Signatures() (author, committer gitops.Signature) {
	committer = gitops.Signature{Name: "millhand", Email: "millhand@localhost", When: j.opts.Now()}
	author = committer
	if j.Spec.Commit != nil && j.Spec.Commit.Author != (tasks.Person{}) {
		author.Name, author.Email = j.Spec.Commit.Author.Name, j.Spec.Commit.Author.Email
	}
	if c := j.opts.Preflight.Signing.Committer; j.Spec.Commit.Signed() && c.Name != "" && c.Email != "" {
		committer.Name, committer.Email = c.Name, c.Email
	}
	return author, committer
}

// Message returns the message of the job's commit on a base. final is the final message of the agent, "" before it is known.
func (j *Job) Message(base, final string, unfinished event.Outcome) string {
	return landing.Message{
		Run: j.opts.RunID, Plan: j.Plan, Job: j.Spec, Base: base, Own: j.Start.Onto.Text, Asked: j.History.Asked(),
		Final: final, Unfinished: unfinished, Redact: j.opts.Redact,
	}.String()
}
