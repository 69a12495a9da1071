package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/prompt"
)

// system writes the system prompt of one of the job's sessions.
func (j *job) system(s seat) string {
	in := prompt.Input{Agent: s.Agent, Prompt: s.agent.Prompt, Model: s.speaks, Environment: prompt.Environment{
		Dir: j.space.Dir(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Date: j.Now().UTC().Format(time.DateOnly), Repository: j.Repo.Name, Git: j.gitState(),
	}}
	for _, i := range j.Instructions {
		in.Instructions = append(in.Instructions, prompt.Text{Name: i.Path, Text: i.Text})
	}
	if notes, ok := j.repositoryNotes(s); ok {
		in.Repository = append(in.Repository, notes)
	}
	return prompt.System(in)
}

// maxNotes bounds a repository's notes, in bytes.
const maxNotes = 256 << 10

// repositoryNotes reads what the repository has to say to agents: the first
// of the usual files in its root that is there, unless the profile denies
// reading it.
func (j *job) repositoryNotes(s seat) (prompt.Text, bool) {
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		p, err := j.space.Resolve(name)
		if err != nil || p.Outside || !s.Profile.Allows("read", p.Rel, p.Abs) {
			continue
		}
		text, err := j.space.ReadFile(p, maxNotes)
		if err == nil {
			return prompt.Text{Name: name, Text: strings.ToValidUTF8(string(text), "\uFFFD")}, true
		}
		if !errors.Is(err, fs.ErrNotExist) {
			j.warn(fmt.Sprintf("the repository's %s is not used: %v", name, err))
		}
	}
	return prompt.Text{}, false
}

// gitState says what the session's files are to git. It names no commit: what
// is the same in every run of a task keeps prompts cached and recordings whole.
func (j *job) gitState() string {
	if !j.inPlace {
		state := "a worktree of its own, made from " + baseOf(j.Job)
		if branch := j.branch(); branch != "" {
			state += "; the runner commits to branch " + branch
		}
		return state
	}
	head, err := j.origin.Git.Head()
	switch {
	case err != nil:
		return ""
	case head.Detached:
		return "no branch is checked out" + j.dirtState()
	case head.Unborn:
		return "branch " + head.Branch + ", without a commit yet"
	}
	return "branch " + head.Branch + j.dirtState()
}

// dirtState speaks of what the user left uncommitted.
func (j *job) dirtState() string {
	if n := len(j.dirty); n > 0 {
		return fmt.Sprintf("; %d paths had changes before you began", n)
	}
	return ""
}
