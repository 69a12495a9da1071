package report

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
)

// The SARIF 2.1.0 objects that are written (https://docs.oasis-open.org/sarif/sarif/v2.1.0/).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool              sarifTool         `json:"tool"`
		AutomationDetails sarifID           `json:"automationDetails"`
		Provenance        []sarifProvenance `json:"versionControlProvenance,omitempty"`
		Invocations       []sarifInvocation `json:"invocations"`
		Results           []sarifResult     `json:"results"`
		ColumnKind        string            `json:"columnKind"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Version        string      `json:"version,omitempty"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string       `json:"id"`
		Short sarifMessage `json:"shortDescription"`
	}
	sarifID struct {
		ID string `json:"id"`
	}
	sarifProvenance struct {
		RepositoryURI string `json:"repositoryUri"`
		RevisionID    string `json:"revisionId,omitempty"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool                `json:"executionSuccessful"`
		Notifications       []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   findings.Severity `json:"level"`
		Message sarifMessage      `json:"message"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        findings.Severity `json:"level"`
		Message      sarifMessage      `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI     string `json:"uri"`
		URIBase string `json:"uriBaseId"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
)

// SARIF writes the findings of reviews as SARIF 2.1.0, a run for each job whose output has
// the schema of findings: also one without findings, so that code scanning closes the alerts
// of earlier runs. A finding that is not in a file of the repository is a notification,
// because results need a location. Denied calls and failed jobs are not findings.
func SARIF(w io.Writer, r *Report) error {
	out := sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{}}
	for i := range r.Jobs {
		if j := &r.Jobs[i]; j.Review != nil {
			out.Runs = append(out.Runs, newSARIFRun(j, r.Run.Version))
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

func newSARIFRun(j *Job, version string) sarifRun {
	run := sarifRun{
		Tool:              sarifTool{sarifDriver{Name: "millhand", InformationURI: "https://github.com/millhand/millhand", Version: version, Rules: []sarifRule{}}},
		AutomationDetails: sarifID{"millhand/" + j.ID + "/"},
		Results:           []sarifResult{}, ColumnKind: "utf16CodeUnits",
	}
	if from, err := url.Parse(strings.Fields(j.Location + " .")[0]); err == nil && from.Scheme != "" && from.Host != "" {
		from.User = nil
		one := sarifProvenance{RepositoryURI: from.String()}
		if j.Base != nil {
			one.RevisionID = j.Base.Commit
		}
		run.Provenance = append(run.Provenance, one)
	}
	done := sarifInvocation{ExecutionSuccessful: j.Outcome == event.Passed}
	rules, seen := map[string]int{}, map[string]int{}
	for _, f := range j.Review.Findings {
		text := sarifMessage{printable.Visible(cmp.Or(f.Message, f.Rule))} // code scanning shows no result without a text
		if f.Suggestion != "" {
			text.Text += "\n\nSuggestion: " + printable.Visible(f.Suggestion)
		}
		if f.Path == "" {
			done.Notifications = append(done.Notifications, sarifNotification{f.Severity, text})
			continue
		}
		index, known := rules[f.Rule]
		if !known {
			index = len(run.Tool.Driver.Rules)
			rules[f.Rule] = index
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{f.Rule, sarifMessage{strings.ReplaceAll(f.Rule, "-", " ")}})
		}
		at := sarifPhysical{Artifact: sarifArtifact{(&url.URL{Path: f.Path}).EscapedPath(), "%SRCROOT%"}}
		if f.Line > 0 {
			at.Region = &sarifRegion{f.Line}
		}
		key := f.Path + "\x00" + f.Rule
		run.Results = append(run.Results, sarifResult{
			RuleID: f.Rule, RuleIndex: index, Level: f.Severity, Message: text, Locations: []sarifLocation{{at}}, Fingerprints: fingerprints(key, seen[key]),
		})
		seen[key]++
	}
	run.Invocations = []sarifInvocation{done}
	return run
}

// fingerprints identify the nth finding of a rule in a file in later runs, where models
// describe it in other words and lines have moved.
func fingerprints(key string, n int) map[string]string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", key, n))
	return map[string]string{"millhandFinding/v1": hex.EncodeToString(sum[:16])}
}
