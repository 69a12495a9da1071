package tasks

import (
	"time"

	"github.com/millhand/millhand/internal/permission"
)

// Plan is one or more manifests with every default applied, every name
// resolved and every combination spelt out: what a run carries out, and
// nothing else.
type Plan struct {
	Name      string   // the first manifest's name, or its file's base name
	Manifests []string // paths as they were given
	Hash      string   // identifies the plan's content; the same manifests give the same hash on every machine
	Jobs      []Job    // in the order of the manifests
	Parallel  int      // jobs side by side, at least 1
	Budget    Budget

	AllowDirty        bool
	AllowUnknownPrice bool
	Prices            map[string]Price // overrides of the built-in table, by model ("openai/gpt-5-mini")

	Profiles []permission.Profile // all that the manifests define, used or not: validate checks their examples
}

// Job is one task on one repository with one combination of its matrix.
type Job struct {
	ID     string // unique in the plan and the same in every run of it: safe as a file name and as a part of a branch name
	Task   string
	Repo   Repo
	Matrix map[string]string // empty, never nil

	Prompt       string // templates already filled in
	Agent        string
	Instructions []Instruction
	Model        string // provider/model, or script:FILE with an absolute path
	ModelName    string // as it was written, for reports: the same on every machine
	Profile      permission.Profile
	Limits       Limits

	Setup          []string
	Verify         []Verify
	Attempts       int // at least 1
	RequireChanges bool
	Commit         *Commit  // nil: nothing is committed, changes stay in place
	Needs          []string // ids of jobs in the plan that must have passed before
}

// RepoKind says how a repository is reached.
type RepoKind string

// The kinds of repositories.
const (
	RepoPath RepoKind = "path" // an existing repository, worked on in a linked worktree
	RepoCopy RepoKind = "copy" // a private repository made from a folder
)

// Repo is where a job works.
type Repo struct {
	Name string // as reports show it; nothing in it is specific to one run or machine
	Kind RepoKind
	Dir  string // absolute
	Ref  string // revision to start from; empty is HEAD
}

// Instruction is a text that the manifest's author gives to every session.
type Instruction struct {
	Path string // as in the manifest
	Text string
}

// Limits end one job. Zero values mean: no limit.
type Limits struct {
	Turns    int
	CostUSD  float64
	Time     time.Duration
	Tokens   int64
	Denials  int
	Failures int
}

// Budget ends the whole run. Zero values mean: no limit.
type Budget struct {
	CostUSD float64
	Time    time.Duration
}

// Verify is a command that must succeed after the agent says that it is done.
type Verify struct {
	Name string
	Run  string        // a bash command line
	Time time.Duration // deadline, always set
}

// CurrentBranch as a commit's branch means: the branch that is checked out, in
// place.
const CurrentBranch = "@current"

// Commit says how a job's changes are committed.
type Commit struct {
	Message string   // without trailers; "" for one made from the task
	Branch  string   // or CurrentBranch
	Author  Person   // zero for the default
	Protect []string // globs of paths that are never committed
}

// Person is an author or committer.
type Person struct{ Name, Email string }

// Price is what a model costs, in USD per million tokens. A nil CacheRead or
// CacheWrite is charged as Input.
type Price struct {
	Input      float64  `json:"input"`
	Output     float64  `json:"output"`
	CacheRead  *float64 `json:"cache_read,omitempty"`
	CacheWrite *float64 `json:"cache_write,omitempty"`
}

// Overrides are what the command line sets above the manifests. Zero values
// change nothing.
type Overrides struct {
	Model    string
	Profile  string   // a preset, a profile of the manifest, or a YAML file
	Only     []string // ids of tasks or jobs
	Vars     map[string]string
	Parallel int
	MaxTurns int
	MaxCost  float64       // of the run, in USD: lowers, never raises, what the manifest says
	MaxTime  time.Duration // of the run, likewise
}

// Options are what loading manifests needs to know of the world.
type Options struct {
	Dir       string              // current directory, absolute
	Getenv    func(string) string // for ${{ env.X }}
	Overrides Overrides
	Stdin     func() ([]byte, error) // read for the manifest "-" only
}
