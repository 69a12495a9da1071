package expand

import (
	"fmt"
	"strings"

	"github.com/millhand/millhand/tasks/problem"
	"github.com/millhand/millhand/tasks/template"
)

// maxRenderedPlan bounds all texts of a plan with their variables filled in,
// in bytes.
const maxRenderedPlan = 128 << 20

// planTexts fills in the texts of a plan.
type planTexts struct {
	getenv   func(string) string
	rendered int // bytes of texts with variables so far
}

// render fills in a template. After a problem, and once the plan's texts are
// too large, it returns "".
func (x *planTexts) render(t template.Template, s template.Scope) string {
	out, _ := x.fillIn(t, s)
	return out
}

// fillIn is render that also returns where the values are.
func (x *planTexts) fillIn(t template.Template, s template.Scope) (string, []template.Span) {
	if t.Src == nil || x.rendered > maxRenderedPlan {
		return "", nil
	}
	out, values, ok := t.FillIn(s)
	if len(t.Segments) > 1 {
		x.rendered += len(out)
	}
	switch {
	case x.rendered > maxRenderedPlan:
		t.Problem("the texts of the plan exceed 128 MiB after their variables are filled in", "split the plan")
	case ok && strings.TrimSpace(out) == "":
		t.Problem(t.Label+" is empty after its variables are filled in", "give the variables values")
	}
	return out, values
}

// filled fills in texts of a server, and returns what of the environment is in them, too.
func (x *planTexts) filled(all []template.Template) (values map[string]string, secrets []string) {
	return x.filledIn(all), x.variablesIn(all)
}

// filledIn fills in texts that are the same for all jobs; nil for none.
func (x *planTexts) filledIn(all []template.Template) map[string]string {
	if len(all) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, t := range all {
		s := x.fromEnv(t)
		if strings.ContainsAny(s, "\r\n\x00") {
			t.Problem(t.Label+" contains a line break after its variables are filled in", "write one line")
		}
		out[t.Key.Value] = s
	}
	return out
}

// fromEnv fills in a text that is the same for all jobs: it knows no variables
// but those of the environment.
func (x *planTexts) fromEnv(t template.Template) string {
	for _, p := range t.Segments {
		if p.Variable != "" && !strings.HasPrefix(p.Variable, "env.") {
			t.Unknown(p, fmt.Sprintf("the variable %s is not known here", problem.Quote(p.Variable)), "write ${{ env.NAME }}: this text is the same for all jobs")
			return ""
		}
	}
	out, _ := t.Render(template.Scope{Getenv: x.getenv})
	return out
}

// variablesIn returns the values of the variables of the environment in texts.
func (x *planTexts) variablesIn(all []template.Template) (secrets []string) {
	for _, t := range all {
		for _, s := range t.Segments {
			if name, ok := strings.CutPrefix(s.Variable, "env."); ok {
				secrets = append(secrets, x.getenv(name))
			}
		}
	}
	return secrets
}
