// Package githubapp creates installation access tokens of GitHub Apps.
package githubapp

import (
	"cmp"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/internal/text/textcut"
)

const (
	skew        = time.Minute     // by which the clock of GitHub may be behind
	life        = 8 * time.Minute // of a JWT; GitHub accepts at most 10 minutes
	timeout     = time.Minute     // of an attempt
	attempts    = 5               // of one request that is lost, or refused for a while
	firstWait   = time.Second     // before the second attempt; doubles with each
	longestWait = 5 * time.Minute // that a server may ask for
	maxResponse = 1 << 20         // bytes
)

// ErrUnavailable is a server that does not respond, or refuses all requests for a while.
var ErrUnavailable = errors.New("GitHub is unavailable")

// App is a GitHub App.
type App struct {
	ID        string // application ID or client ID
	Key       *rsa.PrivateKey
	API       string // base URL of the API, without a slash at the end
	Transport http.RoundTripper
	Now       func() time.Time
	Sleep     clock.Sleep // between attempts
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
	Value       string            `json:"token"`
	Expires     time.Time         `json:"expires_at"`
	Permissions map[string]string `json:"permissions"` // such as "contents": "write"; nil if GitHub did not report them
}

// Token creates a token for the repositories of an organization or user.
func (a *App) Token(ctx context.Context, owner string) (Token, error) {
	id, err := a.installation(ctx, owner)
	if err != nil {
		return Token{}, fmt.Errorf("find the installation of the GitHub App for %s: %w", owner, err)
	}
	var created Token
	err = a.request(ctx, http.MethodPost, "/app/installations/"+strconv.FormatInt(id, 10)+"/access_tokens", &created)
	if err == nil && created.Value == "" {
		err = errors.New("response without a token")
	}
	if err != nil {
		return Token{}, fmt.Errorf("create a token of the GitHub App for %s: %w", owner, err)
	}
	return created, nil
}

// installation returns the id of the installation of an organization or user.
func (a *App) installation(ctx context.Context, owner string) (int64, error) {
	var found struct {
		ID int64 `json:"id"`
	}
	var status *statusError
	for _, kind := range []string{"/orgs/", "/users/"} {
		err := a.request(ctx, http.MethodGet, kind+url.PathEscape(owner)+"/installation", &found)
		if !errors.As(err, &status) || status.code != http.StatusNotFound {
			return found.ID, err
		}
	}
	return 0, errors.New("not installed there")
}

// statusError is a response with another status than 200 and 201.
type statusError struct {
	code  int
	text  string
	after time.Duration // that the server asks to wait for; 0 for none
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("status %d", e.code)
	if e.text != "" {
		text += ", server: " + strconv.Quote(e.text)
	}
	if e.code == http.StatusUnauthorized {
		text += "; check the id and the key of the app, and the clock of this machine"
	}
	return text
}

// request sends a request of the app itself until it is fulfilled or refused, and decodes the
// response. The error matches [ErrUnavailable] if a later one may succeed.
func (a *App) request(ctx context.Context, method, path string, into any) error {
	for n := range attempts {
		err := a.once(ctx, method, path, into)
		wait, again := a.delay(err, n)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !again:
			return err
		case n == attempts-1 || wait > longestWait:
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		if err := a.Sleep.For(ctx, wait); err != nil {
			return err
		}
	}
	return nil // not reached
}

// delay returns how long to wait after an attempt, of which there were n before; again is false if no
// other one can help.
func (a *App) delay(err error, n int) (wait time.Duration, again bool) {
	var status *statusError
	var certificate *tls.CertificateVerificationError
	var unknown *net.DNSError
	switch {
	case errors.As(err, &status):
		return max(status.after, firstWait<<n), status.code >= 500 || status.code == http.StatusTooManyRequests || status.after > 0
	case errors.As(err, &certificate), errors.As(err, &unknown) && unknown.IsNotFound, errors.Is(err, errRedirect):
		return 0, false
	}
	return firstWait << n, errors.As(err, new(*lostError))
}

var errRedirect = errors.New("redirect not supported")

// lostError is a request without a complete response.
type lostError struct{ error }

func (e *lostError) Unwrap() error { return e.error }

// once makes one attempt.
func (a *App) once(ctx context.Context, method, path string, into any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no response within %s", timeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, a.API+path, nil)
	if err != nil {
		return err
	}
	jwt, err := a.jwt()
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+jwt)
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	req.Header.Set("User-Agent", "millhand")
	client := http.Client{Transport: a.Transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errRedirect // another server must not get the JWT
	}}
	res, err := client.Do(req)
	if err != nil {
		return &lostError{cmp.Or(context.Cause(ctx), err)}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxResponse))
	if err != nil {
		return &lostError{cmp.Or(context.Cause(ctx), err)}
	}
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusCreated {
		var said struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(body, &said)                                      // the status is sufficient
		after, _ := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 31) // 0 otherwise
		return &statusError{res.StatusCode, textcut.OneLine(said.Message), time.Duration(after) * time.Second}
	}
	return json.Unmarshal(body, into)
}

// jwt returns the token by which the app authenticates itself.
func (a *App) jwt() (string, error) {
	now := a.Now()
	claims, err := json.Marshal(map[string]any{"iat": now.Add(-skew).Unix(), "exp": now.Add(life).Unix(), "iss": a.ID})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(nil, a.Key, crypto.SHA256, sum[:])
	if err != nil {
		return "", fmt.Errorf("sign: %w", err)
	}
	return text + "." + encode(signature), nil
}
