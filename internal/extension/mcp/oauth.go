package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/millhand/millhand/internal/text/textcut"
)

// OAuth is how a server is authorized without a login of a person: by tokens that its authorization server issues to
// a client (OAuth 2.0, the grant client_credentials). The SDK has a handler for this grant, which is not used:
// it sends the secret to the address that the server names, and accepts only authorization servers that publish support of PKCE, a
// step of another grant (TestWhatTheTransportOfTheSDKLoses).
type OAuth struct {
	TokenURL               string
	ClientID, ClientSecret string
	Scopes                 []string
	Hold                   func(token string) // is called with each token before its use; it must not appear in reports
}

// tokenTimeout is how long an authorization server may take.
const tokenTimeout = 30 * time.Second

// authorizer has the tokens for a connection.
type authorizer struct {
	config clientcredentials.Config
	client http.Client
	hold   func(token string)
	turn   chan *oauth2.Token // has the last token while nobody requests one
}

// newAuthorizer returns an authorizer; nil without OAuth.
func newAuthorizer(o *OAuth, transport http.RoundTripper) *authorizer {
	if o == nil {
		return nil
	}
	a := &authorizer{
		config: clientcredentials.Config{ClientID: o.ClientID, ClientSecret: o.ClientSecret, TokenURL: o.TokenURL, Scopes: o.Scopes},
		client: http.Client{Transport: transport, Timeout: tokenTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		hold:   o.Hold, turn: make(chan *oauth2.Token, 1),
	}
	a.turn <- nil
	return a
}

// token returns a token that has not expired, other than the one that the server has rejected; "" for a nil authorizer.
func (a *authorizer) token(ctx context.Context, rejected string) (string, error) {
	if a == nil {
		return "", nil
	}
	var last *oauth2.Token
	select {
	case last = <-a.turn:
		defer func() { a.turn <- last }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if !last.Valid() || last.AccessToken == rejected {
		next, err := a.config.Token(context.WithValue(ctx, oauth2.HTTPClient, &a.client))
		if err != nil {
			return "", &statusError{"request a token: " + tokenFault(err)}
		}
		a.hold(next.AccessToken)
		last = next
	}
	return last.AccessToken, nil
}

// tokenFault describes why a token was not issued, without the URL and the body of the response.
func tokenFault(err error) string {
	var refused *oauth2.RetrieveError
	var failed *url.Error
	switch {
	case errors.As(err, &refused):
		text := fmt.Sprintf("HTTP %d %s", refused.Response.StatusCode, http.StatusText(refused.Response.StatusCode))
		if code := textcut.Head(textcut.OneLine(strings.ToValidUTF8(refused.ErrorCode, "")), 100, "..."); code != "" {
			text += ": " + code
		}
		return strings.TrimSpace(text) + "; check oauth: its variables or token_url may be wrong"
	case errors.As(err, &failed):
		return failed.Err.Error()
	}
	return textcut.Head(textcut.OneLine(err.Error()), 200, "...")
}
