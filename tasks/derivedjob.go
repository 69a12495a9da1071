package tasks

import (
	"slices"

	"github.com/millhand/millhand/internal/permission"
)

// WithProfile returns the job with another profile.
func (j Job) WithProfile(p permission.Profile) Job {
	j.Profile = p
	return j
}

// Protecting returns the job with paths that it may not change, of the workspace and of the
// repository; name is what protects them.
func (j Job) Protecting(name string, rules []permission.Rule) Job {
	j.Profile, j.Protect = j.Profile.Narrowed(name, rules), slices.Concat(rules, j.Protect)
	return j
}

// WithAgent returns the job as a session of an agent runs it: the agent's settings can only reduce
// those of the job. Without are more tools that the agent does not have.
func (j Job) WithAgent(a Agent, without ...string) Job {
	source := "agent " + a.Name
	j.Agent = a.Name
	if a.Max != nil {
		j.Profile = j.Profile.Under(*a.Max)
	}
	for _, rules := range a.Restrictions {
		j.Profile = j.Profile.Narrowed(source, rules)
	}
	if without = slices.Concat(a.Without, without); len(without) > 0 {
		j.Profile = j.Profile.Clone()
		for _, tool := range without {
			j.Profile.Rules = append(j.Profile.Rules, permission.Rule{Permission: tool, Pattern: "*", Source: source})
		}
	}
	if a.Turns > 0 && (j.Limits.Turns == 0 || a.Turns < j.Limits.Turns) {
		j.Limits.Turns = a.Turns
	}
	return j
}

// WithModel returns the job with another model, which no other one replaces.
func (j Job) WithModel(m Model) Job {
	j.Model, j.ModelName, j.Fallback = m.ID, m.Name, nil
	return j
}

// WithAtMost returns the job with at most so many turns and denied calls.
func (j Job) WithAtMost(turns, denials int) Job {
	if l := &j.Limits; l.Turns == 0 || l.Turns > turns {
		l.Turns = turns
	}
	if l := &j.Limits; l.Denials == 0 || l.Denials > denials {
		l.Denials = denials
	}
	return j
}

// Reverting returns the job as one whose commit reverts files, and that need not change any. With here, the
// commit is made on the branch that is checked out.
func (j Job) Reverting(message string, here bool) Job {
	j.RequireChanges = false
	if j.Commit == nil {
		return j
	}
	commit := *j.Commit
	commit.Message = message
	if here {
		commit.Branch, commit.PullRequest = CurrentBranch, nil
	}
	j.Commit = &commit
	return j
}

// OnBranch returns the job as one that starts from a ref, and whose commit is appended to a branch.
func (j Job) OnBranch(branch, ref string) Job {
	c := *j.Commit
	c.Branch, c.IfExists = branch, AppendIfExists
	j.Commit, j.Repo.Ref = &c, ref
	return j
}

// OnBase returns the job as one that starts from a commit, whatever is true of its repository now, and
// whose changes are only saved as a patch.
func (j Job) OnBase(commit, branch string) Job {
	j.Repo.Ref, j.Repo.Depth = commit, 0
	j.Commit, j.Publish, j.Pull, j.Comment, j.Requests, j.Later = &Commit{Branch: branch}, PublishPatch, nil, nil, nil, nil
	j.Output, j.Needs, j.Skip, j.If, j.RequireChanges = OutputFile{}, nil, "", nil, false
	return j
}

// Asking returns the job as one that only asks its model for a document.
func (j Job) Asking(id, prompt string, schema map[string]any, profile permission.Profile) Job {
	j.ID, j.Prompt, j.Mentions, j.Context, j.Schema, j.Findings, j.Profile = id, prompt, nil, nil, schema, false, profile
	j.Setup, j.SetupEnv, j.Verify, j.Attempts, j.Script = nil, nil, nil, 1, nil
	j.Change, j.Review, j.Escalate, j.Requests, j.Later = Change{}, nil, nil, nil, nil
	return j
}

// RunningOnly returns the job as one that runs only a script. It has to change files if the job was to
// change some, or runs only where its condition holds.
func (j Job) RunningOnly(s TaskScript) Job {
	s.MustChange, s.Alone = j.RequireChanges || j.If != nil, true
	j.Script, j.Schema, j.Findings, j.Review, j.Escalate = &s, nil, false, nil, nil
	return j
}
