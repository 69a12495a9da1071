package command

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/forge/credentials"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/tasks"
)

// pullClients are the clients of the forges of a run, one for each host, which paces its
// requests.
type pullClients struct {
	world  World
	hosts  *credentials.Forges
	notify func(text string)

	anonymous bool // requests to hosts without a token are sent

	mu       sync.Mutex
	clients  map[string]*forge.Client
	workflow bool // the workflow's own token was used
}

// open returns the client of a remote's forge and the repository there.
func (c *pullClients) open(address string) (*forge.Client, forge.Path, error) {
	server, path, err := forgeOf(address)
	if err != nil {
		return nil, path, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.clients[server.String()]; known != nil {
		return known, path, nil
	}
	kind := c.hosts.Kind(server.Host)
	if kind == "" {
		return nil, path, fmt.Errorf("the kind of %s is unknown: add it to forges, such as forges: {%s: {kind: gitea}}", server.Host, server.Host)
	}
	client, err := forge.NewClient(forge.Options{
		Kind: forge.Kind(kind), Server: server.String(), Proxy: c.world.Proxy, UserAgent: "millhand/" + version(), Now: c.world.Now, Sleep: c.world.Sleep, Notify: c.notify,
		Token: func(ctx context.Context, owner string) (string, error) {
			token, err := c.hosts.Token(ctx, server.Host, owner)
			if credentials.Unavailable(err) {
				err = fmt.Errorf("%w: %w", forge.ErrUnreachable, err)
			}
			if err == nil && token == "" && !c.anonymous {
				err = fmt.Errorf("no token for %s: add it to forges, or set %s", server.Host, credentials.TokenVariable)
			}
			c.note(kind, token)
			return token, err
		},
		Reject:      func(ctx context.Context, owner, token string) { c.hosts.Reject(ctx, server.Host, owner, token) },
		Permissions: func(owner string) map[string]string { return c.hosts.Permissions(server.Host, owner) },
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
func (c *pullClients) note(kind tasks.ForgeKind, token string) {
	if kind != tasks.GitHub || token == "" || c.world.Getenv("GITHUB_ACTIONS") != "true" || token != c.world.Getenv("GITHUB_TOKEN") {
		return
	}
	c.mu.Lock()
	c.workflow = true
	c.mu.Unlock()
}

// warnings returns what the user should know about the tokens that were used.
func (c *pullClients) warnings() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.workflow {
		return nil
	}
	return []string{"pull requests are created with the workflow's own token (GITHUB_TOKEN), so GitHub starts no workflows for them: use a token of a GitHub App or of a user, in forges"}
}

// forgeOf returns the server of a remote's API, and the repository there.
func forgeOf(address string) (*url.URL, forge.Path, error) {
	at, err := remote.ParseAddress(address)
	if err != nil {
		return nil, forge.Path{}, err
	}
	server := &url.URL{Scheme: at.Scheme, Host: at.Host}
	switch at.Scheme {
	case "https", "http":
	case "ssh":
		server = &url.URL{Scheme: "https", Host: (&url.URL{Host: at.Host}).Hostname()}
	default:
		return nil, forge.Path{}, errors.New("the remote is not on a forge")
	}
	full := strings.TrimSuffix(strings.Trim(at.Path, "/"), ".git")
	i := strings.LastIndex(full, "/")
	if i <= 0 {
		return nil, forge.Path{}, fmt.Errorf("%s is not OWNER/NAME on %s", full, server.Host)
	}
	return server, forge.Path{Owner: full[:i], Name: full[i+1:]}, nil
}
