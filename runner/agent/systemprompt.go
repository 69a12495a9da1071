package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/session/prompt"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/runner/terms"
	"github.com/millhand/millhand/tools/access"
)

// instructions are what a session of a job is given before its first prompt.
type instructions struct {
	job  *Job
	site *site.Site
}

// system returns the system prompt of one of the job's sessions.
func (n instructions) system(s sessionSpec, scratch access.Scratch, notes []prompt.Text) string {
	in := n.input(s, scratch)
	in.Repository = notes
	return prompt.System(in)
}

// input returns the parts of a system prompt that do not come from the repository.
func (n instructions) input(s sessionSpec, scratch access.Scratch) prompt.Input {
	in := prompt.Input{Agent: s.task.Agent, Prompt: s.agent.Prompt, Model: cmp.Or(n.job.run.equipment.facts(s.speaks).Like, s.speaks), Environment: prompt.Environment{
		Dir: n.site.Dir, Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Date: n.job.opts.Now().UTC().Format(time.DateOnly), Repository: n.job.Spec.Repo.Name, Git: n.gitState(),
		More: n.terms(s, scratch).Lines(),
	}}
	for _, i := range n.job.Spec.Instructions {
		in.Instructions = append(in.Instructions, prompt.Text{Name: i.Path, Text: i.Text})
	}
	return in
}

func (n instructions) terms(s sessionSpec, scratch access.Scratch) terms.Session {
	about := terms.Session{Profile: s.task.Profile, Limits: s.task.Limits, Scratch: scratch, Proxied: n.job.opts.Sandbox.Net}
	if s.parent == "" {
		about.Verify = n.job.Spec.Verify
	}
	return about
}

// repositoryNotes returns the repository's instructions for agents: all files named
// AGENTS.md, or if none exists CLAUDE.md, from the repository's root to the workspace.
// Files that the profile denies reading are omitted.
func (n instructions) repositoryNotes(s sessionSpec) []prompt.Text {
	if trusted := n.job.Start.OnPull.Trusted; trusted != "" {
		return n.notesOfCommit(trusted, s.task.Profile)
	}
	if !n.site.Readable() {
		return n.notesOfCommit(n.site.Base, s.task.Profile)
	}
	tree, err := workspace.Open(n.site.Tree.Root())
	if err != nil {
		n.job.Warn(fmt.Sprintf("instructions of the repository are ignored: %v", err))
		return nil
	}
	defer tree.Close()
	return n.notes(func(name, shown string) (string, bool) { return n.readInstructions(tree, name, shown, s) })
}

// notes returns the repository's instructions as a function reads them, given their paths in the repository and
// relative to the workspace.
func (n instructions) notes(read func(name, shown string) (string, bool)) []prompt.Text {
	dirs, up := []string{""}, ""
	for name := range strings.SplitSeq(n.site.Below, "/") {
		if name != "" {
			dirs, up = append(dirs, path.Join(dirs[len(dirs)-1], name)), up+"../"
		}
	}
	for _, name := range instructionFiles() {
		var notes []prompt.Text
		for i, dir := range dirs {
			shown := up[3*i:] + name
			if text, ok := read(path.Join(dir, name), shown); ok {
				notes = append(notes, prompt.Text{Name: shown, Text: text})
			}
		}
		if len(notes) > 0 {
			return notes
		}
	}
	return nil
}

// readInstructions reads one instructions file.
func (n instructions) readInstructions(tree *workspace.Workspace, name, shown string, s sessionSpec) (string, bool) {
	p, err := tree.Resolve(name)
	if err != nil || p.Outside || !s.task.Profile.Allows("read", path.Clean(shown), p.Rel, p.Abs) {
		return "", false
	}
	text, err := tree.ReadFile(p, maxNotes)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			n.job.Warn(fmt.Sprintf("%s of the repository is ignored: %v", name, err))
		}
		return "", false
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), true
}

// gitState describes the workspace's git state to the model. It contains no commit hash,
// so that the prompts of all runs of a task are identical, for caches and recordings.
func (n instructions) gitState() string {
	if !n.site.InPlace {
		state := "a separate worktree, created from " + cmp.Or(n.job.Start.OnPull.Branch, preflight.BaseOf(n.job.Spec))
		if branch := n.site.Branch(); branch != "" {
			state += "; the runner commits to branch " + branch
		}
		return state + directoryText(n.site.Below)
	}
	head, err := n.site.Origin.Git.Head()
	switch {
	case err != nil:
		return ""
	case head.Detached:
		return "no branch is checked out" + directoryText(n.site.Below) + dirtText(n.site.Dirty)
	case head.Unborn:
		return "branch " + head.Branch + ", no commits yet"
	}
	return "branch " + head.Branch + directoryText(n.site.Below) + dirtText(n.site.Dirty)
}

// directoryText describes which directory of a repository the workspace is.
func directoryText(below string) string {
	if below == "" {
		return ""
	}
	return "; the workspace is its directory " + below + "; commands can read other directories of the repository, but not write to them"
}

// dirtText describes the user's uncommitted changes.
func dirtText(dirty []string) string {
	if n := len(dirty); n > 0 {
		return fmt.Sprintf("; %s had uncommitted changes before you started", figures.Count(n, "path"))
	}
	return ""
}
