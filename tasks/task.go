package tasks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission"
)

// task is one entry of a manifest's tasks.
type task struct {
	value
	manifest *manifest

	id             text
	named          bool // the id is there, and no task before has it
	prompt         template
	command        *text // whose file has the prompt; nil for none
	arguments      *text // of the command
	looked         int   // prompts that noteNamed has seen
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

const maxCommands = 100 // in setup or verify

// idForm is what ids of tasks and names of profiles look like.
var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

var taskForm = form[*task]{typeOf((*task).keys), readTask}

func readTask(v value) (*task, bool) {
	t := withDefaults((*task).keys)
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
		v.problem(fmt.Sprintf("task id %s exceeds %d characters", quote(t.s), most), fix)
	case !idForm.MatchString(t.s):
		v.problem(fmt.Sprintf("invalid task id %s", quote(t.s)), fix)
	case branchFault(BranchPrefix+t.s) != "":
		v.problem(fmt.Sprintf("task id %s is not valid in a branch name", quote(t.s)), branchFault(BranchPrefix+t.s))
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
			c.problem(fmt.Sprintf("duplicate verify name %s, first on line %d", quote(c.Name), before.use.Line), "rename one of them")
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
