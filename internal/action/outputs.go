package action

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/textcut"
	"github.com/millhand/millhand/report"
)

// MaxValue bounds the value of one output, in bytes. A job's outputs may be
// 1 MiB together, counted in UTF-16.
const MaxValue = 64 << 10

// Output is one output of the action.
type Output struct{ Name, Value string }

// Outcome returns how a run ended: as its report says, if it came to one that
// tells, and else as its exit code does.
func Outcome(exit event.Exit, rep *report.Report) event.Outcome {
	if rep == nil || exit != event.ExitOK && rep.Run.Outcome == event.Passed {
		return exit.OutcomeOf()
	}
	return rep.Run.Outcome
}

// conclusion is an outcome in GitHub's words.
func conclusion(o event.Outcome) string {
	switch o {
	case event.Passed, event.Skipped:
		return "success"
	case event.Cancelled:
		return "cancelled"
	default:
		return "failure"
	}
}

// Outputs returns the outputs of a run that ended with this exit code and wrote
// its reports into dir; rep is nil for a run that ended before it had any. The
// warnings tell what was too large for an output.
func Outputs(exit event.Exit, dir string, rep *report.Report) (all []Output, warnings []string) {
	add := func(name, value string) { all = append(all, Output{name, value}) }
	outcome := Outcome(exit, rep)
	add("conclusion", conclusion(outcome))
	add("outcome", string(outcome))
	add("exit-code", strconv.Itoa(int(exit)))
	if rep == nil {
		return all, nil
	}
	add("run-id", rep.Run.ID)
	add("report-dir", dir)
	add("report-json", filepath.Join(dir, "report.json"))
	add("report-junit", filepath.Join(dir, "junit.xml"))
	add("events-jsonl", filepath.Join(dir, "events.jsonl"))
	add("patch-dir", filepath.Join(dir, "patches"))
	results, warnings := results(rep)
	return append(append(all, results...), counts(rep.Run.Totals)...), warnings
}

// results are the outputs that hold what was made.
func results(rep *report.Report) (all []Output, warnings []string) {
	var message, output string
	if len(rep.Jobs) == 1 {
		message = cut(rep.Jobs[0].FinalMessage, MaxValue)
		output = compact(rep.Jobs[0].Output)
	}
	if len(output) > MaxValue {
		output = ""
		warnings = append(warnings, "the output structured-output is left empty: it is larger than 64 KiB; report.json has it")
	}
	var branches, commits []string
	for _, j := range rep.Jobs {
		if j.Commit != nil {
			branches, commits = append(branches, j.Commit.Branch), append(commits, j.Commit.Hash)
		}
	}
	room := min(fitting(branches), fitting(commits)) // the nth branch is at the nth commit
	if room < len(branches) {
		warnings = append(warnings, fmt.Sprintf("the outputs branches and commits have the first %d of %d; report.json has all", room, len(branches)))
	}
	all = []Output{
		{"final-message", message},
		{"structured-output", output},
		{"branches", array(branches[:room])},
		{"commits", array(commits[:room])},
	}
	return all, warnings
}

// counts are the outputs that are numbers.
func counts(t report.Totals) []Output {
	cost := ""
	if t.CostUSD != nil {
		cost = t.CostUSD.String()
	}
	all := []Output{{"cost-usd", cost}}
	for _, n := range []struct {
		name  string
		count int64
	}{
		{"input-tokens", t.Usage.Input},
		{"output-tokens", t.Usage.Output},
		{"cache-read-tokens", t.Usage.CacheRead},
		{"cache-write-tokens", t.Usage.CacheWrite},
		{"jobs-total", int64(t.Jobs)},
		{"jobs-passed", int64(t.Passed)},
		{"jobs-failed", int64(t.Jobs - t.Passed - t.Skipped)},
		{"jobs-skipped", int64(t.Skipped)},
		{"denied-calls", int64(t.DeniedCalls)},
	} {
		all = append(all, Output{n.name, strconv.FormatInt(n.count, 10)})
	}
	return all
}

// cut shortens a text to limit bytes, between two characters, and says so.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const notice = "\n(cut here; the whole text is in report.json)"
	return textcut.Head(s, limit-len(notice), notice)
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return "" // there is none: a report holds no other
	}
	return b.String()
}

// fitting is how many of the texts fit into an output as a JSON array.
func fitting(list []string) int {
	size := len("[]")
	for i, s := range list {
		if size += len(array([]string{s})); size > MaxValue {
			return i
		}
	}
	return len(list)
}

func array(list []string) string {
	text, err := json.Marshal(append([]string{}, list...))
	if err != nil {
		return "[]" // never: texts have a JSON form
	}
	return string(text)
}

// Format writes outputs as the runner reads them from the file GITHUB_OUTPUT.
// Each value ends with a line of its own delimiter, which random makes and
// which the value does not hold.
func Format(outputs []Output, random func() string) []byte {
	var b bytes.Buffer
	for _, o := range outputs {
		value := bytes.ToValidUTF8([]byte(o.Value), []byte("\uFFFD"))
		delimiter := "millhand-" + random()
		for bytes.Contains(value, []byte(delimiter)) {
			delimiter = "millhand-" + random()
		}
		fmt.Fprintf(&b, "%s<<%s\n%s\n%[2]s\n", o.Name, delimiter, value)
	}
	return b.Bytes()
}
