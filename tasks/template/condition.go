package template

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/expr"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// Condition is an if as a manifest has it.
type Condition struct {
	form.Text
	expr    expr.Expression
	written string
	start   int // offset of the expression in the text
}

// ConditionForm reads the value of a key if.
var ConditionForm = form.Of[*Condition]{Type: form.ScalarType(), Read: readCondition}

// readCondition reads an if: an expression, perhaps with ${{ }} around it.
func readCondition(v form.Value) (*Condition, bool) {
	t, ok := v.Scalar()
	if !ok {
		return nil, false
	}
	c := &Condition{Text: t}
	inside := t.S
	if strings.HasPrefix(strings.TrimSpace(t.S), form.Opening) {
		c.start = strings.Index(t.S, form.Opening) + len(form.Opening)
		inside, ok = strings.CutSuffix(strings.TrimRight(t.S, " \t\r\n")[c.start:], "}}")
	}
	var f *problem.Fault
	switch {
	case !ok:
		f = &problem.Fault{At: strings.Index(t.S, form.Opening) - c.start, What: "the ${{ is not closed by }}", Fix: "write ${{ CONDITION }}, or the condition alone"}
	case strings.TrimSpace(inside) == "":
		f = &problem.Fault{At: -c.start, What: v.Label + " is empty", Fix: "write a condition, or leave it out"}
	default:
		c.expr, f = expr.Parse(inside)
	}
	if f != nil {
		c.problemAt(f.At, f.What, f.Fix)
		return nil, false
	}
	c.written = strings.Join(strings.Fields(inside), " ")
	return c, true
}

// problemAt records a mistake at an offset of the expression.
func (c *Condition) problemAt(at int, what, fix string) {
	p := c.PositionOf(c.start + at)
	c.Src.Report(p.Line, p.Column, what, fix)
}

// CheckNames records variables that do not exist. Those of the environment do,
// being empty where they are not set, and so do keys that only some of a
// matrix's combinations have.
func (c *Condition) CheckNames(vars map[string]string, keys []string) {
	if c == nil {
		return
	}
	known := []string{"repo.name", "repo.ref", "task.id", "run.id", "run.date"}
	for _, k := range slices.Sorted(maps.Keys(vars)) {
		known = append(known, "vars."+k)
	}
	for _, k := range keys {
		known = append(known, "matrix."+k)
	}
	c.expr.Variables(func(variable string, at int) {
		example, isFunction := expr.Example(variable)
		name, isEnv := strings.CutPrefix(variable, "env.")
		by, refused := c.Src.Policies.Refuses(policy.Env, name)
		switch {
		case isEnv && refused:
			what, fix := form.Refusal("the environment variable "+name, by)
			c.problemAt(at, what, fix)
		case isEnv || strings.HasPrefix(variable, "event.") || slices.Contains(known, variable):
		case isFunction:
			c.problemAt(at, fmt.Sprintf("%s is a function", variable), "write for example "+example)
		case !strings.Contains(variable, "."):
			c.problemAt(at, problem.Quote(variable)+" is not a variable", "put a text in quotes, or write vars.NAME, matrix.KEY, env.NAME, repo.name, repo.ref, task.id, run.id, run.date or event.PATH")
		default:
			c.problemAt(at, "unknown variable "+problem.Quote(variable), c.Src.Found.Suggest(variable, known, "known variables: "))
		}
	})
}

// Decide evaluates a condition for one job as far as that goes without its
// repository: it returns why the job is to be skipped, or what is left to ask.
func (c *Condition) Decide(s Scope) (skip string, rest *tasks.Condition) {
	if c == nil {
		return "", nil
	}
	e, f := c.expr.Reduce(s.value)
	holds, decided := e.Decided()
	switch {
	case f != nil:
		c.problemAt(f.At, f.What, f.Fix)
	case !decided:
		return "", tasks.NewCondition(c.written, e)
	case !holds:
		return "its condition does not hold: " + c.written, nil
	}
	return "", nil
}

// value returns the value of a variable of a condition; "" if it is unknown
// such variable here.
func (s Scope) value(name string) string {
	group, key, _ := strings.Cut(name, ".")
	switch {
	case group == "vars":
		return s.Vars[key]
	case group == "matrix":
		return s.Matrix[key]
	case group == "env":
		return s.Getenv(key)
	case group == "event":
		v, _, _ := s.Event.value(key) // "" like a variable of the environment that is not set
		return v
	case name == "repo.name":
		return s.Repo.Name
	case name == "repo.ref":
		return s.Repo.Ref
	case name == "run.id":
		return s.Run.name()
	case name == "run.date":
		return s.Run.date()
	default:
		return s.Task
	}
}
