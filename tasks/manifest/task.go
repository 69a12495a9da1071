package manifest

import (
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/matrix"
	"github.com/millhand/millhand/tasks/manifest/programs"
	"github.com/millhand/millhand/tasks/manifest/repolist"
	"github.com/millhand/millhand/tasks/problem"
	"github.com/millhand/millhand/tasks/template"
)

// Task is one entry of a manifest's tasks.
type Task struct {
	form.Value
	Manifest *Manifest
	lists    *repolist.Lists

	ID             form.Text
	Unique         bool // the id is there, and no task before has it
	Prompt         template.Template
	command        *form.Text // whose file has the prompt; nil for none
	arguments      *form.Text // of the command
	Agent          *form.Text
	Models         ModelChain
	Escalate       ModelChain
	Keep           KeepOnEscalate
	startsFrom     form.Value // of keep, if given
	Profile        *form.Text
	Limits         tasks.Limits
	Repos          repolist.List
	Vars           map[string]string
	Matrix         matrix.Matrix
	Needs          []form.Text
	Setup          []template.Template
	SetupEnv       []form.Text
	script         *tasks.TaskScript // nil for none
	scripted       form.Value        // of script, if given
	Verify         []verifyCheck
	Baseline       tasks.Baseline
	based          form.Value // of baseline, if given
	Context        []tasks.ContextPart
	ContextAt      form.Value // of context, if given
	Attempts       int
	RequireChanges bool
	Change         Change
	Ablate         tasks.Ablate
	ablated        form.Value // of ablate, if given
	Review         *Review    // nil for none
	Output         output
	Condition      *template.Condition // nil: none
	Commit         commit
	Publish        Publish
	AfterUntrusted untrusted
	Untrusted      []string   // globs of files
	foreign        form.Value // of untrusted, if given
}

// verifyCheck is a verify command before its variables are filled in.
type verifyCheck struct {
	form.Value
	tasks.Verify
	Line template.Template
}

// commit is how a task's changes are committed.
type commit struct {
	form.Value
	Off      bool
	Message  *template.Template
	Branch   *template.Template
	Author   tasks.Person
	Protect  []permission.Rule // denials of edits that no profile lifts
	IfExists tasks.IfExists
	Sign     tasks.Sign
	WIP      bool
	Include  []string
	Exists   form.Value // of if_exists
}

func taskForm(l *repolist.Lists) form.Of[*Task] {
	return form.Of[*Task]{Type: form.TypeOf((*Task).keys), Read: func(v form.Value) (*Task, bool) { return readTask(v, l) }}
}

func readTask(v form.Value, l *repolist.Lists) (*Task, bool) {
	t := form.WithDefaults((*Task).keys)
	t.lists = l
	t.Value, t.Commit, t.Publish = v, form.WithDefaults((*commit).keys), form.WithDefaults((*Publish).keys)
	got := t.keys().Read(v)
	switch {
	case t.command != nil && t.Prompt.Src != nil:
		t.command.KeyProblem("prompt and command are both set", "remove one of them")
	case t.command == nil && t.arguments != nil:
		t.arguments.KeyProblem("arguments without a command", "write command: NAME, or put them into the prompt")
	case v.IsMapping() && !hasAny(got, "prompt", "command"):
		v.Lacks("prompt", "add prompt: TEXT")
	}
	if t.script != nil && t.Output.Schema.Doc != nil {
		t.scripted.KeyProblem("script and output.schema are both set", "remove one of them: a script has no final message")
	}
	t.checkUntrusted()
	if t.script != nil && t.Review != nil {
		t.Review.KeyProblem("script and review are both set", "remove one of them: what a script changes is not reviewed")
	}
	if fault := schemaFault(t.Output.Schema.Doc); fault != "" && t.Publish.Requests != nil {
		t.Publish.Requests.KeyProblem("publish.requests adds a property to the final message, and output.schema "+fault, "write {type: object, properties: {...}} without it")
	}
	if t.startsFrom.Key != nil && len(t.Escalate.Names) == 0 && !t.Escalate.Wrong {
		t.startsFrom.KeyProblem("keep without escalate", "add escalate: [MODEL], or remove keep")
	}
	uniqueChecks(t.Verify)
	if t.based.Key != nil && len(t.Verify) == 0 && t.Baseline != tasks.BaselineSkip {
		t.based.Problem("baseline without verify commands", "add verify: [COMMAND], or remove baseline")
	}
	t.checkAblate(hasAny(got, "verify"))
	return &t, true
}

// hasAny reports whether any of some keys is present.
func hasAny(got map[string]form.Value, keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { _, ok := got[key]; return ok })
}

var taskIDForm = form.Of[form.Text]{Type: form.Type{Name: "string"}, Read: readTaskID}

// readTaskID reads an id that is safe as the name of a file and of a branch.
func readTaskID(v form.Value) (form.Text, bool) {
	const most = 64
	const fix = "use up to 64 letters, digits, ., _ and -, starting with a letter or digit"
	t, ok := v.Filled()
	switch {
	case !ok:
	case len(t.S) > most:
		v.Problem(fmt.Sprintf("task id %s exceeds %d characters", problem.Quote(t.S), most), fix)
	case !form.Identifier.MatchString(t.S):
		v.Problem(fmt.Sprintf("invalid task id %s", problem.Quote(t.S)), fix)
	case tasks.BranchFault(tasks.BranchPrefix+t.S) != "":
		v.Problem(fmt.Sprintf("task id %s is not valid in a branch name", problem.Quote(t.S)), tasks.BranchFault(tasks.BranchPrefix+t.S))
	default:
		return t, true
	}
	return form.Text{}, false
}

// output is how a task's final message must be, and where it goes.
type output struct {
	Schema outputSchema
	File   *template.Template // nil for none
}

var checkForm = form.Of[verifyCheck]{Type: form.Type{Name: "string", Scalar: true, Or: new(form.TypeOf((*verifyCheck).keys))}, Read: readCheck}

// readCheck reads one verify command: a command line, or a mapping.
func readCheck(v form.Value) (verifyCheck, bool) {
	c := form.WithDefaults((*verifyCheck).keys)
	c.Value = v
	if v.IsList() {
		v.Wrong("a command or a mapping", "write - COMMAND or - {run: COMMAND}")
		return c, false
	}
	if v.IsScalar() && !v.Null() {
		run, ok := template.CommandForm.Read(v)
		c.Line = run
		c.Name, _, _ = strings.Cut(strings.TrimSpace(run.S), "\n")
		return c, ok
	}
	if _, ok := c.keys().Read(v)["run"]; !ok {
		return verifyCheck{}, false
	}
	if c.Name == "" {
		c.Name, _, _ = strings.Cut(strings.TrimSpace(c.Line.S), "\n")
	}
	return c, true
}

// uniqueChecks records verify commands of the same name, which reports could
// not tell apart.
func uniqueChecks(checks []verifyCheck) {
	first := map[string]verifyCheck{}
	for _, c := range checks {
		if before, twice := first[c.Name]; twice {
			c.Problem(fmt.Sprintf("duplicate verify name %s, first on line %d", problem.Quote(c.Name), before.Use.Line), "rename one of them")
			continue
		}
		first[c.Name] = c
	}
}

var commitForm = form.Of[commit]{Type: form.Type{Name: "boolean", Or: new(form.TypeOf((*commit).keys))}, Read: readCommit}

// readCommit reads how changes are committed; false means that they are not.
func readCommit(v form.Value) (commit, bool) {
	c := form.WithDefaults((*commit).keys)
	c.Value = v
	if v.IsBoolean() {
		on, _ := form.ReadBool(v)
		c.Off = !on
		return c, true
	}
	if v.IsScalar() {
		v.Wrong("false or a mapping", "write commit: false for no commit, or commit: {message: TEXT}")
		return c, false
	}
	c.keys().Read(v)
	return c, true
}

// IsWritten reports whether the task has a commit key other than false.
func (c commit) IsWritten() bool { return c.Src != nil && !c.Off }

// Location is the value of the manifest that a mistake in how the task commits is reported at.
func (c commit) Location(t *Task) form.Value {
	if c.Src == nil {
		return t.Value
	}
	return c.Value
}

// emptyForm is a form whose value may also be empty, which is nil.
func emptyForm[T any](f form.Of[T]) form.Of[*T] {
	return form.Of[*T]{Type: f.Type, Read: func(v form.Value) (*T, bool) {
		if v.Empty() {
			return nil, true
		}
		return form.Optional(f).Read(v)
	}}
}

var authorForm = form.Of[tasks.Person]{Type: form.Type{Name: "mapping", Keys: func() form.Table { return personKeys(new(tasks.Person)) }, Or: &form.Type{Name: "string"}}, Read: readAuthor}

// readAuthor reads the author of a commit.
func readAuthor(v form.Value) (tasks.Person, bool) {
	var p tasks.Person
	if v.IsScalar() && !v.Null() {
		p, _ = addressed(v)
	} else {
		personKeys(&p).Read(v)
	}
	if strings.ContainsAny(p.Name+p.Email, "<>\r\n\x00") {
		v.Problem("an author's name and email must not contain <, >, NUL or line breaks", "remove them")
	}
	return p, p.Name != "" && p.Email != ""
}

// BranchProblem records a mistake in the task's branch, at its id if the
// manifest does not name the branch.
func (t *Task) BranchProblem(what, fix string) {
	if t.Commit.Branch != nil {
		t.Commit.Branch.Problem(what, fix)
		return
	}
	t.ID.Problem(what, fix)
}

func (t *Task) keys() form.Table {
	return form.Table{
		{Name: "id", Field: form.Required("id: fix-tests", form.Into(&t.ID, taskIDForm)), Doc: "Unique name of the task, used in job ids and branch names"},
		{Name: "prompt", Field: form.Into(&t.Prompt, template.TaskPromptForm), Doc: "Prompt; may contain ${{ VARIABLE }}, @FILE and !`COMMAND` (required without command)"},
		{Name: "command", Field: form.Into(&t.command, form.Optional(form.Filled)), Doc: "Command of commands or commands_from that has the prompt"},
		{Name: "arguments", Field: form.Into(&t.arguments, form.Optional(form.Filled)), Doc: "Arguments of the command; may contain ${{ VARIABLE }}"},
		{
			Name: "context", Field: form.Noting(&t.ContextAt, form.Into(&t.Context, contextForm)),
			Doc: "What the first prompt has of the issue or pull request of the CI's event: event: its texts; thread: the comments; diff: the changed files; checks: logs of failed checks",
		},
		{Name: "agent", Field: form.Into(&t.Agent, form.Optional(form.Filled)), Def: tasks.DefaultAgent, Doc: "Agent that runs the task: build, plan, explore, general or a name under agents"},
		{Name: "model", Field: form.Into(&t.Models, modelsForm), Doc: "Model or fallback list (the agent's or the manifest's if absent)"},
		{Name: "escalate", Field: form.Into(&t.Escalate, modelsForm), Doc: "Models that continue when the attempts of the model before are used up, each with as many attempts; not for faults of providers"},
		{Name: "keep", Field: form.Noting(&t.startsFrom, form.Into(&t.Keep, form.OneOf([]KeepOnEscalate{KeepDiff, KeepBase}))), Def: "diff", Doc: "What a model of escalate starts from: diff: the changes so far; base: the files as they were before the agent"},
		{Name: "profile", Field: form.Into(&t.Profile, form.Optional(form.Filled)), Doc: "Profile (the manifest's if absent)"},
		{Name: "limits", Field: form.Into(&t.Limits, form.Mapping(limitKeys)), Doc: "Limits of each job of the task; keys that are absent are taken from the manifest"},
		{Name: "repos", Field: form.Into(&t.Repos, t.lists.Form()), Doc: "Repositories (the manifest's if absent)"},
		{Name: "vars", Field: form.Into(&t.Vars, varsForm), Doc: "Variables for ${{ vars.NAME }}, added to those of the manifest"},
		{Name: "matrix", Field: form.Into(&t.Matrix, matrix.Form), Doc: "Lists of values by name; the task runs once for each combination"},
		{Name: "needs", Field: form.Into(&t.Needs, form.ListOf(form.Filled)), Doc: "Ids of tasks whose jobs must pass first"},
		{Name: "if", Field: form.Into(&t.Condition, template.ConditionForm), Doc: "Expression; the job is skipped if it is false"},
		{Name: "setup", Field: form.Bounded(policy.Setup, form.Into(&t.Setup, form.OrOne(template.CommandForm))), Doc: "Shell commands that run before the agent"},
		{Name: "setup_env", Field: form.Into(&t.SetupEnv, form.ListOf(programs.EnvName)), Doc: "Environment variables that only setup commands get, and only before there is output of a model"},
		{Name: "script", Field: form.Noting(&t.scripted, form.Into(&t.script, taskScriptForm)), Doc: "Script next to the manifest that does the work without a model: it runs in the sandbox without network, then verify; the agent starts only if one of them fails, or if nothing changed although the task has if or require_changes"},
		{Name: "verify", Field: form.Bounded(policy.Verify, form.Into(&t.Verify, form.OrOne(checkForm))), Doc: "Commands that must succeed after the agent reports completion; each with HOME and TMPDIR as setup left them"},
		{
			Name: "baseline", Field: form.Noting(&t.based, form.Into(&t.Baseline, form.OneOf([]tasks.Baseline{tasks.BaselineRun, tasks.BaselineMustFail, tasks.BaselineMustPass, tasks.BaselineSkip}))),
			Def: "run", Doc: "What the verify commands must do before the agent starts: run: pass or fail; must_fail: at least one fails; must_pass: all pass; skip: do not run",
		},
		{Name: "attempts", Field: form.Into(&t.Attempts, form.Positive()), Def: "1", Doc: "Number of times that the agent may work until verify succeeds"},
		{Name: "require_changes", Field: form.Into(&t.RequireChanges, form.Bool), Def: "false", Doc: "Fail the job if it changes nothing"},
		{Name: "change", Field: form.Into(&t.Change, form.Short(form.Mapping((*Change).keys), changePathsForm.Type, ifPaths)), Doc: "Limits of what the task may change; exceeding them is returned to the agent like a failed verify"},
		{Name: "ablate", Field: form.Noting(&t.ablated, form.Into(&t.Ablate, ablateForm)), Doc: "Account for every hunk after verify passes: verify runs again without each of them, in clean checkouts, and the report has which are needed, by which command, and which new tests fail without the change"},
		{Name: "review", Field: form.Into(&t.Review, form.Optional(reviewForm)), Doc: "Review of the changes by a session that can only read, after verify passes; {} for the defaults"},
		{Name: "output", Field: form.Into(&t.Output, form.Short(form.Mapping((*output).keys), form.Type{Name: "enum", Values: []string{findings.Name}}, ifFindings)), Doc: "Form of the final message, and a file for it"},
		{Name: "commit", Field: form.Into(&t.Commit, commitForm), Doc: "How changes are committed; false leaves them in place without a commit"},
		{Name: "publish", Field: form.Into(&t.Publish, publishForm), Doc: "Where the work goes after the commit"},
		{Name: "after_untrusted", Field: form.Into(&t.AfterUntrusted, untrustedForm), Doc: "Rights that the job loses once a session has read untrusted content: texts of the event, web pages, results of MCP servers, files of a pull request, and those of untrusted"},
		{Name: "untrusted", Field: form.Noting(&t.foreign, form.Into(&t.Untrusted, form.ListOf(form.Glob))), Doc: "Globs of files whose content is untrusted, relative to the workspace"},
	}
}

func (c *verifyCheck) keys() form.Table {
	return form.Table{
		{Name: "name", Field: form.Into(&c.Name, form.String), Doc: "Name in reports (the first line of run if absent)"},
		{Name: "run", Field: form.Required("run: COMMAND", form.Into(&c.Line, template.CommandForm)), Doc: "Shell command; exit code 0 passes"},
		{Name: "time", Field: form.Into(&c.Time, form.Duration), Def: "10m", Doc: "Timeout of the command"},
		{Name: "in", Field: form.Into(&c.In, form.OneOf([]tasks.VerifyIn{tasks.InWorkspace, tasks.InClean})), Def: "workspace", Doc: "workspace: where the agent worked; clean: a fresh checkout of the job's commit, after setup has run there again"},
	}
}

func (o *output) keys() form.Table {
	return form.Table{
		{Name: "schema", Field: form.Into(&o.Schema, outputSchemaForm), Doc: "What the final message must match: findings, the built-in schema of reviews, or the JSON Schema of an object"},
		{Name: "file", Field: form.Into(&o.File, form.Optional(template.TemplateForm)), Doc: "File below the manifest's directory that the final message is written to; may contain ${{ VARIABLE }}"},
	}
}

func (c *commit) keys() form.Table {
	return form.Table{
		{Name: "message", Field: form.Into(&c.Message, emptyForm(template.TemplateForm)), Doc: "Commit message (if absent, the id of the task and what the final message reports as done, or else the prompt)"},
		{Name: "branch", Field: form.Into(&c.Branch, emptyForm(template.TemplateForm)), Doc: "Branch (millhand/TASK and the matrix values if absent); @current commits in place on the branch that is checked out; @pull_request commits on the branch of the pull request of the event"},
		{Name: "author", Field: form.Into(&c.Author, authorForm), Doc: "Author of the commit (millhand <millhand@localhost> if absent)"},
		{Name: "sign", Field: signature("commits", form.Into(&c.Sign, form.OneOf([]tasks.Sign{tasks.SignNone, tasks.SignSSH, tasks.SignOpenPGP, tasks.SignAPI}))), Def: "none", Doc: "Signature of the commit: ssh or openpgp, with the key in MILLHAND_SIGNING_KEY; api: made by GitHub, which shows it as verified"},
		{
			Name: "if_exists", Field: form.Noting(&c.Exists, form.Into(&c.IfExists, form.OneOf([]tasks.IfExists{tasks.FailIfExists, tasks.ReplaceIfExists, tasks.SkipIfExists, tasks.AppendIfExists}))),
			Def: "fail", Doc: "What to do if the branch exists",
		},
		{Name: "protect", Field: form.Into(&c.Protect, protectForm), Doc: "Globs of paths that nothing may change"},
		{Name: "wip", Field: form.Into(&c.WIP, form.Bool), Def: "false", Doc: "Also commit the work of a job that exceeded a limit"},
		{Name: "include", Field: form.Into(&c.Include, form.ListOf(form.OneOf([]string{"setup", "verify", "hooks", "build"}))), Doc: "What is committed although the agent did not make it: files that setup, verify or hooks left, and build artifacts"},
	}
}

func personKeys(p *tasks.Person) form.Table {
	return form.Table{
		{Name: "name", Field: form.Required("name: NAME", form.Into(&p.Name, form.String)), Doc: "Name of the author"},
		{Name: "email", Field: form.Required("email: ADDRESS", form.Into(&p.Email, form.String)), Doc: "Email address of the author"},
	}
}

// ifFindings is output's key of the name of the built-in schema. Another string could be the
// path of either of its files.
func ifFindings(v form.Value) string {
	if v.IsScalar() && v.Node.Value == findings.Name {
		return "schema"
	}
	return ""
}

// addressed is the author of a commit that is written as git does: NAME <EMAIL>.
func addressed(v form.Value) (tasks.Person, bool) {
	t, ok := v.Filled()
	if !ok {
		return tasks.Person{}, false
	}
	a, err := mail.ParseAddress(t.S)
	if err != nil || a.Name == "" {
		v.Problem("invalid author "+problem.Quote(t.S), "write NAME <EMAIL>, or {name: NAME, email: EMAIL}")
		return tasks.Person{}, false
	}
	return tasks.Person{Name: a.Name, Email: a.Address}, true
}

var taskScriptForm = form.Of[*tasks.TaskScript]{Type: form.Type{Name: "string"}, Read: readTaskScript}

// readTaskScript reads the path of a script next to the manifest. Policies limit it as
// setup commands: both are commands of the manifest's author.
func readTaskScript(v form.Value) (*tasks.TaskScript, bool) {
	t, ok := v.Filled()
	if !ok {
		return nil, false
	}
	path := userfile.Resolve(v.Src.Dir, t.S)
	if v.Refused(policy.Setup, "scripts", string(policy.Setup)) || v.Outside(path, t.S) {
		return nil, false
	}
	v.Uses().Named(v, path, t.S)
	data, err := userfile.ReadRegular(path, tasks.MaxScript)
	if errors.Is(err, userfile.ErrTooLarge) {
		v.Problem(fmt.Sprintf("script %s exceeds %d KiB", problem.Quote(t.S), tasks.MaxScript>>10), "write a shorter script")
		return nil, false
	}
	if err != nil {
		v.Problem(fmt.Sprintf("script %s: %s", problem.Quote(t.S), userfile.Missing(err)), "check its path; it is relative to the manifest")
		return nil, false
	}
	s := tasks.NewTaskScript(t.S, data)
	if fault := s.Fault(); fault != "" {
		v.Problem(fmt.Sprintf("script %s %s", problem.Quote(t.S), fault), "write a bash script, or name its interpreter in a first line such as #!/usr/bin/env python3")
		return nil, false
	}
	return s, true
}

// ScriptOf returns the script of a task; nil without one.
func (t *Task) ScriptOf() *tasks.TaskScript {
	if t.script == nil {
		return nil
	}
	s := *t.script
	s.MustChange = t.RequireChanges || t.Condition != nil
	return &s
}
