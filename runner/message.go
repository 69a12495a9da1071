package runner

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/trailers"
	"github.com/millhand/millhand/tasks"
)

// message is what the message of a job's commit consists of.
type message struct {
	run        string
	plan       *tasks.Plan
	job        tasks.Job
	base       string        // commit
	own        string        // of earlier commits of the job, unless its task has one; "" for none
	asked      string        // prompt that the job works on instead of that of its task; "" for none
	final      string        // message of the agent; "" before it is known
	unfinished event.Outcome // of a job that did not finish; "" for others
	redact     *redact.Redactor
}

// String returns the message with its trailers.
func (m message) String() string {
	text := cmp.Or(strings.TrimSpace(m.job.Commit.Message), m.own)
	if text == "" {
		asked := cmp.Or(m.asked, m.job.Prompt)
		if text = m.job.Task + ": " + subject(asked, maxSubject); m.final != "" {
			if about := sentence(m.redact.Text(m.final)); about != "" {
				text = m.job.Task + ": " + subject(about, maxSubject) + "\n\nThe task was: " + subject(asked, maxAsked)
			}
		}
	}
	text = textcut.Plain(m.redact.Text(text))
	lines := []string{trailers.Run.Of(m.run), trailers.Job.Of(m.job.ID), trailers.Task.Of(taskHash(m.job, m.base))}
	if m.unfinished != "" {
		text = "wip: " + text
		lines = append(lines, trailers.Outcome.Of(string(m.unfinished)))
	}
	if m.plan.Rollout != nil {
		lines = append(lines, trailers.Rollout.Of(textcut.OneLine(textcut.Plain(m.plan.Name))))
	}
	return gitops.WithTrailers(text, lines...)
}

// taskHash identifies the work: the same task on the same commit of the same
// repository has the same hash in every run.
func taskHash(j tasks.Job, base string) string {
	h := sha256.New()
	for _, text := range []string{j.Repo.Name, base, j.Task, j.Prompt} {
		fmt.Fprintf(h, "%d:%s\n", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// witnessed adds the trailer to a message that ends with trailers. head returns the hash of
// the last event of a job, "" without evidence; it may be nil.
func witnessed(message, job string, head func(job string) string) string {
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
		Task: t.Finishes(taskHash(j, base)), WIP: t.Unfinished(),
	}
}

// ours returns an error if a commit was not made by millhand.
func ours(repo *gitops.Repo, commit string) error {
	message, err := repo.Message(commit)
	if err != nil {
		return err
	}
	if trailers.Read(message).Ours() {
		return nil
	}
	return fmt.Errorf("its last commit %.10s was not made by millhand (no %s trailer)", commit, trailers.Task+":")
}

// has reports whether a repository has a commit.
func has(repo *gitops.Repo, commit string) bool {
	_, err := repo.Message(commit)
	return err == nil
}

// ownCommits returns the commits of a job from its last one on, followed by the one below
// them, and the message of its first one without trailers.
func ownCommits(repo *gitops.Repo, last, run, job string) (line []string, text string, err error) {
	all, err := repo.FirstParents(last, maxBehind)
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
