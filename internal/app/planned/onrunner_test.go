package planned

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
)

// Work that ends with the machine of a CI job is named, once for each task.
func TestWorkThatEndsWithTheCIJobIsNamed(t *testing.T) {
	build, _ := permission.Preset("build")
	readonly, _ := permission.Preset("readonly")
	branch := &tasks.Commit{Branch: "millhand/x"}
	plan := &tasks.Plan{Jobs: []tasks.Job{
		{ID: "a1", Task: "branch", Profile: build, Commit: branch},
		{ID: "a2", Task: "branch", Profile: build, Commit: branch},
		{ID: "b", Task: "checkout", Profile: build, Commit: &tasks.Commit{Branch: tasks.CurrentBranch}},
		{ID: "c", Task: "in-place", Profile: build},
		{ID: "d", Task: "copied", Profile: build, Repo: tasks.Repo{Kind: tasks.RepoCopy, Name: "shop"}},
		{ID: "e", Task: "patched", Profile: build, Commit: branch, Publish: tasks.PublishPatch},
		{ID: "f", Task: "pushed", Profile: build, Commit: branch, Publish: tasks.PublishPush},
		{ID: "g", Task: "skipped", Profile: build, Commit: branch, Skip: "if"},
		{ID: "h", Task: "reading", Profile: readonly, Commit: branch},
	}}
	in := func(env map[string]string) world.World {
		return world.World{Getenv: func(name string) string { return env[name] }}
	}
	want := []string{
		"task branch: branch millhand/x is only on this runner: set publish: push or pr, or publish: patch and upload the report directory",
		"task copied: the copy of shop is only on this runner: set publish: push or pr, or publish: patch and upload the report directory",
	}
	if diff := cmp.Diff(want, NoteOnRunner(in(map[string]string{"CI": "true"}), plan)); diff != "" {
		t.Error(diff)
	}
	for _, ci := range []string{"", "0", "false"} {
		if notes := NoteOnRunner(in(map[string]string{"CI": ci}), plan); notes != nil {
			t.Errorf("CI=%q: %q", ci, notes)
		}
	}
}

func TestAskingForChangesThatTheProfileForbidsIsNamed(t *testing.T) {
	build, _ := permission.Preset("build")
	readonly, _ := permission.Preset("readonly")
	plan := &tasks.Plan{Jobs: []tasks.Job{
		{Task: "may", Profile: build, Changing: true},
		{Task: "may-not", Profile: readonly, Changing: true},
		{Task: "may-not", Profile: readonly, Changing: true},
		{Task: "asks-nothing", Profile: readonly},
	}}
	want := []string{"task may-not: " + permission.CannotChange("readonly")}
	if diff := cmp.Diff(want, NoteProfiles(plan)); diff != "" {
		t.Error(diff)
	}
}
