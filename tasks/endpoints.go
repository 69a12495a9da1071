package tasks

import (
	"cmp"
	"slices"
	"time"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/prices"
)

// DefaultAgent carries out a task that names none.
const DefaultAgent = "build"

// BuiltInAgents returns the agents that are always there, in the order in which
// models see them.
func BuiltInAgents() []Agent {
	review, _ := permission.Preset("review")
	return []Agent{
		{Name: DefaultAgent},
		{Name: "plan", Max: &review},
		{
			Name: "explore", Max: &review, Without: slices.Concat([]string{"task"}, permission.TodoTools(), []string{"skill"}),
			Description: "Searches the workspace and answers questions about it; changes nothing. Say what to find, and how thoroughly to look.",
		},
		{
			Name: "general", Without: permission.TodoTools(),
			Description: "Runs a task of several steps on its own. Several can run in parallel on work that does not overlap.",
		},
	}
}

// Priced reports whether the facts contain prices.
func (f ModelFacts) Priced() bool {
	return f.Input != nil || f.Output != nil || f.CacheRead != nil || f.CacheWrite != nil || len(f.Tiers) > 0
}

// Price returns the price of a model with these facts: what they lack is as in base. A new
// price of input replaces those of the cache and all tiers.
func (f ModelFacts) Price(name string, base money.Price) money.Price {
	if f.Input != nil {
		base = money.Price{Rates: prices.Rates(name, *f.Input, base.Output)}
	}
	if f.Output != nil {
		base.Output, base.Tiers = *f.Output, nil
	}
	base.Rates = base.WithCache(f.CacheRead, f.CacheWrite)
	if len(f.Tiers) > 0 {
		base.Tiers = f.Tiers
	}
	return base
}

// KindOfHost returns the kind of a well-known host; "" for others.
func KindOfHost(host string) ForgeKind {
	return map[string]ForgeKind{"github.com": GitHub, "gitlab.com": GitLab, "codeberg.org": Gitea, "gitea.com": Gitea}[host]
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

// Over returns s with the gaps filled from base.
func (s Sampling) Over(base Sampling) Sampling {
	return Sampling{
		Effort:      cmp.Or(s.Effort, base.Effort),
		Temperature: cmp.Or(s.Temperature, base.Temperature),
		MaxOutput:   cmp.Or(s.MaxOutput, base.MaxOutput),
	}
}
