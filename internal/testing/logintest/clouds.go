// Package logintest is a loopback server for what models of clouds require, for tests: the servers
// that issue credentials for OIDC tokens, GitHub's server of these tokens, and the models themselves,
// which check the credentials.
package logintest

import (
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// The secrets of the server.
const (
	JobToken  = "request-token-of-the-job-0123456789" // for OIDC tokens, as GitHub gives it to a job
	Role      = "arn:aws:iam::123456789012:role/reviewer"
	GovRole   = "arn:aws-us-gov:iam::123456789012:role/reviewer"
	ChinaRole = "arn:aws-cn:iam::123456789012:role/reviewer"
	AccessID  = "ASIATESTTESTTEST"
	Secret    = "secret-access-key-0123456789abcdef"
	Session   = "session-token-0123456789abcdef"
)

// Clouds serves all clouds; requests to models become those of the maker's API. It is safe for
// concurrent use.
type Clouds struct {
	Models http.Handler // the makers' APIs

	mu       sync.Mutex
	problems []error
	issued   map[string]int // credentials, by who issued them
}

// New returns a server for the models of an API.
func New(models http.Handler) *Clouds { return &Clouds{Models: models, issued: map[string]int{}} }

// Problems returns why requests were refused.
func (c *Clouds) Problems() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]error(nil), c.problems...)
}

// Issued returns how many credentials a server has issued: oidc, aws, google, impersonated, entra.
func (c *Clouds) Issued(by string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.issued[by]
}

// ServeHTTP implements [http.Handler].
func (c *Clouds) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == "/oidc":
		c.oidc(w, r)
	case path == "/" && r.Method == http.MethodPost:
		c.sts(w, r)
	case strings.HasPrefix(path, "/model/"):
		c.bedrock(w, r)
	case path == "/v1/token":
		c.googleSTS(w, r)
	case strings.HasPrefix(path, "/v1/projects/-/serviceAccounts/"):
		c.impersonate(w, r)
	case strings.HasPrefix(path, "/v1/projects/"):
		c.vertex(w, r)
	case strings.HasSuffix(path, "/v2.0/.well-known/openid-configuration"), strings.HasSuffix(path, "/oauth2/v2.0/token"):
		c.entra(w, r)
	default:
		c.Models.ServeHTTP(w, r)
	}
}

// note notes a problem.
func (c *Clouds) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems = append(c.problems, err)
}

// refuse notes a problem and responds with it.
func (c *Clouds) refuse(w http.ResponseWriter, status int, err error) {
	c.note(err)
	respond(w, status, map[string]any{"message": err.Error(), "error": map[string]any{"message": err.Error()}})
}

func (c *Clouds) count(by string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.issued[by]++
}

func respond(w http.ResponseWriter, status int, doc any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc) // else the client is gone
}

// oidc issues OIDC tokens as GitHub does.
func (c *Clouds) oidc(w http.ResponseWriter, r *http.Request) {
	audience := r.URL.Query().Get("audience")
	if r.Header.Get("Authorization") != "Bearer "+JobToken || audience == "" || r.URL.Query().Get("api-version") != "2.0" {
		c.refuse(w, http.StatusUnauthorized, errors.New("invalid request for an OIDC token: "+r.URL.String()))
		return
	}
	c.count("oidc")
	respond(w, http.StatusOK, map[string]any{"count": 1, "value": IDToken(audience)})
}

// IDToken returns an OIDC token for an audience, which all servers here accept.
func IDToken(audience string) string {
	encoded := func(doc any) string {
		text, _ := json.Marshal(doc) // a map of strings
		return base64.RawURLEncoding.EncodeToString(text)
	}
	return encoded(map[string]string{"alg": "none"}) + "." + encoded(map[string]string{"aud": audience, "sub": "repo:o/r"}) + ".signature"
}

// checkIDToken checks that an OIDC token is one for an audience.
func checkIDToken(token, audience string) error {
	if subtle.ConstantTimeCompare([]byte(token), []byte(IDToken(audience))) == 1 {
		return nil
	}
	return fmt.Errorf("invalid OIDC token %q for %s", token, audience)
}
