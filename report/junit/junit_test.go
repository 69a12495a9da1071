package junit_test

import (
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/junit"
)

// suites is junit.xml as a CI system reads it.
type suites struct {
	tally
	Name   string `xml:"name,attr"`
	Suites []struct {
		tally
		Name  string  `xml:"name,attr"`
		Cases []xcase `xml:"testcase"`
		Props []struct {
			Name  string `xml:"name,attr"`
			Value string `xml:"value,attr"`
		} `xml:"properties>property"`
	} `xml:"testsuite"`
}

type tally struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

type xcase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Time    string   `xml:"time,attr"`
	Failure *problem `xml:"failure"`
	Error   *problem `xml:"error"`
	Skipped *problem `xml:"skipped"`
	Out     string   `xml:"system-out"`
}

type problem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

func parseJUnit(tb testing.TB, text string) suites {
	tb.Helper()
	var s suites
	if err := xml.Unmarshal([]byte(text), &s); err != nil {
		tb.Fatalf("parse junit.xml: %v", err)
	}
	return s
}

// validXML asks xmllint, where it is installed, whether the text fits the XSD.
func validXML(t *testing.T, text string) {
	t.Helper()
	xmllint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Log("xmllint is not installed: not validated against the XSD")
		return
	}
	for _, schema := range []string{"junit.xsd", "junit-10.xsd"} {
		cmd := exec.CommandContext(t.Context(), xmllint, "--nonet", "--noout", "--schema", filepath.Join("testdata", schema), "-")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("junit.xml does not fit %s: %v\n%s", schema, err, out)
		}
	}
}

// result is a testcase in one word.
func (c xcase) result() string {
	switch {
	case c.Failure != nil:
		return "failure"
	case c.Error != nil:
		return "error"
	case c.Skipped != nil:
		return "skipped"
	}
	return "passed"
}

func TestJUnitCounts(t *testing.T) {
	for name, stream := range reporttest.Streams(t, "../testdata") {
		text := reporttest.Render(t, junit.Write, reporttest.Load(t, stream))
		validXML(t, text)
		got := parseJUnit(t, text)
		var all tally
		for _, suite := range got.Suites {
			want := tally{Tests: len(suite.Cases)}
			for _, c := range suite.Cases {
				switch c.result() {
				case "failure":
					want.Failures++
				case "error":
					want.Errors++
				case "skipped":
					want.Skipped++
				}
			}
			if diff := cmp.Diff(want, suite.tally); diff != "" {
				t.Errorf("%s, suite %s (-counted +said):\n%s", name, suite.Name, diff)
			}
			all.Tests += want.Tests
			all.Failures += want.Failures
			all.Errors += want.Errors
		}
		if diff := cmp.Diff(all, got.tally); diff != "" {
			t.Errorf("%s (-counted +said):\n%s", name, diff)
		}
	}
}

func TestOutcomeIsFailureErrorOrSkip(t *testing.T) {
	for outcome, want := range map[event.Outcome][2]string{ // of the job, of its policy
		event.Passed:    {"passed", "passed"},
		event.Failed:    {"failure", "passed"},
		event.Limit:     {"failure", "passed"},
		event.Budget:    {"failure", "passed"},
		event.Policy:    {"failure", "failure"},
		event.Error:     {"error", "passed"},
		event.Provider:  {"error", "passed"},
		event.Publish:   {"error", "passed"},
		event.Skipped:   {"skipped", "passed"},
		event.Cancelled: {"skipped", "passed"},
	} {
		r := reporttest.Fold(t, reporttest.Planned("a"), reporttest.Started("a"), reporttest.JobEnded("a", event.JobEnd{Outcome: outcome, Reason: "why\nin full"}))
		cases := parseJUnit(t, reporttest.Render(t, junit.Write, r)).Suites[0].Cases
		if got := [2]string{cases[0].result(), cases[1].result()}; got != want {
			t.Errorf("%s: %v, want %v", outcome, got, want)
		}
		for _, p := range []*problem{cases[0].Failure, cases[0].Error, cases[0].Skipped} {
			if p != nil && *p != (problem{"why", string(outcome), "why\nin full"}) {
				t.Errorf("%s is reported as %+v", outcome, *p)
			}
		}
	}
}

func TestJobThatDidNotStartHasNoPassedCase(t *testing.T) {
	r := reporttest.Fold(t, reporttest.Planned("a", "b"), reporttest.JobEnded("a", event.JobEnd{Outcome: event.Policy, Reason: "no sandbox"}))
	got := map[string]string{}
	for _, c := range parseJUnit(t, reporttest.Render(t, junit.Write, r)).Suites[0].Cases {
		got[c.Name] = c.result()
	}
	want := map[string]string{"a": "failure", "a policy": "failure", "b": "skipped", "b policy": "skipped"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLastAttemptOfVerifyDecides(t *testing.T) {
	verify := func(name string, attempt int, passed bool, tail string) event.Event {
		return event.Event{Type: event.VerifyEnded, Job: "a", Verify: &event.Verify{Name: name, Attempt: attempt, Passed: passed, ExitCode: 9, ElapsedMS: 1234, Tail: tail}}
	}
	r := reporttest.Fold(t, reporttest.Planned("a"), reporttest.Started("a"),
		verify("tests", 1, false, "first\n"), verify("lint", 1, true, "fine"),
		verify("tests", 2, false, "second"), verify("lint", 2, false, "broken"),
		verify("tests", 3, true, "third"))
	cases := parseJUnit(t, reporttest.Render(t, junit.Write, r)).Suites[0].Cases[1:3]
	want := []xcase{
		{Class: "a", Name: "a verify tests", Time: "1.234", Out: "attempt 1: exit code 9\nfirst\nattempt 2: exit code 9\nsecond\n"},
		{Class: "a", Name: "a verify lint", Time: "1.234", Failure: &problem{"attempt 2: exit code 9", "verify", "broken"}},
	}
	if diff := cmp.Diff(want, cases); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJUnitProperties(t *testing.T) {
	got := map[string]string{}
	suite := parseJUnit(t, reporttest.Render(t, junit.Write, reporttest.Load(t, reporttest.Streams(t, "../testdata")["passed"]))).Suites[0]
	for _, p := range suite.Props {
		got[p.Name] = p.Value
		if line := "[[PROPERTY|" + p.Name + "=" + p.Value + "]]\n"; !strings.Contains(suite.Cases[0].Out, line) {
			t.Errorf("no %s in %s", line, suite.Cases[0].Out)
		}
	}
	want := map[string]string{
		"cost_usd": "0.0046", "turns": "6", "tool_calls": "9", "denied_calls": "0", "model": "script:plays/fix.yaml",
		"commit": "0c9d1b7e5a4f00112233445566778899aabbccdd", "sandbox": "A", "baseline": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	unpriced := reporttest.Render(t, junit.Write, reporttest.Load(t, reporttest.Streams(t, "../testdata")["unpriced"]))
	if !strings.Contains(unpriced, `name="cost_usd" value="unknown"`) {
		t.Error("an unknown cost is not told as such")
	}
}

// The properties of a suite are sums, or all texts; the job's are in its output.
func TestPropertiesOfSeveralJobs(t *testing.T) {
	end := func(job string) event.Event {
		return reporttest.JobEnded(job, event.JobEnd{Outcome: event.Passed, FinalMessage: "done"})
	}
	r := reporttest.Fold(t, reporttest.Planned("a", "b"), reporttest.Started("a"), reporttest.TurnEnded("s", 1, nil), end("a"), reporttest.Started("b"), end("b"))
	r.Jobs[0].Model, r.Jobs[1].Model, r.Jobs[0].Turns, r.Jobs[1].Turns = "m]]", "n", 2, 3
	suite := parseJUnit(t, reporttest.Render(t, junit.Write, r)).Suites[0]
	got := map[string]string{}
	for _, p := range suite.Props {
		got[p.Name] = p.Value
	}
	if got["turns"] != "5" || got["model"] != "m]], n" || got["commit"] != "" {
		t.Errorf("properties %v", got)
	}
	if out := suite.Cases[0].Out; !strings.Contains(out, "done\n\n") || !strings.Contains(out, "[[PROPERTY|model=m] ]]]\n") {
		t.Errorf("output %q", out)
	}
}

// Jenkins attaches files that outputs name.
func TestDirectivesOfReadersAreBroken(t *testing.T) {
	const attach = "[[ATTACHMENT|/etc/passwd]]"
	text := reporttest.Render(t, junit.Write, reporttest.Fold(t, reporttest.Planned("a"), reporttest.Started("a"),
		event.Event{Type: event.VerifyEnded, Job: "a", Verify: &event.Verify{Name: attach, Tail: attach}},
		reporttest.JobEnded("a", event.JobEnd{Outcome: event.Failed, Reason: attach, FinalMessage: attach + "[[PROPERTY|cost_usd=7]]"})))
	if strings.Contains(text, "[[ATTACHMENT") || strings.Contains(text, "[[PROPERTY|cost_usd=7]]") || !strings.Contains(text, "[ [ATTACHMENT|/etc/passwd]]") {
		t.Error(text)
	}
}

func TestJUnitNamesAreStable(t *testing.T) {
	stream := string(reporttest.Streams(t, "../testdata")["repos"])
	again := strings.ReplaceAll(strings.ReplaceAll(stream, "20260304-093000-7f3a", "20270101-000000-beef"), "2026-03-04T09", "2027-01-01T00")
	if again == stream {
		t.Fatal("the streams do not differ")
	}
	first, second := reporttest.Render(t, junit.Write, reporttest.Load(t, []byte(stream))), reporttest.Render(t, junit.Write, reporttest.Load(t, []byte(again)))
	stamps := regexp.MustCompile(` timestamp="[^"]*"`)
	if diff := cmp.Diff(stamps.ReplaceAllString(first, ""), stamps.ReplaceAllString(second, "")); diff != "" {
		t.Errorf("(-first run +second run):\n%s", diff)
	}
}

func TestLongTextsAreTruncatedInJUnit(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	denied := reporttest.Called("s", 1, "x", event.CallDenied)
	denied.Call.Error = long
	failed := event.Event{Type: event.VerifyEnded, Job: "a", Verify: &event.Verify{Name: "tests", Tail: long}}
	text := reporttest.Render(t, junit.Write, reporttest.Fold(t, reporttest.Planned("a"), reporttest.Started("a"), denied, failed, failed,
		reporttest.JobEnded("a", event.JobEnd{Outcome: event.Policy, Reason: long, FinalMessage: long})))
	if len(text) > 512<<10 {
		t.Errorf("junit.xml has %d bytes", len(text))
	}
	if !strings.Contains(text, "more bytes in report.json") || !strings.Contains(text, "bytes before this in report.json") {
		t.Error("no notice that texts were cut")
	}
}

func TestJUnitIsValidForAnyText(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	events := []event.Event{reporttest.Planned("a"), reporttest.Started("a")}
	n := 20_000
	if testing.Short() {
		n = 1000
	}
	for _, text := range reporttest.Texts() {
		validXML(t, reporttest.Render(t, junit.Write, reporttest.Fold(t, reporttest.Lived(text, nil, nil)...)))
	}
	for i := range n {
		events = append(events, event.Event{Type: event.VerifyEnded, Job: "a", Verify: &event.Verify{
			Name: fmt.Sprint(i, reporttest.RandomText(random)), Attempt: 1, Tail: reporttest.RandomText(random),
		}})
	}
	text := reporttest.Render(t, junit.Write, reporttest.Fold(t, events...))
	if got := parseJUnit(t, text).Failures; got != n {
		t.Errorf("%d failures, want %d", got, n)
	}
	validXML(t, text)
}

func FuzzJUnitText(f *testing.F) {
	for _, text := range reporttest.Texts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out := reporttest.Render(t, junit.Write, reporttest.Fold(t, reporttest.Lived(text, nil, nil)...))
		if !utf8.ValidString(out) {
			t.Error("junit.xml is not UTF-8")
		}
		if regexp.MustCompile(`##[a-z]*\[`).MatchString(out) {
			t.Error("junit.xml holds a runner's command")
		}
		got := parseJUnit(t, out)
		if len(got.Suites) == 0 || got.Suites[0].Cases[0].Name != "a" {
			t.Errorf("the text changed the structure: %+v", got)
		}
	})
}

// longest records the length of the longest write.
type longest int

func (l *longest) Write(p []byte) (int, error) {
	*l = max(*l, longest(len(p)))
	return len(p), nil
}

// The memory that junit.xml needs does not depend on the number of jobs.
func TestJUnitIsWrittenByTestCase(t *testing.T) {
	r := &report.Report{}
	for range 1000 {
		r.Jobs = append(r.Jobs, report.Job{ID: "a", Repo: "r", Outcome: event.Passed, FinalMessage: strings.Repeat("x", 1000)})
	}
	var l longest
	if err := junit.Write(&l, r); err != nil || l > 4000 {
		t.Errorf("a write of %d bytes, %v", l, err)
	}
}
