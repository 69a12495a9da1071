package tasks

import (
	"fmt"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/tasks/expr"
)

// BranchPrefix is the start of the names of branches that a manifest does not name.
const BranchPrefix = "millhand/"

// BranchFault returns which rule of git (git-check-ref-format) the name of a
// branch breaks, or "" if it is valid.
func BranchFault(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case name == "@" || name == "HEAD":
		return "git reserves this name"
	case len(name) > 200:
		return "it exceeds 200 bytes"
	case strings.HasPrefix(name, "-"):
		return `it must not start with "-"`
	case strings.HasPrefix(name, "refs/"):
		return `it must not start with "refs/"`
	case strings.HasPrefix(name, "/") || strings.HasSuffix(name, "/") || strings.Contains(name, "//"):
		return `it must not start or end with "/", or contain "//"`
	case strings.Contains(name, "..") || strings.HasSuffix(name, "."):
		return `it must not contain ".." or end with "."`
	case strings.Contains(name, "@{"):
		return `it must not contain "@{"`
	}
	for _, r := range name {
		if r <= ' ' || printable.Hidden(r) || strings.ContainsRune(`~^:?*[\`, r) {
			return fmt.Sprintf("it must not contain %q", r)
		}
	}
	for element := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(element, ".") || strings.HasSuffix(element, ".lock") {
			return `no element of it may start with "." or end with ".lock"`
		}
	}
	return ""
}

// Change limits what a job may change. Zero values limit nothing.
type Change struct {
	Paths          []string // globs of paths in the workspace or the repository; nil for any
	MaxFiles       int
	MaxLines       int // added and removed
	NoDeletedTests bool
}

// IsZero reports whether nothing is limited.
func (c Change) IsZero() bool {
	return c.Paths == nil && c.MaxFiles == 0 && c.MaxLines == 0 && !c.NoDeletedTests
}

// Condition is an if that asks for a repository's content.
type Condition struct {
	written string
	rest    expr.Expression // without variables, and without what is decided
}

// NewCondition returns a condition as it is written, and what is left of it.
func NewCondition(written string, rest expr.Expression) *Condition { return &Condition{written, rest} }

// Holds evaluates the condition. has reports whether the repository has a file
// or directory of this path at the commit that the job starts from; paths are
// slash-separated, relative and clean. has is only called if the result
// depends on it; its error is returned as it is.
func (c *Condition) Holds(has func(path string) (bool, error)) (bool, error) {
	return c.rest.Holds(has)
}

// String returns the condition as the manifest has it, on one line and without
// ${{ }}.
func (c *Condition) String() string { return c.written }

// Left returns what has yet to be decided, the same on every machine.
func (c *Condition) Left() string {
	if c == nil {
		return ""
	}
	return c.rest.String()
}

// Mention is something that a prompt names for the runner to fetch before the
// model sees the prompt: a command (!`git log`), or a file, directory or agent
// (@docs/style.md#L10-20).
//
// Only what the manifest's author wrote is one. A value that was filled in can
// be a segment of a path, and is otherwise text: no sign in it starts a mention,
// ends one, or reaches a shell.
type Mention struct {
	Start, End int    // bytes of the prompt, all of the mention
	Command    string // a bash command line; "" for a name
	Name       string // a path of the workspace, or an agent
	// First and Last are lines of the file, from 1; 0 for its begin and its end.
	// With them, Ranged is the name as it was written.
	First, Last int
	Ranged      string
	// Explicit is set if the name can only be a file.
	Explicit bool
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
	Context      *Context  `json:",omitempty"` // what the prompt has of a forge; nil for nothing
	Agent        string
	Instructions []Instruction
	Model        string  // provider/model, or script:FILE or replay:FILE with an absolute path
	ModelName    string  // as it was written, for reports: the same on every machine
	Fallback     []Model // in their order, for when the provider of the one before is down
	Escalate     []Model `json:",omitempty"` // in their order, for when the attempts of the one before are used up
	KeepBase     bool    `json:",omitzero"`  // the next of them starts from the base instead of the work so far
	Sampling     Sampling
	Schema       map[string]any // JSON Schema of the final message; nil for any
	Findings     bool           `json:",omitzero"` // Schema is that of package findings
	Profile      permission.Profile
	Protect      []permission.Rule `json:"-"` // of Profile, which hold for paths of the repository, too
	Limits       Limits

	Beside         Beside   `json:"-"` // what commands can name next to the manifest
	Borrows        []string `json:"-"` // directories of objects that the repository of a replay borrows
	Setup          []string
	SetupEnv       []string    // variables that only setup commands get
	Script         *TaskScript `json:",omitempty"` // nil for none
	Verify         []Verify
	Baseline       Baseline // "" without verify commands
	Attempts       int      // at least 1
	RequireChanges bool
	Ablate         Ablate  `json:",omitzero"`
	Changing       bool    `json:"-"` // the task asks for changes: it has require_changes, change, commit or publish
	Change         Change  `json:",omitzero"`
	Review         *Review `json:",omitempty"` // of the changes; nil for none
	Commit         *Commit // nil: nothing is committed, changes stay in place
	Publish        PublishMode
	Pull           *PullRequest `json:",omitempty"` // of PublishPR, else nil
	Comment        *Comment     `json:",omitempty"` // with the final message; nil for none
	Requests       *Requests    `json:",omitempty"` // on the forge; nil for none
	Later          *Later       `json:"-"`          // what the command line leaves to "millhand publish"; nil for nothing
	Output         OutputFile
	AfterUntrusted *AfterUntrusted `json:",omitempty"` // nil: reading untrusted content revokes no right
	Untrusted      []string        `json:",omitempty"` // globs of files with untrusted content
	FromEvent      string          `json:"-"`          // the first variable of the prompt that is a text of the event; "" for none
	Needs          []string        // ids of jobs in the plan that must have passed before

	// Skip is why the job is not to run, when the plan alone decides that: an if
	// that does not hold. If is the condition that is left when the repository's
	// content has to be seen, nil for none.
	Skip string
	If   *Condition
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

// DefaultLimits returns the limits of a job whose manifest sets none. Cost, tokens and memory have no default.
func DefaultLimits() Limits {
	return Limits{Turns: 100, Time: time.Hour, Denials: 50, Failures: 50, Disk: 8e9, Processes: 4096}
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

// PullRequestBranch as a commit's branch is that of the pull request of the CI's event.
const PullRequestBranch = "@pull_request"

// Commit is how a job's changes are committed.
type Commit struct {
	Message string   // without trailers; "" for one made from the task
	Branch  string   // or CurrentBranch, or PullRequestBranch
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
	// PullRequest is that of the event with PullRequestBranch, zero without one; nil for other branches.
	PullRequest *Thread `json:",omitempty"`
}

// OnPull reports whether the branch is that of a pull request; nil is not.
func (c *Commit) OnPull() bool { return c != nil && c.PullRequest != nil }

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
	Inline bool `json:",omitempty"` // findings are comments on lines of the diff
}

// Later is what a manifest publishes of a job, where the command line limits the run to this machine.
type Later struct {
	Publish PublishMode
	Pull    *PullRequest // of PublishPR, else nil
	Comment *Comment     // nil for none
}

// ResultVariables returns the variables of texts that are filled in when a job has a
// result: the plan has them as they are written, ${{ NAME }}.
func ResultVariables() []string {
	return []string{"summary", "verify", "cost", "report", "patterns", "review"}
}

// Person is an author or committer.
type Person struct{ Name, Email string }
