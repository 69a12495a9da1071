package tasks

import (
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks/form"
)

// Every key of another tool has a fix that some mapping accepts.
func TestForeignKeysHaveAnOwnKey(t *testing.T) {
	tables := []form.Table{new(manifest).keys(), new(task).keys(), new(check).keys(), new(profileBody).keys()}
	for name, list := range form.ForeignKeys() {
		if name != strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name)) {
			t.Errorf("%s is never found", name)
		}
		for _, f := range list {
			if !slices.ContainsFunc(tables, func(ks form.Table) bool { return ks.Index(f.Has) >= 0 }) {
				t.Errorf("%s: no mapping has %s", name, f.Has)
			}
		}
	}
}

// A single command needs no list.
func TestACommandCanBeAString(t *testing.T) {
	plan, err := loadText(t, "version: 1\nmodel: openai/m\ntasks: [{id: a, prompt: p, setup: 'npm ci, x', verify: \"go test ./... -run 'a, b'\"}]", nil, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if j := plan.Jobs[0]; !slices.Equal(j.Setup, []string{"npm ci, x"}) || len(j.Verify) != 1 || j.Verify[0].Run != "go test ./... -run 'a, b'" || j.Verify[0].Name == "" {
		t.Errorf("%+v, %+v", j.Setup, j.Verify)
	}
}
