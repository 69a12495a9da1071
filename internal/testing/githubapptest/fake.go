// Package githubapptest is a loopback server for the requests of GitHub's API that create tokens
// of a GitHub App, for tests.
package githubapptest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// ID is the id of the app.
const ID = "4711"

// Server is a GitHub Enterprise Server: its API is below /api/v3. Owners that start with
// "org" are organizations; the app is installed for all but those that contain "none".
type Server struct {
	*httptest.Server
	Now func() time.Time
	// Permissions are those of its tokens; they must not change while it serves.
	Permissions map[string]string

	key   *rsa.PrivateKey
	mu    sync.Mutex
	mints map[string]int   // by owner
	valid map[string]token // the newest one, by owner
}

// token is a token and when it expires.
type token struct {
	value string
	until time.Time
}

// New starts a server. other serves what is not the API; nil for nothing.
func New(now func() time.Time, other http.Handler) (*Server, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	s := &Server{Now: now, Permissions: map[string]string{"contents": "write", "pull_requests": "write"}, key: key, mints: map[string]int{}, valid: map[string]token{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v3/{kind}/{owner}/installation", s.installation)
	mux.HandleFunc("POST /api/v3/app/installations/{id}/access_tokens", s.mint)
	if other != nil {
		mux.Handle("/", other)
	}
	s.Server = httptest.NewServer(mux)
	return s, nil
}

// Key returns the private key of the app as PEM.
func (s *Server) Key() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(s.key)}))
}

// Host returns the server's host and port.
func (s *Server) Host() string { return strings.TrimPrefix(s.URL, "http://") }

// Mints returns how many tokens were created for an owner.
func (s *Server) Mints(owner string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mints[owner]
}

// Accepts reports whether a token is the newest one of an owner, and not expired.
func (s *Server) Accepts(owner, token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepts(owner, token)
}

// Owner returns the owner of a token that Accepts accepts; "" for another one.
func (s *Server) Owner(token string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for owner := range s.valid {
		if s.accepts(owner, token) {
			return owner
		}
	}
	return ""
}

func (s *Server) accepts(owner, token string) bool {
	valid := s.valid[owner]
	return token != "" && valid.value == token && s.Now().Before(valid.until)
}

// Expire makes the token of an owner invalid.
func (s *Server) Expire(owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.valid, owner)
}

// idOf returns the id of an installation: the owner in the digits of its bytes.
func idOf(owner string) int64 {
	sum := sha256.Sum256([]byte(owner))
	return int64(sum[0])<<16 | int64(sum[1])<<8 | int64(sum[2])
}

func (s *Server) installation(w http.ResponseWriter, r *http.Request) {
	owner := r.PathValue("owner")
	kind := "users"
	if strings.HasPrefix(owner, "org") {
		kind = "orgs"
	}
	switch err := s.verify(r); {
	case err != nil:
		respond(w, http.StatusUnauthorized, map[string]any{"message": err.Error()})
	case r.PathValue("kind") != kind || strings.Contains(owner, "none"):
		respond(w, http.StatusNotFound, map[string]any{"message": "Not Found"})
	default:
		s.mu.Lock()
		s.mints[owner] += 0 // so that mint knows it
		s.mu.Unlock()
		respond(w, http.StatusOK, map[string]any{"id": idOf(owner), "app_id": 4711})
	}
}

func (s *Server) mint(w http.ResponseWriter, r *http.Request) {
	if err := s.verify(r); err != nil {
		respond(w, http.StatusUnauthorized, map[string]any{"message": err.Error()})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for owner := range s.mints {
		if fmt.Sprint(idOf(owner)) == r.PathValue("id") {
			s.mints[owner]++
			made := token{fmt.Sprintf("minted-for-%s-%04d", owner, s.mints[owner]), s.Now().Add(time.Hour)}
			s.valid[owner] = made
			respond(w, http.StatusCreated, map[string]any{"token": made.value, "expires_at": made.until.UTC().Format(time.RFC3339), "permissions": s.Permissions})
			return
		}
	}
	respond(w, http.StatusNotFound, map[string]any{"message": "Not Found"})
}

func respond(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// verify checks the JWT of a request as GitHub does.
func (s *Server) verify(r *http.Request) error {
	jwt, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	parts := strings.Split(jwt, ".")
	if !ok || len(parts) != 3 {
		return errors.New("a JSON web token could not be decoded")
	}
	var texts [3][]byte
	for i, encoded := range parts {
		text, err := base64.RawURLEncoding.DecodeString(encoded)
		if err != nil {
			return errors.New("a JSON web token could not be decoded")
		}
		texts[i] = text
	}
	var head struct{ Alg string }
	var claims struct {
		Iat, Exp int64
		Iss      string
	}
	if err := errors.Join(json.Unmarshal(texts[0], &head), json.Unmarshal(texts[1], &claims)); err != nil || head.Alg != "RS256" {
		return errors.New("a JSON web token could not be decoded")
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	now := s.Now().Unix()
	switch {
	case rsa.VerifyPKCS1v15(&s.key.PublicKey, crypto.SHA256, sum[:], texts[2]) != nil:
		return errors.New("a JSON web token could not be decoded")
	case claims.Iss != ID:
		return errors.New("integration not found")
	case claims.Iat > now:
		return errors.New("'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")
	case claims.Exp <= now:
		return errors.New("'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires")
	case claims.Exp > now+600:
		return errors.New("'Expiration time' claim ('exp') is too far in the future")
	}
	return nil
}
