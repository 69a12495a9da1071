package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/proc/keys"
)

// wiretap is a server in front of an origin that notes which requests carried
// credentials and may answer in its place.
type wiretap struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // "GET info/refs", with " +" appended where credentials came along
}

// tap serves the origin behind a wiretap. The origin itself always gets its
// token, so that the tap decides who needs credentials: answer returns true if
// it has answered a request.
func (o *origin) tap(response func(w http.ResponseWriter, r *http.Request) bool) *wiretap {
	o.T.Helper()
	behind, err := url.Parse(strings.TrimSuffix(o.overHTTP(nil).URL, "/origin.git"))
	must(o.T, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(behind)
		r.Out.SetBasicAuth(tokenUser, testToken)
	}}
	tap := &wiretap{}
	tap.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		what := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/origin.git/")
		if r.Header.Get("Authorization") != "" {
			what += " +"
		}
		tap.mu.Lock()
		tap.seen = append(tap.seen, what)
		tap.mu.Unlock()
		if response == nil || !response(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	o.T.Cleanup(tap.Close)
	return tap
}

func (w *wiretap) remote() Repo {
	return Repo{URL: w.URL + "/origin.git", Auth: Auth{Token: testToken}}
}

func (w *wiretap) wantSeen(t *testing.T, want ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.seen, want) {
		t.Errorf("requests are\n%q, want\n%q", w.seen, want)
	}
	w.seen = nil
}

// unauthorized answers 401 to requests without the token.
func unauthorized(w http.ResponseWriter, r *http.Request) bool {
	if _, pass, _ := r.BasicAuth(); pass == testToken {
		return false
	}
	w.Header().Set("WWW-Authenticate", "Basic")
	http.Error(w, "log in", http.StatusUnauthorized)
	return true
}

func TestCredentialsAreSentAfterA401Only(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	const refs, up, down = "GET info/refs", "POST git-receive-pack", "POST git-upload-pack"
	for _, c := range []struct {
		name        string
		response    func(w http.ResponseWriter, r *http.Request) bool
		fetch, push []string
	}{
		{"nobody is asked", nil, []string{refs, down, down}, []string{refs, up, up}},
		{"everybody is asked", unauthorized, []string{refs, refs + " +", down + " +", down + " +"}, []string{refs, refs + " +", up + " +"}},
		{"only POST is asked", func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodPost && unauthorized(w, r)
		}, []string{refs, down, down + " +", down + " +"}, []string{refs, up, up + " +"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, auth := range map[string]Auth{
				"token":  {Token: testToken},
				"header": {Header: "basic " + basicOf(tokenUser, testToken)},
			} {
				o := newOrigin(t)
				tap := o.tap(c.response)
				remote := Repo{URL: tap.remote().URL, Auth: auth}
				r := o.mirrorOf(remote, 0)
				tap.wantSeen(t, c.fetch...)
				commit := o.jobCommit(r, o.Run("rev-parse", "HEAD"), strings.Repeat("x\n", 1<<20))
				must(t, Push(t.Context(), r.Git, PushOptions{Remote: remote, Commit: commit, Branch: "bot/x"}))
				tap.wantSeen(t, c.push...)
				if at := o.at("bot/x"); at != commit {
					t.Errorf("%s: the branch is at %q", name, at)
				}
			}
		})
	}
}

func basicOf(user, password string) string {
	req := &http.Request{Header: http.Header{}}
	req.SetBasicAuth(user, password)
	return strings.TrimPrefix(req.Header.Get("Authorization"), "Basic ")
}

func TestCredentialsDoNotFollowARedirectToAnotherServer(t *testing.T) {
	o := newOrigin(t)
	other := o.tap(unauthorized)
	for name, response := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"at once": func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, other.URL+r.URL.RequestURI(), http.StatusTemporaryRedirect)
			return true
		},
		"after the credentials": func(w http.ResponseWriter, r *http.Request) bool {
			if !unauthorized(w, r) {
				http.Redirect(w, r, other.URL+r.URL.RequestURI(), http.StatusTemporaryRedirect)
			}
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			tap := o.tap(response)
			_, _, err := Branches(t.Context(), tap.remote())
			wantError(t, err, ErrUnreachable)
			other.wantSeen(t)
		})
	}
}

func TestErrorExplainsWithheldToken(t *testing.T) {
	o := newOrigin(t)
	tap := o.tap(unauthorized)
	_, _, err := Branches(t.Context(), Repo{URL: tap.remote().URL, Auth: Auth{Hint: "set X=1"}})
	wantError(t, err, ErrAuth)
	if !strings.Contains(err.Error(), "set X=1") {
		t.Errorf("the error is %q", err)
	}
	tap.wantSeen(t, "GET info/refs")
}

// A key that the server rejects is replaced once for each connection, also between the
// advertisement and the push.
func TestRejectedKeysAreReplaced(t *testing.T) {
	const refs, up = "GET info/refs", "POST git-receive-pack"
	for _, c := range []struct {
		name     string
		accepted []string // passwords of which each request needs the first
		minted   int
		fails    bool
		seen     []string
	}{
		{"the first is good", []string{"k1"}, 1, false, []string{refs, refs + " +", up + " +", up + " +"}},
		{"expired before", []string{"k2"}, 2, false, []string{refs, refs + " +", refs + " +", up + " +", up + " +"}},
		{"expires in between", []string{"k1", "k2"}, 2, false, []string{refs, refs + " +", up + " +", up + " +", up + " +"}},
		{"expires after the probe", []string{"k1", "k1", "k2"}, 2, false, []string{refs, refs + " +", up + " +", up + " +", up + " +"}},
		{"none is good", []string{"none"}, 2, true, []string{refs, refs + " +", refs + " +"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newOrigin(t)
			r := o.mirrorOf(o.remote(), 0)
			commit := o.jobCommit(r, o.Run("rev-parse", "HEAD"), "x\n")
			var mu sync.Mutex
			accepted := c.accepted
			tap := o.tap(func(w http.ResponseWriter, r *http.Request) bool {
				mu.Lock()
				defer mu.Unlock()
				if len(accepted) > 1 && r.Method == http.MethodPost {
					accepted = accepted[1:]
				}
				if _, password, _ := r.BasicAuth(); password == accepted[0] {
					return false
				}
				http.Error(w, "who is "+r.Header.Get("Authorization")+"?", http.StatusUnauthorized)
				return true
			})
			minted := 0
			source := keys.New(func(context.Context) (string, time.Time, error) {
				minted++
				return "k" + strconv.Itoa(minted), time.Time{}, nil
			}, time.Now, func(string) {})
			remote := Repo{URL: tap.remote().URL, Auth: Auth{Keys: source, Hint: "see m.yaml:3"}}
			err := Push(t.Context(), r.Git, PushOptions{Remote: remote, Commit: commit, Branch: "bot/x"})
			if c.fails {
				wantError(t, err, ErrAuth)
				if !strings.Contains(err.Error(), "; see m.yaml:3") {
					t.Errorf("the error is %q", err)
				}
			} else {
				must(t, err)
			}
			if minted != c.minted {
				t.Errorf("%d keys, want %d", minted, c.minted)
			}
			tap.wantSeen(t, c.seen...)
		})
	}
}

// A key that can't be created now is no failure of the credentials.
func TestKeysThatAreMissingForAWhile(t *testing.T) {
	o := newOrigin(t)
	tap := o.tap(unauthorized)
	source := keys.New(func(context.Context) (string, time.Time, error) {
		return "", time.Time{}, &keys.Unavailable{Err: errors.New("down")}
	}, time.Now, func(string) {})
	_, _, err := Branches(t.Context(), Repo{URL: tap.remote().URL, Auth: Auth{Keys: source, Hint: "see m.yaml:3"}})
	wantError(t, err, ErrUnreachable)
	if errors.Is(err, ErrAuth) || !strings.Contains(err.Error(), "down; see m.yaml:3") {
		t.Errorf("the error is %q", err)
	}
}

func TestPushToServerThatRefusesEmptyRequest(t *testing.T) {
	o := newOrigin(t)
	tap := o.tap(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || r.ContentLength != 4 {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		http.Error(w, "empty", http.StatusBadRequest)
		return true
	})
	r := o.mirrorOf(tap.remote(), 0)
	commit := o.jobCommit(r, o.Run("rev-parse", "HEAD"), "x\n")
	must(t, Push(t.Context(), r.Git, PushOptions{Remote: tap.remote(), Commit: commit, Branch: "bot/x"}))
	if at := o.at("bot/x"); at != commit {
		t.Errorf("the branch is at %q", at)
	}
}

func TestNoProxyForLoopback(t *testing.T) {
	o := newOrigin(t)
	asked := ""
	proxy := func(r *http.Request) (*url.URL, error) {
		asked = r.URL.Host
		return nil, errors.New("no way out")
	}
	here := o.overHTTP(nil)
	here.Proxy = proxy
	if _, _, err := Branches(t.Context(), here); err != nil || asked != "" {
		t.Errorf("a proxy was asked for %q (%v)", asked, err)
	}
	_, _, err := Branches(t.Context(), Repo{URL: "https://git.example/x", Proxy: proxy})
	wantError(t, err, ErrUnreachable)
	if asked != "git.example" {
		t.Errorf("a proxy was asked for %q (%v)", asked, err)
	}
}
