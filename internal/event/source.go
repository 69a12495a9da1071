package event

// Source is an entry of repos that stands for repositories of an owner on a forge, and
// those that the forge listed: what a resumed run and other shards use.
type Source struct {
	Kind     string       `json:"kind"` // github, gitlab or gitea
	Host     string       `json:"host"`
	Owner    string       `json:"owner"` // organization, group or user
	Topic    string       `json:"topic"` // like search and language empty for any
	Search   string       `json:"search"`
	Language string       `json:"language"`
	Archived bool         `json:"archived"` // whether archived ones are included
	Forks    bool         `json:"forks"`
	Include  []string     `json:"include"`
	Exclude  []string     `json:"exclude"`
	LeftOut  LeftOut      `json:"left_out"`
	Repos    []SourceRepo `json:"repos"` // in the order of their names
}

// LeftOut counts the repositories of a source that were left out.
type LeftOut struct {
	Archived int `json:"archived"` // archived ones
	Forks    int `json:"forks"`    // forks
	Empty    int `json:"empty"`    // those without a commit
	Excluded int `json:"excluded"` // by include and exclude
}

// SourceRepo is a repository that a forge has listed.
type SourceRepo struct {
	Name          string `json:"name"`           // OWNER/NAME
	DefaultBranch string `json:"default_branch"` // its name
}
