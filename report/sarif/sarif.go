// Package sarif writes the findings of reviews in a report as SARIF, for code scanning. It makes no findings of its own: denied calls and
// failed jobs are none.
package sarif

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/report"
)

// The SARIF 2.1.0 objects that are written (https://docs.oasis-open.org/sarif/sarif/v2.1.0/).
type (
	log struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []run  `json:"runs"`
	}
	run struct {
		Tool              tool         `json:"tool"`
		AutomationDetails id           `json:"automationDetails"`
		Provenance        []provenance `json:"versionControlProvenance,omitempty"`
		Invocations       []invocation `json:"invocations"`
		Results           []result     `json:"results"`
		ColumnKind        string       `json:"columnKind"`
	}
	tool struct {
		Driver driver `json:"driver"`
	}
	driver struct {
		Name           string `json:"name"`
		InformationURI string `json:"informationUri"`
		Version        string `json:"version,omitempty"`
		Rules          []rule `json:"rules"`
	}
	rule struct {
		ID    string  `json:"id"`
		Short message `json:"shortDescription"`
	}
	id struct {
		ID string `json:"id"`
	}
	provenance struct {
		RepositoryURI string `json:"repositoryUri"`
		RevisionID    string `json:"revisionId,omitempty"`
	}
	invocation struct {
		ExecutionSuccessful bool           `json:"executionSuccessful"`
		Notifications       []notification `json:"toolExecutionNotifications,omitempty"`
	}
	notification struct {
		Level   findings.Severity `json:"level"`
		Message message           `json:"message"`
	}
	message struct {
		Text string `json:"text"`
	}
	result struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        findings.Severity `json:"level"`
		Message      message           `json:"message"`
		Locations    []location        `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	location struct {
		Physical physical `json:"physicalLocation"`
	}
	physical struct {
		Artifact artifact `json:"artifactLocation"`
		Region   *region  `json:"region,omitempty"`
	}
	artifact struct {
		URI     string `json:"uri"`
		URIBase string `json:"uriBaseId"`
	}
	region struct {
		StartLine int `json:"startLine"`
	}
)

// Write writes the findings of reviews as SARIF 2.1.0, a run for each job whose output has
// the schema of findings: also one without findings, so that code scanning closes the alerts
// of earlier runs. A finding that is not in a file of the repository is a notification,
// because results need a location. Denied calls and failed jobs are not findings.
func Write(w io.Writer, r *report.Report) error {
	out := log{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []run{}}
	for i := range r.Jobs {
		if j := &r.Jobs[i]; j.Findings() != nil {
			out.Runs = append(out.Runs, newRun(j, r.Run.Version))
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("encode SARIF: %w", err)
	}
	if _, err := w.Write(printable.JSON(b.Bytes())); err != nil {
		return fmt.Errorf("write SARIF: %w", err)
	}
	return nil
}

func newRun(j *report.Job, version string) run {
	out := run{
		Tool:              tool{driver{Name: "millhand", InformationURI: "https://github.com/millhand/millhand", Version: version, Rules: []rule{}}},
		AutomationDetails: id{"millhand/" + j.ID + "/"},
		Results:           []result{}, ColumnKind: "utf16CodeUnits",
	}
	if from, err := url.Parse(strings.Fields(j.Location + " .")[0]); err == nil && from.Scheme != "" && from.Host != "" {
		from.User = nil
		one := provenance{RepositoryURI: from.String()}
		if j.Base != nil {
			one.RevisionID = j.Base.Commit
		}
		out.Provenance = append(out.Provenance, one)
	}
	done := invocation{ExecutionSuccessful: j.Outcome == event.Passed}
	rules, seen := map[string]int{}, map[string]int{}
	for _, f := range j.Findings().Findings {
		text := message{printable.Visible(cmp.Or(f.Message, f.Rule))} // code scanning shows no result without a text
		if f.Suggestion != "" {
			text.Text += "\n\nSuggestion: " + printable.Visible(f.Suggestion)
		}
		if f.Path == "" {
			done.Notifications = append(done.Notifications, notification{f.Severity, text})
			continue
		}
		index, known := rules[f.Rule]
		if !known {
			index = len(out.Tool.Driver.Rules)
			rules[f.Rule] = index
			out.Tool.Driver.Rules = append(out.Tool.Driver.Rules, rule{f.Rule, message{strings.ReplaceAll(f.Rule, "-", " ")}})
		}
		at := physical{Artifact: artifact{(&url.URL{Path: f.Path}).EscapedPath(), "%SRCROOT%"}}
		if f.Line > 0 {
			at.Region = &region{f.Line}
		}
		key := f.Path + "\x00" + f.Rule
		out.Results = append(out.Results, result{
			RuleID: f.Rule, RuleIndex: index, Level: f.Severity, Message: text, Locations: []location{{at}}, Fingerprints: fingerprints(key, seen[key]),
		})
		seen[key]++
	}
	out.Invocations = []invocation{done}
	return out
}

// fingerprints identify the nth finding of a rule in a file in later runs, where models
// describe it in other words and lines have moved.
func fingerprints(key string, n int) map[string]string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", key, n))
	return map[string]string{"millhandFinding/v1": hex.EncodeToString(sum[:16])}
}
