package outlook

import (
	"time"

	"github.com/millhand/millhand/internal/app/models"
	"github.com/millhand/millhand/internal/app/planned"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks"
)

// The JSON form of a plan. Scripts of users depend on it.
type (
	planDocument struct {
		Name      string        `json:"name"`
		Manifests []string      `json:"manifest"`
		Hash      string        `json:"plan_hash"`
		Parallel  int           `json:"jobs_at_once"`
		MaxCost   *money.USD    `json:"max_cost_usd"` // of the run; null for no limit or an unknown price
		Jobs      []jobDocument `json:"jobs"`

		Extensions []planned.Extension `json:"extensions"`
		Sources    []event.Source      `json:"sources"` // of repositories, with what forges have listed

		Rollout  *waveDocument   `json:"rollout,omitempty"`  // absent without one
		Forecast *event.Forecast `json:"forecast,omitempty"` // absent without --after, and without a rollout
	}
	jobDocument struct {
		ID       string            `json:"id"`
		Task     string            `json:"task"`
		Repo     string            `json:"repo"`
		Matrix   map[string]string `json:"matrix"`
		Model    string            `json:"model"`
		Profile  string            `json:"profile"`
		Agent    string            `json:"agent"`
		Prompt   string            `json:"prompt"`
		Context  *contextDocument  `json:"context,omitempty"` // absent without one
		Branch   *string           `json:"branch"`
		Setup    []string          `json:"setup"`
		Script   *string           `json:"script"`        // file of the script that runs before a session; null for none
		SetupNet *setupNote        `json:"setup_network"` // null without setup, or if the repository was not fetched
		Verify   []verifyDocument  `json:"verify"`
		Baseline *string           `json:"baseline"` // null without verify commands
		Attempts int               `json:"attempts"`
		Needs    []string          `json:"needs"`
		Limits   limitsDocument    `json:"limits"`
		Publish  string            `json:"publish"`
		MaxCost  *money.USD        `json:"max_cost_usd"` // of the job; null as above
		Note     *note             `json:"note"`         // null if the job runs

		AfterUntrusted *afterDocument `json:"after_untrusted,omitempty"` // absent if the job loses no right
	}
	afterDocument struct {
		Network   string   `json:"network,omitempty"`
		Publish   string   `json:"publish,omitempty"`
		MCP       string   `json:"mcp,omitempty"`
		Bash      string   `json:"bash,omitempty"`
		Untrusted []string `json:"untrusted"` // globs
		Source    string   `json:"source"`    // lines of the manifest and of policies
	}
	contextDocument struct {
		Parts  []tasks.ContextPart `json:"parts"`
		Repo   string              `json:"repo"`
		Number int64               `json:"number"`
		Issue  bool                `json:"issue"`
	}
	verifyDocument struct {
		Name string `json:"name"`
		Run  string `json:"run"`
		Time string `json:"time"`
	}
	limitsDocument struct {
		// null: no limit
		Turns    *int       `json:"turns"`
		CostUSD  *money.USD `json:"cost_usd"`
		Time     *string    `json:"time"`
		Tokens   *int64     `json:"tokens"`
		Denials  *int       `json:"denials"`
		Failures *int       `json:"failures"`
		Disk     *int64     `json:"disk_bytes"`
		Memory   *int64     `json:"memory_bytes"`
		Pids     *int       `json:"processes"`
	}
)

func planJSON(plan *tasks.Plan, extensions []planned.Extension, notes map[string]note, setups map[string]setupNote, m *models.Set) planDocument {
	doc := planDocument{
		Name: plan.Name, Manifests: plan.Manifests, Hash: plan.Hash, Parallel: plan.Parallel, MaxCost: maxRunCost(m, notes),
		Jobs: []jobDocument{}, Extensions: extensions, Sources: append([]event.Source{}, plan.RecordedSources()...),
	}
	for _, j := range plan.Jobs {
		job := jobJSON(j)
		job.MaxCost = maxCost(m, j, notes[j.ID])
		if n, ok := notes[j.ID]; ok {
			job.Note = &n
		}
		if s, ok := setups[j.ID]; ok {
			job.SetupNet = &s
		}
		doc.Jobs = append(doc.Jobs, job)
	}
	return doc
}

func jobJSON(j tasks.Job) jobDocument {
	l := j.Limits
	doc := jobDocument{
		ID: j.ID, Task: j.Task, Repo: j.Repo.Name, Matrix: j.Matrix, Model: j.ModelName, Profile: j.Profile.Name, Agent: j.Agent,
		Prompt: j.Prompt, Setup: append([]string{}, j.Setup...), Verify: []verifyDocument{}, Attempts: j.Attempts, Needs: append([]string{}, j.Needs...),
		Limits:  limitsDocument{some(l.Turns), some(l.CostUSD), some(limitOf(l.Time)), some(l.Tokens), some(l.Denials), some(l.Failures), some(l.Disk), some(l.Memory), some(l.Processes)},
		Publish: string(j.Publish), Baseline: some(string(j.Baseline)),
	}
	if j.Commit != nil {
		doc.Branch = new(j.Commit.Branch)
	}
	if c := j.Context; c != nil {
		doc.Context = &contextDocument{c.Parts, c.Repo, c.Number, c.Issue}
	}
	if j.Script != nil {
		doc.Script = new(j.Script.File)
	}
	if a := j.AfterUntrusted; a != nil {
		rights := a.Revoked()
		doc.AfterUntrusted = &afterDocument{rights["network"], rights["publish"], rights["mcp"], rights["bash"], append([]string{}, j.Untrusted...), a.Source}
	}
	for _, v := range j.Verify {
		doc.Verify = append(doc.Verify, verifyDocument{v.Name, v.Run, limitOf(v.Time)})
	}
	return doc
}

// some returns nil, null in JSON, for the zero value, which means no limit.
func some[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

func limitOf(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}
