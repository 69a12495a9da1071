package remote

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/revlist"
	gogit "github.com/go-git/go-git/v5/plumbing/transport"
	gogithttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	gogitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"golang.org/x/crypto/ssh"

	"github.com/millhand/millhand/internal/testing/gittest"
)

// TestWhatGoGitLoses reproduces what fetches and pushes would lose with the transports of go-git 5.19.3, with a
// RoundTripper or an ssh.ClientConfig of ours, too. It fails if go-git has learned something: then replace what the row names.
func TestWhatGoGitLoses(t *testing.T) {
	for _, row := range []struct {
		what, instead string
		loses         func(*testing.T) bool
	}{
		{"the time limit of a login by ssh", "transport_ssh.go", losesLoginTime},
		{"a push whose response is empty", "transport_http.go", losesEmptyResponse},
		{"the memory for the pack of a push", "transport_http.go", losesMemory},
		{"the common history of a large file", "packthin.go", losesThin},
		{"the time for the objects of a push", "reach.go", losesTime},
		{"the environment that a local repository must not get", "transport_local.go", losesEnvironment},
	} {
		t.Run(row.what, func(t *testing.T) {
			if !row.loses(t) {
				t.Errorf("go-git does it now: can it replace %s?", row.instead)
			}
		})
	}
}

// login is the ssh.ClientConfig of a test.
type login ssh.ClientConfig

func (*login) Name() string                               { return "login" }
func (*login) String() string                             { return "login" }
func (l *login) ClientConfig() (*ssh.ClientConfig, error) { return (*ssh.ClientConfig)(l), nil }

// losesLoginTime: neither ClientConfig.Timeout nor a context ends the handshake with a server that is silent.
func losesLoginTime(t *testing.T) bool {
	t.Helper()
	at, err := gogit.NewEndpoint("ssh://git@" + silent(t) + "/x.git")
	must(t, err)
	auth := &login{User: "git", Timeout: 50 * time.Millisecond, HostKeyCallback: ssh.InsecureIgnoreHostKey()} //nolint:gosec // it has none
	done := make(chan error, 1)
	go func() {
		_, err := gogitssh.NewClient(nil).NewUploadPackSession(at, auth)
		done <- err
	}()
	select {
	case err := <-done:
		t.Logf("the login ended with %v", err)
		return false
	case <-time.After(2 * time.Second):
		return true // the end of the server ends it
	}
}

// losesEmptyResponse: a proxy that loses the body of a response makes a push successful.
func losesEmptyResponse(t *testing.T) bool {
	t.Helper()
	o := newOrigin(t)
	backend, err := gittest.HTTP(t.Context(), filepath.Dir(o.bare.Root), t.Output(), "HOME="+o.Home, "PATH="+os.Getenv("PATH"))
	if err != nil {
		t.Skip(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.Header().Set("Content-Type", "application/x-git-receive-pack-result")
			return
		}
		backend.ServeHTTP(w, r)
	}))
	defer server.Close()
	before := o.at("main")
	o.Write("a", "new\n")
	commit := o.Commit()
	repo, err := git.PlainOpen(o.Root)
	must(t, err)
	to := &config.RemoteConfig{Name: "origin", URLs: []string{server.URL + "/origin.git"}}
	err = git.NewRemote(repo.Storer, to).PushContext(t.Context(), &git.PushOptions{RefSpecs: []config.RefSpec{"refs/heads/main:refs/heads/main"}})
	if o.at("main") != before {
		t.Fatal("something was pushed")
	}
	r := Push(t.Context(), open(t, o.Sandbox), PushOptions{Remote: Repo{URL: to.URLs[0]}, Commit: commit, Branch: "main", Expect: before})
	if r == nil {
		t.Error("our push was successful")
	}
	return err == nil
}

// losesMemory: a pack is in memory before the first byte of it is sent.
func losesMemory(t *testing.T) bool {
	t.Helper()
	const size = 64 << 20
	used := uint64(0)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			used = now.HeapAlloc
			_, _ = io.Copy(io.Discard, r.Body)
		}
	}))
	defer server.Close()
	at, err := gogit.NewEndpoint(server.URL + "/x.git")
	must(t, err)
	session, err := gogithttp.NewClient(server.Client()).NewReceivePackSession(at, nil)
	must(t, err)
	req := packp.NewReferenceUpdateRequest()
	req.Commands = []*packp.Command{{Name: "refs/heads/main", New: plumbing.NewHash(strings.Repeat("1", 40))}}
	req.Packfile = io.NopCloser(io.LimitReader(zeros{}, size))
	_, _ = session.ReceivePack(t.Context(), req) // the server sends no status
	t.Logf("%d MB are in use when a push of %d MB starts", used>>20, size>>20)
	return used > size
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// losesThin: a line of a large file is fetched with all of the file.
func losesThin(t *testing.T) bool {
	t.Helper()
	o := newOrigin(t)
	large := randomText(200_000)
	o.advance("main", "large", large)
	r := o.overHTTP(nil)
	auth := &gogithttp.BasicAuth{Username: tokenUser, Password: testToken}
	repo, err := git.PlainClone(t.TempDir(), true, &git.CloneOptions{URL: r.URL, Auth: auth})
	must(t, err)
	ours := filepath.Join(filepath.Dir(o.Root), "ours")
	_, err = Mirror(t.Context(), ours, r, MirrorOptions{}, o.env())
	must(t, err)
	o.advance("main", "large", large+"more\n")
	o.sent.Store(0)
	must(t, repo.FetchContext(t.Context(), &git.FetchOptions{Auth: auth}))
	theirs := o.sent.Swap(0)
	_, err = Mirror(t.Context(), ours, r, MirrorOptions{}, o.env())
	must(t, err)
	t.Logf("go-git receives %d bytes, we %d", theirs, o.sent.Load())
	return theirs > 10*o.sent.Load()
}

// counting is a store that counts the objects that are read.
type counting struct {
	unread
	n *int
}

func (c counting) EncodedObject(_ plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
	*c.n++
	return c.store.Read(plumbing.AnyObject, hash)
}

// losesTime: all commits and directories that the remote has are read for a push of one commit.
func losesTime(t *testing.T) bool {
	t.Helper()
	s := gittest.NewSandbox(t)
	const commits = 50
	for i := range commits {
		s.Write("dir/file", fmt.Sprint(i))
		s.Commit()
	}
	git, have := open(t, s), plumbing.NewHash(s.Run("rev-parse", "HEAD"))
	s.Write("dir/file", "new")
	want := plumbing.NewHash(s.Commit())
	n := 0
	objects, err := revlist.Objects(counting{unread{store: git.Objects}, &n}, []plumbing.Hash{want}, []plumbing.Hash{have})
	must(t, err)
	if ours, err := between(t.Context(), git.Objects, []plumbing.Hash{want}, []plumbing.Hash{have}); err != nil || len(ours) != len(objects) {
		t.Errorf("%d and %d objects, %v", len(ours), len(objects), err)
	}
	t.Logf("%d objects are read to push %d", n, len(objects))
	return n > commits
}

// losesEnvironment: upload-pack inherits the environment of the process, with its credentials.
func losesEnvironment(t *testing.T) bool {
	t.Helper()
	o := newOrigin(t)
	trace := filepath.Join(t.TempDir(), "trace")
	t.Setenv("GIT_TRACE", trace)
	list := func() {
		_, err := git.NewRemote(nil, &config.RemoteConfig{Name: "origin", URLs: []string{o.url()}}).ListContext(t.Context(), &git.ListOptions{})
		must(t, err)
	}
	_, err := Mirror(t.Context(), filepath.Join(filepath.Dir(o.Root), "ours"), o.remote(), MirrorOptions{}, o.env())
	must(t, err)
	if _, err := os.Stat(trace); err == nil {
		t.Error("our child inherits the environment")
	}
	list()
	_, err = os.Stat(trace)
	return err == nil
}
