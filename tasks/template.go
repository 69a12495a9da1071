package tasks

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// A template is a text with variables:
//
//	${{ vars.NAME }}    a variable of the manifest, the task or the command line
//	${{ matrix.KEY }}   the value of this combination
//	${{ repo.name }}    the repository, as reports name it
//	${{ repo.ref }}     the revision to start from, as it is written; empty for the usual one
//	${{ env.NAME }}     an environment variable, which must be set and not empty
//	${{ task.id }}      the task
//	${{ run.id }}       the run
//	${{ run.date }}     the day that it started, in UTC: 2026-01-02
//	${{ event.PATH }}   a value of the CI's event: in prompts a text is fenced, elsewhere only numbers are allowed
//	${{ summary }}      in texts of pull requests, a result: see [ResultVariables]
//
// A value is put in as it is: nothing in it is a variable again, and nothing
// is quoted for a shell, so that a command line has to quote what may hold
// blanks or worse. $${{ stands for ${{ itself.
type template struct {
	form.Text
	segments []segment
}

// segment is some text, or a variable and its position.
type segment struct {
	text     string
	variable string // "" for text
	line     int
	column   int
}

// maxRendered bounds one text with its variables filled in.
const maxRendered = 1 << 20

var variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)+$|^(summary|verify|cost|report|patterns)$`)

// readTemplate reads a text with variables. A mistake in the form of one is
// recorded, and the others are read all the same.
func readTemplate(v form.Value) (template, bool) {
	t, ok := v.Filled()
	if !ok {
		return template{}, false
	}
	return parseTemplate(t), true
}

// readCommand reads a line for the shell; any plain value will do, as "true" is a
// command.
func readCommand(v form.Value) (template, bool) {
	t, ok := v.Scalar()
	if ok && strings.TrimSpace(t.S) == "" {
		v.Problem(v.Label+" is empty", "write a command, or remove it")
		ok = false
	}
	if !ok {
		return template{}, false
	}
	v.Uses().Command(v, t.S)
	return parseTemplate(t), true
}

func parseTemplate(t form.Text) template {
	tpl := template{Text: t}
	rest := t.S
	for _, at := range t.Openings() {
		before, after, _ := strings.Cut(rest, form.Opening)
		if literal, ok := strings.CutSuffix(before, "$"); ok {
			tpl.segments = append(tpl.segments, segment{text: literal + form.Opening})
			rest = after
			continue
		}
		name, after, err := cutVariable(after)
		if err != nil {
			t.Src.Report(at.Line, at.Column, err.Error(), "write ${{ vars.NAME }}, or $${{ for the text ${{ itself")
			rest = after
			continue
		}
		tpl.segments = append(tpl.segments, segment{text: before}, segment{variable: name, line: at.Line, column: at.Column})
		rest = after
	}
	tpl.segments = append(tpl.segments, segment{text: rest})
	return tpl
}

// cutVariable cuts the name of a variable and its closing braces from a text.
func cutVariable(s string) (name, after string, err error) {
	inside, after, closed := strings.Cut(s, "}}")
	if !closed || strings.ContainsAny(inside, "\r\n") || strings.Contains(inside, form.Opening) {
		return "", s, errors.New("${{ without }} on the same line")
	}
	name = strings.TrimSpace(inside)
	if !variableForm.MatchString(name) {
		return "", after, fmt.Errorf("invalid variable %s", problem.Quote(name))
	}
	return name, after, nil
}

// scope holds what the variables of one job stand for.
type scope struct {
	vars   map[string]string
	matrix map[string]string
	repo   Repo
	task   string
	run    *runNames
	getenv func(string) string
	event  *event

	prompt  bool // the text is a prompt
	results bool // the variables of results are left as they are written
}

// render fills in a template. Each unknown variable is recorded at its position.
func (t template) render(s scope) (string, bool) {
	out, _, ok := t.fillIn(s)
	return out, ok
}

// fillIn is render that also returns where the values are.
func (t template) fillIn(s scope) (out string, values []span, ok bool) {
	if len(t.segments) == 1 {
		return t.segments[0].text, nil, true
	}
	var b strings.Builder
	valid := true
	for _, p := range t.segments {
		filled := p.text
		if p.variable != "" {
			v, ok := t.lookup(p, s)
			if !ok {
				valid = false
			}
			filled = v
		}
		if b.Len()+len(filled) > maxRendered {
			t.Problem("the text exceeds 1 MiB after its variables are filled in", "shorten it or its variables")
			return "", nil, false
		}
		if p.variable != "" {
			values = append(values, span{b.Len(), b.Len() + len(filled)})
		}
		b.WriteString(filled)
	}
	return b.String(), values, valid
}

// lookup returns what a variable stands for, or records that it is unknown.
func (t template) lookup(p segment, s scope) (string, bool) {
	group, name, _ := strings.Cut(p.variable, ".")
	switch {
	case group == "vars":
		return t.pick(p, s.vars, name, "known variables: ", "declare it with vars:")
	case group == "matrix":
		return t.pick(p, s.matrix, name, "keys of this task's matrix: ", "the task has no matrix")
	case group == "env":
		if by, refused := t.Src.Policies.Refuses(policy.Env, name); refused {
			what, fix := form.Refusal("the environment variable "+name, by)
			t.unknown(p, what, fix)
			return "", false
		}
		if v := s.getenv(name); v != "" {
			return v, true
		}
		t.unknown(p, fmt.Sprintf("the environment variable %s is not set", name), "set it, or use vars: for a value of the manifest")
	case group == "event":
		return t.ofEvent(p, s, name)
	case p.variable == "repo.name":
		return s.repo.Name, true
	case p.variable == "repo.ref":
		return s.repo.Ref, true
	case p.variable == "task.id":
		return s.task, true
	case p.variable == "run.id":
		return s.run.name(), true
	case p.variable == "run.date":
		return s.run.date(), true
	case s.results && slices.Contains(ResultVariables(), p.variable):
		return "${{ " + p.variable + " }}", true
	default:
		known := []string{"vars." + name, "matrix." + name, "repo.name", "repo.ref", "env." + name, "task.id", "run.id", "run.date", "event." + name}
		fix := "write vars.NAME, matrix.KEY, repo.name, repo.ref, env.NAME, task.id, run.id, run.date or event.PATH, or $${{ for the text ${{ itself"
		if best := problem.Nearest(p.variable, known, 2); best != "" {
			fix = fmt.Sprintf("did you mean %q?", best)
		}
		t.unknown(p, "unknown variable "+problem.Quote(p.variable), fix)
	}
	return "", false
}

// ofEvent returns a value of the event.
func (t template) ofEvent(p segment, s scope, path string) (string, bool) {
	value, isText, err := s.event.value(path)
	switch {
	case err != nil:
		t.unknown(p, p.variable+": "+err.Error(), "run it in a workflow whose event has it, or set GITHUB_EVENT_PATH to a file with such an event")
	case !isText:
		return value, true
	case s.prompt:
		return fenced(path, value), true
	default:
		t.unknown(p, p.variable+" is a text that anybody may have written, which is allowed only in prompts", "use it in prompt, or a number of the event")
	}
	return "", false
}

// pick looks a name up in a group of variables.
func (t template) pick(p segment, group map[string]string, name, listing, none string) (string, bool) {
	if v, ok := group[name]; ok {
		return v, true
	}
	fix := none
	if len(group) > 0 {
		prefix, _, _ := strings.Cut(p.variable, ".")
		var known []string
		for _, k := range slices.Sorted(maps.Keys(group)) {
			known = append(known, prefix+"."+k)
		}
		fix = t.Src.Found.Suggest(p.variable, known, listing)
	}
	t.unknown(p, "unknown variable "+problem.Quote(p.variable), fix)
	return "", false
}

func (t template) unknown(p segment, what, fix string) { t.Src.Report(p.line, p.column, what, fix) }

var templateForm = form.Of[template]{Type: form.Type{Name: "string"}, Read: readTemplate}

var commandForm = form.Of[template]{Type: form.ScalarType(), Read: readCommand}
