// Package githubapp creates installation access tokens of GitHub Apps, by ghinstallation and go-github, whose requests a
// forge.Sender repeats and bounds. It does not hold tokens: that is the task of its user.
package githubapp

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	jwt "github.com/golang-jwt/jwt/v4"
	"github.com/google/go-github/v88/github"

	"github.com/millhand/millhand/internal/forge"
)

const (
	skew     = time.Minute     // by which the clock of GitHub may be behind
	life     = 8 * time.Minute // of a JWT; GitHub accepts at most 10 minutes
	patience = 5 * time.Minute // total wait of one request: less than the life of its JWT
)

// ErrUnavailable is a server that does not respond, or refuses all requests for a while.
var ErrUnavailable = errors.New("GitHub is unavailable")

// App is a GitHub App.
type App struct {
	id     string
	key    *rsa.PrivateKey
	now    func() time.Time
	sender *forge.Sender
	github *github.Client
}

// New returns the app with an id, which is an application ID or a client ID. It sends no request.
func New(id string, key *rsa.PrivateKey, o forge.Options) (*App, error) {
	o.Kind, o.Patience, o.UserAgent = forge.GitHub, patience, "millhand"
	sender, err := forge.NewSender(o)
	if err != nil {
		return nil, err
	}
	a := &App{id: id, key: key, now: o.Now, sender: sender}
	transport, err := ghinstallation.NewAppsTransportWithOptions(sender, 0, ghinstallation.WithSigner(a))
	if err != nil {
		return nil, err
	}
	base := sender.Base().String() + "/"
	a.github, err = github.NewClient(github.WithTransport(transport), github.WithURLs(&base, &base), github.WithDisableRateLimitCheck())
	return a, err
}

// Sign implements ghinstallation.Signer. It replaces the claims: ghinstallation knows no client IDs, and a clock that is more than 30
// seconds ahead of GitHub's makes its claims invalid.
func (a *App) Sign(jwt.Claims) (string, error) {
	now := a.now()
	claims := jwt.RegisteredClaims{Issuer: a.id, IssuedAt: jwt.NewNumericDate(now.Add(-skew)), ExpiresAt: jwt.NewNumericDate(now.Add(life))}
	return jwt.NewWithClaims(jwt.SigningMethodRS256, claims).SignedString(a.key)
}

// ParseKey returns the private key in a PEM text as GitHub issues it. Line breaks may be
// written as \n, as in variables of some CI systems. Errors don't quote the text.
func ParseKey(text string) (*rsa.PrivateKey, error) {
	if !strings.Contains(text, "\n") {
		text = strings.ReplaceAll(text, `\n`, "\n")
	}
	block, _ := pem.Decode([]byte(strings.TrimSpace(text)))
	if block == nil {
		return nil, errors.New("it is not a PEM private key")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(*rsa.PrivateKey)
	if err != nil || !ok {
		return nil, errors.New("it is not an RSA private key")
	}
	return key, nil
}

// Token is an installation access token.
type Token struct {
	Value       string
	Expires     time.Time
	Permissions map[string]string // such as "contents": "write"; nil if GitHub did not report them
}

// Token creates a token for the repositories of an organization or user.
func (a *App) Token(ctx context.Context, owner string) (token Token, err error) {
	id, err := a.installation(ctx, owner)
	if err != nil {
		return Token{}, explain(err)
	}
	c := forge.Call{What: "create a token of the GitHub App for " + owner, Owner: owner}
	created, err := forge.One(ctx, a.sender, c, func(ctx context.Context) (*github.InstallationToken, *github.Response, error) {
		return a.github.Apps.CreateInstallationToken(ctx, id, &github.InstallationTokenOptions{})
	})
	if err != nil {
		return Token{}, explain(err)
	}
	if created.GetToken() == "" {
		return Token{}, fmt.Errorf("%s: response without a token", c.What)
	}
	token = Token{Value: created.GetToken(), Expires: created.GetExpiresAt().Time}
	if granted := created.GetPermissions(); granted != nil {
		text, err := json.Marshal(granted)
		if err != nil {
			return Token{}, err
		}
		err = json.Unmarshal(text, &token.Permissions)
		return token, err
	}
	return token, nil
}

// installation returns the id of the installation of an organization or user.
func (a *App) installation(ctx context.Context, owner string) (int64, error) {
	c := forge.Call{What: "find the installation of the GitHub App for " + owner, Owner: owner}
	for _, find := range []func(context.Context, string) (*github.Installation, *github.Response, error){a.github.Apps.GetOrganizationInstallation, a.github.Apps.GetUserInstallation} {
		found, err := forge.One(ctx, a.sender, c, func(ctx context.Context) (*github.Installation, *github.Response, error) { return find(ctx, owner) })
		if !errors.Is(err, forge.ErrNotFound) {
			return found.GetID(), err
		}
	}
	return 0, fmt.Errorf("%s: not installed there", c.What)
}

// explain adds to an error what a user of an app can do about it.
func explain(err error) error {
	var refused *forge.Error
	switch {
	case errors.As(err, &refused) && refused.Status == http.StatusUnauthorized:
		return fmt.Errorf("%w; check the id and the key of the app, and the clock of this machine", err)
	case errors.Is(err, forge.ErrUnreachable), errors.Is(err, forge.ErrLimited):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
