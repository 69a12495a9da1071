package agent

import (
	"context"
	"path/filepath"

	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/session/prompt"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tools/skill"
	"github.com/millhand/millhand/tools/untrusted"
)

// content is what the sessions of a job read that others can have written.
type content struct {
	job        *Job
	site       *site.Site
	extensions *extensions
}

// watch lets a mark of the job also end the processes of its extensions: each starts again with the next
// call that is allowed.
func (c content) watch() {
	u := c.job.Untrusted
	if u == nil {
		return
	}
	u.Marked = func(m untrusted.Mark) {
		c.job.Marked(m)
		if u.Limits.Network || u.Limits.MCP {
			c.extensions.set.Pause()
		}
	}
	c.job.MarkStart()
}

// output marks the job if an output of its verify commands that a prompt contains can have untrusted content.
func (c content) output(output string) {
	if !c.job.Untrusted.Armed() || output == "" {
		return
	}
	c.site.FindUntrusted()
	c.read(c.job.Untrusted.OfOutput())
}

// notes marks the job if one of the repository's texts that sessions start with is untrusted.
func (c content) notes(texts []prompt.Text, skills []skill.Skill) {
	u := c.job.Untrusted
	for _, n := range texts {
		if u.Matches(n.Name) {
			c.read("untrusted instructions " + n.Name)
		}
	}
	for _, s := range skills {
		if rel, err := filepath.Rel(c.site.Dir, s.Dir); err == nil && u.Matches(filepath.ToSlash(rel)+"/SKILL.md") {
			c.read("untrusted skill " + s.Name)
		}
	}
}

func (c content) read(why string) {
	if u := c.job.Untrusted; u != nil {
		(untrusted.Reader{Job: u, Session: c.job.SessionID(c.job.Spec.ID)}).Read("", "", why)
	}
}

// confined returns what confines the commands of a session: of a task with after_untrusted, a sandbox for what the job
// may do when a command starts.
func (c content) confined(s sessionSpec, granted bool, box *confinement.Confinement) proc.Confine {
	confine := box.Confine()
	if !granted {
		confine = box.ConfineSeries()
	}
	if c.job.Untrusted == nil || confine == nil {
		return confine
	}
	return func(args, env []string, dir string) (*proc.Confined, error) {
		box, err := c.box(context.Background(), s, granted) // it lives as long as the job
		switch {
		case err != nil:
			return nil, err
		case granted:
			return box.Confine()(args, env, dir)
		}
		return box.ConfineSeries()(args, env, dir)
	}
}

func (c content) box(ctx context.Context, s sessionSpec, granted bool) (*confinement.Confinement, error) {
	return c.site.Sandboxes.Of(ctx, s.narrowed, s.task.Profile, granted)
}
