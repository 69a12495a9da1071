package replay

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/report"
)

// compare returns what differs between a job of the run and its replay.
func (r *replayed) compare(id string, now recorded) (list []string) {
	then, other := r.job(id), (&replayed{was: now}).job(id)
	if other == nil {
		return []string{"it did not start"}
	}
	a, b := normal(r.was, id), normal(now, id)
	list = append(ends(then, other), verified(then, other)...)
	was, err := r.was.sessions(then)
	is, errNow := now.sessions(other)
	if err != nil || errNow != nil {
		return append(list, fmt.Sprintf("results can't be compared: %v", firstOf(err, errNow)))
	}
	for _, name := range names(was, is) {
		list = append(list, calls(name, was[name], is[name], a, b)...)
	}
	patch, err := r.was.patch(then)
	patchNow, errNow := now.patch(other)
	switch {
	case err != nil || errNow != nil:
		list = append(list, fmt.Sprintf("patches can't be compared: %v", firstOf(err, errNow)))
	case a.paths(patch) != b.paths(patchNow):
		list = append(list, "patch: "+firstDifference(a.paths(patch), b.paths(patchNow)))
	}
	return list
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// ends compares how two jobs ended.
func ends(then, now *report.Job) (list []string) {
	for _, of := range []struct{ what, was, is string }{
		{"outcome", outcome(then), outcome(now)},
		{"attempts", fmt.Sprint(then.Attempts), fmt.Sprint(now.Attempts)},
		{"final message", textcut.OneLine(then.FinalMessage), textcut.OneLine(now.FinalMessage)},
		{"output", compact(then.Output), compact(now.Output)},
		{"review", verdict(then), verdict(now)},
		{"escalation", fmt.Sprint(len(then.Escalation)), fmt.Sprint(len(now.Escalation))},
		{"untrusted content", marked(then), marked(now)},
	} {
		if of.was != of.is {
			list = append(list, fmt.Sprintf("%s: %s, now %s", of.what, textcut.Head(of.was, maxText, "..."), textcut.Head(of.is, maxText, "...")))
		}
	}
	return list
}

func compact(data json.RawMessage) string {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return string(data)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return string(data)
	}
	return string(text)
}

func verdict(j *report.Job) string {
	if j.Review == nil || j.Review.Verdict == "" {
		return "none"
	}
	return fmt.Sprintf("%s after %d rounds", j.Review.Verdict, len(j.Review.Rounds))
}

func marked(j *report.Job) string {
	if j.MarkedBy == nil {
		return "none was read"
	}
	return fmt.Sprintf("%s in turn %d, %s", j.MarkedBy.Tool, j.MarkedBy.Turn, j.MarkedBy.What)
}

// check is the result of a verify command.
type check struct {
	name    string
	attempt int
	passed  bool
	exit    int
}

// verified compares the results of verify commands, before the agent started and after each attempt.
func verified(then, now *report.Job) (list []string) {
	was, is := checks(then), checks(now)
	for i := range max(len(was), len(is)) {
		switch {
		case i >= len(was):
			list = append(list, fmt.Sprintf("verify %s in attempt %d is new: %s", is[i].name, is[i].attempt, is[i].result()))
		case i >= len(is):
			list = append(list, fmt.Sprintf("verify %s in attempt %d did not run: it was %s", was[i].name, was[i].attempt, was[i].result()))
		case was[i].name != is[i].name || was[i].attempt != is[i].attempt:
			list = append(list, fmt.Sprintf("verify %s in attempt %d: now %s in attempt %d", was[i].name, was[i].attempt, is[i].name, is[i].attempt))
		case was[i] != is[i]:
			list = append(list, fmt.Sprintf("verify %s in attempt %d: %s, now %s", was[i].name, was[i].attempt, was[i].result(), is[i].result()))
		}
	}
	return list
}

func checks(j *report.Job) (all []check) {
	for _, b := range j.Baseline {
		all = append(all, check{b.Name, 0, b.Passed, b.ExitCode})
	}
	for _, v := range j.Verify {
		all = append(all, check{v.Name, v.Attempt, v.Passed, v.ExitCode})
	}
	return all
}

func (c check) result() string {
	if c.passed {
		return "passed"
	}
	return fmt.Sprintf("failed (%s)", event.ExitText(c.exit, 0))
}

func outcome(j *report.Job) string {
	if j.ReasonCode == "" {
		return string(j.Outcome)
	}
	return fmt.Sprintf("%s (%s)", j.Outcome, j.ReasonCode)
}

// made is a call with its result as the model got it.
type made struct {
	report.Call
	result string
}

// names returns the names of the sessions of two jobs, in the order of the first one.
func names(a, b map[string][]made) (all []string) {
	seen := map[string]bool{}
	for _, of := range []map[string][]made{a, b} {
		for name := range of {
			if !seen[name] {
				seen[name] = true
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return all
}

// calls compares the calls of a session.
func calls(session string, then, now []made, a, b normalizer) (list []string) {
	for i := range max(len(then), len(now)) {
		number := fmt.Sprintf("call %d", i+1)
		if _, child, found := strings.Cut(session, ".task-"); found {
			number += " of subagent " + child
		}
		switch {
		case i >= len(then):
			list = append(list, fmt.Sprintf("%s is new: %s %s", number, now[i].Tool, now[i].Title))
		case i >= len(now):
			list = append(list, fmt.Sprintf("%s was not made: %s %s", number, then[i].Tool, then[i].Title))
		default:
			what := fmt.Sprintf("%s, %s %s", number, then[i].Tool, textcut.Head(textcut.OneLine(a.paths(then[i].Title)), maxText, "..."))
			was, is := a.paths(then[i].result), b.paths(now[i].result)
			if !permission.HasExactResults(then[i].Tool) { // those of files belong to the content
				was, is = a.text(then[i].result), b.text(now[i].result)
			}
			list = append(list, differences(what, then[i].Call, now[i].Call, was, is)...)
		}
	}
	return list
}

// differences returns what differs between two calls with their results.
func differences(what string, then, now report.Call, was, is string) []string {
	switch {
	case then.Tool != now.Tool:
		return []string{fmt.Sprintf("%s: now %s %s", what, now.Tool, now.Title)}
	case then.Status != now.Status:
		return []string{fmt.Sprintf("%s: %s, now %s%s", what, then.Status, now.Status, because(now.Decision))}
	case effect(then.Decision) != effect(now.Decision):
		return []string{fmt.Sprintf("%s: decision %s, now %s", what, effect(then.Decision), effect(now.Decision))}
	case was != is:
		return []string{fmt.Sprintf("%s: result: %s", what, firstDifference(was, is))}
	}
	return nil
}

func effect(d *event.Decision) string {
	if d == nil {
		return "none"
	}
	return d.Effect + " by " + d.Rule
}

func because(d *event.Decision) string {
	if d == nil {
		return ""
	}
	return ", " + effect(d)
}

// maxText is the maximum length of a text of a difference, in bytes.
const maxText = 160

// firstDifference returns the first line in which two texts differ.
func firstDifference(was, is string) string {
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("line %d was %s, is %s", i+1, lineOf(a, b, i), lineOf(b, a, i))
		}
	}
	return "equal"
}

// lineOf returns a line as it is shown, from near where it differs from that of another text.
func lineOf(lines, others []string, i int) string {
	if i >= len(lines) {
		return "nothing"
	}
	line, from := lines[i], 0
	if i < len(others) {
		for from < min(len(line), len(others[i])) && line[from] == others[i][from] {
			from++
		}
	}
	if from < maxText-20 {
		return fmt.Sprintf("%q", textcut.Head(line, maxText, "..."))
	}
	return fmt.Sprintf("%q", "..."+textcut.Head(strings.ToValidUTF8(line[from-20:], "\uFFFD"), maxText, "..."))
}

// sessions returns the calls of a job with their results, by the name of their session.
func (s recorded) sessions(j *report.Job) (map[string][]made, error) {
	results := map[string]map[string][]string{} // by session and id of the call, in their order: a model can repeat ids
	for _, about := range j.Sessions {
		saved, err := s.run.Session(about)
		if err != nil {
			return nil, err
		}
		of, seen := map[string][]string{}, map[string]bool{}
		for _, e := range saved.State.History {
			if e.Session != nil { // its messages have ids of their own
				clear(seen)
			}
			if m := e.Message; m != nil && m.Role == model.ToolRole && !seen[m.ID] {
				seen[m.ID] = true
				of[m.CallID] = append(of[m.CallID], shown(m.Message))
			}
		}
		results[about.ID] = of
	}
	all := map[string][]made{}
	for _, c := range j.Calls {
		name := c.Session[strings.LastIndexByte(c.Session, '/')+1:]
		one := made{Call: c}
		if list := results[c.Session][c.ID]; len(list) > 0 {
			one.result, results[c.Session][c.ID] = list[0], list[1:]
		}
		all[name] = append(all[name], one)
	}
	return all, nil
}

// shown returns what a model is shown of a result.
func shown(m model.Message) string {
	var text strings.Builder
	text.WriteString(m.Text)
	for _, a := range m.Attachments {
		fmt.Fprintf(&text, "\n(attachment %s, %s, %x)", a.Name, a.MIME, sha256.Sum256(a.Data))
	}
	return text.String()
}

// patch returns the patch of a job; "" for none.
func (s recorded) patch(j *report.Job) (string, error) {
	if j.Patch == "" {
		return "", nil
	}
	f, err := files.OpenIn(s.run.Dir, filepath.FromSlash(j.Patch))
	if err != nil {
		return "", fmt.Errorf("open the patch of job %s: %w", j.ID, err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return "", fmt.Errorf("read the patch of job %s: %w", j.ID, err)
	}
	return string(data), nil
}
