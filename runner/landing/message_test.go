package landing

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/tasks"
)

func TestTheMessageOfACommit(t *testing.T) {
	m := Message{Run: "r1", Plan: &tasks.Plan{}, Base: "base", Redact: redact.New([]string{"a-held-secret-42"}), Job: tasks.Job{
		ID: "a.1", Task: "a", Prompt: "Use a-held-secret-42.\nNow.", Repo: tasks.Repo{Name: "shop"}, Commit: &tasks.Commit{},
	}}
	want := "a: Use [redacted]\n\nMillhand-Run: r1\nMillhand-Job: a.1\nMillhand-Task: " + TaskHash(m.Job, "base") + "\n"
	if diff := cmp.Diff(want, m.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.Own = "Not this"
	m.Job.Commit.Message, m.Unfinished = "  Fix it\n\nBecause.\n", event.Limit
	if got := m.String(); !strings.HasPrefix(got, "wip: Fix it\n\nBecause.\n\nMillhand-Run: r1\n") || !strings.HasSuffix(got, "\nMillhand-Outcome: limit\n") {
		t.Errorf("the message is %q", got)
	}
	m.Job.Commit.Message, m.Unfinished, m.Plan = "", "", &tasks.Plan{Name: "move to v2", Rollout: &tasks.Rollout{}}
	if got := m.String(); !strings.HasPrefix(got, "Not this\n\n") || !strings.HasSuffix(got, "\nMillhand-Rollout: move to v2\n") {
		t.Errorf("the message is %q", got)
	}
	made := MadeFor(m.Plan, m.Job, m.String(), "base")
	if made != (Made{Job: true, Rollout: true, Task: true}) || MadeFor(m.Plan, m.Job, m.String(), "other").Task {
		t.Errorf("the message shows %+v", made)
	}
	evidence := Witnessed(m.String(), "a.1", func(job string) string { return "of-" + job })
	if !strings.HasSuffix(evidence, "\nMillhand-Evidence: sha256:of-a.1\n") || Witnessed("x", "a", nil) != "x" || Witnessed("x", "a", func(string) string { return "" }) != "x" {
		t.Errorf("with evidence: %q", evidence)
	}
	var hashes []string
	for _, base := range []string{"base", "other", ""} {
		hashes = append(hashes, TaskHash(m.Job, base))
	}
	if slices.Sort(hashes); len(slices.Compact(hashes)) != 3 {
		t.Errorf("task hashes %q", hashes)
	}
}
