package runner

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
	grants := func(workspace bool, dirs ...string) func(*landed) {
		return func(l *landed) {
			l.job.Plan.MCP = []tasks.MCPServer{{Name: "m", Process: tasks.Process{Workspace: workspace, Write: dirs}}}
		}
	}
	for name, c := range map[string]struct {
		change func(*landed)
		denied bool
	}{
		"a server":             {grants(false), true},
		"a server that may":    {grants(true), false},
		"a server's directory": {func(l *landed) { grants(false, l.site.Dir)(l) }, false},
		"another directory":    {grants(false, "/elsewhere"), true},
		"a tool":               {func(l *landed) { l.job.Plan.Tools = []tasks.CustomTool{{}} }, true},
		"no program":           {func(*landed) {}, false},
		"level A":              {func(l *landed) { grants(false)(l); l.job.opts.Level = sandbox.Full }, false},
		"a script":             {func(l *landed) { grants(false)(l); l.job.Spec.Script = &tasks.TaskScript{} }, false},
		"commits of before":    {func(l *landed) { grants(false)(l); l.job.Start.Onto = preflight.Rebase{Commit: "c0ffee"} }, false},
		"another profile": {func(l *landed) {
			grants(false)(l)
			l.job.Spec.Profile, _ = permission.Preset("build")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.job("a")
			spec.Profile = readonly()
			l := s.landed(&tasks.Plan{}, spec, map[string]string{"new": "x\n"})
			l.job.opts.Level = sandbox.None
			c.change(l)
			f, err := l.site.Diff.Find(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			end := l.unpermitted(f.Changes)
			if (end != nil) != c.denied || end != nil && (end.Code != event.CodeProtected || !strings.HasPrefix(end.Detail, "files were changed while the job ran (new), but the profile ")) {
				t.Errorf("%+v", end)
			}
			if f.Changes = f.Changes.Without([]string{"new"}); l.unpermitted(f.Changes) != nil {
				t.Error("a job without changes is denied")
			}
		})
	}
}
