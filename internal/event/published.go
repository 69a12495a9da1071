package event

// Change is one path that the job changed, relative to the repository's root.
type Change struct {
	Path    string `json:"path"`
	Kind    string `json:"kind"` // added, modified, deleted
	Added   int    `json:"added"`
	Removed int    `json:"removed"` // lines; both 0 for binary files
}

// Commit is the payload of commit.
type Commit struct {
	Hash    string `json:"hash"`
	Branch  string `json:"branch"`
	Message string `json:"message"`

	// Author, Committer and Signature are those of the commit in git's format, from which
	// it can be re-created. Reports do not have them.
	Author    string `json:"author,omitempty"`
	Committer string `json:"committer,omitempty"` // like Author
	Signature string `json:"signature,omitempty"` // like Author; empty for none
}

// Published is the payload of published: the destination of a job's commit.
type Published struct {
	Remote   string `json:"remote"` // URL, without credentials
	Branch   string `json:"branch"`
	Hash     string `json:"hash"`
	Replaced string `json:"replaced,omitempty"` // previous commit of the branch; empty for a new branch
	// PullRequest is nil until it exists: a second published event of a job has it, and
	// pull_request.started if it was open before.
	PullRequest *PullRequest `json:"pull_request,omitempty"`
}

// PullRequest is the pull request of a job's branch.
type PullRequest struct {
	URL     string `json:"url"`
	Number  int64  `json:"number"`
	State   string `json:"state"`   // open, closed or merged
	Created bool   `json:"created"` // by this run; false if a follow-up prompt has updated it
}

// Comment is the payload of comment.started and comment: the final message of the job on an
// issue or pull request.
type Comment struct {
	Remote  string `json:"remote"`            // URL of the repository, without credentials
	Number  int64  `json:"number"`            // of the issue or pull request
	Issue   bool   `json:"issue"`             // it is an issue
	URL     string `json:"url,omitempty"`     // of the comment; empty before it exists
	Created bool   `json:"created,omitempty"` // false: the one of an earlier run was updated
	Lines   int    `json:"lines,omitempty"`   // findings that are comments on lines of the diff
}
