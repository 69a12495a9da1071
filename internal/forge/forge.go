package forge

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Path names a repository.
type Path struct{ Owner, Name string } // an owner of GitLab may have slashes

// String returns OWNER/NAME.
func (p Path) String() string { return p.Owner + "/" + p.Name }

// ParsePath splits OWNER/NAME at the last slash.
func ParsePath(full string) Path {
	i := strings.LastIndex(full, "/")
	if i < 0 {
		return Path{Name: full}
	}
	return Path{full[:i], full[i+1:]}
}

// Repository is a repository as its forge describes it.
type Repository struct {
	Path          Path
	CloneURL      string // over https
	DefaultBranch string // "" if it is empty
	Description   string
	Language      string // main programming language; of GitLab only in lists by language
	Topics        []string
	Archived      bool
	Fork          bool
	Empty         bool // without a commit; of [Client.ListRepos] only
	Parent        Path // of a fork, if the token can read it
	// Push reports whether the token can push. False may be wrong if PushUnknown is set.
	Push, PushUnknown bool

	ID int64 // GitLab's
}

// Head is the branch that a pull request proposes.
type Head struct {
	Repo   Path // of a fork; zero for the repository itself
	Branch string
}

// State is the state of a pull request.
type State string

// The states.
const (
	Open   State = "open"
	Closed State = "closed"
	Merged State = "merged"
)

// Checks summarizes the checks of a commit.
type Checks string

// The summaries. A check that was skipped passed.
const (
	NoChecks      Checks = ""
	ChecksPending Checks = "pending"
	ChecksPassed  Checks = "passed"
	ChecksFailed  Checks = "failed"
)

// Mergeable is whether a pull request can be merged.
type Mergeable string

// The values. Unknown: the forge is computing it.
const (
	MergeUnknown Mergeable = ""
	CanMerge     Mergeable = "yes"
	CannotMerge  Mergeable = "no" // conflicts, a draft, or a rule of the repository
)

// PullRequest is a pull request as its forge describes it.
type PullRequest struct {
	Number    int64
	URL       string
	State     State
	Title     string // without the prefix of a draft
	Body      string
	Draft     bool
	Base      string // branch
	Head      Head
	SHA       string    // commit of the head
	Mergeable Mergeable // of [Client.Get] only
	// Conflict reports conflicts with the base. Of Gitea, where Mergeable then is MergeUnknown,
	// it is also set while the server is checking.
	Conflict bool
	Checks   Checks // of [Client.Get] only
	// Blocked is what a rule of the repository requires where Mergeable is CannotMerge, with what to do
	// about it; "" if it is unknown. Of [Client.Get] only.
	Blocked string

	BaseSHA string // commit of the base that it was compared with; may be ""
	Start   string // GitLab's commit of the base branch at that time
	Labels  []string
	Updated time.Time // last activity; zero if unknown

	Ruled                    bool     // of GitHub, blocked by a rule that it does not name
	Assignees                []string // Gitea's
	AssigneeIDs, ReviewerIDs []int64  // GitLab's
}

// New is a pull request to create.
type New struct {
	Head                         Head
	Base                         string // branch
	Title                        string
	Body                         string
	Draft                        bool
	Labels, Reviewers, Assignees []string // see [Change]
}

// Change is what to change of a pull request.
type Change struct {
	Title, Body, Base *string  // nil: unchanged
	Draft             *bool    // nil: unchanged; of GitHub it can't be changed
	Labels            []string // added to the present ones; an error if Gitea lacks one
	// Reviewers and Assignees are names of users, added to the present ones. A
	// reviewer with a slash, ORG/TEAM, is a team; GitLab has none.
	Reviewers, Assignees []string

	State State // Closed, or "": unchanged
}

// Thread is what comments are on.
type Thread struct {
	Number int64
	Issue  bool // false: a pull request
}

// String returns the kind and the number.
func (t Thread) String() string {
	if t.Issue {
		return fmt.Sprintf("issue %d", t.Number)
	}
	return fmt.Sprintf("pull request %d", t.Number)
}

// Comment is a comment on a thread.
type Comment struct {
	URL     string
	Text    string // with the marker
	Created bool   // false: an earlier one was updated

	ID     int64
	Author string
	Bot    bool // an app
}

// API is the API of one kind of forge.
type API interface {
	// Repo returns a repository with the token's permissions.
	Repo(ctx context.Context, p Path) (Repository, error)
	// Self returns the name of the token's user; an error for tokens without one.
	Self(ctx context.Context, owner string) (string, error)
	// App returns the name of the app of a token without a user; an error for others.
	App(ctx context.Context, owner string) (string, error)
	// Pulls returns pull requests by their head: all that are open, and unless state is Open the
	// latest of the others, the newest first.
	Pulls(ctx context.Context, p Path, h Head, state State) ([]PullRequest, error)
	// Create creates a pull request. applied is for [Call].
	Create(ctx context.Context, p Path, n New, applied func(context.Context) (bool, error)) (PullRequest, error)
	// Change changes a pull request. All of its requests can be repeated.
	Change(ctx context.Context, p Path, pr PullRequest, c Change) error
	Pull(ctx context.Context, p Path, number int64) (PullRequest, error)
	// Checks returns a pull request of Pull with its checks, and with what blocks it.
	Checks(ctx context.Context, p Path, pr PullRequest) (PullRequest, error)
	Merge(ctx context.Context, p Path, pr PullRequest, method MergeMethod, applied func(context.Context) (bool, error)) error
	Comments(ctx context.Context, p Path, t Thread) ([]Comment, error)
	// Comment creates a comment, or updates the one with the id unless that is 0.
	Comment(ctx context.Context, p Path, t Thread, id int64, body string, applied func(context.Context) (bool, error)) (Comment, error)
	CheckList(ctx context.Context, p Path, sha string) ([]Check, error)
	// CheckLog returns the end of the log of a check with a job.
	CheckLog(ctx context.Context, p Path, check Check, most int) (string, error)
	Remarks(ctx context.Context, p Path, t Thread) ([]Remark, error)
	Diff(ctx context.Context, p Path, number int64) ([]FileDiff, error)
	// LineComments returns the comments on lines, without their markers.
	LineComments(ctx context.Context, p Path, number int64) ([]LineComment, error)
	// Review creates the comments of a review. applied reports whether one of them exists.
	Review(ctx context.Context, p Path, r Review, applied func(context.Context, NewLine) (bool, error)) error
	EditLine(ctx context.Context, p Path, number int64, l LineComment, body string, resolved bool) error
	Writes(ctx context.Context, p Path, user string) (bool, error)
	// AddLabel adds a label to an issue or pull request, and creates it if it is missing.
	AddLabel(ctx context.Context, p Path, t Thread, label string) error
	// Issues returns the newest issues of an author, of all authors if it is "": at most a page, perhaps with those of others.
	Issues(ctx context.Context, p Path, author string) ([]Issue, error)
	CreateIssue(ctx context.Context, p Path, title, body string, applied func(context.Context) (bool, error)) (Issue, error)
	// Repos returns the repositories of an owner. The forge may have left out some that the
	// filter does not match.
	Repos(ctx context.Context, f Filter) ([]Repository, error)
	// Fork starts to create a fork. own: into is the token's user.
	Fork(ctx context.Context, p Path, into string, own bool, applied func(context.Context) (bool, error)) error
	CommitOf(ctx context.Context, p Path, sha string) (CommitInfo, error)
	// Created returns when a pull request was created.
	Created(ctx context.Context, p Path, number int64) (time.Time, error)
	CheckTime(ctx context.Context, p Path, sha string) (time.Duration, error)
	// Commit makes a commit; an error for forges without a signature of their own.
	Commit(ctx context.Context, p Path, n NewCommit) (hash string, err error)
	// Workflows implements [Client.Workflows].
	Workflows(ctx context.Context, p Path) (missing string, known bool, err error)
}

// Client accesses one forge. It is safe for concurrent use. All requests to a host must
// use the same Client, which paces them.
type Client struct {
	kind Kind
	host string
	api  API
}
