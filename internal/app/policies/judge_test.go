package policies

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
)

func TestTheFirstDenialDecides(t *testing.T) {
	allowed := permission.Decision{Effect: permission.Allow, Rule: "read: allow", Source: "m.yaml:1"}
	denied := permission.Decision{Effect: permission.Deny, Rule: "bash: deny", Source: "m.yaml:2"}
	later := permission.Decision{Effect: permission.Deny, Rule: "edit: deny", Source: "m.yaml:3"}
	byNone := permission.Decision{Effect: permission.Allow, Rule: "the workspace", NoRule: true, Source: "built in"}
	for name, tt := range map[string]struct {
		decisions []permission.Decision
		want      string
	}{
		"nothing is required":          {nil, "nothing to decide"},
		"a denial after an allowance":  {[]permission.Decision{allowed, denied, later}, "bash: deny"},
		"a rule before what has none":  {[]permission.Decision{allowed, byNone}, "read: allow"},
		"only what no rule decides on": {[]permission.Decision{byNone}, "the workspace"},
	} {
		if got := Overall(tt.decisions); got.Rule != tt.want {
			t.Errorf("%s: %q, want %q", name, got.Rule, tt.want)
		}
	}
}

func TestAnExampleThatIsDecidedOtherwiseIsAProblem(t *testing.T) {
	t.Chdir(t.TempDir())
	w := world.World{Getenv: func(string) string { return "" }}
	full, err := manifest.LoadProfile(t.Context(), "full", "", tasks.Options{Getenv: w.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckExamples(w, &tasks.Plan{Profiles: []permission.Profile{full}}); err != nil {
		t.Errorf("a profile without examples: %v", err)
	}
	full.Examples = []permission.Example{{Tool: "bash", Subject: "ls", Effect: permission.Deny}}
	err = CheckExamples(w, &tasks.Plan{Profiles: []permission.Profile{full}})
	if got := fault.ProblemsOf(err); len(got) != 1 || !strings.Contains(err.Error(), "1 policy example failed") {
		t.Errorf("%v, %v", got, err)
	}
}
