// Package login logs in to clouds with their SDKs: AWS, Google Cloud and Microsoft Entra. Credentials
// come from where the clouds' own programs have them (variables, files, the metadata service of a
// machine), or are issued for the OIDC token of a CI job, so that nobody stores a key. It sends no
// request before credentials are required.
package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/proc/keys"
)

const (
	loginTime   = time.Minute      // for credentials, however many requests and programs they require
	requestTime = 20 * time.Second // of one request
	machineTime = 10 * time.Second // for credentials of the machine's metadata service, which may be asked several times where a proxy or a hop limit is in between
	maxIDToken  = 64 << 10         // bytes of the response with an OIDC token
	maxRefusal  = 16 << 10         // bytes of a response that rejects credentials
	early       = time.Minute      // how long before they expire credentials are replaced
)

// GitHub's variables for OIDC tokens, which a job has with "permissions: id-token: write".
const (
	githubURL   = "ACTIONS_ID_TOKEN_REQUEST_URL"
	githubToken = "ACTIONS_ID_TOKEN_REQUEST_TOKEN" //nolint:gosec // the name of a variable
)

// Options describe a login. The SDKs also read variables of the process.
type Options struct {
	Region string // of AWS; "" for that of the variables or the profile

	Role             string // ARN of an AWS role for the OIDC token
	IdentityProvider string // of Google, for the OIDC token: projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/NAME
	ServiceAccount   string // of Google, which the identity may impersonate; "" for none
	TenantID         string // of Entra
	ClientID         string // of Entra, an application that accepts the OIDC token
	TokenEnv         string // variable with the OIDC token; "" for a token that GitHub issues
	Endpoint         string // URL of the requests, which may be one of a national cloud of Azure

	Getenv func(string) string
	Now    func() time.Time
	Hold   func(secret string)                   // called with each secret before it is used, to redact it
	Proxy  func(*http.Request) (*url.URL, error) // may be nil
	HTTP   *http.Client                          // for Google, Entra and GitHub; nil creates one
}

// first returns the value of the first variable that is set.
func (o Options) first(variables ...string) (name, value string) {
	for _, name := range variables {
		if value := strings.TrimSpace(o.Getenv(name)); value != "" {
			return name, value
		}
	}
	return "", ""
}

// client returns the HTTP client for token servers. It follows no redirects, which could send
// tokens elsewhere.
func (o Options) client() *http.Client {
	if o.HTTP != nil {
		return o.HTTP
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = o.Proxy
	return &http.Client{
		Transport: transport, Timeout: requestTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// federated reports whether the job has an OIDC token, and describes where it is from.
func (o Options) federated() (from string, ok bool) {
	if o.TokenEnv != "" {
		return "the OIDC token in " + o.TokenEnv, true
	}
	_, address := o.first(githubURL)
	_, token := o.first(githubToken)
	return "the OIDC token of GitHub", address != "" && token != ""
}

// check returns an error if the OIDC token of a login can't be had.
func (o Options) check() error {
	if from, ok := o.federated(); !ok {
		return fmt.Errorf("missing OIDC token: add \"permissions: {id-token: write}\" to the job of the GitHub workflow, or name the variable with the token of another CI in login: {id_token_env: NAME}")
	} else if _, token := o.first(o.TokenEnv); o.TokenEnv != "" && token == "" {
		return fmt.Errorf("%s is missing: add \"id_tokens: {%s: {aud: AUDIENCE}}\" to the job", from, o.TokenEnv)
	}
	return nil
}

// idToken returns an OIDC token of the CI job for an audience.
func (o Options) idToken(ctx context.Context, audience string) (string, error) {
	if err := o.check(); err != nil {
		return "", err
	}
	if o.TokenEnv != "" {
		_, token := o.first(o.TokenEnv)
		o.Hold(token)
		return token, nil
	}
	_, address := o.first(githubURL)
	to, err := url.Parse(address)
	if err != nil || to.Host == "" {
		return "", errors.New("the URL in " + githubURL + " is invalid")
	}
	query := to.Query()
	query.Set("audience", audience)
	to.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), http.NoBody)
	if err != nil {
		return "", fmt.Errorf("request an OIDC token: %w", err)
	}
	_, bearer := o.first(githubToken)
	request.Header.Set("Authorization", "Bearer "+bearer)
	request.Header.Set("Accept", "application/json")
	resp, err := o.client().Do(request)
	if err != nil {
		return "", fmt.Errorf("request an OIDC token: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", &statusError{"request an OIDC token: the server responded with " + resp.Status, resp.StatusCode}
	}
	var issued struct{ Value string }
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxIDToken)).Decode(&issued); err != nil || issued.Value == "" {
		return "", errors.New("request an OIDC token: the response has none")
	}
	o.Hold(issued.Value)
	return issued.Value, nil
}

// tokens returns a source of access tokens that a cloud issues. It is asked again shortly before a
// token expires, and after a server has rejected one.
func (o Options) tokens(cloud string, issue func(ctx context.Context) (token string, expires time.Time, err error)) *keys.Source {
	return keys.New(func(ctx context.Context) (string, time.Time, error) {
		limited, cancel := limit(ctx)
		defer cancel()
		token, expires, err := issue(limited)
		if err != nil {
			return "", time.Time{}, failed(limited, cloud, err)
		}
		if !expires.IsZero() {
			expires = expires.Add(-early)
		}
		return token, expires, nil
	}, o.Now, o.Hold)
}

// limit bounds a login, so that it ends even if servers and programs don't respond.
func limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, loginTime, fmt.Errorf("timed out after %v", loginTime))
}

// statusError is an HTTP status that is a failure.
type statusError struct {
	text   string
	status int
}

func (e *statusError) Error() string { return e.text }

// failed returns the error of a login, in one line.
func failed(ctx context.Context, cloud string, err error) error {
	cause := context.Cause(ctx)
	if cause != nil {
		err = cause
	}
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	failure := fmt.Errorf("login to %s failed: %s", cloud, strings.Join(lines, "; "))
	if cause != nil || temporary(err) {
		return &keys.Unavailable{Err: failure}
	}
	return failure
}

// temporary reports whether a login failed because a server was unreachable or overloaded.
func temporary(err error) bool {
	status := 0
	var own *statusError
	var network net.Error
	switch {
	case errors.As(err, new(*keys.Unavailable)):
		return true
	case errors.As(err, &own):
		status = own.status
	case statusOf(err) != 0:
		status = statusOf(err)
	case errors.As(err, &network):
		return true
	}
	return status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}
