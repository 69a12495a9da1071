package agent

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model/opened"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/runner/denials"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// Equipment is what sessions use.
type Equipment struct {
	// OpenModel opens the model of a job, or of a child session: then child is the
	// name of its agent, and the job's model is the child's.
	OpenModel func(j tasks.Job, child string, on opened.Notices) (opened.Conversation, error)
	// Facts returns the properties of a model. It may be nil.
	Facts  func(model string) opened.Facts
	Custom []tools.Tool                          // of the manifests
	Proxy  func(*http.Request) (*url.URL, error) // for requests to remote MCP servers; nil: no proxy
}

// Run is what the sessions of a run share.
type Run struct {
	sites     *site.Run
	opts      *site.Options
	budget    *money.Budget
	equipment Equipment
	version   string // of millhand
	program   scriptProgram

	mu      sync.Mutex
	refused map[string]string // by provider or model: why it can't be used
}

// NewRun returns what the sessions of a run share.
func NewRun(sites *site.Run, o *site.Options, budget *money.Budget, e Equipment, version string) *Run {
	return &Run{sites: sites, opts: o, budget: budget, equipment: e, version: version, refused: map[string]string{}}
}

// refuse records that a provider rejected the credentials, or does not have a model:
// further requests would fail the same way. For a job with fallbacks, the model that
// failed is unknown.
func (r *Run) refuse(j tasks.Job, end *ending.Stop) {
	if len(j.Fallback) > 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if end.Code == event.CodeAuth || end.Code == event.CodeQuota {
		r.refused[provider(j.Model)] = end.Detail
	}
	if end.Code == event.CodeModel {
		r.refused[j.Model] = end.Detail
	}
}

// Refuses returns why a model can't be used; "" if that is not known.
func (r *Run) Refuses(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.refused[provider(name)], r.refused[name])
}

// provider is the prefix of a model's name.
func provider(name string) string {
	before, _, _ := strings.Cut(name, "/")
	before, _, _ = strings.Cut(before, ":")
	return before
}

// Job is a running job, with what its sessions share.
type Job struct {
	*site.Job
	run     *Run
	opts    *site.Options // of the run
	refused denials.Calls // of its sessions
}

// Job returns the job for a specification of the plan.
func (r *Run) Job(spec tasks.Job) *Job {
	return &Job{Job: r.sites.Job(spec), run: r, opts: r.opts}
}

// secret returns the value of a variable in a manifest; "" for none.
func (j *Job) secret(variable string) string {
	if variable == "" {
		return ""
	}
	return strings.TrimSpace(j.opts.Getenv(variable))
}

// Advice returns which profile to set instead of the job's, because nothing was changed; "" for none.
func (j *Job) Advice() string { return j.refused.Advice(j.Spec.Profile, j.Spec.Changing) }
