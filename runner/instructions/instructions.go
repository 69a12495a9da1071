// Package instructions makes what a session of a job is given before its first prompt: its environment and limits, the instructions of the
// manifest, and those of the repository, which it reads in the site of the job (package site) as the profile of the session allows.
// The texts about network, limits and verify commands are of package terms. It starts no session.
package instructions

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
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/session/prompt"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/runner/terms"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools/access"
)

// Of are the instructions for the sessions of a job in a site.
type Of struct {
	Job  *site.Job
	Site *site.Site
}

// Session is a session that is given instructions.
type Session struct {
	Task    tasks.Job // with the session's own agent, model, profile and limits
	Prompt  string    // of its agent
	Model   string    // whose prompt it gets
	Child   bool      // another session started it
	Proxied bool      // its commands reach the network by the proxy of their sandbox
	Scratch access.Scratch
}

// Input returns what the system prompt of a session has, with the instructions of the repository.
func (n Of) Input(s Session, repository []prompt.Text) prompt.Input {
	about := terms.Session{Profile: s.Task.Profile, Limits: s.Task.Limits, Scratch: s.Scratch, Proxied: s.Proxied}
	if !s.Child {
		about.Verify = n.Job.Spec.Verify
	}
	in := prompt.Input{Agent: s.Task.Agent, Prompt: s.Prompt, Model: s.Model, Repository: repository, Environment: prompt.Environment{
		Dir: n.Site.Dir, Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Date: n.Job.Now().UTC().Format(time.DateOnly), Repository: n.Job.Spec.Repo.Name, Git: n.gitState(),
		More: about.Lines(),
	}}
	for _, i := range n.Job.Spec.Instructions {
		in.Instructions = append(in.Instructions, prompt.Text{Name: i.Path, Text: i.Text})
	}
	return in
}

// Repository returns the repository's instructions for agents: all files named
// AGENTS.md, or if none exists CLAUDE.md, from the repository's root to the workspace.
// Files that the profile denies reading are omitted.
func (n Of) Repository(p permission.Profile) []prompt.Text {
	if trusted := n.Job.Start.OnPull.Trusted; trusted != "" {
		return n.notesOfCommit(trusted, p)
	}
	if !n.Site.Readable() {
		return n.notesOfCommit(n.Site.Base, p)
	}
	tree, err := workspace.Open(n.Site.Tree.Root())
	if err != nil {
		n.Job.Warn(fmt.Sprintf("instructions of the repository are ignored: %v", err))
		return nil
	}
	defer tree.Close()
	return n.notes(func(name, shown string) (string, bool) { return readInstructions(n.Job, tree, name, shown, p) })
}

// notes returns the repository's instructions as a function reads them, given their paths in the repository and
// relative to the workspace.
func (n Of) notes(read func(name, shown string) (string, bool)) []prompt.Text {
	dirs, up := []string{""}, ""
	for name := range strings.SplitSeq(n.Site.Below, "/") {
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
func readInstructions(j *site.Job, tree *workspace.Workspace, name, shown string, p permission.Profile) (string, bool) {
	at, err := tree.Resolve(name)
	if err != nil || at.Outside || !p.Allows("read", path.Clean(shown), at.Rel, at.Abs) {
		return "", false
	}
	text, err := tree.ReadFile(at, maxNotes)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			j.Warn(fmt.Sprintf("%s of the repository is ignored: %v", name, err))
		}
		return "", false
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), true
}

// gitState describes the workspace's git state to the model. It contains no commit hash,
// so that the prompts of all runs of a task are identical, for caches and recordings.
func (n Of) gitState() string {
	if !n.Site.InPlace {
		state := "a separate worktree, created from " + cmp.Or(n.Job.Start.OnPull.Branch, preflight.BaseOf(n.Job.Spec))
		if branch := n.Site.Branch(); branch != "" {
			state += "; the runner commits to branch " + branch
		}
		return state + directoryText(n.Site.Below)
	}
	head, err := n.Site.Origin.Git.Head()
	switch {
	case err != nil:
		return ""
	case head.Detached:
		return "no branch is checked out" + directoryText(n.Site.Below) + dirtText(n.Site.Dirty)
	case head.Unborn:
		return "branch " + head.Branch + ", no commits yet"
	}
	return "branch " + head.Branch + directoryText(n.Site.Below) + dirtText(n.Site.Dirty)
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
