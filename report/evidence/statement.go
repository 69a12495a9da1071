package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/report"
)

// The types of in-toto that the files have.
const (
	PayloadType   = "application/vnd.in-toto+json" // of a Statement in an envelope
	StatementType = "https://in-toto.io/Statement/v1"
	RunPredicate  = "urn:millhand:evidence:1"
	TestPredicate = "https://in-toto.io/attestation/test-result/v0.1"
)

// Statement is an in-toto Statement, version 1.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     any       `json:"predicate"`
}

// Subject is what a Statement is about, or a file that it names.
type Subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// Tests is the predicate of [TestsFile]: the verify commands of all jobs, after the last attempt.
type Tests struct {
	Result        string    `json:"result"` // PASSED or FAILED
	Configuration []Subject `json:"configuration"`
	PassedTests   []string  `json:"passedTests"`
	FailedTests   []string  `json:"failedTests"`
}

// Predicate is the predicate of [StatementFile].
type Predicate struct {
	Run       Run                `json:"run"`
	Events    Events             `json:"events"`
	Manifests []event.PolicyFile `json:"manifests"`
	Policies  []event.PolicyFile `json:"policies"`
	Models    []string           `json:"models"`
	StartedBy *event.StartedBy   `json:"started_by"`
	Jobs      []Job              `json:"jobs"`
}

// Run describes the run. Its fields are those of report.json.
type Run struct {
	ID         string        `json:"id"`
	Version    string        `json:"version"`
	PlanHash   string        `json:"plan_hash"`
	StartedAt  report.Time   `json:"started_at"`
	FinishedAt report.Time   `json:"finished_at"`
	Outcome    event.Outcome `json:"outcome"`
	ExitCode   event.Exit    `json:"exit_code"`
	MaxCostUSD *money.USD    `json:"max_cost_usd"`
	CostUSD    *money.USD    `json:"cost_usd"`
}

// Events describes events.jsonl.
type Events struct {
	Lines  int64  `json:"lines"`
	Head   string `json:"head"`   // SHA-256 of the last line
	SHA256 string `json:"sha256"` // of the file
}

// Job describes a job: what it could do, did and cost. Its fields are those of report.json
// except for caps, decisions and head.
type Job struct {
	ID          string        `json:"id"`
	Task        string        `json:"task"`
	Repo        string        `json:"repo"`
	Outcome     event.Outcome `json:"outcome"`
	ReasonCode  event.Code    `json:"reason_code"`
	Base        *report.Base  `json:"base"`
	Commit      *Commit       `json:"commit"` // nil without one
	Profile     string        `json:"profile"`
	Sandbox     string        `json:"sandbox"` // level
	Model       string        `json:"model"`
	ModelServed string        `json:"model_served"`
	Caps        event.Caps    `json:"caps"`
	Decisions   []Decisions   `json:"decisions"` // of tool calls, by rule
	Turns       int           `json:"turns"`
	Usage       money.Usage   `json:"usage"`
	CostUSD     *money.USD    `json:"cost_usd"`
	Head        string        `json:"head"` // SHA-256 of its last event
}

// Commit is the commit of a job.
type Commit struct {
	Hash     string `json:"hash"`
	Branch   string `json:"branch"`
	Evidence string `json:"evidence"` // of its trailer: the SHA-256 of an event of the job; empty if an earlier run made it
}

// Decisions counts the calls that one rule decided.
type Decisions struct {
	Effect string `json:"effect"`
	Rule   string `json:"rule"`
	Source string `json:"source"`
	Calls  int    `json:"calls"`
}

// sealed is a run with everything that its statements are made from.
type sealed struct {
	run    *event.Run // the last start
	seal   *event.Seal
	report *report.Report
	events Events
}

// NewStatement returns the text of [StatementFile].
func NewStatement(run *event.Run, seal *event.Seal, rep *report.Report, events Events) ([]byte, error) {
	s := sealed{run, seal, rep, events}
	p := Predicate{
		Run: Run{
			ID: rep.Run.ID, Version: rep.Run.Version, PlanHash: rep.Run.PlanHash, StartedAt: rep.Run.StartedAt, FinishedAt: rep.Run.FinishedAt,
			Outcome: rep.Run.Outcome, ExitCode: rep.Run.ExitCode, MaxCostUSD: rep.Run.MaxCostUSD, CostUSD: rep.Run.Totals.CostUSD,
		},
		Events: events, Manifests: seal.Manifests, Policies: seal.Policies, Models: seal.Models, StartedBy: seal.StartedBy, Jobs: []Job{},
	}
	for i := range rep.Jobs {
		j, err := rep.Jobs[i].Complete()
		if err != nil {
			return nil, err
		}
		p.Jobs = append(p.Jobs, s.job(j))
	}
	subjects := append(Commits(rep), fileSubject(EventsFile, events.SHA256))
	for _, f := range seal.Files {
		subjects = append(subjects, fileSubject(f.Name, f.SHA256))
	}
	return encode(Statement{StatementType, subjects, RunPredicate, p})
}

// job describes a job.
func (s sealed) job(j *report.Job) Job {
	out := Job{
		ID: j.ID, Task: j.Task, Repo: j.Repo, Outcome: j.Outcome, ReasonCode: j.ReasonCode, Base: j.Base, Profile: j.Profile, Sandbox: j.Sandbox.Level,
		Model: j.Model, ModelServed: j.ModelServed, Caps: s.run.Evidence.Caps[j.ID], Decisions: decisions(j.Calls), Turns: j.Turns, Usage: j.Usage, CostUSD: j.CostUSD,
		Head: s.seal.Heads[j.ID],
	}
	if c := j.Commit; c != nil {
		out.Commit = &Commit{Hash: c.Hash, Branch: c.Branch, Evidence: MakerOf(c.Message).evidence(s.run.ID)}
	}
	return out
}

// decisions counts calls by the rule that decided them.
func decisions(calls []report.Call) []Decisions {
	all := []Decisions{}
	for _, c := range calls {
		if c.Decision == nil {
			continue
		}
		d := Decisions{Effect: c.Decision.Effect, Rule: c.Decision.Rule, Source: c.Decision.Source}
		at := slices.IndexFunc(all, func(o Decisions) bool { return o.Effect == d.Effect && o.Rule == d.Rule && o.Source == d.Source })
		if at < 0 {
			at, all = len(all), append(all, d)
		}
		all[at].Calls++
	}
	return all
}

// Commits returns the commits of a run as subjects.
func Commits(rep *report.Report) []Subject {
	subjects := []Subject{}
	for _, j := range rep.Jobs {
		if j.Commit != nil && j.Commit.Hash != "" {
			subjects = append(subjects, Subject{"commit of " + j.ID, map[string]string{"gitCommit": j.Commit.Hash}})
		}
	}
	return subjects
}

func fileSubject(name, sum string) Subject { return Subject{name, map[string]string{"sha256": sum}} }

// NewTests returns the text of [TestsFile]; nil for a run without verify commands, or without
// the commits and patches that are its subjects.
func NewTests(files fs.FS, run *event.Run, rep *report.Report) ([]byte, error) {
	t := Tests{Result: "PASSED", Configuration: []Subject{}, PassedTests: []string{}, FailedTests: []string{}}
	for _, m := range run.Evidence.Manifests {
		t.Configuration = append(t.Configuration, fileSubject(m.Path, m.SHA256))
	}
	for _, j := range rep.Jobs {
		for _, v := range j.Verify {
			if v.Attempt != j.Verify[len(j.Verify)-1].Attempt {
				continue
			}
			if v.Passed {
				t.PassedTests = append(t.PassedTests, j.ID+": "+v.Name)
			} else {
				t.FailedTests, t.Result = append(t.FailedTests, j.ID+": "+v.Name), "FAILED"
			}
		}
	}
	subjects := Commits(rep)
	for _, j := range rep.Jobs {
		if f, err := HashFile(files, j.Patch); j.Patch != "" && err == nil { // a missing one is detected by its seal
			subjects = append(subjects, fileSubject(f.Name, f.SHA256))
		}
	}
	if len(subjects) == 0 || len(t.PassedTests)+len(t.FailedTests) == 0 {
		return nil, nil
	}
	return encode(Statement{StatementType, subjects, TestPredicate, t})
}

func encode(s Statement) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		return nil, fmt.Errorf("encode %s: %w", s.PredicateType, err)
	}
	return out.Bytes(), nil
}
