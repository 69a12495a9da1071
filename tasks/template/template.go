package template

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// Template is a text with variables:
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
//	${{ summary }}      in texts of pull requests, a result: see [tasks.ResultVariables]
//
// A value is put in as it is: nothing in it is a variable again, and nothing
// is quoted for a shell, so that a command line has to quote what may hold
// blanks or worse. $${{ stands for ${{ itself.
type Template struct {
	form.Text
	Segments []Segment
}

// Segment is some text, or a variable and its position.
type Segment struct {
	Text     string
	Variable string // "" for text
	line     int
	column   int
}

// maxRendered bounds one text with its variables filled in.
const maxRendered = 1 << 20

var variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)+$|^(summary|verify|cost|report|patterns)$`)

// ReadTemplate reads a text with variables. A mistake in the form of one is
// recorded, and the others are read all the same.
func ReadTemplate(v form.Value) (Template, bool) {
	t, ok := v.Filled()
	if !ok {
		return Template{}, false
	}
	return ParseTemplate(t), true
}

// readCommand reads a line for the shell; any plain value will do, as "true" is a
// command.
func readCommand(v form.Value) (Template, bool) {
	t, ok := v.Scalar()
	if ok && strings.TrimSpace(t.S) == "" {
		v.Problem(v.Label+" is empty", "write a command, or remove it")
		ok = false
	}
	if !ok {
		return Template{}, false
	}
	v.Uses().Command(v, t.S)
	return ParseTemplate(t), true
}

// ParseTemplate divides a text into literal parts and variables, and records what is wrong with them.
func ParseTemplate(t form.Text) Template {
	tpl := Template{Text: t}
	rest := t.S
	for _, at := range t.Openings() {
		before, after, _ := strings.Cut(rest, form.Opening)
		if literal, ok := strings.CutSuffix(before, "$"); ok {
			tpl.Segments = append(tpl.Segments, Segment{Text: literal + form.Opening})
			rest = after
			continue
		}
		name, after, err := cutVariable(after)
		if err != nil {
			t.Src.Report(at.Line, at.Column, err.Error(), "write ${{ vars.NAME }}, or $${{ for the text ${{ itself")
			rest = after
			continue
		}
		tpl.Segments = append(tpl.Segments, Segment{Text: before}, Segment{Variable: name, line: at.Line, column: at.Column})
		rest = after
	}
	tpl.Segments = append(tpl.Segments, Segment{Text: rest})
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

// Scope holds what the variables of one job stand for.
type Scope struct {
	Vars   map[string]string
	Matrix map[string]string
	Repo   tasks.Repo
	Task   string
	Run    *RunNames
	Getenv func(string) string
	Event  *Event

	Prompt  bool // the text is a prompt
	Results bool // the variables of results are left as they are written
}

// Render fills in a template. Each unknown variable is recorded at its position.
func (t Template) Render(s Scope) (string, bool) {
	out, _, ok := t.FillIn(s)
	return out, ok
}

// FillIn is render that also returns where the values are.
func (t Template) FillIn(s Scope) (out string, values []Span, ok bool) {
	if len(t.Segments) == 1 {
		return t.Segments[0].Text, nil, true
	}
	var b strings.Builder
	valid := true
	for _, p := range t.Segments {
		filled := p.Text
		if p.Variable != "" {
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
		if p.Variable != "" {
			values = append(values, Span{b.Len(), b.Len() + len(filled)})
		}
		b.WriteString(filled)
	}
	return b.String(), values, valid
}

// lookup returns what a variable stands for, or records that it is unknown.
func (t Template) lookup(p Segment, s Scope) (string, bool) {
	group, name, _ := strings.Cut(p.Variable, ".")
	switch {
	case group == "vars":
		return t.pick(p, s.Vars, name, "known variables: ", "declare it with vars:")
	case group == "matrix":
		return t.pick(p, s.Matrix, name, "keys of this task's matrix: ", "the task has no matrix")
	case group == "env":
		if by, refused := t.Src.Policies.Refuses(policy.Env, name); refused {
			what, fix := form.Refusal("the environment variable "+name, by)
			t.Unknown(p, what, fix)
			return "", false
		}
		if v := s.Getenv(name); v != "" {
			return v, true
		}
		t.Unknown(p, fmt.Sprintf("the environment variable %s is not set", name), "set it, or use vars: for a value of the manifest")
	case group == "event":
		return t.ofEvent(p, s, name)
	case p.Variable == "repo.name":
		return s.Repo.Name, true
	case p.Variable == "repo.ref":
		return s.Repo.Ref, true
	case p.Variable == "task.id":
		return s.Task, true
	case p.Variable == "run.id":
		return s.Run.name(), true
	case p.Variable == "run.date":
		return s.Run.date(), true
	case s.Results && slices.Contains(tasks.ResultVariables(), p.Variable):
		return "${{ " + p.Variable + " }}", true
	default:
		known := []string{"vars." + name, "matrix." + name, "repo.name", "repo.ref", "env." + name, "task.id", "run.id", "run.date", "event." + name}
		fix := "write vars.NAME, matrix.KEY, repo.name, repo.ref, env.NAME, task.id, run.id, run.date or event.PATH, or $${{ for the text ${{ itself"
		if best := problem.Nearest(p.Variable, known, 2); best != "" {
			fix = fmt.Sprintf("did you mean %q?", best)
		}
		t.Unknown(p, "unknown variable "+problem.Quote(p.Variable), fix)
	}
	return "", false
}

// ofEvent returns a value of the event.
func (t Template) ofEvent(p Segment, s Scope, path string) (string, bool) {
	value, isText, err := s.Event.value(path)
	switch {
	case err != nil:
		t.Unknown(p, p.Variable+": "+err.Error(), "run it in a workflow whose event has it, or set GITHUB_EVENT_PATH to a file with such an event")
	case !isText:
		return value, true
	case s.Prompt:
		return fenced(path, value), true
	default:
		t.Unknown(p, p.Variable+" is a text that anybody may have written, which is allowed only in prompts", "use it in prompt, or a number of the event")
	}
	return "", false
}

// pick looks a name up in a group of variables.
func (t Template) pick(p Segment, group map[string]string, name, listing, none string) (string, bool) {
	if v, ok := group[name]; ok {
		return v, true
	}
	fix := none
	if len(group) > 0 {
		prefix, _, _ := strings.Cut(p.Variable, ".")
		var known []string
		for _, k := range slices.Sorted(maps.Keys(group)) {
			known = append(known, prefix+"."+k)
		}
		fix = t.Src.Found.Suggest(p.Variable, known, listing)
	}
	t.Unknown(p, "unknown variable "+problem.Quote(p.Variable), fix)
	return "", false
}

// Unknown records a problem of a variable at its position, and how to correct it.
func (t Template) Unknown(p Segment, what, fix string) { t.Src.Report(p.line, p.column, what, fix) }

// TemplateForm reads a text with variables.
var TemplateForm = form.Of[Template]{Type: form.Type{Name: "string"}, Read: ReadTemplate}

// CommandForm reads a line for the shell, with variables.
var CommandForm = form.Of[Template]{Type: form.ScalarType(), Read: readCommand}

// Literal reports whether a template has no variables.
func (t Template) Literal() bool {
	return !slices.ContainsFunc(t.Segments, func(s Segment) bool { return s.Variable != "" })
}
