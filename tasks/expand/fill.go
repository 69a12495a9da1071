package expand

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/manifest/profiles"
	"github.com/millhand/millhand/tasks/problem"
	"github.com/millhand/millhand/tasks/template"
)

// settings are what the jobs of one task have in common.
type settings struct {
	vars     map[string]string
	agent    string
	model    tasks.Model
	fallback []tasks.Model
	escalate []tasks.Model
	sampling tasks.Sampling
	profile  profiles.Profile
	limits   tasks.Limits
	setupEnv []string
	review   *tasks.Review // without its prompt; nil for none
	digest   [3]string
}

// jobFiller completes drafts.
type jobFiller struct {
	*loaded
	agents *agentSet
	models *modelNames
	choice *profileChoice
	texts  *planTexts
}

func (f *jobFiller) settingsOf(t *manifest.Task) settings {
	vars := f.varsOf(t)
	t.Condition.CheckNames(vars, t.Matrix.Names())
	a := f.agents.agentOf(t)
	out := settings{
		vars: vars, agent: a.Name, profile: f.choice.profileOf(t), limits: f.limitsOf(t, a),
		sampling: a.Sampling.Over(t.Manifest.Sampling),
	}
	out.profile.Profile = f.Options.Policies.Under(out.profile.Profile)
	out.setupEnv = setupVariables(t, &f.Names, f.Options.Getenv)
	out.review = f.reviewOf(t)
	models := f.models.modelsOf(t, a)
	if len(models) > 0 {
		out.model = models[0]
	}
	if len(models) > 1 {
		out.fallback = models[1:]
	}
	out.escalate = f.models.escalationOf(t, models)
	out.digest = [3]string{out.profile.Digest, t.Manifest.Instructed, tasks.Digest(t.Output.Schema.Doc)}
	return out
}

// fill completes a draft: every default applied, every variable filled in.
func (f *jobFiller) fill(d *draft, with settings) {
	t, j := d.task, &d.job
	s := template.Scope{Vars: with.vars, Matrix: j.Matrix, Repo: j.Repo, Task: t.ID.S, Run: f.Run, Getenv: f.Options.Getenv, Event: f.Event}
	j.Model, j.ModelName, j.Fallback = with.model.ID, with.model.Name, with.fallback
	j.Escalate, j.KeepBase = with.escalate, len(with.escalate) > 0 && t.Keep == manifest.KeepBase
	j.Agent, j.Sampling, j.Schema = with.agent, with.sampling, t.Output.Schema.Doc
	j.Output, j.Findings = outputOf(t, s), t.Output.Schema.Findings
	j.Profile = with.profile.Profile
	j.Protect = f.Options.Policies.Protected()
	if own := t.Commit.Protect; len(own) > 0 && !t.Commit.Off {
		j.Profile, j.Protect = j.Profile.Narrowed("commit.protect", own), slices.Concat(own, j.Protect)
	}
	j.Instructions = t.Manifest.Instructions
	j.Limits = with.limits
	j.Attempts, j.RequireChanges = t.Attempts, t.RequireChanges
	j.Change = changeOf(t.Change, f.texts, s)
	j.Ablate = t.Ablate
	j.Ablate.Unneeded = t.Change.Unneeded
	d.digest = with.digest
	var values []template.Span
	inPrompt := s
	inPrompt.Prompt = true
	j.Prompt, values = f.texts.fillIn(t.Prompt, inPrompt)
	j.Mentions = template.Mentions(j.Prompt, values)
	j.Review = f.prompted(with.review, t, inPrompt)
	checkMentions(t, j)
	j.Context = f.contextOf(t)
	for _, line := range t.Setup {
		j.Setup = append(j.Setup, f.texts.render(line, s))
	}
	j.SetupEnv, j.Script = with.setupEnv, t.ScriptOf()
	for _, c := range t.Verify {
		c.Run = f.texts.render(c.Line, s)
		j.Verify = append(j.Verify, c.Verify)
	}
	if len(j.Verify) > 0 {
		j.Baseline = t.Baseline
	}
	if !t.Commit.Off {
		j.Commit = f.commitOf(d, s)
	}
	if inPlace := j.Commit == nil || j.Commit.Branch == tasks.CurrentBranch; inPlace && j.Repo.Kind == tasks.RepoPath {
		t.Commit.Location(t).Refused(policy.InPlace, "work in place", "")
	}
	j.Publish = cmp.Or(f.Options.Overrides.Publish, t.Publish.Mode)
	if j.Publish == tasks.PublishPR {
		j.Pull = pullRequestOf(t.Publish, f.texts, s)
	}
	j.Comment = commentOf(t.Publish.Comment, s, f.Options.Overrides.Publish)
	j.Later = laterOf(t.Publish, f.texts, s, f.Options.Overrides.Publish)
	j.AfterUntrusted, j.Untrusted, j.FromEvent = t.LosesRights(), t.Untrusted, t.Prompt.FromEvent()
	j.Requests = requestsOf(t.Publish.Requests, f.Event, f.Options)
	j.Changing = j.RequireChanges || !j.Change.IsZero() || t.Commit.IsWritten() || j.Publish != tasks.PublishNone
	j.Skip, j.If = t.Condition.Decide(s)
}

// contextOf returns what the prompt of a task has of the issue or pull request of the CI's event; nil for nothing.
func (f *jobFiller) contextOf(t *manifest.Task) *tasks.Context {
	if len(t.Context) == 0 {
		return nil
	}
	of, err := f.Event.Context(f.Options.Getenv)
	if err != nil {
		t.ContextAt.Problem("context: "+err.Error(), "run it in a workflow of an issue or a pull request, set GITHUB_EVENT_PATH to a file with such an event, or remove context")
		return nil
	}
	c := *of
	for _, part := range t.Context {
		if !slices.Contains(c.Parts, part) {
			c.Parts = append(c.Parts, part)
		}
	}
	if !slices.Contains(c.Parts, tasks.ContextEvent) {
		c.Texts = ""
	}
	return &c
}

// setupVariables returns the variables of a task's setup commands. One that is not set would
// make them fail only later.
func setupVariables(t *manifest.Task, names *profiles.Vocabulary, getenv func(string) string) []string {
	var all []string
	for _, name := range t.SetupEnv {
		if !names.CheckEnv(name) {
			continue
		}
		if getenv(name.S) == "" {
			name.Problem(fmt.Sprintf("the environment variable %s of setup_env is not set", name.S), "set it, or remove it")
		}
		all = append(all, name.S)
	}
	return all
}

// varsOf returns the variables that a task sees: its own over the manifest's,
// and those of the command line over both where they are declared.
func (f *jobFiller) varsOf(t *manifest.Task) map[string]string {
	vars := map[string]string{}
	maps.Copy(vars, t.Manifest.Vars)
	maps.Copy(vars, t.Vars)
	for k, v := range f.Options.Overrides.Vars {
		if _, declared := vars[k]; declared {
			vars[k] = v
		}
	}
	return vars
}

// limitsOf returns a task's limits. Its agent and the command line lower the
// number of turns that is written, and replace the default.
func (f *jobFiller) limitsOf(t *manifest.Task, a tasks.Agent) tasks.Limits {
	written := manifest.LimitsOver(t.Limits, t.Manifest.Limits)
	written.Turns = lower(written.Turns, a.Turns)
	if most := f.Options.Overrides.MaxTurns; most > 0 {
		written.Turns = lower(written.Turns, most)
	}
	return manifest.LimitsOver(written, tasks.DefaultLimits())
}

// commitOf returns how a draft's changes are committed.
func (f *jobFiller) commitOf(d *draft, s template.Scope) *tasks.Commit {
	from := d.task.Commit
	c := &tasks.Commit{Author: from.Author, Branch: d.branch, IfExists: from.IfExists, WIP: from.WIP, Sign: from.Sign, Include: from.Include}
	for _, r := range d.job.Protect {
		c.Protect = append(c.Protect, r.Pattern)
	}
	if from.Message != nil {
		c.Message = f.texts.render(*from.Message, s)
	}
	if from.Branch == nil {
		return c
	}
	branch, ok := from.Branch.Render(s)
	if branch == tasks.PullRequestBranch {
		thread, err := f.Event.Thread(f.Options.Getenv)
		if err != nil {
			from.Branch.Problem("branch "+branch+": "+err.Error(), "correct GITHUB_EVENT_PATH, or unset it")
		}
		c.PullRequest = &thread
	} else if ok && branch != tasks.CurrentBranch {
		if fault := tasks.BranchFault(branch); fault != "" {
			from.Branch.Problem("invalid branch name "+problem.Quote(branch), fault)
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
func checkMentions(t *manifest.Task, j *tasks.Job) {
	if len(j.Mentions) > template.MaxMentions {
		t.Prompt.Problem(fmt.Sprintf("the prompt names more than %d files and commands", template.MaxMentions), "name directories, or let the agent look")
		j.Mentions = nil
	}
	for _, m := range j.Mentions {
		if backward(m) {
			t.Prompt.Problem(fmt.Sprintf("invalid line range in %s", problem.Quote("@"+m.Ranged)), "lines count from 1, and the last is not before the first: @main.go#L10-20")
			continue
		}
		if m.Command == "" || !j.Profile.Hides("bash") {
			continue
		}
		d := j.Profile.Decide(permission.Need("bash", m.Command))
		t.Prompt.Problem(fmt.Sprintf("the prompt runs a command (!`...`), and the profile %s allows none: %s (%s)", problem.Quote(j.Profile.Name), d.Rule, d.Source),
			"choose a profile with bash, such as review, or leave the command out")
		return
	}
}

// backward reports whether a range of lines can be none of any file.
func backward(m tasks.Mention) bool {
	return m.Ranged != "" && (m.First < 1 || m.Last != 0 && m.Last < m.First)
}
