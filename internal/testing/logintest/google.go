package logintest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// What the server of Google's tokens accepts and issues.
const (
	IdentityProvider = "projects/42/locations/global/workloadIdentityPools/ci/providers/github"
	ServiceAccount   = "reviewer@project.iam.gserviceaccount.com"
	federatedToken   = "federated-token-0123456789abcdef" //nolint:gosec // of tests
	AccessToken      = "ya29.access-token-0123456789abcdef"
)

// googleSTS exchanges an OIDC token.
func (c *Clouds) googleSTS(w http.ResponseWriter, r *http.Request) {
	err := r.ParseForm()
	if err == nil {
		err = checkIDToken(r.Form.Get("subject_token"), "https://iam.googleapis.com/"+IdentityProvider)
	}
	if err == nil && (r.Form.Get("audience") != "//iam.googleapis.com/"+IdentityProvider || r.Form.Get("grant_type") != "urn:ietf:params:oauth:grant-type:token-exchange") {
		err = fmt.Errorf("unexpected exchange: %v", r.Form)
	}
	if err != nil {
		c.refuse(w, http.StatusBadRequest, err)
		return
	}
	c.count("google")
	respond(w, http.StatusOK, map[string]any{"access_token": federatedToken, "issued_token_type": "urn:ietf:params:oauth:token-type:access_token", "token_type": "Bearer", "expires_in": 3600})
}

// impersonate issues an access token of the service account.
func (c *Clouds) impersonate(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+federatedToken || !strings.Contains(r.URL.Path, "/"+ServiceAccount+":") {
		c.refuse(w, http.StatusForbidden, errors.New("permission iam.serviceAccounts.getAccessToken denied on "+r.URL.Path))
		return
	}
	c.count("impersonated")
	respond(w, http.StatusOK, map[string]any{"accessToken": AccessToken, "expireTime": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
}

// vertex plays the model's response to a request with the access token.
func (c *Clouds) vertex(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	if token := r.Header.Get("Authorization"); token != "Bearer "+AccessToken && token != "Bearer sk-1" {
		c.refuse(w, http.StatusUnauthorized, errors.New("request had invalid authentication credentials"))
		return
	}
	_, called, _ := strings.Cut(r.URL.Path, "/publishers/anthropic/models/")
	model, method, _ := strings.Cut(called, ":")
	var fields struct{ Stream bool }
	err = json.Unmarshal(body, &fields)
	if err != nil || method != "streamRawPredict" || !fields.Stream {
		c.refuse(w, http.StatusBadRequest, fmt.Errorf("unexpected request of %s with the method %q and stream %t", r.URL.Path, method, fields.Stream))
		return
	}
	sent, err := adapted(r, body, model, "vertex-2023-10-16")
	if err != nil {
		c.refuse(w, http.StatusBadRequest, err)
		return
	}
	c.Models.ServeHTTP(w, sent)
}
