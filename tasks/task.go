package tasks

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/millhand/millhand/internal/policy"
)

// task is one entry of a manifest's tasks.
type task struct {
	value
	manifest *manifest

	id             text
	named          bool // the id is there, and no task before has it
	prompt         template
	agent          *text
	models         modelChain
	sampling       Sampling
	profile        *text
	limits         Limits
	repos          []repo // nil: those of the manifest
	vars           map[string]string
	matrix         matrix
	needs          []text
	setup          []template
	verify         []check
	attempts       int
	requireChanges bool
	schema         map[string]any // of the answer; nil: any
	condition      *condition     // nil: none
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
	protect  []string
	ifExists IfExists
	wip      bool
	exists   value // what if_exists says
}

const maxCommands = 100 // in setup or verify

// idForm is what ids of tasks and names of profiles look like.
var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// readTask reads one task.
func readTask(v value, m *manifest) *task {
	t := &task{value: v, manifest: m, attempts: 1, commit: commit{ifExists: FailIfExists}, publish: publish{mode: PublishNone}}
	got := fields{
		"id":              into(&t.id, readTaskID),
		"prompt":          into(&t.prompt, readTaskPrompt),
		"agent":           func(v value) { t.agent = optional(v.filled()) },
		"model":           func(v value) { t.models = readChain(v) },
		"profile":         func(v value) { t.profile = optional(v.filled()) },
		"limits":          into(&t.limits, readLimits),
		"repos":           into(&t.repos, readRepos),
		"vars":            into(&t.vars, readVars),
		"matrix":          into(&t.matrix, readMatrix),
		"needs":           into(&t.needs, list(value.filled)),
		"if":              into(&t.condition, readCondition),
		"setup":           bounded(policy.Setup, into(&t.setup, upTo(maxCommands, list(readCommand)))),
		"verify":          bounded(policy.Verify, into(&t.verify, upTo(maxCommands, list(readCheck)))),
		"attempts":        into(&t.attempts, number(math.MaxInt)),
		"require_changes": into(&t.requireChanges, value.boolean),
		"output":          into(&t.schema, readOutput),
		"commit":          into(&t.commit, readCommit),
		"publish":         into(&t.publish, readPublish),
	}.sampled(&t.sampling).read(v)
	if v.isMapping() {
		if _, ok := got["id"]; !ok {
			v.problem("a task has no id", "give it one, such as id: fix-tests")
		}
		if _, ok := got["prompt"]; !ok {
			v.problem("a task has no prompt", "say what to do with prompt:")
		}
	}
	uniqueChecks(t.verify)
	return t
}

// readTaskID reads an id that is safe as the name of a file and of a branch.
func readTaskID(v value) (text, bool) {
	const most = 64
	const fix = "use up to 64 letters, digits, ., _ and -, beginning with a letter or digit"
	t, ok := v.filled()
	switch {
	case !ok:
	case len(t.s) > most:
		v.problem(fmt.Sprintf("the task id %s is longer than %d characters", quote(t.s), most), fix)
	case !idForm.MatchString(t.s):
		v.problem(fmt.Sprintf("the task id %s is not a plain name", quote(t.s)), fix)
	case branchFault(branchPrefix+t.s) != "":
		v.problem(fmt.Sprintf("the task id %s cannot be part of a branch's name", quote(t.s)), branchFault(branchPrefix+t.s))
	default:
		return t, true
	}
	return text{}, false
}

// readOutput reads what the final answer must be like.
func readOutput(v value) (map[string]any, bool) {
	var schema map[string]any
	fields{"schema": into(&schema, readSchema)}.read(v)
	return schema, schema != nil
}

// readCheck reads one verify command. Without a name it is called after its
// command.
func readCheck(v value) (check, bool) {
	c := check{value: v, Verify: Verify{Time: DefaultVerifyTime}}
	got := fields{
		"name": into(&c.Name, value.str),
		"run":  into(&c.run, readCommand),
		"time": into(&c.Time, readDuration),
	}.read(v)
	if _, ok := got["run"]; !ok {
		if v.isMapping() {
			v.problem(v.name+" has no command", "write {name: tests, run: COMMAND}")
		}
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
			c.problem(fmt.Sprintf("the verify name %s is used twice, first in line %d", quote(c.Name), before.use.Line), "rename one of them")
			continue
		}
		first[c.Name] = c
	}
}

// readCommit reads how changes are committed; false means not at all.
func readCommit(v value) (commit, bool) {
	c := commit{value: v, ifExists: FailIfExists}
	if v.isBoolean() {
		on, _ := v.boolean()
		c.off = !on
		return c, true
	}
	fields{
		"message": func(v value) { c.message = readOptionalTemplate(v) },
		"branch":  func(v value) { c.branch = readOptionalTemplate(v) },
		"author":  into(&c.author, readAuthor),
		"sign":    only("none", "ssh", "openpgp"),
		"if_exists": func(v value) {
			c.exists = v
			into(&c.ifExists, oneOf([]IfExists{FailIfExists, ReplaceIfExists, SkipIfExists, AppendIfExists}))(v)
		},
		"protect": into(&c.protect, list(value.str)),
		"wip":     into(&c.wip, value.boolean),
	}.read(v)
	return c, true
}

// at is where to speak of how a task's changes are committed.
func (c commit) at(t *task) value {
	if c.src == nil {
		return t.value
	}
	return c.value
}

// readOptionalTemplate reads a template; an empty text is as if it were not there.
func readOptionalTemplate(v value) *template {
	if v.empty() {
		return nil
	}
	return optional(v.template())
}

// readAuthor reads who a commit is by.
func readAuthor(v value) (Person, bool) {
	var p Person
	got := fields{"name": into(&p.Name, value.str), "email": into(&p.Email, value.str)}.read(v)
	if len(got) < 2 && v.isMapping() {
		v.problem("an author has a name and an email", "write {name: ..., email: ...}")
	}
	if strings.ContainsAny(p.Name+p.Email, "<>\r\n") {
		v.problem("an author's name and email hold no <, > or line breaks", "take them out")
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
