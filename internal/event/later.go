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
	Number int64 `json:"number"` // of the issue or pull request
	Issue  bool  `json:"issue,omitempty"`
	Sticky bool  `json:"sticky,omitempty"`
	Inline bool  `json:"inline,omitempty"`
}

// RequestLimits are publish.requests of a manifest, and the issue or pull request of the event.
type RequestLimits struct {
	Labels      []string `json:"labels,omitempty"`
	TitlePrefix string   `json:"title_prefix,omitempty"`
	MaxLabels   int      `json:"max_labels,omitempty"`
	MaxIssues   int      `json:"max_issues,omitempty"`
	MaxComments int      `json:"max_comments,omitempty"`
	Repo        string   `json:"repo,omitempty"`   // OWNER/NAME of the issue or pull request; empty without one
	Number      int64    `json:"number,omitempty"` // of it
	Issue       bool     `json:"issue,omitempty"`  // it is an issue
}
