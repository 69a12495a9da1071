package summary

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/markdown"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/excerpt"
	"github.com/millhand/millhand/report/jsonlayout"
	"github.com/millhand/millhand/report/rollouttext"
)

// Limits of the summary, in bytes and in entries. GitHub rejects step summaries above
// 1 MiB.
const (
	maxSummary  = 900 << 10
	maxTable    = maxSummary / 2
	maxTail     = 16 << 10 // of a verify command's output
	maxMessage  = 64 << 10
	maxMessages = 20 // jobs of a run whose final messages are shown even if they passed
	maxReason   = 4 << 10
	maxDetail   = 500 // of an input, a rule or an error in a list
	maxDenied   = 20  // denied calls listed per job
	maxChanges  = 20  // changed files listed per job
	maxAlike    = 3   // jobs of many that ended for the same reason and are shown in full
	maxNames    = 20  // of the others
	maxWarnings = 100

	manyChanged = 20 // repositories with changes, from which on the summary names the command that compares them
)

// Markdown writes summary.md for a GitHub step summary, at most 900 KiB long. Final messages
// are restricted Markdown (package markdown), as in pull requests; other text of models, tools and
// repositories is no markup. None of it becomes a hyperlink, an image or a mention: the hyperlinks are millhand's own.
func Markdown(w io.Writer, r *report.Report) error {
	p := page{limit: maxSummary - 200, by: r.Run.StartedBy} // space for the notice
	p.add(fmt.Sprintf("## %s: %s\n\nRun %s%s: %s.\n\n", inline(excerpt.Head(r.Run.Title(), maxReason)), inline(string(r.Run.Outcome)), codeDetail(r.Run.ID), startedIn(r.Run.StartedBy), sentence(r)))
	p.addRollout(r.Run.Rollout)
	p.addGrid(newGrid(r.Jobs))
	p.addTables(r.Jobs)
	p.add(sandboxes(r.Jobs))
	p.addWarnings(r.Warnings)
	p.addNotBegun(r.Jobs, event.CodeEnvironment, "Environment")
	p.addNotBegun(r.Jobs, event.CodeBaseline, "Baseline")
	p.addCompared(r.Jobs)
	p.addHunks(r.Jobs)
	p.addReview(r)
	p.addJobs(r)
	p.addReviews(r.Jobs)
	p.addSkipped(r.Jobs)
	if p.full {
		p.b.WriteString("**This summary was truncated at 900 KiB; report.json is complete.**\n")
	}
	if _, err := io.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return nil
}

// page collects blocks, each of them valid Markdown, until one does not fit.
type page struct {
	b     strings.Builder
	limit int
	full  bool
	by    *event.StartedBy // nil outside of CI
}

// startedIn names the CI run and the commit that it checked out, with hyperlinks.
func startedIn(by *event.StartedBy) string {
	if by == nil || by.RunURL == "" {
		return ""
	}
	text := " (" + markdown.Hyperlink("CI run", by.RunURL)
	if by.Commit != "" {
		text += " of commit " + checkout(by).commit(code(short(by.Commit)), by.Commit)
	}
	return text + ")"
}

// addRollout adds the rollout of the run.
func (p *page) addRollout(r *event.Rollout) {
	lines := rollouttext.Lines(r)
	if len(lines) == 0 {
		return
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("- " + inline(line) + "\n")
	}
	p.add(b.String() + "\n")
}

func (p *page) add(chunk string) {
	if p.full || p.b.Len()+len(chunk) > p.limit {
		p.full = true
		return
	}
	p.b.WriteString(chunk)
}

// addTables adds a table of the jobs. Of many jobs it has those that did not pass, and the
// others are in a table that is closed at first.
func (p *page) addTables(jobs []report.Job) {
	var done, others []*report.Job
	for i := range jobs {
		if j := &jobs[i]; len(jobs) > maxMessages && (j.Outcome == event.Passed || j.Outcome == event.Skipped) {
			done = append(done, j)
		} else {
			others = append(others, j)
		}
	}
	p.addTable(others)
	if len(done) == 0 {
		return
	}
	p.add(fmt.Sprintf("<details><summary>%s passed or skipped</summary>\n\n", figures.Count(len(done), "job")))
	if p.full {
		return
	}
	p.limit -= len(endDetails)
	p.addTable(done)
	full := p.full
	p.limit, p.full = p.limit+len(endDetails), false
	p.add(endDetails)
	p.full = full
}

const endDetails = "</details>\n\n"

// addJobs adds what a person has to know about jobs, those that passed last: of many jobs that
// ended for the same reason the first ones, and the names of the others.
func (p *page) addJobs(r *report.Report) {
	many := len(r.Jobs) > maxMessages
	for _, passed := range []bool{false, true} {
		for i := range r.Jobs {
			if j := &r.Jobs[i]; !many && (j.Outcome == event.Passed) == passed && notable(j, false) {
				p.addJob(j)
			}
		}
	}
	for _, passed := range []bool{false, true} {
		for _, c := range r.Causes() {
			if many && (c.Outcome == event.Passed) == passed {
				p.addCause(c)
			}
		}
	}
}

// notable reports whether the summary has more about the job than its row, also in a run of many
// jobs.
func notable(j *report.Job, many bool) bool {
	switch {
	case j.Outcome == event.Skipped || notBegun(j):
		return false
	case j.Outcome != event.Passed || len(j.Denied)+len(j.Network) > 0 || j.Contested():
		return true
	}
	return !many && j.FinalMessage != "" && j.Findings() == nil
}

// addCause adds the first jobs of a cause, and the names of the others.
func (p *page) addCause(c *report.Cause) {
	shown := 0
	var others []string
	for _, j := range c.Jobs {
		if !notable(j, true) {
			continue
		}
		if shown++; shown <= maxAlike {
			p.addJob(j)
		} else {
			others = append(others, codeDetail(j.ID))
		}
	}
	if len(others) == 0 {
		return
	}
	about := "with denied calls or network access"
	if c.Reason != "" {
		about = "for the same reason: " + inline(excerpt.Head(c.Reason, maxDetail))
	}
	p.add(fmt.Sprintf("%s: %s (%s) %s\n\n", inline(string(c.Outcome)), figures.Count(len(others), "other job"), listed(others), about))
}

func (p *page) addTable(jobs []*report.Job) {
	if len(jobs) == 0 {
		return
	}
	p.add("| outcome | job | repo | turns | cost | time | commit |\n|---|---|---|--:|--:|--:|---|\n")
	left := len(jobs)
	for _, j := range jobs {
		row := p.tableRow(j)
		if p.b.Len()+len(row) > maxTable {
			break
		}
		p.add(row)
		left--
	}
	p.add("\n")
	if left > 0 {
		p.add(fmt.Sprintf("%s more in report.json.\n\n", figures.Count(left, "job")))
	}
}

func (p *page) tableRow(j *report.Job) string {
	var results []string
	if at := pushedTo(j, p.by); j.Commit != nil {
		results = append(results, at.commit(code(short(j.Commit.Hash)), j.Commit.Hash)+" on "+at.branch(codeDetail(j.Commit.Branch), j.Commit.Branch))
	}
	if j.PullRequest != nil {
		results = append(results, markdown.Hyperlink(fmt.Sprintf("pull request %d", j.PullRequest.Number), j.PullRequest.URL))
	}
	if j.Comment != nil {
		results = append(results, markdown.Hyperlink("comment", j.Comment.URL))
	}
	for _, r := range j.Requests {
		if r.Outcome == event.RequestDone {
			results = append(results, markdown.Hyperlink(inline(r.What()), r.URL))
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %d | %s | %s | %s |\n", inline(string(j.Outcome)),
		codeDetail(j.ID), repository(j, p.by), j.Turns, money.Rounded(j.CostUSD), figures.Duration(j.ElapsedMS), strings.Join(results, ", "))
}

// sandboxes formats the sandbox levels of started jobs.
func sandboxes(jobs []report.Job) string {
	var levels []string
	jobsAt := map[string]int{}
	for i := range jobs {
		if !jobs[i].Started() {
			continue
		}
		level := confinement(jobs[i].Sandbox)
		if jobsAt[level]++; !slices.Contains(levels, level) {
			levels = append(levels, level)
		}
	}
	if len(levels) == 0 {
		return ""
	}
	for i, level := range levels {
		levels[i] = fmt.Sprintf("%s for %s", inline(level), figures.Count(jobsAt[level], "job"))
	}
	return "Sandbox: " + strings.Join(levels, "; ") + ".\n\n"
}

func (p *page) addWarnings(warnings []report.Warning) {
	if len(warnings) == 0 {
		return
	}
	p.add("### Warnings\n\n")
	for _, w := range warnings[:min(len(warnings), maxWarnings)] {
		about := ""
		if w.Job != nil {
			about = codeDetail(*w.Job) + ": "
		}
		p.add("- " + about + inline(excerpt.Head(w.Message, maxReason)) + "\n")
	}
	if more := len(warnings) - maxWarnings; more > 0 {
		p.add(fmt.Sprintf("- and %d more in report.json\n", more))
	}
	p.add("\n")
}

// addJob adds the failures, the final message and the denied calls of a job.
func (p *page) addJob(j *report.Job) {
	p.add(fmt.Sprintf("### %s: %s\n\n", codeDetail(j.ID), inline(string(j.Outcome))))
	if j.Reason != "" {
		p.add("Reason: " + inline(excerpt.Head(j.Reason, maxReason)) + "\n\n")
	}
	for _, runs := range j.Verifies() {
		if last := runs[len(runs)-1]; !last.Passed {
			p.addVerify(&last)
		}
	}
	for i := range j.Escalation {
		p.add("- " + inline(excerpt.Head(j.Escalation[i].String(), maxReason)) + "\n")
	}
	if len(j.Escalation) > 0 {
		p.add("\n")
	}
	if verdict := j.Verdict(); verdict != "" {
		p.add("Review: " + inline(excerpt.Head(verdict, maxReason)) + "\n\n")
		for _, o := range j.Review.Objections {
			p.add("- " + inline(excerpt.Head(o, maxReason)) + "\n")
		}
		p.add("\n")
	}
	if message := strings.TrimSpace(j.FinalMessage); message != "" && j.Findings() == nil {
		p.add("Final message:\n\n" + markdown.Fitted(excerpt.Encoded(message), maxMessage, omitted) + "\n\n")
	}
	p.addChanges(j)
	p.addDenied(j)
	p.addNetwork(j.Network)
}

// addReview names the command that compares the changes of a run on many repositories.
func (p *page) addReview(r *report.Report) {
	changed := map[string]bool{}
	for i := range r.Jobs {
		if j := &r.Jobs[i]; len(j.Changes) > 0 {
			changed[j.Repo] = true
		}
	}
	if len(changed) >= manyChanged {
		p.add(fmt.Sprintf("%d repositories were changed: %s prints the edits that they share, and which changes to read.\n\n", len(changed), codeDetail("millhand report patterns "+r.Run.ID)))
	}
}

// omitted is the notice after the start of a message.
func omitted(n int) string { return fmt.Sprintf("(%s more in report.json)", figures.Count(n, "byte")) }

// addChanges lists the changed files with their lines.
func (p *page) addChanges(j *report.Job) {
	changes, at, hash := j.Changes, pushedTo(j, p.by), ""
	if j.Commit != nil {
		hash = j.Commit.Hash
	}
	if len(changes) == 0 {
		return
	}
	added, removed := 0, 0
	for _, c := range changes {
		added, removed = added+c.Added, removed+c.Removed
	}
	p.add(fmt.Sprintf("%s changed, %s added, %d removed:\n\n", figures.Count(len(changes), "file"), figures.Count(added, "line"), removed))
	for _, c := range changes[:min(len(changes), maxChanges)] {
		name := codeDetail(c.Path)
		if hash != "" && c.Kind != "deleted" {
			name = at.file(name, hash, c.Path)
		}
		p.add(fmt.Sprintf("- %s: %s, +%d −%d\n", name, inline(c.Kind), c.Added, c.Removed))
	}
	if more := len(changes) - maxChanges; more > 0 {
		p.add(fmt.Sprintf("- and %d more in report.json\n", more))
	}
	p.add("\n")
}

func (p *page) addVerify(v *report.Verify) {
	output := "No output.\n"
	if v.Tail != "" {
		output = fence("text", excerpt.Tail(v.Output(), maxTail))
	}
	p.add(fmt.Sprintf("Verify %s, %s: %s\n\n%s\n", codeDetail(v.Name), v.After(), v.Exit()+v.Where(), output))
}

func (p *page) addDenied(j *report.Job) {
	denied := j.Denied
	if len(denied) == 0 {
		return
	}
	p.add(fmt.Sprintf("Denied calls (%s):\n\n", deniedText(len(denied), j.DeniedTurns, j.DeniedCost)))
	for _, d := range denied[:min(len(denied), maxDenied)] {
		p.add(fmt.Sprintf("- turn %d: %s %s, by %s: %s\n", d.Turn, codeDetail(d.Tool),
			codeDetail(jsonlayout.OneLine(d.Input)), d.By(codeDetail), inline(excerpt.Head(d.Error, maxDetail))))
	}
	if more := len(denied) - maxDenied; more > 0 {
		p.add(fmt.Sprintf("- and %d more in report.json\n", more))
	}
	p.add("\n")
}

// addNetwork lists the hosts that the sandbox denied, with the fixes.
func (p *page) addNetwork(denied []report.NetworkDenial) {
	if len(denied) == 0 {
		return
	}
	p.add("Denied network access:\n\n")
	for _, n := range denied[:min(len(denied), maxDenied)] {
		text := n.Reason
		if n.Fix != "" {
			text += "; " + n.Fix
		}
		host := codeDetail(n.Host)
		if n.Port > 0 {
			host += fmt.Sprintf(", port %d", n.Port)
		}
		p.add("- " + host + ": " + inline(excerpt.Head(text, maxDetail)) + "\n")
	}
	if more := len(denied) - maxDenied; more > 0 {
		p.add(fmt.Sprintf("- and %d more in report.json\n", more))
	}
	p.add("\n")
}

// addReviews adds the findings of reviews as tables.
func (p *page) addReviews(jobs []report.Job) {
	for i := range jobs {
		if j := &jobs[i]; j.Findings() != nil {
			p.add(fmt.Sprintf("### Findings of %s\n\n%s\n", codeDetail(j.ID), j.Findings().Markdown(func(s string) string { return inline(excerpt.Head(s, maxReason)) })))
		}
	}
}

// addSkipped lists skipped jobs with the reasons.
func (p *page) addSkipped(jobs []report.Job) {
	titled := false
	for i := range jobs {
		j := &jobs[i]
		if j.Outcome != event.Skipped {
			continue
		}
		if !titled {
			titled = true
			p.add("### Skipped\n\n")
		}
		p.add("- " + codeDetail(j.ID) + ": " + inline(excerpt.Head(j.Reason, maxReason)) + "\n")
	}
	if titled {
		p.add("\n")
	}
}

// codeDetail formats a short text as a code span.
func codeDetail(s string) string { return code(excerpt.Head(s, maxDetail)) }

// listed joins the first names of a list, with the number of the others.
func listed(names []string) string {
	if n := len(names) - maxNames; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), n)
	}
	return strings.Join(names, ", ")
}
