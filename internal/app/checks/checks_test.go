package checks

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/models"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/tasks"
)

func TestOnlyMissingKeysAreLeftToWorkers(t *testing.T) {
	key, login, other := &fault.KeyError{Model: "a/b", Variables: []string{"A_KEY"}}, &models.LoginError{Model: "c/d", Err: errors.New("no login")}, errors.New("unknown provider")
	for name, c := range map[string]struct {
		err  error
		want string // "" for no error
	}{
		"nothing":     {nil, ""},
		"keys":        {errors.Join(key, login), ""},
		"among keys":  {errors.Join(key, other, login), "unknown provider"},
		"not a list":  {other, "unknown provider"},
		"only others": {errors.Join(other, other), "unknown provider\nunknown provider"},
	} {
		err := withoutKeys(c.err)
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// What a command lacks decides which checks it leaves to others; a plan that no machine could run fails for each.
func TestOnlyChecksThatNeedAnotherMachineAreLeftOut(t *testing.T) {
	w := world.World{Getenv: func(string) string { return "" }, Now: time.Now}
	job := func(model string) tasks.Job { return tasks.Job{ID: "a", Model: model, ModelName: model} }
	validates, submits, runs := Here{}, Here{Models: true}, Here{Models: true, Keys: true}
	for name, c := range map[string]struct {
		plan  tasks.Plan
		want  string
		fails []Here
	}{
		"a schema that is not JSON": {tasks.Plan{Tools: []tasks.CustomTool{{Name: "count", Schema: map[string]any{"a": func() {}}}}}, "schema of the tool count", []Here{validates, submits, runs}},
		"a missing script":          {tasks.Plan{Jobs: []tasks.Job{job("script:missing.yaml")}}, "missing.yaml", []Here{submits, runs}},
		"a missing key":             {tasks.Plan{Jobs: []tasks.Job{job("openai/gpt-5-mini")}}, "OPENAI_API_KEY", []Here{runs}},
	} {
		for _, here := range []Here{validates, submits, runs} {
			fails := slices.Contains(c.fails, here)
			if _, err := Elsewhere(t.Context(), w, &c.plan, here); (err != nil) != fails || fails && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %+v: %v", name, here, err)
			}
		}
	}
}
