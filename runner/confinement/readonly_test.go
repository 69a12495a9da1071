package confinement

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
)

func TestWorkspaceIsReadOnlyWithoutGrant(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	review, _ := permission.Preset("review")
	build, _ := permission.Preset("build")
	whole := tasks.Process{Workspace: true}
	for name, c := range map[string]struct {
		profile permission.Profile
		process tasks.Process
		want    bool
	}{
		"a profile that allows changes":      {build, tasks.Process{}, false},
		"one that allows none":               {review, tasks.Process{}, true},
		"with a grant":                       {review, whole, false},
		"an agent that may change nothing":   {build.Under(review), tasks.Process{}, true},
		"a grant above the limit":            {build.Under(review), whole, true},
		"a grant below a limit":              {review.Under(build), whole, false},
		"a grant of the directory":           {review, tasks.Process{Write: []string{dir}}, false},
		"a grant of what contains it":        {review, tasks.Process{Write: []string{filepath.Dir(dir)}}, false},
		"a directory above the limit":        {review.Under(build), tasks.Process{Write: []string{dir}}, true},
		"a grant of a directory in it":       {review, tasks.Process{Write: []string{sub}}, true},
		"a grant of a directory elsewhere":   {review, tasks.Process{Write: []string{t.TempDir()}}, true},
		"restrictions that are not of edits": {review.Narrowed("x", nil), whole, false},
		"restrictions of an agent":           {build.Narrowed("x", []permission.Rule{{Permission: "*", Pattern: "*"}}), whole, true},
	} {
		g := Env{Dirs: Dirs{Workspace: dir}, Rules: Rules{Profile: ProcessProfile(c.profile, "mcp.x", c.process)}, Getenv: os.Getenv}
		if g.lockFor(c.process); g.readOnly() != c.want {
			t.Errorf("%s: read-only: %t", name, g.readOnly())
		}
		if !g.readOnly() {
			continue
		}
		for _, grant := range g.spec(nested{}).Grants {
			if grant.Writable() && Overlap(grant.Path(), dir) && grant.Path() != sub {
				t.Errorf("%s: %s can be written", name, grant.Path())
			}
		}
	}
}
