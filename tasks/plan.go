package tasks

import (
	"time"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/form"
)

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

	uses *form.Uses // what loading it has used of this machine
}

// Job is one task on one repository with one combination of its matrix.
type Job struct {
	ID     string // unique in the plan and the same in every run of it: safe in file names and branch names
	Index  int    // in the plan with all shards, from 1
	Hash   string // of what it does: the same in every run of the same task
	Task   string
	Repo   Repo
	Matrix map[string]string // empty, never nil

	Prompt       string    // templates already filled in
	Mentions     []Mention // what it names for the runner to fetch, in order
	Agent        string
	Instructions []Instruction
	Model        string  // provider/model, or script:FILE or replay:FILE with an absolute path
	ModelName    string  // as it was written, for reports: the same on every machine
	Fallback     []Model // in their order, for when the provider of the one before is down
	Sampling     Sampling
	Schema       map[string]any // JSON Schema of the final message; nil for any
	Findings     bool           `json:",omitzero"` // Schema is that of package findings
	Profile      permission.Profile
	Protect      []permission.Rule `json:"-"` // of Profile, which hold for paths of the repository, too
	Limits       Limits

	Beside         Beside `json:"-"` // what commands can name next to the manifest
	Setup          []string
	SetupEnv       []string    // variables that only setup commands get
	Script         *TaskScript `json:",omitempty"` // nil for none
	Verify         []Verify
	Baseline       Baseline // "" without verify commands
	Attempts       int      // at least 1
	RequireChanges bool
	Changing       bool    `json:"-"` // the task asks for changes: it has require_changes, change, commit or publish
	Change         Change  `json:",omitzero"`
	Commit         *Commit // nil: nothing is committed, changes stay in place
	Publish        PublishMode
	Pull           *PullRequest `json:",omitempty"` // of PublishPR, else nil
	Comment        *Comment     `json:",omitempty"` // with the final message; nil for none
	Output         OutputFile
	Needs          []string // ids of jobs in the plan that must have passed before

	// Skip is why the job is not to run, when the plan alone decides that: an if
	// that does not hold. If is the condition that is left when the repository's
	// content has to be seen, nil for none.
	Skip string
	If   *Condition
}

// OutputFile is the file that a job's final message is written to. The zero value is no file.
type OutputFile struct {
	Dir  string // of the manifest, absolute
	Path string // below Dir, slash separated
	Own  string `json:",omitempty"` // of the user's command line instead: any absolute path; "" for none
}

// Shard is one of the shards into which several machines divide a plan. Jobs
// that need one another are always in the same shard.
type Shard struct{ Index, Total int } // Index counts from 1

// RepoKind is how a repository is accessed.
type RepoKind string

// The kinds of repositories.
const (
	RepoPath RepoKind = "path" // an existing repository, worked on in a linked worktree
	RepoCopy RepoKind = "copy" // a private repository made from a directory
	RepoURL  RepoKind = "url"  // a repository on a server, worked on in a worktree of a local mirror
)

// Repo is where a job works.
type Repo struct {
	Name string // as reports show it; nothing in it is specific to one run or machine
	Kind RepoKind
	Dir  string // absolute; empty for RepoURL
	URL  string // of RepoURL: https, http, ssh, the scp form (git@host:path) or file; without credentials
	Ref  string // revision to start from; empty is HEAD
	// Depth is how many commits of history a mirror of its own gets, 0 for all.
	Depth int

	Unlisted bool `json:"-"` // it represents those of a source without a list
}

// Instruction is a text that the manifest's author gives to every session.
type Instruction struct {
	Path string // as in the manifest
	Text string
}

// Limits end one job, or bound what its commands take. Zero values mean: no
// limit.
type Limits struct {
	Turns     int
	CostUSD   money.USD
	Time      time.Duration
	Tokens    int64
	Denials   int
	Failures  int
	Disk      int64 // bytes by which the workspace and private directories may grow
	Memory    int64 // bytes of its commands
	Processes int   // of its commands, threads included
}

// Budget limits the run. Zero values mean: no limit.
type Budget struct {
	CostUSD money.USD
	Time    time.Duration
}

// Verify is a command that must succeed after the agent reports completion.
type Verify struct {
	Name string
	Run  string        // a bash command line
	Time time.Duration // deadline, always set
	In   VerifyIn
}

// VerifyIn is where a verify command runs.
type VerifyIn string

// The values of VerifyIn.
const (
	InWorkspace VerifyIn = "workspace"
	InClean     VerifyIn = "clean" // a fresh checkout of the job's commit, after setup
)

// Baseline is what the verify commands must do before the agent starts, on files that no
// model has changed.
type Baseline string

// The values of Baseline.
const (
	BaselineRun      Baseline = "run" // pass or fail: the prompt lists what fails, and the report compares
	BaselineMustFail Baseline = "must_fail"
	BaselineMustPass Baseline = "must_pass"
	BaselineSkip     Baseline = "skip" // they do not run
)

// CurrentBranch as a commit's branch is the branch that is checked out; the
// repository is changed in place.
const CurrentBranch = "@current"

// Commit is how a job's changes are committed.
type Commit struct {
	Message string   // without trailers; "" for one made from the task
	Branch  string   // or CurrentBranch
	Author  Person   // zero for the default
	Protect []string // globs of paths that nothing may change, as in Job.Protect
	// IfExists is what happens if the branch exists.
	IfExists IfExists
	Sign     Sign
	// WIP is set if the work of a job that exceeded a limit or budget is committed,
	// too, marked as work in progress.
	WIP bool
	// Include lists what is committed although something else than the agent made it: setup, verify,
	// hooks, build.
	Include []string `json:",omitempty"`
}

// ByForge reports whether the forge makes and signs the commit; nil is not.
func (c *Commit) ByForge() bool { return c != nil && c.Sign == SignAPI }

// Signed reports whether the commit is to be signed by a key; nil is not.
func (c *Commit) Signed() bool {
	return c != nil && c.Sign != "" && c.Sign != SignNone && c.Sign != SignAPI
}

// Sign is the format of a commit's signature.
type Sign string

// The formats of signatures.
const (
	SignNone    Sign = "none"
	SignSSH     Sign = "ssh"
	SignOpenPGP Sign = "openpgp"
	SignAPI     Sign = "api" // by GitHub, with its own key
)

// IfExists is what to do about a branch that exists before the job begins.
type IfExists string

// What to do about an existing branch. Replace and Append touch only a branch
// whose last commit is millhand's.
const (
	FailIfExists    IfExists = "fail"    // refuse the run before it costs anything
	ReplaceIfExists IfExists = "replace" // start from the base, and let the branch point to the new commit
	SkipIfExists    IfExists = "skip"    // leave the job out
	AppendIfExists  IfExists = "append"  // start from the branch, and add a commit to it
)

// PublishMode is where a job's work goes beyond its patch.
type PublishMode string

// The ways to publish.
const (
	PublishNone   PublishMode = "none"   // only commit: the branch stays in the repository that the job ran on
	PublishPatch  PublishMode = "patch"  // nothing is committed anywhere: the patch is the result
	PublishBranch PublishMode = "branch" // the branch in the repository that the job ran on, for url repositories in the mirror
	PublishPush   PublishMode = "push"   // the branch is pushed to the url, or to the path repository's remote "origin"
	PublishPR     PublishMode = "pr"     // likewise, and a pull request is created or updated
)

// Pushes reports whether the branch is pushed.
func (m PublishMode) Pushes() bool { return m == PublishPush || m == PublishPR }

// PullRequest is the pull request of a job's branch. Texts may contain the variables of
// [ResultVariables].
type PullRequest struct {
	Base        string // branch; "" for the ref that the job started from, or the default branch
	Title, Body string // "" for ones made from the result
	Draft       bool

	Labels, Reviewers, Assignees []string

	// Fork is the account with the fork that has the branch: "" for none, ForkAuto for
	// that of the token's user if the token can't push to the repository.
	Fork string `json:",omitempty"`

	// IfExists is what happens to an open one: replace its texts, append to its
	// description, skip it, or fail.
	IfExists IfExists
}

// ForkAuto is the value of PullRequest.Fork that names no account.
const ForkAuto = "auto"

// Comment is where the final message of a job that passed is posted, whatever is published
// of its changes.
type Comment struct {
	Number int64 // of the issue or pull request
	Issue  bool
	Sticky bool // update the comment of earlier runs of the job
}

// ResultVariables returns the variables of texts that are filled in when a job has a
// result: the plan has them as they are written, ${{ NAME }}.
func ResultVariables() []string { return []string{"summary", "verify", "cost", "report", "patterns"} }

// Person is an author or committer.
type Person struct{ Name, Email string }

// Overrides are what the command line sets above the manifests. Zero values
// change nothing.
type Overrides struct {
	Model    string
	Profile  string   // a preset, a profile of the manifest, or a YAML file
	Only     []string // ids of tasks or jobs
	Vars     map[string]string
	Parallel int
	MaxTurns int
	MaxCost  money.USD     // of the run: lowers, never raises, the manifest's
	MaxTime  time.Duration // of the run, likewise

	Limit   int         // at most so many jobs, the plan's first ones; 0 for all
	Sample  int         // so many jobs, spread over the plan by a digest of their ids; 0 for all
	Shard   Shard       // of what is left after that; zero for all
	Publish PublishMode // "" for the manifest's

	NoRollout bool // the plan has no rollout, whatever the manifests state: its jobs are selected otherwise
}

// Options are what loading manifests needs to know of the world.
type Options struct {
	Dir       string              // current directory, absolute
	Getenv    func(string) string // for ${{ env.X }}
	Overrides Overrides
	Policies  policy.Set                             // that nothing in a manifest or on the command line exceeds
	Known     func(model string) (money.Price, bool) // prices that no manifest may lower under a policy's budget; nil for none
	Lists     []Listed                               // of sources in repos; see Plan.Unlisted
	Event     string                                 // file with the CI's event; "" for the one that the environment names
	RunID     string                                 // for ${{ run.id }} and ${{ run.date }}; "" for an unknown run
	Stdin     func() ([]byte, error)                 // read for the manifest "-", or else for repos: [{file: "-"}], and never otherwise

	Root string // directory with all inputs of a queued plan, see [Below]; "" for no limit
}

// Model is one model of a fallback list.
type Model struct {
	ID   string // provider/model, or script:FILE or replay:FILE with an absolute path
	Name string // as it was written
}

// Sampling are parameters of model requests. Zero values leave them to the provider.
type Sampling struct {
	Effort      string // of reasoning: none, minimal, low, medium, high, xhigh or max
	Temperature *float64
	MaxOutput   int // tokens of one response
}

// Agent is who runs a task, or a subtask of the task tool. The agents build, plan, explore and general are always there.
type Agent struct {
	Name        string
	Description string // for a model that may start it; "" if none may
	Prompt      string // instead of the built-in one; "" for that
	Model       *Model // nil for that of the task
	Sampling    Sampling
	// Max is a profile that the task's is put under; nil for the task's as it is.
	Max *permission.Profile
	// Restrictions are lists of rules, each of which can only take away from the task's profile.
	Restrictions [][]permission.Rule
	Turns        int      // 0 for the task's limit
	Without      []string // tools that it does not get
}

// Provider is an endpoint that a manifest adds, or changes.
type Provider struct {
	Kind    string // openai (Chat Completions), responses, anthropic, or a known provider that it is like; "" for a known provider's own
	BaseURL string
	KeyEnv  string     // variable that holds the key; "" for a known provider's own, or none
	Key     *KeySource `json:",omitempty"` // where changing keys come from; nil for KeyEnv
	Headers map[string]string
	Query   map[string]string
	Region  string                `json:",omitempty"` // of a cloud; "" for that of the environment
	Project string                `json:",omitempty"` // of Google Cloud; "" for that of the environment
	Login   *Login                `json:",omitempty"` // to a cloud; nil for the credentials of the environment
	Models  map[string]ModelFacts `json:",omitempty"` // what it serves, by name

	Timeouts Timeouts
	Retry    Retry `json:",omitzero"`
}

// Login describes how a provider's cloud is logged in to. Without a role, it has the cloud's usual
// credentials.
type Login struct {
	Role string `json:",omitempty"` // ARN of the AWS role that is assumed with the OIDC token
	// IdentityProvider of Google exchanges the OIDC token; it may impersonate ServiceAccount.
	IdentityProvider string `json:",omitempty"`
	ServiceAccount   string `json:",omitempty"`
	TenantID         string `json:",omitempty"` // of Entra; "" for that of the environment
	ClientID         string `json:",omitempty"` // of an application of Entra; "" for that of the environment
	TokenEnv         string `json:",omitempty"` // variable with the OIDC token; "" for a token that GitHub issues
}

// Forge is a git host of a manifest: what it is, and where its tokens come from. Without
// TokenEnv, Key and App, the environment has them, as for hosts without an entry.
type Forge struct {
	Host     string // lower case, with its port unless that is 443
	Kind     ForgeKind
	TokenEnv string     // variable that holds the token
	Key      *KeySource `json:",omitempty"` // a command that prints tokens
	App      *GitHubApp `json:",omitempty"` // creates tokens
	Source   string     `json:"-"`          // FILE:LINE of the entry, for messages
}

// GitHubApp names the variables of a GitHub App.
type GitHubApp struct {
	IDEnv  string // application ID or client ID
	KeyEnv string // private key as PEM, or the path of its file
}

// ForgeKind is the API that a git host has.
type ForgeKind string

// The kinds of git hosts.
const (
	GitHub ForgeKind = "github"
	GitLab ForgeKind = "gitlab"
	Gitea  ForgeKind = "gitea" // and Forgejo
)

// KeySource provides keys that change during a run: a command prints them, or a file
// contains them.
type KeySource struct {
	Command []string      `json:",omitempty"` // program and arguments
	Dir     string        `json:",omitempty"` // where the command runs
	TTL     time.Duration `json:",omitempty"` // how long a key of the command is used; 0 until it is rejected
	File    string        `json:",omitempty"` // absolute path
}

// ModelFacts are properties and prices of a model of a provider. Zero values are as in the
// price table, or unknown.
type ModelFacts struct {
	Like                                 string // a model of the price table, provider/model
	Input, Output, CacheRead, CacheWrite *money.USD
	Tiers                                []money.Tier // above the given prices
	Window, MaxOutput                    int          // tokens
	Vision, Reasoning                    *bool
}

// Timeouts limit the waits for a response of a provider. Zero values are the defaults of its
// kind.
type Timeouts struct {
	Header time.Duration // until it starts
	Idle   time.Duration // without any byte of it
	Total  time.Duration // of all of it
}

// Retry limits the waits for a provider that is down. Zero values are the defaults.
type Retry struct {
	MaxWait       time.Duration `json:",omitempty"`
	FallbackAfter time.Duration `json:",omitempty"` // with another model to use
}

// Search is a service for the tools websearch and codesearch. The zero value
// means no service.
type Search struct {
	Backend string // exa or json
	URL     string
	KeyEnv  string // variable that holds the key
}

// CustomTool is a command that models may call as a tool: its arguments come as
// JSON on standard input, its standard output is the result.
type CustomTool struct {
	Name        string
	Description string
	Command     []string       // program and arguments, or a shell line behind bash -c
	Schema      map[string]any // JSON Schema of its arguments, an object
	Time        time.Duration  // deadline of a call, always set
	ReadOnly    bool
	Workspace   bool       `json:",omitempty"` // as of a Process
	Readable    []Readable `json:"-"`          // what the command can read in addition
}

// OutputLimits limit the output of a tool call that a model gets.
type OutputLimits struct{ Lines, Bytes int }
