package delivery

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
)

// A change under a profile that allows none is not the agent's work: something that no sandbox of level A confined made it.
func TestChangesThatNothingPermits(t *testing.T) {
	grants := func(workspace bool, dirs ...string) func(*Delivery) {
		return func(d *Delivery) {
			d.Job.Plan.MCP = []tasks.MCPServer{{Name: "m", Process: tasks.Process{Workspace: workspace, Write: dirs}}}
		}
	}
	for name, c := range map[string]struct {
		change func(*Delivery)
		denied bool
	}{
		"a server":             {grants(false), true},
		"a server that may":    {grants(true), false},
		"a server's directory": {func(d *Delivery) { grants(false, d.Site.Dir)(d) }, false},
		"another directory":    {grants(false, "/elsewhere"), true},
		"a tool":               {func(d *Delivery) { d.Job.Plan.Tools = []tasks.CustomTool{{}} }, true},
		"no program":           {func(*Delivery) {}, false},
		"level A":              {func(d *Delivery) { grants(false)(d); d.Options.Level = sandbox.Full }, false},
		"a script":             {func(d *Delivery) { grants(false)(d); d.Job.Spec.Script = &tasks.TaskScript{} }, false},
		"commits of before":    {func(d *Delivery) { grants(false)(d); d.Job.Start.Onto = preflight.Rebase{Commit: "c0ffee"} }, false},
		"another profile": {func(d *Delivery) {
			grants(false)(d)
			d.Profile, _ = permission.Preset("build")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.job("a")
			spec.Profile = readonly()
			d := s.delivery(&tasks.Plan{}, spec, map[string]string{"new": "x\n"})
			d.Options.Level = sandbox.None
			c.change(d)
			f, err := d.Site.Diff.Find(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			end := d.unpermitted(f.Changes)
			if (end != nil) != c.denied || end != nil && (end.Code != event.CodeProtected || !strings.HasPrefix(end.Detail, "files were changed while the job ran (new), but the profile ")) {
				t.Errorf("%+v", end)
			}
			if f.Changes = f.Changes.Without([]string{"new"}); d.unpermitted(f.Changes) != nil {
				t.Error("a job without changes is denied")
			}
		})
	}
}

func readonly() permission.Profile {
	p, _ := permission.Preset("readonly")
	return p
}
