package replay

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/report"
)

// compare returns what differs between a job of the run and its replay.
func (r *replayed) compare(id string, now recorded) (list []string) {
	then, other := r.job(id), (&replayed{was: now}).job(id)
	if other == nil {
		return []string{"it did not start"}
	}
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	a, b := normal(r.was, id), normal(now, id)
	if then.Outcome != other.Outcome || then.ReasonCode != other.ReasonCode {
		add("outcome: %s, now %s", outcome(then), outcome(other))
	}
	if then.Attempts != other.Attempts {
		add("attempts: %d, now %d", then.Attempts, other.Attempts)
	}
	for i := range min(len(then.Verify), len(other.Verify)) {
		if v, n := then.Verify[i], other.Verify[i]; v.Name != n.Name || v.Passed != n.Passed {
			add("verify %s in attempt %d: %s, now %s", v.Name, v.Attempt, passed(v.Passed), passed(n.Passed))
		}
	}
	results, nowResults := r.was.results(then), now.results(other)
	for i := range max(len(then.Calls), len(other.Calls)) {
		switch {
		case i >= len(then.Calls):
			add("call %d is new: %s %s", i+1, other.Calls[i].Tool, other.Calls[i].Title)
		case i >= len(other.Calls):
			add("call %d was not made: %s %s", i+1, then.Calls[i].Tool, then.Calls[i].Title)
		default:
			what := fmt.Sprintf("call %d, %s %s", i+1, then.Calls[i].Tool, textcut.Head(textcut.OneLine(a.text(then.Calls[i].Title)), maxText, "..."))
			list = append(list, differences(what, then.Calls[i], other.Calls[i], a.text(results[key(then.Calls[i])]), b.text(nowResults[key(other.Calls[i])]))...)
		}
	}
	was, is := a.text(r.was.patch(then)), b.text(now.patch(other))
	if was != is {
		add("patch: %s", firstDifference(was, is))
	}
	return list
}

func outcome(j *report.Job) string {
	if j.ReasonCode == "" {
		return string(j.Outcome)
	}
	return fmt.Sprintf("%s (%s)", j.Outcome, j.ReasonCode)
}

func passed(ok bool) string {
	if ok {
		return "passed"
	}
	return "failed"
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
	line := func(lines []string, i int) string {
		if i >= len(lines) {
			return "nothing"
		}
		return fmt.Sprintf("%q", textcut.Head(lines[i], maxText, "..."))
	}
	for i := range max(len(a), len(b)) {
		if x, y := line(a, i), line(b, i); x != y || i >= len(a) || i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("line %d was %s, is %s", i+1, x, y)
		}
	}
	return "equal"
}

// callKey identifies a call of a job by its session's position, turn and position: ids are the provider's.
type callKey struct{ session, id string }

func key(c report.Call) callKey { return callKey{c.Session, c.ID} }

// results returns the results of a job's calls, as the model got them.
func (s recorded) results(j *report.Job) map[callKey]string {
	all := map[callKey]string{}
	for _, about := range j.Sessions {
		saved, err := s.run.Session(about)
		if err != nil {
			continue
		}
		for _, e := range saved.State.History {
			if m := e.Message; m != nil && m.Role == model.ToolRole {
				all[callKey{about.ID, m.CallID}] = m.Text
			}
		}
	}
	return all
}

// patch returns the patch of a job; "" for none.
func (s recorded) patch(j *report.Job) string {
	if j.Patch == "" {
		return ""
	}
	f, err := files.OpenIn(s.run.Dir, filepath.FromSlash(j.Patch))
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(data))
}

// normalizer replaces what differs in each run.
type normalizer struct{ replacer *strings.Replacer }

// normal returns the normalizer of a job: its directories and the id of its run.
func normal(s recorded, id string) normalizer {
	pairs := []string{s.past.Run.ID, "RUN"}
	if facts := s.past.Job(id); facts != nil && facts.Start != nil {
		workspace := facts.Start.Workspace
		pairs = append([]string{workspace, "."}, pairs...)
		if work, _, found := strings.Cut(workspace, string(os.PathSeparator)+"trees"+string(os.PathSeparator)); found {
			pairs = append(pairs, work, "WORK")
		}
	}
	return normalizer{strings.NewReplacer(append(pairs, s.run.Dir, "REPORTS")...)}
}

// varying are times and durations, and addresses of the machine itself.
var varying = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b\d+(\.\d+)?\s?(ns|µs|ms|s|m)\b|\b\d\d:\d\d:\d\d(\.\d+)?\b|\b(127\.0\.0\.1|localhost):\d+\b|\(cached\)`)
})

func (n normalizer) text(s string) string {
	return varying().ReplaceAllString(n.replacer.Replace(s), "~")
}
