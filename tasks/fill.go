package tasks

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// maxRenderedPlan bounds all texts of a plan with their variables filled in,
// in bytes.
const maxRenderedPlan = 128 << 20

// settings are what the jobs of one task have in common.
type settings struct {
	vars     map[string]string
	agent    string
	model    Model
	fallback []Model
	sampling Sampling
	profile  profile
	limits   Limits
	setupEnv []string
	digest   [3]string
}

func (b *builder) settingsOf(t *task) settings {
	vars := b.varsOf(t)
	t.condition.checkNames(vars, t.matrix)
	a := b.agentOf(t)
	out := settings{
		vars: vars, agent: a.Name, profile: b.profileOf(t), limits: b.limitsOf(t, a),
		sampling: a.Sampling.Over(t.manifest.sampling),
	}
	out.profile.Profile = b.options.Policies.Under(out.profile.Profile)
	out.setupEnv = setupVariables(t, &b.names, b.options.Getenv)
	models := b.modelsOf(t, a)
	if len(models) > 0 {
		out.model = models[0]
	}
	if len(models) > 1 {
		out.fallback = models[1:]
	}
	out.digest = [3]string{out.profile.digest, t.manifest.instructed, digest(t.output.schema.doc)}
	return out
}

// fill completes a draft: every default applied, every variable filled in.
func (b *builder) fill(d *draft, with settings) {
	t, j := d.task, &d.job
	s := scope{vars: with.vars, matrix: j.Matrix, repo: j.Repo, task: t.id.S, run: b.run, getenv: b.options.Getenv, event: b.event}
	j.Model, j.ModelName, j.Fallback = with.model.ID, with.model.Name, with.fallback
	j.Agent, j.Sampling, j.Schema = with.agent, with.sampling, t.output.schema.doc
	j.Output, j.Findings = outputOf(t, s), t.output.schema.findings
	j.Profile = with.profile.Profile
	j.Protect = b.options.Policies.Protected()
	if own := t.commit.protect; len(own) > 0 && !t.commit.off {
		j.Profile, j.Protect = j.Profile.Narrowed("commit.protect", own), slices.Concat(own, j.Protect)
	}
	j.Instructions = t.manifest.instructions
	j.Limits = with.limits
	j.Attempts, j.RequireChanges = t.attempts, t.requireChanges
	j.Change = changeOf(t.change, b, s)
	d.digest = with.digest
	var values []span
	inPrompt := s
	inPrompt.prompt = true
	j.Prompt, values = b.fillIn(t.prompt, inPrompt)
	j.Mentions = mentions(j.Prompt, values)
	b.checkMentions(t, j)
	for _, line := range t.setup {
		j.Setup = append(j.Setup, b.render(line, s))
	}
	j.SetupEnv, j.Script = with.setupEnv, t.scriptOf()
	for _, c := range t.verify {
		c.Run = b.render(c.run, s)
		j.Verify = append(j.Verify, c.Verify)
	}
	if len(j.Verify) > 0 {
		j.Baseline = t.baseline
	}
	if !t.commit.off {
		j.Commit = b.commitOf(d, s)
	}
	if inPlace := j.Commit == nil || j.Commit.Branch == CurrentBranch; inPlace && j.Repo.Kind == RepoPath {
		t.commit.at(t).Refused(policy.InPlace, "work in place", "")
	}
	j.Publish = cmp.Or(b.options.Overrides.Publish, t.publish.mode)
	if j.Publish == PublishPR {
		j.Pull = pullRequestOf(t.publish, b, s)
	}
	j.Comment = commentOf(t.publish.comment, s, b.options.Overrides.Publish)
	j.Changing = j.RequireChanges || !j.Change.IsZero() || t.commit.written() || j.Publish != PublishNone
	j.Skip, j.If = t.condition.decide(s)
}

// setupVariables returns the variables of a task's setup commands. One that is not set would
// make them fail only later.
func setupVariables(t *task, names *vocabulary, getenv func(string) string) []string {
	var all []string
	for _, name := range t.setupEnv {
		if !names.checkEnv(name) {
			continue
		}
		if getenv(name.S) == "" {
			name.Problem(fmt.Sprintf("the environment variable %s of setup_env is not set", name.S), "set it, or remove it")
		}
		all = append(all, name.S)
	}
	return all
}

// render fills in a template. After a problem, and once the plan's texts are
// too large, it returns "".
func (b *builder) render(t template, s scope) string {
	out, _ := b.fillIn(t, s)
	return out
}

// fillIn is render that also returns where the values are.
func (b *builder) fillIn(t template, s scope) (string, []span) {
	if t.Src == nil || b.rendered > maxRenderedPlan {
		return "", nil
	}
	out, values, ok := t.fillIn(s)
	if len(t.segments) > 1 {
		b.rendered += len(out)
	}
	switch {
	case b.rendered > maxRenderedPlan:
		t.Problem("the texts of the plan exceed 128 MiB after their variables are filled in", "split the plan")
	case ok && strings.TrimSpace(out) == "":
		t.Problem(t.Label+" is empty after its variables are filled in", "give the variables values")
	}
	return out, values
}

// varsOf returns the variables that a task sees: its own over the manifest's,
// and those of the command line over both where they are declared.
func (b *builder) varsOf(t *task) map[string]string {
	vars := map[string]string{}
	maps.Copy(vars, t.manifest.vars)
	maps.Copy(vars, t.vars)
	for k, v := range b.options.Overrides.Vars {
		if _, declared := vars[k]; declared {
			vars[k] = v
		}
	}
	return vars
}

// limitsOf returns a task's limits. Its agent and the command line lower the
// number of turns that is written, and replace the default.
func (b *builder) limitsOf(t *task, a Agent) Limits {
	written := limitsOver(t.limits, t.manifest.limits)
	written.Turns = lower(written.Turns, a.Turns)
	if most := b.options.Overrides.MaxTurns; most > 0 {
		written.Turns = lower(written.Turns, most)
	}
	return limitsOver(written, DefaultLimits())
}

// profileOf returns a task's profile: the command line's, its own or its
// manifest's.
func (b *builder) profileOf(t *task) profile {
	m := t.manifest
	written, _ := m.profiles.find(b.defaults.profile.S)
	switch {
	case t.profile != nil:
		written = profileAt(m, *t.profile)
	case m.profile != nil:
		written = profileAt(m, *m.profile)
	}
	if p := b.override[m]; p != nil {
		return *p
	}
	return written
}

// profileAt finds a profile that a manifest names.
func profileAt(m *manifest, name form.Text) profile {
	p, ok := m.profiles.find(name.S)
	if !ok && m.profiles.body(name.S) == nil {
		name.Problem("unknown profile "+problem.Quote(name.S), name.Src.Found.Suggest(name.S, m.profiles.names(), "known profiles: "))
	}
	return p
}

// commitOf returns how a draft's changes are committed.
func (b *builder) commitOf(d *draft, s scope) *Commit {
	from := d.task.commit
	c := &Commit{Author: from.author, Branch: d.branch, IfExists: from.ifExists, WIP: from.wip, Sign: from.sign, Include: from.include}
	for _, r := range d.job.Protect {
		c.Protect = append(c.Protect, r.Pattern)
	}
	if from.message != nil {
		c.Message = b.render(*from.message, s)
	}
	if from.branch == nil {
		return c
	}
	branch, ok := from.branch.render(s)
	if ok && branch != CurrentBranch {
		if fault := branchFault(branch); fault != "" {
			from.branch.Problem("invalid branch name "+problem.Quote(branch), fault)
			ok = false
		}
	}
	c.Branch = branch
	if !ok {
		c.Branch = ""
	}
	return c
}

// checkMentions records what a job's prompt names and its profile can never
// allow.
func (b *builder) checkMentions(t *task, j *Job) {
	if len(j.Mentions) > maxMentions {
		t.prompt.Problem(fmt.Sprintf("the prompt names more than %d files and commands", maxMentions), "name directories, or let the agent look")
		j.Mentions = nil
	}
	for _, m := range j.Mentions {
		if backward(m) {
			t.prompt.Problem(fmt.Sprintf("invalid line range in %s", problem.Quote("@"+m.Ranged)), "lines count from 1, and the last is not before the first: @main.go#L10-20")
			continue
		}
		if m.Command == "" || !j.Profile.Hides("bash") {
			continue
		}
		d := j.Profile.Decide(permission.Need("bash", m.Command))
		t.prompt.Problem(fmt.Sprintf("the prompt runs a command (!`...`), and the profile %s allows none: %s (%s)", problem.Quote(j.Profile.Name), d.Rule, d.Source),
			"choose a profile with bash, such as review, or leave the command out")
		return
	}
}

// backward reports whether a range of lines can be none of any file.
func backward(m Mention) bool {
	return m.Ranged != "" && (m.First < 1 || m.Last != 0 && m.Last < m.First)
}
