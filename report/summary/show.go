package summary

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/excerpt"
	"github.com/millhand/millhand/report/jsonlayout"
)

// Limits of the text of a job, in lines if not said otherwise.
const (
	maxShownTail  = 30   // of a verify command's output
	maxShownPatch = 400  // of the patch
	maxShownLine  = 2000 // bytes of a line
)

// JobText writes what the report has of a job for a terminal: its result, the verify commands
// before and after, denials, calls, costs, and the changes with the patch, which may be "".
// paint adds the colours of a style.
func JobText(w io.Writer, j *report.Job, patch string, paint func(printable.Style, string) string) error {
	j, err := j.Complete()
	if err != nil {
		return err
	}
	s := shown{paint: paint}
	s.head(j)
	s.message(j)
	s.script(j)
	s.verify(j)
	s.denied(j)
	s.calls(j)
	s.changes(j, patch)
	s.hunks(j)
	if _, err := s.WriteTo(w); err != nil {
		return fmt.Errorf("write the job: %w", err)
	}
	return nil
}

// shown is the text of a job.
type shown struct {
	bytes.Buffer
	paint func(printable.Style, string) string
}

func (s *shown) title(text string) { fmt.Fprintf(s, "\n%s\n", s.paint(printable.Heading, text)) }

// facts writes a line with a name, unless the value is empty.
func (s *shown) facts(name, value string) {
	if value = printable.Plain(value); value != "" {
		fmt.Fprintf(s, "  %s %s\n", s.paint(printable.Aside, fmt.Sprintf("%-10s", name)), value)
	}
}

// block writes the lines of a text, of which no one starts with the text of a model.
func (s *shown) block(text string, style printable.Style) {
	for line := range strings.Lines(strings.TrimRight(printable.Disarm(printable.Visible(text)), "\n")) {
		line = strings.TrimRight("    | "+excerpt.Head(strings.TrimRight(line, "\n"), maxShownLine), " ")
		if style != "" {
			line = s.paint(style, line)
		}
		fmt.Fprintln(s, line)
	}
}

func outcomeStyle(passed bool) printable.Style {
	if passed {
		return printable.Good
	}
	return printable.Bad
}

func (s *shown) head(j *report.Job) {
	fmt.Fprintf(s, "%s %s\n", s.paint(printable.Heading, "job "+printable.Plain(j.ID)), s.paint(outcomeStyle(j.Outcome == event.Passed || j.Outcome == event.Skipped), string(j.Outcome)))
	s.facts("reason", j.Reason)
	s.facts("code", string(j.ReasonCode))
	model := j.Model
	if j.ModelServed != "" && j.ModelServed != j.Model {
		model += " (" + j.ModelServed + ")"
	}
	s.facts("model", model)
	s.facts("profile", j.Profile)
	s.facts("sandbox", strings.TrimSpace(confinement(j.Sandbox)+" "+j.Sandbox.Reason))
	s.facts("cost", fmt.Sprintf("%s, %d input and %d output tokens (%d cached), %s", money.Rounded(j.CostUSD), j.Usage.Input, j.Usage.Output, j.Usage.CacheRead, figures.Count(j.Turns, "turn")))
	s.facts("time", fmt.Sprintf("%s, %s", figures.Duration(j.ElapsedMS), figures.Count(j.Attempts, "attempt")))
	if j.Base != nil {
		s.facts("base", strings.TrimSpace(j.Base.Ref+" "+short(j.Base.Commit)))
	}
	if j.Commit != nil {
		s.facts("commit", j.Commit.Branch+"@"+short(j.Commit.Hash))
	}
	if j.PullRequest != nil {
		s.facts("pull", j.PullRequest.URL+" ("+j.PullRequest.State+")")
	}
	s.facts("patch", j.Patch)
	for i := range j.Escalation {
		s.facts("escalation", excerpt.Head(j.Escalation[i].String(), maxShownLine))
	}
	if verdict := j.Verdict(); verdict != "" {
		s.facts("review", excerpt.Head(verdict, maxShownLine))
		for _, o := range j.Review.Objections {
			s.facts("objection", excerpt.Head(o, maxShownLine))
		}
	}
	for i := range j.Sessions {
		session := &j.Sessions[i]
		s.facts("session", fmt.Sprintf("%s: %s, %s, %s", session.Name(), session.Agent, figures.Count(session.Turns, "turn"), money.Rounded(session.CostUSD)))
	}
}

func (s *shown) message(j *report.Job) {
	switch {
	case j.Findings() != nil:
		s.title(figures.Count(len(j.Findings().Findings), "finding"))
		s.block(j.Findings().Summary, "")
		for _, f := range j.Findings().Findings {
			fmt.Fprintf(s, "  %s %s %s: %s\n", s.paint(outcomeStyle(false), string(f.Severity)), printable.Plain(f.Location()), f.Rule, printable.Plain(excerpt.Head(f.Message, maxShownLine)))
			if f.Suggestion != "" {
				fmt.Fprintf(s, "    %s\n", s.paint(printable.Aside, "suggestion: "+printable.Plain(excerpt.Head(f.Suggestion, maxShownLine))))
			}
		}
	case strings.TrimSpace(j.FinalMessage) != "":
		s.title("final message")
		s.block(j.FinalMessage, "")
	}
}

func (s *shown) script(j *report.Job) {
	if j.Script == nil {
		return
	}
	s.title("script")
	line := fmt.Sprintf("  %s %s, %s, %s", s.paint(outcomeStyle(j.Script.Reason == ""), j.Script.Outcome), printable.Plain(j.Script.File), j.Script.Exit(), figures.Duration(j.Script.ElapsedMS))
	if j.Script.Reason != "" {
		line += ": " + printable.Plain(j.Script.Reason)
	}
	fmt.Fprintln(s, line)
	if j.Script.Reason != "" && strings.TrimSpace(j.Script.Tail) != "" {
		s.block(lastLines(j.Script.Tail, maxShownTail), printable.Aside)
	}
}

func (s *shown) verify(j *report.Job) {
	if len(j.Baseline)+len(j.Verify) == 0 {
		return
	}
	s.title("verify")
	line := func(name, when string, passed bool, exit string, ms int64, output string, show bool) {
		result := "passed"
		if !passed {
			result = "failed"
		}
		fmt.Fprintf(s, "  %s %s, %s, %s, %s\n", s.paint(outcomeStyle(passed), result), printable.Plain(name), when, exit, figures.Duration(ms))
		if show && strings.TrimSpace(output) != "" {
			s.block(output, printable.Aside)
		}
	}
	for _, b := range j.Baseline {
		line(b.Name, "before the agent", b.Passed, b.Exit(), b.ElapsedMS, b.Output(), !b.Passed)
	}
	for i, v := range j.Verify {
		later := slices.ContainsFunc(j.Verify[i+1:], func(o report.Verify) bool { return o.Name == v.Name })
		line(v.Name, v.After()+v.Where(), v.Passed, v.Exit(), v.ElapsedMS, v.Output(), !v.Passed && !later)
	}
}

// lastLines returns the last n lines of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) <= n {
		return text
	}
	return fmt.Sprintf("… %s before this\n%s", figures.Count(len(lines)-n, "line"), strings.Join(lines[len(lines)-n:], "\n"))
}

func (s *shown) denied(j *report.Job) {
	if len(j.Denied)+len(j.Network) == 0 {
		return
	}
	s.title("denied")
	for _, d := range j.Denied {
		input, by := excerpt.Head(jsonlayout.OneLine(d.Input), maxDetail), d.By(func(s string) string { return s })
		fmt.Fprintf(s, "  %s turn %d: %s %s, by %s\n", s.paint(printable.Bad, "denied"), d.Turn, printable.Plain(d.Tool), printable.Plain(input), printable.Plain(by))
	}
	for _, n := range j.Network {
		fmt.Fprintf(s, "  %s %s, port %d: %s\n", s.paint(printable.Bad, "denied"), printable.Plain(n.Host), n.Port, printable.Plain(strings.TrimSuffix(n.Reason+"; "+n.Fix, "; ")))
	}
}

// calls writes one line for each call.
func (s *shown) calls(j *report.Job) {
	if len(j.Calls) == 0 {
		return
	}
	s.title(figures.Count(len(j.Calls), "call"))
	for i := range j.Calls {
		c := &j.Calls[i]
		about := figures.Duration(c.ElapsedMS)
		if m := c.Metadata.String(); m != "" {
			about += ", " + m
		}
		fmt.Fprintf(s, "  %s %s %s %s %s\n", s.paint(printable.Aside, fmt.Sprintf("turn %2d", c.Turn)), s.paint(outcomeStyle(c.Status == event.CallCompleted), fmt.Sprintf("%-9s", c.Status)),
			printable.Plain(c.Tool), printable.Plain(excerpt.Head(subject(c), maxDetail)), s.paint(printable.Aside, printable.Plain(about)))
	}
}

// subject is what the call was about: of bash the command, which its title describes.
func subject(c *report.Call) string {
	var in struct {
		Command string `json:"command"`
	}
	if c.Tool == "bash" && json.Unmarshal(c.Input, &in) == nil && in.Command != "" {
		return in.Command
	}
	return c.Title
}

func (s *shown) leftOut(j *report.Job) {
	if len(j.LeftOut) == 0 {
		return
	}
	s.title("left out of the changes")
	for _, f := range j.LeftOut {
		fmt.Fprintf(s, "  %s\n", printable.Plain(f.String()))
	}
}

func (s *shown) changes(j *report.Job, patch string) {
	defer s.leftOut(j)
	if len(j.Changes) == 0 {
		return
	}
	s.title(figures.Count(len(j.Changes), "changed path"))
	for _, c := range j.Changes {
		fmt.Fprintf(s, "  %-8s %s +%d -%d\n", c.Kind, printable.Plain(c.Path), c.Added, c.Removed)
	}
	lines := strings.Split(strings.TrimRight(printable.Disarm(printable.Visible(patch)), "\n"), "\n")
	if patch == "" {
		return
	}
	fmt.Fprintln(s)
	for _, line := range lines[:min(len(lines), maxShownPatch)] {
		style := printable.Style("")
		switch {
		case strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
			style = printable.Heading
		case strings.HasPrefix(line, "@@"):
			style = printable.Aside
		case strings.HasPrefix(line, "+"):
			style = printable.Good
		case strings.HasPrefix(line, "-"):
			style = printable.Bad
		}
		fmt.Fprintln(s, strings.TrimRight("    "+s.styled(style, excerpt.Head(line, maxShownLine)), " "))
	}
	if more := len(lines) - maxShownPatch; more > 0 {
		fmt.Fprintf(s, "    … %s more in the patch\n", figures.Count(more, "line"))
	}
}

func (s *shown) styled(style printable.Style, line string) string {
	if style == "" {
		return line
	}
	return s.paint(style, line)
}
