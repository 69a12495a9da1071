package runner

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
	m := message{run: "r1", plan: &tasks.Plan{}, base: "base", redact: redact.New([]string{"a-held-secret-42"}), job: tasks.Job{
		ID: "a.1", Task: "a", Prompt: "Use a-held-secret-42.\nNow.", Repo: tasks.Repo{Name: "shop"}, Commit: &tasks.Commit{},
	}}
	want := "a: Use [redacted]\n\nMillhand-Run: r1\nMillhand-Job: a.1\nMillhand-Task: " + taskHash(m.job, "base") + "\n"
	if diff := cmp.Diff(want, m.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.own = "Not this"
	m.job.Commit.Message, m.unfinished = "  Fix it\n\nBecause.\n", event.Limit
	if got := m.String(); !strings.HasPrefix(got, "wip: Fix it\n\nBecause.\n\nMillhand-Run: r1\n") || !strings.HasSuffix(got, "\nMillhand-Outcome: limit\n") {
		t.Errorf("the message is %q", got)
	}
	m.job.Commit.Message, m.unfinished, m.plan = "", "", &tasks.Plan{Name: "move to v2", Rollout: &tasks.Rollout{}}
	if got := m.String(); !strings.HasPrefix(got, "Not this\n\n") || !strings.HasSuffix(got, "\nMillhand-Rollout: move to v2\n") {
		t.Errorf("the message is %q", got)
	}
	made := MadeFor(m.plan, m.job, m.String(), "base")
	if made != (Made{Job: true, Rollout: true, Task: true}) || MadeFor(m.plan, m.job, m.String(), "other").Task {
		t.Errorf("the message shows %+v", made)
	}
	evidence := witnessed(m.String(), "a.1", func(job string) string { return "of-" + job })
	if !strings.HasSuffix(evidence, "\nMillhand-Evidence: sha256:of-a.1\n") || witnessed("x", "a", nil) != "x" || witnessed("x", "a", func(string) string { return "" }) != "x" {
		t.Errorf("with evidence: %q", evidence)
	}
	var hashes []string
	for _, base := range []string{"base", "other", ""} {
		hashes = append(hashes, taskHash(m.job, base))
	}
	if slices.Sort(hashes); len(slices.Compact(hashes)) != 3 {
		t.Errorf("task hashes %q", hashes)
	}
}
