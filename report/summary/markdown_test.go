package summary_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/summary"
)

// outsideFences is a summary without its code blocks. A fence ends at a line
// of as many backticks as it began with, or more.
func outsideFences(tb testing.TB, summary string) string {
	tb.Helper()
	var b strings.Builder
	open := ""
	for line := range strings.Lines(summary) {
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case open == "" && len(ticks) >= 3:
			open = ticks
		case open == "":
			b.WriteString(line)
		case len(ticks) >= len(open) && strings.TrimSpace(strings.Trim(line, "`\n")) == "":
			open = ""
		}
	}
	if open != "" {
		tb.Error("a code block never ends")
	}
	return b.String()
}

var (
	ownTag   = regexp.MustCompile(`</?(br|code|details|summary)>`)
	codeSpan = regexp.MustCompile("`[^`\n]+`")
	mention  = regexp.MustCompile(`@\w`)
	autolink = regexp.MustCompile(`(?i)://|\bwww\.|[^&]#\d`)
)

// message is a final message in a summary, which is restricted Markdown: the tests of package markdown
// check that. Its headings are of level 4 and below.
var message = regexp.MustCompile(`(?ms)^Final message:\n\n.*?\n(### |\d+ files? changed|Denied |\*\*This summary|\z)`)

// inert fails when a summary holds anything but its own markup.
func inert(tb testing.TB, summary string) {
	tb.Helper()
	summary = message.ReplaceAllString(summary, "$1")
	if m := regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f\x{80}-\x9f\x{200b}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}\x{feff}]`).FindString(summary); m != "" {
		tb.Errorf("the summary holds the hidden character %q", m)
	}
	text := outsideFences(tb, summary)
	text = ownTag.ReplaceAllString(text, "")
	for _, markup := range []string{"<", "](", "![", "[", "]", "\\", "```", "~~"} {
		if i := strings.Index(text, markup); i >= 0 {
			tb.Errorf("the summary holds %q: …%.80q", markup, text[max(0, i-20):])
		}
	}
	text = codeSpan.ReplaceAllString(text, "")
	if strings.Contains(text, "`") {
		tb.Error("a code span never ends")
	}
	for _, re := range []*regexp.Regexp{mention, autolink} {
		if m := re.FindString(text); m != "" {
			tb.Errorf("the summary holds %q", m)
		}
	}
	if regexp.MustCompile(`##[a-z]*\[`).MatchString(summary) || regexp.MustCompile(`(?m)^\s*::`).MatchString(summary) {
		tb.Error("the summary holds a runner's command")
	}
}

func TestSummaryHasNoActiveMarkup(t *testing.T) {
	for _, text := range reporttest.Texts() {
		input, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		inert(t, reporttest.Render(t, summary.Markdown, reporttest.Fold(t, reporttest.Lived(text, input, nil)...)))
	}
}

func FuzzMarkdownText(f *testing.F) {
	for _, text := range reporttest.Texts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		input, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		inert(t, reporttest.Render(t, summary.Markdown, reporttest.Fold(t, reporttest.Lived(text, input, nil)...)))
	})
}

// GitHub's own renderer, where it is installed, must find in a summary of
// random texts just the elements that a summary of plain words has. Final messages have
// elements of their own; package markdown tests them.
func TestGitHubRenderer(t *testing.T) {
	renderer, err := exec.LookPath("cmark-gfm")
	if err != nil {
		t.Skip("cmark-gfm is not installed")
	}
	elements := func(tasks int, text func() string) map[string]int {
		cmd := exec.CommandContext(t.Context(), renderer, "--unsafe",
			"-e", "table", "-e", "autolink", "-e", "strikethrough", "-e", "tasklist", "-e", "footnotes")
		cmd.Stdin = strings.NewReader(reporttest.Render(t, summary.Markdown, randomRun(t, tasks, text)))
		html, err := cmd.Output()
		if err != nil {
			t.Fatalf("render summary: %v", err)
		}
		found := map[string]int{}
		for _, tag := range regexp.MustCompile(`<[a-zA-Z!?][^>]*>`).FindAllString(string(html), -1) {
			found[tag]++
		}
		delete(found, "<br>") // as many as there are lines in a text
		return found
	}
	random := rand.New(rand.NewPCG(3, 4))
	for _, tasks := range []int{3, 40} {
		n := 0
		distinct := func(text string) string {
			n++
			return fmt.Sprintf("x%d%s", n, text)
		}
		want := elements(tasks, func() string { return distinct("plain") })
		for range 10 {
			n = 0
			if diff := cmp.Diff(want, elements(tasks, func() string { return distinct(reporttest.RandomText(random)) })); diff != "" {
				t.Fatalf("%d tasks (-plain +hostile):\n%s", tasks, diff)
			}
		}
	}
}

// randomRun is a run of many jobs in which each text is another one.
func randomRun(tb testing.TB, tasks int, text func() string) *report.Report {
	tb.Helper()
	var names []string
	for range tasks {
		names = append(names, text())
	}
	var jobs []event.PlannedJob
	var events []event.Event
	for i := range 40 {
		id := fmt.Sprint("j", i)
		jobs = append(jobs, event.PlannedJob{ID: id, Task: names[i%tasks], Repo: text()})
		input, err := json.Marshal(map[string]string{"x": text()})
		if err != nil {
			tb.Fatal(err)
		}
		events = append(events, reporttest.Started(id),
			event.Event{Type: event.CallUpdated, Job: id, Session: "s", Call: &event.Call{
				ID: "x", Turn: 1, Tool: text(), Input: input, Status: event.CallDenied, Error: text(),
				Decision: &event.Decision{Effect: "deny", Rule: text(), Source: text()},
			}},
			event.Event{Type: event.VerifyEnded, Job: id, Verify: &event.Verify{Name: text(), Attempt: 1, Tail: text()}},
			event.Event{Type: event.Committed, Job: id, Commit: &event.Commit{Hash: "0123456789", Branch: text()}},
			event.Event{Type: event.WarningIssued, Job: id, Warning: &event.Warning{Message: text()}},
			reporttest.JobEnded(id, event.JobEnd{Outcome: event.Failed, Reason: text(), FinalMessage: "plain"}))
	}
	run := event.Event{Type: event.RunStarted, Run: &event.Run{ID: "r", Jobs: jobs}}
	return reporttest.Fold(tb, append([]event.Event{run}, events...)...)
}

func TestLargeSummaryIsTruncatedWithANotice(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	var many, chatty []event.Event
	var ids []string
	for i := range 10_000 {
		id := fmt.Sprintf("a-job-with-quite-a-long-name-%05d", i)
		ids = append(ids, id)
		many = append(many, reporttest.Started(id), reporttest.JobEnded(id, event.JobEnd{Outcome: event.Failed, Reason: "because"}))
	}
	for i := range 100 {
		chatty = append(chatty, reporttest.Lived(strings.Repeat("<@x> ", 20_000), nil, nil)...)
		chatty[len(chatty)-1].Job = ids[i]
	}
	for name, events := range map[string][]event.Event{
		"many jobs":  append([]event.Event{reporttest.Planned(ids...)}, many...),
		"long texts": chatty,
		"one line":   reporttest.Lived(strings.Repeat("`", 3<<20), nil, nil),
	} {
		t.Run(name, func(t *testing.T) {
			summary := reporttest.Render(t, summary.Markdown, reporttest.Fold(t, events...))
			if len(summary) > 900<<10 {
				t.Errorf("the summary has %d bytes", len(summary))
			}
			if !strings.Contains(summary, "report.json") {
				t.Error("no notice that there is more")
			}
			inert(t, summary)
		})
	}
}

func TestSummaryOfManyJobs(t *testing.T) {
	ids := make([]string, 10_000)
	for i := range ids {
		ids[i] = fmt.Sprintf("a-job-with-quite-a-long-name-%05d", i)
	}
	last := ids[len(ids)-1]
	summary := reporttest.Render(t, summary.Markdown, reporttest.Fold(t, reporttest.Planned(ids...), reporttest.Started(last),
		reporttest.JobEnded(last, event.JobEnd{Outcome: event.Failed, Reason: "the one failure"}), reporttest.RunEnded(event.Failed, event.ExitFailed)))
	for _, want := range []string{"10000 jobs: 0 passed, 1 failed, 9999 skipped", "more in report.json", "the one failure", "truncated at 900 KiB"} {
		if !strings.Contains(summary, want) {
			t.Errorf("the summary does not say %q", want)
		}
	}
}

// TestSummaryGroupsReasons checks that the summary of a large run names what needs a person, and
// each reason a few times only.
func TestSummaryGroupsReasons(t *testing.T) {
	var jobs []planEnd
	for i := range 400 {
		end := ended(event.Passed, 0.5)
		if i%4 == 0 {
			end = ended(event.Limit, 0.5)
			end.Reason = "turn limit exceeded (60)"
		}
		jobs = append(jobs, planEnd{fmt.Sprint("repo", i), "a", end})
	}
	summary := reporttest.Render(t, summary.Markdown, runOf(t, jobs...))
	inert(t, summary)
	if n := strings.Count(summary, "turn limit exceeded"); n != 4 {
		t.Errorf("the reason is given %d times", n)
	}
	for _, want := range []string{"<details><summary>300 jobs passed or skipped</summary>", "limit: 97 other jobs (", " and 77 more) for the same reason: turn limit exceeded (60)"} {
		if !strings.Contains(summary, want) {
			t.Errorf("%q not found", want)
		}
	}
	if first := strings.Index(summary, "| passed |"); first < strings.Index(summary, "<details>") {
		t.Error("a job that passed is not below the others")
	}
}

func TestLargeSummariesNameTheCommandThatComparesChanges(t *testing.T) {
	summary := func(repositories int) string {
		var r report.Report
		r.Run.ID = "20260102-030405-1a2b3c4d"
		for i := range 2 * repositories { // two jobs in each
			r.Jobs = append(r.Jobs, report.Job{ID: fmt.Sprint(i), Repo: fmt.Sprint(i / 2), Changes: []event.Change{{Path: "a", Kind: "modified"}}})
		}
		r.Jobs = append(r.Jobs, report.Job{ID: "unchanged", Repo: "unchanged"})
		return reporttest.Render(t, summary.Markdown, &r)
	}
	const want = "\n20 repositories were changed: `millhand report patterns 20260102-030405-1a2b3c4d` prints the edits that they share, and which changes to read.\n"
	if got := summary(20); strings.Count(got, want) != 1 {
		t.Errorf("not in %s", got)
	}
	if got := summary(19); strings.Contains(got, "patterns") {
		t.Errorf("in %s", got)
	}
}
