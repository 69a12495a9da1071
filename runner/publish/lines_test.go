package publish

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/forge/connect"
	"github.com/millhand/millhand/internal/testing/forgetest"
	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/tasks"
)

// reviewing is a pull request with a new file of many lines, and the comment of a job that reviews it.
type reviewing struct {
	*forgetest.Server
	*Comment
	warnings []string
}

func reviewOf(t *testing.T, kind forge.Kind, lines int) *reviewing {
	t.Helper()
	var text, diff strings.Builder
	fmt.Fprintf(&diff, "diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,%d @@\n", lines)
	for i := range lines {
		fmt.Fprintf(&text, "line %d\n", i+1)
		fmt.Fprintf(&diff, "+line %d\n", i+1)
	}
	s := &forgetest.Server{Kind: string(kind), User: "mill"}
	s.Add(forgetest.Repo{Owner: "acme", Name: "api"})
	s.AddPull(forgetest.Pull{Repo: "acme/api", Head: "acme/api", Number: 1, Branch: "b", Base: "main", State: "open", Diff: diff.String()})
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	client, err := connect.Client(forge.Options{
		Kind: kind, Server: server.URL, Now: func() time.Time { return time.Unix(2_000_000_000, 0) },
		Sleep: func(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) },
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &reviewing{Server: s}
	r.Comment = &Comment{
		CommentTarget: CommentTarget{Client: client, Repo: forge.Path{Owner: "acme", Name: "api"}}, Job: "review",
		Spec: tasks.Comment{Number: 1, Sticky: true, Inline: true}, Emit: func(event.Event) {},
		Warn: func(text string) { r.warnings = append(r.warnings, text) },
		Read: func(string) []string { return strings.Split(text.String(), "\n") },
	}
	return r
}

// post posts findings on lines of the file, and returns those that are on lines of the diff.
func (r *reviewing) post(t *testing.T, message string, lines ...int) int {
	t.Helper()
	review := &findings.Review{Summary: "Read."}
	for _, n := range lines {
		review.Findings = append(review.Findings, findings.Finding{Path: "new.txt", Line: n, Severity: findings.Note, Rule: "style", Message: message})
	}
	r.Facts = Facts{Review: review}
	if err := r.Post(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r.Facts.OnLines
}

// lines returns the comments on lines.
func (r *reviewing) lines() (all []string) {
	for _, n := range r.Notes() {
		if n.Kind == forgetest.LineNote {
			all = append(all, fmt.Sprintf("%d %t %s", n.Line, n.Resolved, strings.Fields(n.Body)[0]))
		}
	}
	return all
}

func TestCommentsOnLinesOfSeveralRuns(t *testing.T) {
	for _, kind := range []forge.Kind{forge.GitHub, forge.GitLab, forge.Gitea} {
		resolved := kind != forge.GitHub
		r := reviewOf(t, kind, 9)
		for i, tt := range []struct {
			lines []int
			want  []string
		}{
			{[]int{2, 4}, []string{"2 false **note**", "4 false **note**"}},
			{[]int{2, 4}, []string{"2 false **note**", "4 false **note**"}},
			{[]int{4, 7}, []string{fmt.Sprintf("2 %t _No", resolved), "4 false **note**", "7 false **note**"}},
			{[]int{2, 4, 7}, []string{"2 false **note**", "4 false **note**", "7 false **note**"}},
			{nil, []string{fmt.Sprintf("2 %t _No", resolved), fmt.Sprintf("4 %t _No", resolved), fmt.Sprintf("7 %t _No", resolved)}},
		} {
			if n := r.post(t, "m", tt.lines...); n != len(tt.lines) {
				t.Errorf("%s %d: %d findings on lines, want %d: %q", kind, i, n, len(tt.lines), r.warnings)
			}
			if diff := cmp.Diff(tt.want, r.lines()); diff != "" {
				t.Errorf("%s %d (-want +got):\n%s", kind, i, diff)
			}
		}
		if r.post(t, "another", 2); !strings.Contains(r.Notes()[0].Body+r.Notes()[1].Body, "another") {
			t.Errorf("%s: %+v", kind, r.Notes()[:2])
		}
		if len(r.warnings) > 0 {
			t.Errorf("%s: %q", kind, r.warnings)
		}
	}
}

// TestThreadsThatPeopleResolved stay resolved, whatever is reported again.
func TestThreadsThatPeopleResolved(t *testing.T) {
	r := reviewOf(t, forge.GitLab, 9)
	r.post(t, "m", 2)
	own, err := r.Client.OwnLines(t.Context(), r.Repo, 1)
	if err != nil || len(own) != 1 {
		t.Fatal(own, err)
	}
	if err := r.Client.EditLine(t.Context(), r.Repo, 1, own[0], own[0].Body, true); err != nil {
		t.Fatal(err)
	}
	r.post(t, "another", 2)
	if diff := cmp.Diff([]string{"2 true **note**"}, r.lines()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNumbersOfCommentsAreLimited(t *testing.T) {
	r := reviewOf(t, forge.GitHub, 70)
	all := []int{3, 3, 3, 3, 3, 3, 3}
	for n := range 60 {
		all = append(all, n+5)
	}
	if n := r.post(t, "m", all...); n != maxOnALine+maxLines-1 || len(r.lines()) != maxLines {
		t.Errorf("%d findings on %d lines", n, len(r.lines()))
	}
	text := r.Notes()[len(r.Notes())-1].Body
	if got := strings.Count(text, "| note | new.txt:"); got != len(all)-maxOnALine-maxLines+1 {
		t.Errorf("%d findings in the comment:\n%s", got, text)
	}
	if len(lineText([]findings.Finding{{Message: strings.Repeat("*x ", 1<<20), Suggestion: strings.Repeat("<", 1<<20)}})) > 20_000 {
		t.Error("a comment is not bounded")
	}
}

// TestFindingsOfARefusedReviewAreInTheComment has a forge that accepts no line, because the branch has moved.
func TestFindingsOfARefusedReviewAreInTheComment(t *testing.T) {
	r := reviewOf(t, forge.GitHub, 9)
	r.Fail(1, forgetest.Invalid, "POST", "/reviews")
	if n := r.post(t, "m", 2, 3); n != 0 || len(r.lines()) != 0 || len(r.warnings) != 1 || !strings.Contains(r.warnings[0], "422") {
		t.Errorf("%d findings on lines %q: %q", n, r.lines(), r.warnings)
	}
	if text := r.Notes()[0].Body; strings.Count(text, "| note | new.txt:") != 2 || !strings.HasPrefix(text, "Read.\n\n| severity") {
		t.Error(text)
	}
}
