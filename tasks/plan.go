package tasks

import (
	"time"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/form"
)

// MaxJobs is the maximum number of jobs of a plan.
const MaxJobs = 50_000

// Plan is one or more manifests with every default applied, every name
// resolved and every combination expanded: exactly what a run does.
type Plan struct {
	Name      string   // the first manifest's name, or its file's base name
	Manifests []string // paths as they were given
	Hash      string   // identifies the plan's content; the same manifests give the same hash on every machine
	Jobs      []Job    // the selected ones, in the order of the manifests
	Elsewhere []Job    // with a shard: the jobs of the plan's other shards
	Shard     Shard    // the shard of the plan that Jobs is; zero for all of it
	Parallel  int      // concurrent jobs, at least 1
	Clones    int      // repositories fetched concurrently, at least 1
	Budget    Budget
	Rollout   *Rollout `json:",omitempty"` // nil: one run executes all jobs

	AllowDirty        bool
	AllowUnknownPrice bool
	Prices            map[string]money.Price // overrides of the built-in table, by model ("openai/gpt-5-mini")

	Commands   bool `json:",omitempty"` // a manifest has read commands in OpenCode's format
	AgentFiles bool `json:",omitempty"` // a manifest has read agents in OpenCode's format

	Agents    []Agent             // those built in, and those of the manifests
	Providers map[string]Provider // of the manifests, by the name before the slash of a model
	Forges    []Forge             `json:",omitempty"` // git hosts of the manifests, each once
	Sources   []Listed            `json:",omitempty"` // of repositories, each once
	Search    Search
	Tools     []CustomTool
	MCP       []MCPServer `json:",omitempty"`
	Scripts   Scripts     `json:",omitzero"`
	Hooks     []Hook      `json:",omitempty"`
	LSP       *LSP        `json:",omitempty"`
	Skills    []string    // directories of skills beside the workspace's own, absolute
	Batch     bool        // whether models get the batch tool
	Output    OutputLimits
	Follow    *Follow `json:",omitempty"` // nil if no manifest has it

	Evidence *Evidence `json:",omitempty"` // nil for none

	Policies policy.Set           // that bound the plan
	Profiles []permission.Profile // all that the manifests define, used or not: validate checks their examples
	Notes    []string             // what a user should know of the selection, such as a job that runs without one that it needs

	Uses *form.Uses `json:"-"` // of this machine, while it was loaded; nil for a plan that was not
}

// Shard is one of the shards into which several machines divide a plan. Jobs
// that need one another are always in the same shard.
type Shard struct{ Index, Total int } // Index counts from 1

// Budget limits the run. Zero values mean: no limit.
type Budget struct {
	CostUSD money.USD
	Time    time.Duration
}

// OutputLimits limit the output of a tool call that a model gets.
type OutputLimits struct{ Lines, Bytes int }

// Evidence is how a run proves what it did: its events are chained, and its report directory
// is sealed.
type Evidence struct {
	Sign Sign     // SignNone or SignSSH
	Sums []string `json:"-"` // SHA-256 of each manifest of the plan, in hexadecimal
}

// Signed reports whether the evidence is signed; false for nil.
func (e *Evidence) Signed() bool { return e != nil && e.Sign == SignSSH }

// FollowCause is what "millhand follow" acts on.
type FollowCause string

// The causes.
const (
	FollowConflict FollowCause = "conflict" // with the base of the pull request
	FollowChecks   FollowCause = "checks"   // that failed
	FollowReview   FollowCause = "review"   // comments of people with write access
)

// Follow has the settings of "millhand follow", which hold for each pull request.
type Follow struct {
	On       []FollowCause
	Attempts int       // sessions
	CostUSD  money.USD // of all sessions
	Stale    time.Duration
}
