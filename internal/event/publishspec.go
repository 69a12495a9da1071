package event

// Later is what a job publishes beside its commit: what millhand publish requires to do it, also without the manifest.
type Later struct {
	Publish  string         `json:"publish,omitempty"`  // mode of the manifest where the command line has another one
	Remote   string         `json:"remote,omitempty"`   // as of Landing
	Forge    string         `json:"forge,omitempty"`    // as of Landing
	Comment  *CommentSpec   `json:"comment,omitempty"`  // nil for none
	Requests *RequestLimits `json:"requests,omitempty"` // nil for none
}

// CommentSpec is publish.comment of a manifest.
type CommentSpec struct {
	Number int64 `json:"number"`           // of the issue or pull request
	Issue  bool  `json:"issue,omitempty"`  // it is an issue
	Sticky bool  `json:"sticky,omitempty"` // one comment for all runs, which each edits
	Inline bool  `json:"inline,omitempty"` // findings become comments on lines of the diff
}

// RequestLimits are publish.requests of a manifest, and the issue or pull request of the event.
type RequestLimits struct {
	Labels      []string `json:"labels,omitempty"`       // that may be added; empty for none
	TitlePrefix string   `json:"title_prefix,omitempty"` // of the titles of issues
	MaxLabels   int      `json:"max_labels,omitempty"`   // labels that one job may add
	MaxIssues   int      `json:"max_issues,omitempty"`   // issues that one job may open
	MaxComments int      `json:"max_comments,omitempty"` // comments that one job may write
	Repo        string   `json:"repo,omitempty"`         // OWNER/NAME of the issue or pull request; empty without one
	Number      int64    `json:"number,omitempty"`       // of it
	Issue       bool     `json:"issue,omitempty"`        // it is an issue
}
