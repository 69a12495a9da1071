package forge

import "time"

// The types of this file have the fields of responses that the dialects of GitHub and Gitea read: TestRecordOpenAPI reduces
// the documents to them.

type refJSON struct {
	Ref  string `json:"ref"`
	SHA  string `json:"sha"`
	Repo *struct {
		FullName string `json:"full_name"`
	} `json:"repo"` // null if a fork was deleted
}

type pullJSON struct {
	Number    int64      `json:"number"`
	URL       string     `json:"html_url"`
	State     string     `json:"state"`
	Title     string     `json:"title"`
	Body      string     `json:"body"`
	Draft     bool       `json:"draft"`
	Merged    bool       `json:"merged"` // lists of GitHub lack it
	MergedAt  string     `json:"merged_at"`
	Mergeable *bool      `json:"mergeable"`
	Head      refJSON    `json:"head"`
	Base      refJSON    `json:"base"`
	Assignees []userJSON `json:"assignees"`
	// MergeState has a reason why it can't be merged; GitHub's.
	MergeState string      `json:"mergeable_state"`
	Labels     []labelJSON `json:"labels"`
	UpdatedAt  string      `json:"updated_at"`
}

type userJSON struct {
	Login string `json:"login"`
	Type  string `json:"type"` // GitHub's: "Bot" for apps
}

type labelJSON struct {
	Name string `json:"name"`
}

type repoJSON struct {
	FullName      string   `json:"full_name"`
	CloneURL      string   `json:"clone_url"`
	DefaultBranch string   `json:"default_branch"`
	Description   string   `json:"description"`
	Language      string   `json:"language"`
	Topics        []string `json:"topics"`
	Archived      bool     `json:"archived"`
	Fork          bool     `json:"fork"`
	Empty         bool     `json:"empty"` // Gitea's
	Size          *int64   `json:"size"`  // in KB
	Parent        *struct {
		FullName string `json:"full_name"`
	} `json:"parent"`
	Permissions *struct {
		Push bool `json:"push"`
	} `json:"permissions"`
}

type commentJSON struct {
	ID   int64    `json:"id"`
	URL  string   `json:"html_url"`
	Body string   `json:"body"`
	User userJSON `json:"user"`
}

// issueJSON is an issue, as GitHub and Gitea have it.
type issueJSON struct {
	Number int64    `json:"number"`
	URL    string   `json:"html_url"`
	Body   string   `json:"body"`
	User   userJSON `json:"user"`
	Pull   *struct {
		URL string `json:"html_url"`
	} `json:"pull_request"`
}

// remarkJSON is a comment or a review, as GitHub and Gitea have it.
type remarkJSON struct {
	ID        int64    `json:"id"`
	URL       string   `json:"html_url"`
	Body      string   `json:"body"`
	User      userJSON `json:"user"`
	State     string   `json:"state"` // of a review
	Path      string   `json:"path"`
	Line      int      `json:"line"`     // GitHub's
	Position  int      `json:"position"` // Gitea's line
	CreatedAt string   `json:"created_at"`
	Submitted string   `json:"submitted_at"` // of a review
}

// fileJSON is a changed file of a pull request of GitHub.
type fileJSON struct {
	Path     string `json:"filename"`
	Previous string `json:"previous_filename"`
	Patch    string `json:"patch"`
}

type permissionJSON struct {
	Permission string `json:"permission"`
}

// commitStatus is a status of a commit, as GitHub and Gitea have it.
type commitStatus struct {
	ID          int64  `json:"id"`     // increases
	State       string `json:"state"`  // GitHub's
	Status      string `json:"status"` // Gitea's
	Context     string `json:"context"`
	Description string `json:"description"`
	URL         string `json:"target_url"`
}

// commitJSON is a commit of any forge.
type commitJSON struct {
	Message string `json:"message"` // of GitHub and GitLab
	Commit  struct {
		Message string `json:"message"`
	} `json:"commit"` // of Gitea
	Parents []struct {
		SHA string `json:"sha"`
	} `json:"parents"`
}

// timed is a check, a job or a status with its times.
type timed struct {
	Context string     `json:"context"` // of a status of Gitea
	Started *time.Time `json:"started_at"`
	Ended   *time.Time `json:"completed_at"` // of GitHub
	Created *time.Time `json:"created_at"`   // of Gitea
	Updated *time.Time `json:"updated_at"`   // of Gitea
}
