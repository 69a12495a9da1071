package tasks

import (
	"fmt"
	"net/mail"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/tasks/problem"
)

// task is one entry of a manifest's tasks.
type task struct {
	value
	manifest *manifest
	lists    *lists

	id             text
	named          bool // the id is there, and no task before has it
	prompt         template
	command        *text // whose file has the prompt; nil for none
	arguments      *text // of the command
	agent          *text
	models         modelChain
	profile        *text
	limits         Limits
	repos          repoList
	vars           map[string]string
	matrix         matrix
	needs          []text
	setup          []template
	setupEnv       []text
	script         *TaskScript // nil for none
	scripted       value       // of script, if given
	verify         []check
	baseline       Baseline
	based          value // of baseline, if given
	attempts       int
	requireChanges bool
	change         change
	output         output
	condition      *condition // nil: none
	commit         commit
	publish        publish
}

// check is a verify command before its variables are filled in.
type check struct {
	value
	Verify
	run template
}

// commit is how a task's changes are committed.
type commit struct {
	value
	off      bool
	message  *template
	branch   *template
	author   Person
	protect  []permission.Rule // denials of edits that no profile lifts
	ifExists IfExists
	sign     Sign
	wip      bool
	include  []string
	exists   value // of if_exists
}

func taskForm(l *lists) form[*task] {
	return form[*task]{typeOf((*task).keys), func(v value) (*task, bool) { return readTask(v, l) }}
}

func readTask(v value, l *lists) (*task, bool) {
	t := withDefaults((*task).keys)
	t.lists = l
	t.value, t.commit, t.publish = v, withDefaults((*commit).keys), withDefaults((*publish).keys)
	got := t.keys().read(v)
	switch {
	case t.command != nil && t.prompt.src != nil:
		t.command.keyProblem("prompt and command are both set", "remove one of them")
	case t.command == nil && t.arguments != nil:
		t.arguments.keyProblem("arguments without a command", "write command: NAME, or put them into the prompt")
	case v.isMapping() && !given(got, "prompt", "command"):
		v.lacks("prompt", "add prompt: TEXT")
	}
	if t.script != nil && t.output.schema.doc != nil {
		t.scripted.keyProblem("script and output.schema are both set", "remove one of them: a script has no final message")
	}
	uniqueChecks(t.verify)
	if t.based.key != nil && len(t.verify) == 0 && t.baseline != BaselineSkip {
		t.based.problem("baseline without verify commands", "add verify: [COMMAND], or remove baseline")
	}
	return &t, true
}

// given reports whether any of some keys is present.
func given(got map[string]value, keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { _, ok := got[key]; return ok })
}

var taskIDForm = form[text]{Type{Name: "string"}, readTaskID}

// readTaskID reads an id that is safe as the name of a file and of a branch.
func readTaskID(v value) (text, bool) {
	const most = 64
	const fix = "use up to 64 letters, digits, ., _ and -, starting with a letter or digit"
	t, ok := v.filled()
	switch {
	case !ok:
	case len(t.s) > most:
		v.problem(fmt.Sprintf("task id %s exceeds %d characters", problem.Quote(t.s), most), fix)
	case !idForm.MatchString(t.s):
		v.problem(fmt.Sprintf("invalid task id %s", problem.Quote(t.s)), fix)
	case branchFault(BranchPrefix+t.s) != "":
		v.problem(fmt.Sprintf("task id %s is not valid in a branch name", problem.Quote(t.s)), branchFault(BranchPrefix+t.s))
	default:
		return t, true
	}
	return text{}, false
}

// output is how a task's final message must be, and where it goes.
type output struct {
	schema outputSchema
	file   *template // nil for none
}

var checkForm = form[check]{Type{Name: "string", Scalar: true, Or: new(typeOf((*check).keys))}, readCheck}

// readCheck reads one verify command: a command line, or a mapping.
func readCheck(v value) (check, bool) {
	c := withDefaults((*check).keys)
	c.value = v
	if v.isList() {
		v.wrong("a command or a mapping", "write - COMMAND or - {run: COMMAND}")
		return c, false
	}
	if v.isScalar() && !v.null() {
		run, ok := commandForm.read(v)
		c.run = run
		c.Name, _, _ = strings.Cut(strings.TrimSpace(run.s), "\n")
		return c, ok
	}
	if _, ok := c.keys().read(v)["run"]; !ok {
		return check{}, false
	}
	if c.Name == "" {
		c.Name, _, _ = strings.Cut(strings.TrimSpace(c.run.s), "\n")
	}
	return c, true
}

// uniqueChecks records verify commands of the same name, which reports could
// not tell apart.
func uniqueChecks(checks []check) {
	first := map[string]check{}
	for _, c := range checks {
		if before, twice := first[c.Name]; twice {
			c.problem(fmt.Sprintf("duplicate verify name %s, first on line %d", problem.Quote(c.Name), before.use.Line), "rename one of them")
			continue
		}
		first[c.Name] = c
	}
}

var commitForm = form[commit]{Type{Name: "boolean", Or: new(typeOf((*commit).keys))}, readCommit}

// readCommit reads how changes are committed; false means that they are not.
func readCommit(v value) (commit, bool) {
	c := withDefaults((*commit).keys)
	c.value = v
	if v.isBoolean() {
		on, _ := readBool(v)
		c.off = !on
		return c, true
	}
	if v.isScalar() {
		v.wrong("false or a mapping", "write commit: false for no commit, or commit: {message: TEXT}")
		return c, false
	}
	c.keys().read(v)
	return c, true
}

// written reports whether the task has a commit key other than false.
func (c commit) written() bool { return c.src != nil && !c.off }

// at is where to speak of how a task's changes are committed.
func (c commit) at(t *task) value {
	if c.src == nil {
		return t.value
	}
	return c.value
}

// emptyForm is a form whose value may also be empty, which is nil.
func emptyForm[T any](f form[T]) form[*T] {
	return form[*T]{f.Type, func(v value) (*T, bool) {
		if v.empty() {
			return nil, true
		}
		return optional(f).read(v)
	}}
}

var authorForm = form[Person]{Type{Name: "mapping", keys: func() keys { return new(Person).keys() }, Or: &Type{Name: "string"}}, readAuthor}

// readAuthor reads the author of a commit.
func readAuthor(v value) (Person, bool) {
	if v.isScalar() && !v.null() {
		return addressed(v)
	}
	var p Person
	p.keys().read(v)
	if strings.ContainsAny(p.Name+p.Email, "<>\r\n") {
		v.problem("an author's name and email must not contain <, > or line breaks", "remove them")
	}
	return p, p.Name != "" && p.Email != ""
}

// branchProblem records a mistake in the task's branch, at its id if the
// manifest does not name the branch.
func (t *task) branchProblem(what, fix string) {
	if t.commit.branch != nil {
		t.commit.branch.problem(what, fix)
		return
	}
	t.id.problem(what, fix)
}

func (t *task) keys() keys {
	return keys{
		{"id", required("id: fix-tests", into(&t.id, taskIDForm)), "", "Unique name of the task, used in job ids and branch names"},
		{"prompt", into(&t.prompt, taskPromptForm), "", "Prompt; may contain ${{ VARIABLE }}, @FILE and !`COMMAND` (required without command)"},
		{"command", into(&t.command, optional(textForm)), "", "Command of commands or commands_from that has the prompt"},
		{"arguments", into(&t.arguments, optional(textForm)), "", "Arguments of the command; may contain ${{ VARIABLE }}"},
		{"agent", into(&t.agent, optional(textForm)), DefaultAgent, "Agent that runs the task: build, plan, explore, general or a name under agents"},
		{"model", into(&t.models, modelsForm), "", "Model or fallback list (the agent's or the manifest's if absent)"},
		{"profile", into(&t.profile, optional(textForm)), "", "Profile (the manifest's if absent)"},
		{"limits", into(&t.limits, mapping((*Limits).keys)), "", "Limits of each job of the task; keys that are absent are taken from the manifest"},
		{"repos", into(&t.repos, t.lists.repos()), "", "Repositories (the manifest's if absent)"},
		{"vars", into(&t.vars, varsForm), "", "Variables for ${{ vars.NAME }}, added to those of the manifest"},
		{"matrix", into(&t.matrix, matrixForm), "", "Lists of values by name; the task runs once for each combination"},
		{"needs", into(&t.needs, listOf(textForm)), "", "Ids of tasks whose jobs must pass first"},
		{"if", into(&t.condition, conditionForm), "", "Expression; the job is skipped if it is false"},
		{"setup", bounded(policy.Setup, into(&t.setup, orOne(commandForm))), "", "Shell commands that run before the agent"},
		{"setup_env", into(&t.setupEnv, listOf(envForm)), "", "Environment variables that only setup commands get, and only before there is output of a model"},
		{"script", noting(&t.scripted, into(&t.script, taskScriptForm)), "", "Script next to the manifest that does the work without a model: it runs in the sandbox without network, then verify; the agent starts only if one of them fails, or if nothing changed although the task has if or require_changes"},
		{"verify", bounded(policy.Verify, into(&t.verify, orOne(checkForm))), "", "Commands that must succeed after the agent reports completion; each with HOME and TMPDIR as setup left them"},
		{"baseline", noting(&t.based, into(&t.baseline, oneOf([]Baseline{BaselineRun, BaselineMustFail, BaselineMustPass, BaselineSkip}))), "run", "What the verify commands must do before the agent starts: run: pass or fail; must_fail: at least one fails; must_pass: all pass; skip: do not run"},
		{"attempts", into(&t.attempts, positive()), "1", "Number of times that the agent may work until verify succeeds"},
		{"require_changes", into(&t.requireChanges, boolForm), "false", "Fail the job if it changes nothing"},
		{"change", into(&t.change, short(mapping((*change).keys), changePathsForm.Type, ifPaths)), "", "Limits of what the task may change; exceeding them is returned to the agent like a failed verify"},
		{"output", into(&t.output, short(mapping((*output).keys), Type{Name: "enum", Values: []string{findings.Name}}, ifFindings)), "", "Form of the final message, and a file for it"},
		{"commit", into(&t.commit, commitForm), "", "How changes are committed; false leaves them in place without a commit"},
		{"publish", into(&t.publish, publishForm), "", "Where the work goes after the commit"},
	}
}

func (c *check) keys() keys {
	return keys{
		{"name", into(&c.Name, stringForm), "", "Name in reports (the first line of run if absent)"},
		{"run", required("run: COMMAND", into(&c.run, commandForm)), "", "Shell command; exit code 0 passes"},
		{"time", into(&c.Time, durationForm), "10m", "Timeout of the command"},
		{"in", into(&c.In, oneOf([]VerifyIn{InWorkspace, InClean})), "workspace", "workspace: where the agent worked; clean: a fresh checkout of the job's commit, after setup has run there again"},
	}
}

func (o *output) keys() keys {
	return keys{
		{"schema", into(&o.schema, outputSchemaForm), "", "What the final message must match: findings, the built-in schema of reviews, or the JSON Schema of an object"},
		{"file", into(&o.file, optional(templateForm)), "", "File below the manifest's directory that the final message is written to; may contain ${{ VARIABLE }}"},
	}
}

func (c *commit) keys() keys {
	return keys{
		{"message", into(&c.message, emptyForm(templateForm)), "", "Commit message (if absent, the id of the task and what the final message reports as done, or else the prompt)"},
		{"branch", into(&c.branch, emptyForm(templateForm)), "", "Branch (millhand/TASK and the matrix values if absent); @current commits in place on the branch that is checked out"},
		{"author", into(&c.author, authorForm), "", "Author of the commit (millhand <millhand@localhost> if absent)"},
		{"sign", signature("commits", into(&c.sign, oneOf([]Sign{SignNone, SignSSH, SignOpenPGP, SignAPI}))), "none", "Signature of the commit: ssh or openpgp, with the key in MILLHAND_SIGNING_KEY; api: made by GitHub, which shows it as verified"},
		{"if_exists", noting(&c.exists, into(&c.ifExists, oneOf([]IfExists{FailIfExists, ReplaceIfExists, SkipIfExists, AppendIfExists}))), "fail", "What to do if the branch exists"},
		{"protect", into(&c.protect, protectForm), "", "Globs of paths that nothing may change"},
		{"wip", into(&c.wip, boolForm), "false", "Also commit the work of a job that exceeded a limit"},
		{"include", into(&c.include, listOf(oneOf([]string{"setup", "verify", "hooks", "build"}))), "", "What is committed although the agent did not make it: files that setup, verify or hooks left, and build artifacts"},
	}
}

func (p *Person) keys() keys {
	return keys{
		{"name", required("name: NAME", into(&p.Name, stringForm)), "", "Name of the author"},
		{"email", required("email: ADDRESS", into(&p.Email, stringForm)), "", "Email address of the author"},
	}
}

// ifFindings is output's key of the name of the built-in schema. Another string could be the
// path of either of its files.
func ifFindings(v value) string {
	if v.isScalar() && v.node.Value == findings.Name {
		return "schema"
	}
	return ""
}

// addressed is the author of a commit that is written as git does: NAME <EMAIL>.
func addressed(v value) (Person, bool) {
	t, ok := v.filled()
	if !ok {
		return Person{}, false
	}
	a, err := mail.ParseAddress(t.s)
	if err != nil || a.Name == "" {
		v.problem("invalid author "+problem.Quote(t.s), "write NAME <EMAIL>, or {name: NAME, email: EMAIL}")
		return Person{}, false
	}
	return Person{Name: a.Name, Email: a.Address}, true
}
