package expand

import (
	"slices"
	"testing"

	"github.com/millhand/millhand/tasks"
)

// A single command needs no list.
func TestACommandCanBeAString(t *testing.T) {
	plan, err := loadText(t, "version: 1\nmodel: openai/m\ntasks: [{id: a, prompt: p, setup: 'npm ci, x', verify: \"go test ./... -run 'a, b'\"}]", nil, tasks.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if j := plan.Jobs[0]; !slices.Equal(j.Setup, []string{"npm ci, x"}) || len(j.Verify) != 1 || j.Verify[0].Run != "go test ./... -run 'a, b'" || j.Verify[0].Name == "" {
		t.Errorf("%+v, %+v", j.Setup, j.Verify)
	}
}
