package landing

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/event/trailers"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/tasks"
)

// Message is what the message of a job's commit consists of.
type Message struct {
	Run        string
	Plan       *tasks.Plan
	Job        tasks.Job
	Base       string        // commit
	Own        string        // of earlier commits of the job, unless its task has one; "" for none
	Asked      string        // prompt that the job works on instead of that of its task; "" for none
	Final      string        // message of the agent; "" before it is known
	Unfinished event.Outcome // of a job that did not finish; "" for others
	Redact     *redact.Redactor
}

// String returns the message with its trailers.
func (m Message) String() string {
	text := cmp.Or(strings.TrimSpace(m.Job.Commit.Message), m.Own)
	if text == "" {
		asked := cmp.Or(m.Asked, m.Job.Prompt)
		if text = m.Job.Task + ": " + subject(asked, maxSubject); m.Final != "" {
			if about := sentence(m.Redact.Text(m.Final)); about != "" {
				text = m.Job.Task + ": " + subject(about, maxSubject) + "\n\nThe task was: " + subject(asked, maxAsked)
			}
		}
	}
	text = textcut.Plain(m.Redact.Text(text))
	lines := []string{trailers.Run.Of(m.Run), trailers.Job.Of(m.Job.ID), trailers.Task.Of(TaskHash(m.Job, m.Base))}
	if m.Unfinished != "" {
		text = "wip: " + text
		lines = append(lines, trailers.Outcome.Of(string(m.Unfinished)))
	}
	if m.Plan.Rollout != nil {
		lines = append(lines, trailers.Rollout.Of(textcut.OneLine(textcut.Plain(m.Plan.Name))))
	}
	return gitops.WithTrailers(text, lines...)
}

// TaskHash identifies the work: the same task on the same commit of the same
// repository has the same hash in every run.
func TaskHash(j tasks.Job, base string) string {
	h := sha256.New()
	for _, text := range []string{j.Repo.Name, base, j.Task, j.Prompt} {
		fmt.Fprintf(h, "%d:%s\n", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Witnessed adds the trailer to a message that ends with trailers. head returns the hash of
// the last event of a job, "" without evidence; it may be nil.
func Witnessed(message, job string, head func(job string) string) string {
	if head == nil {
		return message
	}
	if hash := head(job); hash != "" {
		return message + trailers.Evidence.Of("sha256:"+hash) + "\n"
	}
	return message
}

// Made is what the trailers of a commit show about a job.
type Made struct {
	Job     bool // the commit was made for the job
	Rollout bool // by a run of the plan's rollout
	Task    bool // with the job's present prompt
	WIP     bool // by a run in which the job did not finish
}

// MadeFor returns what the message of a commit on a base shows about a job of a plan.
func MadeFor(plan *tasks.Plan, j tasks.Job, message, base string) Made {
	t := trailers.Read(message)
	return Made{
		Job: t.Has(trailers.Job, j.ID), Rollout: t.Has(trailers.Rollout, textcut.OneLine(textcut.Plain(plan.Name))),
		Task: t.Finishes(TaskHash(j, base)), WIP: t.Unfinished(),
	}
}

// Ours returns an error if a commit was not made by millhand.
func Ours(repo *gitops.Repo, commit string) error {
	message, err := repo.Message(commit)
	if err != nil {
		return err
	}
	if trailers.Read(message).Ours() {
		return nil
	}
	return fmt.Errorf("its last commit %.10s was not made by millhand (no %s trailer)", commit, trailers.Task+":")
}

// Has reports whether a repository has a commit.
func Has(repo *gitops.Repo, commit string) bool {
	_, err := repo.Message(commit)
	return err == nil
}

// OwnCommits returns the commits of a job from its last one on, followed by the one below
// them, and the message of its first one without trailers.
func OwnCommits(repo *gitops.Repo, last, run, job string) (line []string, text string, err error) {
	all, err := repo.FirstParents(last, MaxBehind)
	if err != nil {
		return nil, "", err
	}
	for i, hash := range all {
		message, err := repo.Message(hash)
		if err != nil {
			return nil, "", err
		}
		if !trailers.Read(message).MadeFor(run, job) {
			if i == 0 {
				break
			}
			return all[:i+1], text, nil
		}
		text = trailers.Above(message)
	}
	return nil, "", fmt.Errorf("the commits of job %s are not below %.10s", job, last)
}

// MaxBehind is the maximum number of commits by which a remote's branch is recognised
// as behind ours.
const MaxBehind = 256
