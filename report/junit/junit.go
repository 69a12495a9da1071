// Package junit writes the report of a run as JUnit XML, for CI systems. It reads no events.
package junit

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/excerpt"
	"github.com/millhand/millhand/report/jsonlayout"
	"github.com/millhand/millhand/report/xmldoc"
)

// maxText limits each text in junit.xml, in bytes: consumers fail on texts as long
// as those in report.json.
const maxText = 64 << 10

// Write writes junit.xml: a testsuite for each repo with, for each job, a testcase for
// the job, one for each verify command and one for policy. Names are the same in every
// run of a plan.
func Write(w io.Writer, r *report.Report) error {
	all := suites(r)
	p := xmldoc.NewWriter(w)
	p.Put(all.start(&r.Run))
	for _, s := range all.suites {
		p.Put(s.start(&r.Run))
		p.Element("properties", properties{propertiesOf(s.jobs...)})
		for _, j := range s.jobs {
			full, err := j.Complete()
			if err != nil {
				return err
			}
			for c := range cases(full) {
				p.Element("testcase", c)
			}
		}
		p.Put(xml.EndElement{Name: xml.Name{Local: "testsuite"}})
	}
	p.Put(xml.EndElement{Name: xml.Name{Local: "testsuites"}})
	p.Write([]byte("\n"))
	return p.Err
}

// The elements and attributes are those that the schema of Jenkins' xUnit plugin allows
// (junit-10.xsd).
type testsuites struct {
	tally
	suites []*testsuite
}

type testsuite struct {
	tally
	name xmlText
	time seconds
	jobs []*report.Job
}

// tally counts test cases.
type tally struct{ tests, failures, errors, skipped int }

type testcase struct {
	Classname xmlText    `xml:"classname,attr"`
	Name      xmlText    `xml:"name,attr"`
	Time      seconds    `xml:"time,attr"`
	Skipped   *problem   `xml:"skipped"`
	Error     *problem   `xml:"error"`
	Failure   *problem   `xml:"failure"`
	SystemOut *systemOut `xml:"system-out"`
	SystemErr xmlText    `xml:"system-err,omitempty"`
}

// systemOut is the output of a test case, with properties as lines of the form
// [[PROPERTY|NAME=VALUE]], which several readers of JUnit reports know.
type systemOut struct {
	text       string
	properties []property
}

// output returns a text as the output of a test case; nil for none.
func output(text string) *systemOut {
	if text == "" {
		return nil
	}
	return &systemOut{text: text}
}

// MarshalText always succeeds.
func (o systemOut) MarshalText() ([]byte, error) {
	all, _ := xmlText(o.text).MarshalText()
	if len(all) > 0 && len(o.properties) > 0 {
		all = append(all, "\n\n"...)
	}
	for _, p := range o.properties {
		value, _ := p.Value.MarshalText()
		all = fmt.Appendf(all, "[[PROPERTY|%s=%s]]\n", p.Name, strings.ReplaceAll(spaced(string(value)), "]]", "] ]"))
	}
	return all, nil
}

type properties struct {
	Property []property `xml:"property"`
}

type property struct {
	Name  string  `xml:"name,attr"`
	Value xmlText `xml:"value,attr"`
}

type problem struct {
	Message xmlText `xml:"message,attr"`
	Type    xmlText `xml:"type,attr"`
	Text    xmlText `xml:",chardata"`
}

// xmlText is any text; styles of terminals are removed, invisible characters, and those that XML does not allow, are
// written as U+FFFD, and directives of readers are broken.
type xmlText string

// directive matches a text that readers of reports execute: Jenkins attaches the file that
// [[ATTACHMENT|PATH]] names.
var directive = regexp.MustCompile(`\[\[([A-Za-z]+\|)`)

// MarshalText always succeeds.
func (t xmlText) MarshalText() ([]byte, error) {
	text := strings.Map(func(r rune) rune {
		if printable.Hidden(r) && r != '\r' || r == 0xfffe || r == 0xffff {
			return '\ufffd'
		}
		return r
	}, printable.Unstyled(string(t)))
	return []byte(directive.ReplaceAllString(text, "[ [$1")), nil
}

// seconds is a number of milliseconds, written as seconds with three decimals.
type seconds int64

// MarshalText always succeeds.
func (s seconds) MarshalText() ([]byte, error) {
	s = max(0, s)
	return fmt.Appendf(nil, "%d.%03d", s/1000, s%1000), nil
}

// suites groups the jobs by repository, and counts the results of their test cases, whose number precedes them in the file.
func suites(r *report.Report) *testsuites {
	all := &testsuites{}
	byRepo := map[string]*testsuite{}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		suite, ok := byRepo[j.Repo]
		if !ok {
			suite = &testsuite{name: xmlText(j.Repo)}
			byRepo[j.Repo] = suite
			all.suites = append(all.suites, suite)
		}
		suite.time += seconds(max(0, j.ElapsedMS)) // includes the time of verify commands
		suite.jobs = append(suite.jobs, j)
		for _, result := range caseResults(j) {
			suite.add(result)
			all.add(result)
		}
	}
	return all
}

// caseResult is the result of a test case.
type caseResult int

const (
	casePassed caseResult = iota
	caseFailed
	caseError
	caseSkipped
)

// caseResults returns the results of the test cases of a job, in their order.
func caseResults(j *report.Job) []caseResult {
	all := []caseResult{jobResult(j)}
	for _, runs := range j.Verifies() {
		all = append(all, verifyResult(&runs[len(runs)-1]))
	}
	return append(all, policyResult(j))
}

func jobResult(j *report.Job) caseResult {
	switch j.Outcome {
	case event.Passed:
		return casePassed
	case event.Failed, event.Limit, event.Budget, event.Policy:
		return caseFailed
	case event.Skipped, event.Cancelled:
		return caseSkipped
	default:
		return caseError
	}
}

func verifyResult(last *report.Verify) caseResult {
	if last.Passed {
		return casePassed
	}
	return caseFailed
}

// policyResult is a failure if denials ended the job.
func policyResult(j *report.Job) caseResult {
	switch {
	case j.Outcome == event.Policy:
		return caseFailed
	case !j.Started():
		return caseSkipped
	}
	return casePassed
}

// end sets the result, whose problem p is for those that did not pass.
func (c *testcase) end(result caseResult, p *problem) {
	switch result {
	case casePassed:
	case caseFailed:
		c.Failure = p
	case caseError:
		c.Error = p
	case caseSkipped:
		c.Skipped = p
	}
}

// cases returns the test cases of a job.
func cases(j *report.Job) iter.Seq[testcase] {
	return func(yield func(testcase) bool) {
		if !yield(jobCase(j)) {
			return
		}
		for _, runs := range j.Verifies() {
			if !yield(verifyCase(j, runs)) {
				return
			}
		}
		yield(policyCase(j))
	}
}

func (s *testsuites) start(r *report.Run) xml.StartElement {
	return xmldoc.Start("testsuites", append(s.attrs(xmlText(r.Title())), xmldoc.Attr("time", seconds(r.ElapsedMS)))...)
}

func (s *testsuite) start(r *report.Run) xml.StartElement {
	all := append(s.attrs(s.name), xmldoc.Number("skipped", s.skipped), xmldoc.Attr("time", s.time))
	if !r.StartedAt.IsZero() {
		all = append(all, xmldoc.Attr("timestamp", xmlText(r.StartedAt.UTC().Format("2006-01-02T15:04:05"))))
	}
	return xmldoc.Start("testsuite", all...)
}

// attrs returns the attributes that both kinds of suites start with.
func (t *tally) attrs(name xmlText) []xml.Attr {
	return []xml.Attr{xmldoc.Attr("name", name), xmldoc.Number("tests", t.tests), xmldoc.Number("failures", t.failures), xmldoc.Number("errors", t.errors)}
}

func (t *tally) add(result caseResult) {
	t.tests++
	switch result {
	case casePassed:
	case caseFailed:
		t.failures++
	case caseError:
		t.errors++
	case caseSkipped:
		t.skipped++
	}
}

func jobCase(j *report.Job) testcase {
	c := testcase{
		Classname: xmlText(j.Task),
		Name:      xmlText(j.ID),
		Time:      seconds(j.ElapsedMS),
		SystemOut: &systemOut{strings.TrimLeft(excerpt.Head(j.FinalMessage, maxText)+callList(j), "\n"), propertiesOf(j)},
		SystemErr: xmlText(excerpt.Head(warningLines(j), maxText)),
	}
	c.end(jobResult(j), &problem{Message: firstLine(j.Reason), Type: xmlText(j.Outcome), Text: xmlText(excerpt.Head(j.Reason, maxText))})
	return c
}

// warningLines returns the warnings about a job, each as a line.
func warningLines(j *report.Job) string {
	var b strings.Builder
	for _, w := range j.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", spaced(w))
	}
	return b.String()
}

// spaced returns a text in one line.
func spaced(s string) string { return strings.Join(strings.Fields(s), " ") }

// callList lists the calls of a job; "" for none.
func callList(j *report.Job) string {
	var list strings.Builder
	for _, c := range j.Calls {
		what := c.Title
		if what == "" {
			what = jsonlayout.OneLine(c.Input)
		}
		fmt.Fprintf(&list, "turn %d: %s %s: %s", c.Turn, c.Tool, excerpt.Head(spaced(what), 200), c.Status)
		if about := c.Metadata.String(); about != "" {
			fmt.Fprintf(&list, " (%s)", spaced(about))
		}
		list.WriteString("\n")
	}
	if list.Len() == 0 {
		return ""
	}
	return "\n\n" + figures.Count(len(j.Calls), "tool call") + ":\n" + strings.TrimSuffix(excerpt.Head(list.String(), maxText), "\n")
}

// propertiesOf are the properties of jobs: sums of numbers, and the different texts.
func propertiesOf(jobs ...*report.Job) []property {
	return []property{
		{"cost_usd", costOf(jobs)},
		{"turns", total(jobs, func(j *report.Job) int { return j.Turns })},
		{"tool_calls", total(jobs, (*report.Job).CallCount)},
		{"denied_calls", total(jobs, func(j *report.Job) int { return len(j.Denied) })},
		{"model", different(jobs, func(j *report.Job) string { return j.Model })},
		{"commit", different(jobs, commitHash)},
		{"sandbox", different(jobs, func(j *report.Job) string { return j.Sandbox.Level })},
		{"baseline", different(jobs, baselineText)},
	}
}

// costOf returns the cost of jobs, unknown if that of any is.
func costOf(jobs []*report.Job) xmlText {
	var sum money.Total
	for _, j := range jobs {
		sum.Add(j.CostUSD, 0)
	}
	if cost := sum.USD(); cost != nil {
		return xmlText(cost.String())
	}
	return "unknown"
}

func total(jobs []*report.Job, of func(*report.Job) int) xmlText {
	sum := 0
	for _, j := range jobs {
		sum += of(j)
	}
	return xmlText(strconv.Itoa(sum))
}

// different returns the texts of jobs, each once, in a list.
func different(jobs []*report.Job, of func(*report.Job) string) xmlText {
	var texts []string
	for _, j := range jobs {
		if text := of(j); text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return xmlText(excerpt.Head(strings.Join(texts, ", "), maxText))
}

// commitHash returns the commit of a job; "" for none.
func commitHash(j *report.Job) string {
	if j.Commit == nil {
		return ""
	}
	return j.Commit.Hash
}

// baselineText describes the verify commands before the agent started; "" if they did
// not run.
func baselineText(j *report.Job) string {
	switch {
	case len(j.Baseline) == 0:
		return ""
	case j.ReasonCode == event.CodeEnvironment:
		return "environment"
	}
	for _, b := range j.Baseline {
		if !b.Passed {
			return "failed"
		}
	}
	return "passed"
}

// verifyCase reports the last run of a verify command as its result, and earlier
// failed runs as output.
func verifyCase(j *report.Job, runs []report.Verify) testcase {
	last := runs[len(runs)-1]
	c := testcase{
		Classname: xmlText(j.Task),
		Name:      xmlText(j.ID + " verify " + last.Name),
		Time:      seconds(last.ElapsedMS),
	}
	c.end(verifyResult(&last), &problem{
		Message: xmlText(fmt.Sprintf("%s: %s", last.After(), last.Exit()+last.Where())),
		Type:    "verify",
		Text:    xmlText(cmp.Or(excerpt.Tail(last.Output(), maxText), last.Exit()+", no output")), // some readers show only this
	})
	var earlier strings.Builder
	for _, b := range j.Baseline {
		if b.Name == last.Name && !b.Passed {
			fmt.Fprintf(&earlier, "before the agent started: %s\n%s\n", b.Result(), strings.TrimRight(b.Output(), "\n"))
		}
	}
	for _, v := range runs[:len(runs)-1] {
		if !v.Passed {
			fmt.Fprintf(&earlier, "%s: %s\n%s\n", v.After(), v.Exit()+v.Where(), strings.TrimRight(v.Output(), "\n"))
		}
	}
	c.SystemOut = output(excerpt.Tail(earlier.String(), maxText))
	return c
}

// policyCase lists denials.
func policyCase(j *report.Job) testcase {
	c := testcase{Classname: xmlText(j.Task), Name: xmlText(j.ID + " policy")}
	var list strings.Builder
	for _, d := range j.Denied {
		fmt.Fprintf(&list, "turn %d: %s %s: denied by %s: %s\n", d.Turn, d.Tool, jsonlayout.OneLine(d.Input), d.By(strings.TrimSpace), d.Error)
	}
	c.SystemOut = output(excerpt.Head(list.String(), maxText))
	p := &problem{Message: "the job did not start", Type: xmlText(j.Outcome)}
	if j.Outcome == event.Policy {
		p.Message, p.Text = firstLine(j.Reason), xmlText(excerpt.Head(j.Reason, maxText))
	}
	c.end(policyResult(j), p)
	return c
}

// firstLine shortens a text for a list of failures.
func firstLine(s string) xmlText {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return xmlText(excerpt.Head(strings.TrimSpace(line), 500))
}
