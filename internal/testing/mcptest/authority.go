package mcptest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
)

// Authority is an authorization server that issues tokens for a server to one client (the grant
// client_credentials): an http.Handler for its token endpoint. Each token revokes the one before.
type Authority struct {
	ID, Secret string
	Remote     *Remote
	Lifetime   int // of tokens, in seconds; 0 for no limit

	mu     sync.Mutex
	issued int
	scope  string // of the last request
}

// Issued returns how many tokens were issued, and the scopes of the last request.
func (a *Authority) Issued() (count int, scope string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.issued, a.scope
}

// ServeHTTP implements http.Handler.
func (a *Authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	id, secret, ok := r.BasicAuth()
	if !ok {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if r.Method != http.MethodPost || id != a.ID || secret != a.Secret || r.PostFormValue("grant_type") != "client_credentials" {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error": "invalid_client", "error_description": "%s is not the secret of %s"}`, secret, id)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.issued, a.scope = a.issued+1, r.PostFormValue("scope")
	token := map[string]any{"access_token": fmt.Sprintf("issued-token-4711-%d", a.issued), "token_type": "Bearer"}
	if a.Lifetime > 0 {
		token["expires_in"] = a.Lifetime
	}
	a.Remote.SetKey(token["access_token"].(string))
	json.NewEncoder(w).Encode(token) //nolint:errcheck // the client may be gone
}
