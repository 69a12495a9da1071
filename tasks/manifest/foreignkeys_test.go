package manifest

import (
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/profiles"
)

// Every key of another tool has a fix that some mapping accepts.
func TestForeignKeysHaveAnOwnKey(t *testing.T) {
	tables := []form.Table{new(Manifest).Keys(), new(Task).keys(), new(verifyCheck).keys(), profiles.Form.Type.Elem.Keys()}
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
