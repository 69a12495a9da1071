package action

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/markdown"
	"github.com/millhand/millhand/report"
)

// MaxValue is the maximum size of an output, in bytes. The limit for all outputs of a
// job is 1 MiB in UTF-16.
const MaxValue = 64 << 10

// Output is one output of the action.
type Output struct{ Name, Value string }

// Outcome returns the outcome of a run: that of its report if it is known, otherwise that
// of its exit code.
func Outcome(exit event.Exit, rep *report.Report) event.Outcome {
	if rep == nil || exit != event.ExitOK && rep.Run.Outcome == event.Passed {
		return exit.OutcomeOf()
	}
	return rep.Run.Outcome
}

// conclusion converts an outcome to a conclusion of GitHub.
func conclusion(o event.Outcome, exit event.Exit) string {
	switch {
	case o == event.Passed, o == event.Skipped, o == event.Waiting && exit == event.ExitOK:
		return "success"
	case o == event.Cancelled:
		return "cancelled"
	default:
		return "failure"
	}
}

// Outputs returns the outputs of a run with this exit code and its reports in dir; rep is
// nil if the run ended before it had a report. The warnings list truncated outputs.
func Outputs(exit event.Exit, dir string, rep *report.Report) (all []Output, warnings []string) {
	add := func(name, value string) { all = append(all, Output{name, value}) }
	outcome := Outcome(exit, rep)
	add("conclusion", conclusion(outcome, exit))
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
	add("report-html", filepath.Join(dir, "report.html"))
	findings := ""
	if rep.HasFindings() {
		findings = filepath.Join(dir, "findings.sarif")
	}
	add("findings-sarif", findings)
	results, warnings := results(rep)
	return append(append(all, results...), counts(rep.Run.Totals)...), warnings
}

// Skipped returns the outputs of a step that ran nothing, because the event does not address
// millhand.
func Skipped() []Output {
	return []Output{{"conclusion", "skipped"}, {"outcome", string(event.Skipped)}, {"exit-code", "0"}}
}

// results returns the outputs with results: message, structured output, commits.
func results(rep *report.Report) (all []Output, warnings []string) {
	var message, output string
	if len(rep.Jobs) == 1 {
		// A later step may print or post it.
		message = markdown.Fitted(rep.Jobs[0].FinalMessage, MaxValue, func(int) string { return "(truncated; the full text is in report.json)" })
		output = compact(rep.Jobs[0].Output)
	}
	if len(output) > MaxValue {
		output = ""
		warnings = append(warnings, "the output structured-output is empty, because it is larger than 64 KiB; report.json contains it")
	}
	var branches, commits []string
	for _, j := range rep.Jobs {
		if j.Commit != nil {
			branches, commits = append(branches, j.Commit.Branch), append(commits, j.Commit.Hash)
		}
	}
	var pulls []string
	for _, j := range rep.Jobs {
		if j.PullRequest != nil {
			pulls = append(pulls, j.PullRequest.URL)
		}
	}
	if fits := fitting(pulls); fits < len(pulls) {
		warnings = append(warnings, fmt.Sprintf("the output pull-requests contains the first %d of %d; report.json contains all", fits, len(pulls)))
		pulls = pulls[:fits]
	}
	room := min(fitting(branches), fitting(commits)) // the nth branch has the nth commit
	if room < len(branches) {
		warnings = append(warnings, fmt.Sprintf("the outputs branches and commits contain the first %d of %d; report.json contains all", room, len(branches)))
	}
	all = []Output{
		{"final-message", message},
		{"structured-output", output},
		{"branches", array(branches[:room])},
		{"commits", array(commits[:room])},
		{"pull-requests", array(pulls)},
	}
	return all, warnings
}

// counts returns the numeric outputs.
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

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return "" // not in a report
	}
	return visible(b.String())
}

// visible escapes control and format characters in JSON, which are only in strings: a
// later step may print it.
func visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// fitting returns the number of texts that fit in an output as a JSON array.
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
		return "[]" // unreachable: strings can be encoded
	}
	return visible(string(text))
}

// Format formats outputs for the file GITHUB_OUTPUT. Each value ends with a line that has
// a delimiter from random, which the value does not contain.
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
