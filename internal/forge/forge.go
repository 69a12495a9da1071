package forge

import (
	"context"
	"time"
)

// Path names a repository.
type Path struct{ Owner, Name string } // an owner of GitLab may have slashes

// String returns OWNER/NAME.
func (p Path) String() string { return p.Owner + "/" + p.Name }

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

	id    int64 // GitLab's
	small bool  // perhaps empty
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
	Labels  []string
	Updated time.Time // last activity; zero if unknown

	blocked                  bool     // of GitHub, by a rule that it does not name
	assignees                []string // Gitea's
	assigneeIDs, reviewerIDs []int64  // GitLab's
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

	state State
}

// Thread is what comments are on.
type Thread struct {
	Number int64
	Issue  bool // false: a pull request
}

// Comment is a comment on a thread.
type Comment struct {
	URL     string
	Text    string // with the marker
	Created bool   // false: an earlier one was updated

	id     int64
	author string
	bot    bool
}

// dialect is the API of one kind of forge.
type dialect interface {
	// repo returns a repository with the token's permissions.
	repo(ctx context.Context, p Path) (Repository, error)
	// self returns the name of the token's user; an error for tokens without one.
	self(ctx context.Context, owner string) (string, error)
	// pulls returns pull requests by their head: all that are open, and unless state is Open the
	// latest of the others, the newest first.
	pulls(ctx context.Context, p Path, h Head, state State) ([]PullRequest, error)
	// create creates a pull request. landed is for [call].
	create(ctx context.Context, p Path, n New, landed func(context.Context) (bool, error)) (PullRequest, error)
	// change changes a pull request. All of its requests can be repeated.
	change(ctx context.Context, p Path, pr PullRequest, c Change) error
	get(ctx context.Context, p Path, number int64) (PullRequest, error)
	// checks returns the checks of a pull request that get returned.
	checks(ctx context.Context, p Path, pr PullRequest) (Checks, error)
	merge(ctx context.Context, p Path, pr PullRequest, method MergeMethod, landed func(context.Context) (bool, error)) error
	comments(ctx context.Context, p Path, t Thread) ([]Comment, error)
	checkList(ctx context.Context, p Path, sha string) ([]Check, error)
	// checkLog returns the end of the log of a check with a job.
	checkLog(ctx context.Context, p Path, check Check, most int) (string, error)
	remarks(ctx context.Context, p Path, number int64) ([]Remark, error)
	writes(ctx context.Context, p Path, user string) (bool, error)
	// resource returns the sender, and the path of a resource: rest in the repository of GitHub
	// and Gitea, project in the project of GitLab.
	resource(p Path, rest, project []string) (*Sender, []string)
	// comment creates a comment, or updates the one with the id unless that is 0.
	comment(ctx context.Context, p Path, t Thread, id int64, body string, landed func(context.Context) (bool, error)) (Comment, error)
	// repos returns the repositories of an owner. The forge may have left out some that the
	// filter does not match.
	repos(ctx context.Context, f Filter) ([]Repository, error)
	// fork starts to create a fork. own: into is the token's user.
	fork(ctx context.Context, p Path, into string, own bool, landed func(context.Context) (bool, error)) error
}

// Client accesses one forge. It is safe for concurrent use. All requests to a host must
// use the same Client, which paces them.
type Client struct {
	kind Kind
	host string
	api  dialect
}
