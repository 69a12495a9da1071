package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rs/zerolog"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
)

// Colours of lines, as SGR codes.
const (
	plain  = ""
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// entry is the text of an event; nothing if its text is empty.
type entry struct {
	level  zerolog.Level
	text   string
	style  string
	start  bool     // of something that live lines show
	model  bool     // the text is the model's
	output bool     // block is the output of a command, which the logs of CIs fold
	block  []string // lines below: output, or what an ended job has left
}

// Limits of blocks, in lines.
const (
	maxOutput = 10
	maxFiles  = 8
)

func info(format string, args ...any) entry {
	return entry{level: zerolog.InfoLevel, text: fmt.Sprintf(format, args...)}
}

func debug(format string, args ...any) entry {
	return entry{level: zerolog.DebugLevel, text: fmt.Sprintf(format, args...), style: dim}
}

func warning(format string, args ...any) entry {
	return entry{level: zerolog.WarnLevel, text: fmt.Sprintf(format, args...), style: yellow}
}

// starts is the entry of the start of an operation.
func starts(text string) entry {
	return entry{level: zerolog.InfoLevel, text: "started " + text, style: dim, start: true}
}

// runText describes the start of a run.
func runText(r *event.Run) string {
	text := fmt.Sprintf("run %s: %s", r.ID, figures.Count(len(r.Jobs), "job"))
	if r.MaxCostUSD != nil {
		text += ", at most " + money.Rounded(r.MaxCostUSD)
	}
	if before := r.Resumed; before != nil {
		text = fmt.Sprintf("resumed %s, %d finished, %s spent", text, before.Finished, money.Rounded(&before.CostUSD))
	} else if from := r.ForkedFrom; from != nil {
		text += fmt.Sprintf(", forked from run %s: job %s after turn %d, branch %s", from.Run, from.Job, from.Turn, from.Branch)
	}
	return text
}

// describe formats an event, without the job's name.
func describe(e event.Event, s *state, at directories) entry {
	if text, ok := texts.Find(&e); ok {
		return text(logged{e, s, at})
	}
	return entry{}
}

func threadText(c *event.Comment) string {
	if c.Issue {
		return "issue"
	}
	return "pull request"
}

func phaseStarted(p *event.Phase) entry {
	if p.Name == event.CheckoutPhase {
		return info("waiting for the checkout")
	}
	return debug("phase %s", p.Name)
}

func changesEntry(e event.Event) entry {
	text := "changed " + figures.Count(len(e.Changes), "file")
	if len(e.LeftOut) > 0 {
		return info("%s; left out: %s", text, event.FirstLeftOut(e.LeftOut))
	}
	return debug("%s", text)
}

func publishedEntry(p *event.Published) entry {
	if pr := p.PullRequest; pr != nil {
		done := "updated"
		if pr.Created {
			done = "created"
		}
		return info("%s pull request %s", done, pr.URL)
	}
	return info("pushed %.10s to %s on %s", p.Hash, p.Branch, p.Remote)
}

func commentEntry(c *event.Comment) entry {
	if c.Created {
		return info("commented: %s", c.URL)
	}
	return info("updated comment %s", c.URL)
}

// requestEntry formats a requested change of the forge. A warning has those that were refused or failed.
func requestEntry(r *event.ForgeRequest) entry {
	switch r.Outcome {
	case event.RequestDone:
		return info("request %s: done %s", r.What(), r.URL)
	case event.RequestSkipped:
		return info("request %s: skipped: %s", r.What(), r.Reason)
	case event.RequestRefused, event.RequestFailed:
	}
	return entry{}
}

func networkEntry(n *event.Network) entry {
	if n.Denied {
		return warning("%s", n.Denial(""))
	}
	return debug("network %s %s:%d %s", n.Method, n.Host, n.Port, n.Error)
}

func untrustedEntry(u *event.Untrusted) entry {
	return info("read untrusted content (%s): rights of after_untrusted are gone", u.What)
}

func attemptEntry(a *event.Attempt) entry {
	if a.Number > 1 {
		return info("attempt %d", a.Number)
	}
	return entry{}
}

func modelEntry(t *event.Text) entry {
	text := t.Text
	if text == "" {
		return entry{}
	}
	if t.Interrupted {
		text += " [interrupted]"
	}
	return entry{level: zerolog.InfoLevel, text: text, style: cyan, model: true}
}

func retryEntry(r *event.Retry) entry {
	switch {
	case r.To != "":
		return warning("%s failed, falling back to %s: %s", r.From, r.To, r.Error)
	case r.Outage && r.WaitMS == 0:
		return warning("%s", r.Error)
	case r.Outage:
		return debug("waited %s for the provider, sending a request", figures.Duration(r.WaitMS))
	}
	return warning("model request failed, retrying in %s: %s", figures.Duration(r.WaitMS), r.Error)
}

func pruneEntry(p *event.Prune) entry {
	return info("pruned %s (from about %d to %d tokens)", figures.Count(p.Results, "tool result"), p.Before, p.After)
}

func compactionEntry(c *event.Compaction) entry {
	return info("compacted %s into a summary (from about %d to %d tokens)", figures.Count(c.Messages, "message"), c.Before, c.After)
}

func turnEntry(t *event.Turn) entry {
	text := fmt.Sprintf("model request took %s, cost %s", figures.Duration(t.ElapsedMS), money.Rounded(t.CostUSD))
	if t.Error != "" {
		text += ": " + t.Error
	}
	return debug("%s", text)
}

// commandText names a command of the task.
func commandText(c *event.Command) string {
	name := c.Kind
	if c.Name != "" && c.Name != c.Run {
		name += " " + c.Name
	}
	if c.In == event.InClean {
		name += " in a clean checkout"
	}
	return name + ": " + c.Run
}

func commandEntry(c *event.Command) entry {
	took := figures.Duration(c.ElapsedMS)
	if c.ExitCode != nil && *c.ExitCode == 0 {
		return info("%s (%s)", commandText(c), took)
	}
	exit := event.Verify{ExitCode: -1}
	if c.ExitCode != nil {
		exit.ExitCode = *c.ExitCode
	}
	w := warning("%s: failed, %s (%s)", commandText(c), exit.Exit(), took)
	w.style = red
	return w
}

// baselineEntry formats a result that is no fault of the job, except if the environment
// is why a command failed.
func baselineEntry(b *event.Baseline, at directories) entry {
	took := figures.Duration(b.ElapsedMS)
	if b.Shared {
		took += ", run for another job"
	}
	if b.Passed {
		return info("baseline: verify %s passed (%s)", b.Name, took)
	}
	e := info("baseline: verify %s failed, %s (%s)", b.Name, b.Exit(), took)
	if b.Fault != nil {
		e = warning("baseline: verify %s failed, %s (%s): %s", b.Name, b.Exit(), took, b.Fault.Fix)
		e.style = red
	} else if b.TimeoutMS > 0 {
		e = warning("baseline: verify %s %s", b.Name, b.Exit())
		e.style = red
	}
	if !b.Shared {
		e.output, e.block = true, gutter(split(at.output(b.Tail, b.OutputPath)))
	}
	return e
}

// scriptEntry formats the result of a script; if it failed, a session does its work.
func scriptEntry(s *event.Script) entry {
	took := figures.Duration(s.ElapsedMS)
	if s.Reason == "" {
		return info("script %s %s (%s)", s.File, s.Outcome, took)
	}
	e := warning("script %s failed: %s (%s)", s.File, s.Reason, took)
	e.output, e.block = true, gutter(last(s.Tail))
	return e
}

func reviewEntry(r *event.Review) entry {
	switch r.Verdict {
	case event.ReviewAccepted:
		return info("review accepted the changes (%s)", r.Model)
	case event.ReviewRejected:
		e := warning("review rejected the changes: %s (%s)", figures.Count(len(r.Objections), "objection"), r.Model)
		e.block = gutter(first(strings.Join(r.Objections, "\n")))
		return e
	case event.NotReviewed:
	}
	return warning("changes not reviewed: %s (%s)", r.Reason, r.Model)
}

func verifyEntry(v *event.Verify, at directories) entry {
	if v.Passed {
		e := info("verify %s passed%s (%s)", v.Name, v.Where(), figures.Duration(v.ElapsedMS))
		e.style = green
		return e
	}
	e := warning("verify %s failed%s, %s (%s)", v.Name, v.Where(), v.Exit(), figures.Duration(v.ElapsedMS))
	e.style, e.output, e.block = red, true, gutter(split(at.output(v.Tail, v.OutputPath)))
	return e
}

// callText names a call: a command by its command line, which a model's description could
// hide.
func callText(c *event.Call) string {
	return strings.TrimSpace(c.Tool + " " + cmp.Or(commandLine(c), c.Title))
}

// commandLine returns the command line of a call of bash, "" for other tools.
func commandLine(c *event.Call) string {
	var in struct{ Command string }
	if c.Tool != "bash" || json.Unmarshal(c.Input, &in) != nil {
		return ""
	}
	return in.Command
}

func callEntry(c *event.Call) entry {
	switch c.Status {
	case event.CallRunning:
		if !permission.Quick(c.Tool) {
			return starts(callText(c))
		}
	case event.CallCompleted:
		e := info("%s (%s)", callText(c), figures.Duration(c.ElapsedMS))
		e.style = dim
		return e
	case event.CallError:
		e := info("%s failed: %s", callText(c), c.Error)
		e.style = red
		return e
	case event.CallDenied:
		e := warning("%s %s", c.Tool, c.Error)
		e.style = red
		return e
	default: // pending
	}
	return entry{}
}

func runEntry(r *event.RunEnd) entry {
	e := info("run %s in %s", r.Outcome, figures.Duration(r.ElapsedMS))
	e.style = outcomeStyle(r.Outcome)
	return e
}

func outcomeStyle(o event.Outcome) string {
	switch o {
	case event.Passed:
		return green
	case event.Skipped, event.Waiting:
		return yellow
	default:
		return red
	}
}

// endEntry formats the end of a job, with its final message if no report prints it, its changes
// and the command that shows them.
func endEntry(e event.Event, s *state, at directories) entry {
	end, j := e.JobEnd, s.find(e.Job)
	reason, rest, _ := strings.Cut(strings.TrimSpace(end.Reason), "\n")
	text := fmt.Sprintf("%s: %s, %s, cost %s in %s", end.Outcome, figures.Count(end.Attempts, "attempt"), figures.Count(end.Turns, "turn"), j.cost.of(end.CostUSD), figures.Duration(end.ElapsedMS))
	if reason != "" {
		text += ": " + reason
	}
	out := entry{level: zerolog.InfoLevel, text: text, style: outcomeStyle(end.Outcome)}
	if end.Outcome != event.Passed && end.Outcome != event.Skipped {
		out.level = zerolog.ErrorLevel
	}
	out.block = gutter(last(rest))
	if s.jobs > 1 {
		out.block = append(out.block, gutter(first(end.FinalMessage))...)
	}
	out.block = append(out.block, changed(j.changes)...)
	if next := next(j, end, at); next != "" {
		out.block = append(out.block, next)
	}
	return out
}

// gutter marks lines that are not millhand's.
func gutter(lines []string) []string {
	var all []string
	for _, line := range lines {
		all = append(all, "| "+line)
	}
	return all
}

// last returns the last lines of an output.
func last(text string) []string {
	lines := split(text)
	if more := len(lines) - maxOutput; more > 0 {
		return append([]string{fmt.Sprintf("(%s before this in report.json)", figures.Count(more, "line"))}, lines[more:]...)
	}
	return lines
}

// first returns the first lines of a message.
func first(text string) []string {
	lines := split(text)
	if more := len(lines) - maxOutput; more > 0 {
		return append(lines[:maxOutput:maxOutput], fmt.Sprintf("(%s in report.json)", figures.Count(more, "more line")))
	}
	return lines
}

func split(text string) []string {
	if text = strings.TrimRight(text, " \t\r\n"); text == "" {
		return nil
	}
	return strings.Split(strings.Trim(text, "\n"), "\n")
}

// changed lists changed files.
func changed(changes []event.Change) []string {
	letters := map[string]string{"added": "A", "modified": "M", "deleted": "D"}
	var all []string
	for _, c := range changes[:min(len(changes), maxFiles)] {
		all = append(all, fmt.Sprintf("%s %s +%d -%d", letters[c.Kind], printable.Line(c.Path, printable.Width), c.Added, c.Removed))
	}
	if more := len(changes) - len(all); more > 0 {
		all = append(all, fmt.Sprintf("and %s", figures.Count(more, "more file")))
	}
	return all
}

// next returns the command that shows the changes of a job, or the file with them; "" if
// it has none.
func next(j *job, end *event.JobEnd, at directories) string {
	start, git := j.start, "git"
	if !within(at.dir, start.Repository) {
		git = "git -C " + Quote(at.short(start.Repository))
	}
	base := start.BaseRef
	if base == "" || base == start.Branch {
		base = fmt.Sprintf("%.10s", start.Base)
	}
	switch {
	case len(j.changes) == 0:
		return ""
	case end.Outcome == event.Passed && start.Branch != "" && start.Repository != "" && base != "":
		return fmt.Sprintf("next: %s diff %s...%s", git, Quote(base), Quote(start.Branch))
	case end.Patch != "":
		return "patch: " + at.short(filepath.Join(at.reports, end.Patch))
	}
	return ""
}

// output returns the excerpt of an output with the path of the complete one, which is relative to
// the report directory.
func (d directories) output(text, path string) string {
	if path != "" {
		path = d.short(filepath.Join(d.reports, path))
	}
	return event.Excerpt(text, path)
}

// short returns a path relative to the current directory if it is in there.
func (d directories) short(path string) string {
	if rel, err := filepath.Rel(d.dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// within reports whether a path is a directory, or in it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Quote quotes a word of a command line for a shell.
func Quote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("-._/:@%+=,", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
