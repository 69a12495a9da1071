package runner

import (
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/tasks"
)

// signatures returns the author and the committer of the job's commit.
func (j *siteJob) signatures() (author, committer gitops.Signature) {
	committer = gitops.Signature{Name: "millhand", Email: "millhand@localhost", When: j.opts.Now()}
	author = committer
	if j.spec.Commit != nil && j.spec.Commit.Author != (tasks.Person{}) {
		author.Name, author.Email = j.spec.Commit.Author.Name, j.spec.Commit.Author.Email
	}
	if c := j.opts.Preflight.Signing.Committer; j.spec.Commit.Signed() && c.Name != "" && c.Email != "" {
		committer.Name, committer.Email = c.Name, c.Email
	}
	return author, committer
}

// message returns the message of the job's commit on a base. final is the final message of the agent, "" before it is known.
func (j *siteJob) message(base, final string, unfinished event.Outcome) string {
	return landing.Message{
		Run: j.opts.RunID, Plan: j.plan, Job: j.spec, Base: base, Own: j.start.Onto.Text, Asked: j.history.Asked(),
		Final: final, Unfinished: unfinished, Redact: j.opts.Redact,
	}.String()
}
