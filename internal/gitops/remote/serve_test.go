package remote

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/testing/gittest"
)

const testToken = "s3cret-token"

// origin is a bare repository that others fetch from and push to. Its sandbox
// is a work tree whose commits go there.
type origin struct {
	*gittest.Sandbox
	bare *gittest.Sandbox
	sent atomic.Int64 // bytes of responses over http
}

// newOrigin makes a bare repository with two commits on main, one more on side, and an
// annotated tag v1 at the first.
func newOrigin(t *testing.T) *origin {
	t.Helper()
	s := gittest.NewSandbox(t)
	o := &origin{Sandbox: s, bare: s.At(filepath.Join(filepath.Dir(s.Root), "origin.git"))}
	must(t, os.MkdirAll(o.bare.Root, 0o755))
	o.bare.Run("init", "-q", "--bare", "-b", "main")
	o.bare.Run("config", "http.receivepack", "true")
	s.Write("a", "1\n", "d/b", "1\n")
	s.Commit()
	s.Run("tag", "-a", "-m", "one", "v1")
	s.Write("a", "2\n")
	s.Commit()
	s.Run("branch", "side")
	s.Run("push", "-q", o.bare.Root, "main", "side", "v1")
	return o
}

func (o *origin) url() string { return "file://" + o.bare.Root }

func (o *origin) remote() Repo { return Repo{URL: o.url()} }

func (o *origin) env() gitdir.Env {
	return gitdir.Env{Home: o.Home, GitProgram: o.Git, LockWait: 50 * time.Millisecond}
}

// advance commits to a branch of the origin and returns the commit.
func (o *origin) advance(branch, name, content string) string {
	o.T.Helper()
	o.Run("checkout", "-q", "-B", branch)
	o.Write(name, content)
	hash := o.Commit()
	o.Run("push", "-q", "-f", o.bare.Root, branch)
	return hash
}

// hook makes a hook of the origin.
func (o *origin) hook(name, script string) {
	o.T.Helper()
	hook := filepath.Join("hooks", name)
	o.bare.Write(hook, "#!/bin/sh\n"+script)
	o.bare.Chmod(0o755, hook)
}

// at returns the commit of a branch of the origin, "" if missing.
func (o *origin) at(branch string) string {
	out, err := o.bare.Command("rev-parse", "--verify", "-q", "refs/heads/"+branch).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// overHTTP serves the origin by git http-backend to those who know the token, and calls
// before, if it is not nil, for each request.
func (o *origin) overHTTP(before func(*http.Request)) Repo {
	o.T.Helper()
	backend, err := gittest.HTTP(o.T.Context(), filepath.Dir(o.bare.Root), o.T.Output(), "HOME="+o.Home, "PATH="+os.Getenv("PATH"))
	if err != nil {
		o.T.Skip(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, pass, _ := r.BasicAuth(); user != tokenUser || pass != testToken {
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "who are you, "+pass+"?", http.StatusUnauthorized)
			return
		}
		if before != nil {
			before(r)
		}
		backend.ServeHTTP(meter{w, &o.sent}, r)
	}))
	o.T.Cleanup(server.Close)
	return Repo{URL: server.URL + "/origin.git", Auth: Auth{Token: testToken}}
}

// meter counts the bytes of responses.
type meter struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (m meter) Write(p []byte) (int, error) {
	m.sent.Add(int64(len(p)))
	return m.ResponseWriter.Write(p)
}

// overSSH serves this machine by sshd, to the holder of a key, and returns the remote and the
// directory with the keys.
func (o *origin) overSSH() (Repo, string) {
	o.T.Helper()
	dir, err := filepath.EvalSymlinks(o.T.TempDir())
	must(o.T, err)
	server, err := gittest.ServeSSH(o.T.Context(), dir, o.T.Output())
	if errors.Is(err, gittest.ErrNoSSH) {
		o.T.Skip(err)
	}
	must(o.T, err)
	o.T.Cleanup(server.Close)
	return Repo{
		URL:  server.URL + o.bare.Root,
		Auth: Auth{SSHKey: filepath.Join(dir, "user"), KnownHosts: filepath.Join(dir, "known")},
	}, dir
}

// silent is a server that accepts and never answers.
func silent(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	done := make(chan struct{})
	var open []net.Conn
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			open = append(open, conn)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
		for _, c := range open {
			_ = c.Close()
		}
	})
	return listener.Addr().String()
}

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error is %v, want %v", err, want)
	}
	if strings.Contains(err.Error(), testToken) {
		t.Errorf("the token is in %q", err)
	}
}

func wantUnsupported(t *testing.T, err error) {
	t.Helper()
	var unsupported *gitdir.UnsupportedError
	if !errors.As(err, &unsupported) {
		t.Fatalf("error is %v, want an UnsupportedError", err)
	}
}
