// Package apis makes the clients of the forges that addresses name, with their credentials, and finds which forge an
// address is of. It decides nothing about pull requests.
package apis

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/forge/connect"
	"github.com/millhand/millhand/internal/forge/credentials"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/tasks"
)

// Environment is what clients use of the process.
type Environment struct {
	Getenv    func(string) string
	Proxy     func(*http.Request) (*url.URL, error)
	Now       func() time.Time
	Sleep     clock.Sleep
	UserAgent string
}

// Clients are the clients of the forges of a run, one for each host, which paces its
// requests.
type Clients struct {
	Environment

	Hosts  *credentials.Forges
	Notify func(text string)

	Anonymous bool // requests to hosts without a token are sent

	mu       sync.Mutex
	clients  map[string]*forge.Client
	workflow bool // the workflow's own token was used
}

// Open returns the client of a remote's forge and the repository there.
func (c *Clients) Open(address string) (*forge.Client, forge.Path, error) {
	server, path, err := Server(address)
	if err != nil {
		return nil, path, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.clients[server.String()]; known != nil {
		return known, path, nil
	}
	kind := c.Hosts.Kind(server.Host)
	if kind == "" {
		return nil, path, fmt.Errorf("the kind of %s is unknown: add it to forges, such as forges: {%s: {kind: gitea}}", server.Host, server.Host)
	}
	client, err := connect.Client(forge.Options{
		Kind: forge.Kind(kind), Server: server.String(), Proxy: c.Proxy, UserAgent: c.UserAgent, Now: c.Now, Sleep: c.Sleep, Notify: c.Notify,
		Token: func(ctx context.Context, owner string) (string, error) {
			token, err := c.Hosts.Token(ctx, server.Host, owner)
			if credentials.Unavailable(err) {
				err = fmt.Errorf("%w: %w", forge.ErrUnreachable, err)
			}
			if err == nil && token == "" && !c.Anonymous {
				err = fmt.Errorf("no token for %s: add it to forges, or set %s", server.Host, credentials.TokenVariable)
			}
			c.note(kind, token)
			return token, err
		},
		Reject:      func(ctx context.Context, owner, token string) { c.Hosts.Reject(ctx, server.Host, owner, token) },
		Permissions: func(owner string) map[string]string { return c.Hosts.Permissions(server.Host, owner) },
	})
	if err != nil {
		return nil, path, err
	}
	if c.clients == nil {
		c.clients = map[string]*forge.Client{}
	}
	c.clients[server.String()] = client
	return client, path, nil
}

// note notes the use of a token that GitHub has created for a workflow.
func (c *Clients) note(kind tasks.ForgeKind, token string) {
	if kind != tasks.GitHub || token == "" || c.Getenv("GITHUB_ACTIONS") != "true" || token != c.Getenv("GITHUB_TOKEN") {
		return
	}
	c.mu.Lock()
	c.workflow = true
	c.mu.Unlock()
}

// Warnings returns what the user should know about the tokens that were used for jobs.
func (c *Clients) Warnings(jobs []tasks.Job) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	publishes := func(mode tasks.PublishMode) bool {
		return slices.ContainsFunc(jobs, func(j tasks.Job) bool { return j.Publish == mode })
	}
	const why = " with the workflow's own token (GITHUB_TOKEN), so GitHub starts no workflows for them: use a token of a GitHub App or of a user, in forges"
	switch {
	case !c.workflow:
		return nil
	case publishes(tasks.PublishPR):
		return []string{"pull requests are created" + why}
	case publishes(tasks.PublishPush):
		return []string{"commits are pushed" + why}
	}
	return nil
}
