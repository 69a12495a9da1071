package gitops

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const testToken = "s3cret-token"

// origin is a bare repository that others fetch from and push to. Its sandbox
// is a work tree whose commits go there.
type origin struct {
	*sandbox
	bare *sandbox
}

// newOrigin makes a bare repository with two commits on main, one more on side, and an
// annotated tag v1 at the first.
func newOrigin(t *testing.T) *origin {
	t.Helper()
	s := newSandbox(t)
	o := &origin{s, s.at(filepath.Join(filepath.Dir(s.root), "origin.git"))}
	must(t, os.MkdirAll(o.bare.root, 0o755))
	o.bare.run("init", "-q", "--bare", "-b", "main")
	o.bare.run("config", "http.receivepack", "true")
	s.write("a", "1\n", "d/b", "1\n")
	s.commit()
	s.run("tag", "-a", "-m", "one", "v1")
	s.write("a", "2\n")
	s.commit()
	s.run("branch", "side")
	s.run("push", "-q", o.bare.root, "main", "side", "v1")
	return o
}

func (o *origin) url() string { return "file://" + o.bare.root }

func (o *origin) remote() Remote { return Remote{URL: o.url()} }

// advance commits to a branch of the origin and returns the commit.
func (o *origin) advance(branch, name, content string) string {
	o.t.Helper()
	o.run("checkout", "-q", "-B", branch)
	o.write(name, content)
	hash := o.commit()
	o.run("push", "-q", "-f", o.bare.root, branch)
	return hash
}

// hook makes a hook of the origin.
func (o *origin) hook(name, script string) {
	o.t.Helper()
	must(o.t, os.WriteFile(filepath.Join(o.bare.root, "hooks", name), []byte("#!/bin/sh\n"+script), 0o755))
}

// at returns the commit of a branch of the origin, "" if there is none.
func (o *origin) at(branch string) string {
	out, err := o.bare.command("rev-parse", "--verify", "-q", "refs/heads/"+branch).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// overHTTP serves the origin by git http-backend to those who know the token, and calls
// before, if it is not nil, for each request.
func (o *origin) overHTTP(before func(*http.Request)) Remote {
	o.t.Helper()
	program := filepath.Join(o.run("--exec-path"), "git-http-backend")
	if _, err := os.Stat(program); err != nil {
		o.t.Skip("git http-backend is not installed")
	}
	backend := &cgi.Handler{
		Path: program, Dir: o.bare.root, Stderr: o.t.Output(),
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(o.bare.root), "GIT_HTTP_EXPORT_ALL=1", "HOME=" + o.home, "PATH=" + os.Getenv("PATH")},
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
		backend.ServeHTTP(w, r)
	}))
	o.t.Cleanup(server.Close)
	return Remote{URL: server.URL + "/origin.git", Auth: Auth{Token: testToken}}
}

// overSSH serves this machine by sshd, to the holder of a key, and returns the remote and the
// directory with the keys.
func (o *origin) overSSH() (Remote, string) {
	o.t.Helper()
	sshd, err := exec.LookPath("/usr/sbin/sshd")
	if err != nil {
		o.t.Skip("sshd is not installed")
	}
	dir, err := filepath.EvalSymlinks(o.t.TempDir())
	must(o.t, err)
	for _, k := range [][]string{{"host", ""}, {"user", ""}, {"locked", "a passphrase"}} {
		out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", k[1], "-f", filepath.Join(dir, k[0])).CombinedOutput()
		if err != nil {
			o.t.Skipf("ssh-keygen: %v %s", err, out)
		}
	}
	var allowed []byte
	for _, name := range []string{"user.pub", "locked.pub"} {
		key, err := os.ReadFile(filepath.Join(dir, name))
		must(o.t, err)
		allowed = append(allowed, key...)
	}
	must(o.t, os.WriteFile(filepath.Join(dir, "allowed"), allowed, 0o600))
	must(o.t, os.WriteFile(filepath.Join(dir, "config"), fmt.Appendf(nil,
		"HostKey %[1]s/host\nAuthorizedKeysFile %[1]s/allowed\nStrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\n", dir), 0o600))
	if out, err := exec.Command(sshd, "-t", "-f", filepath.Join(dir, "config")).CombinedOutput(); err != nil {
		o.t.Skipf("sshd does not work here: %v %s", err, out)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(o.t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for serveSSH(listener, sshd, filepath.Join(dir, "config"), o.t.Output()) {
		}
	}()
	o.t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	host, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	must(o.t, err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	must(o.t, err)
	must(o.t, os.WriteFile(filepath.Join(dir, "known"), fmt.Appendf(nil, "[127.0.0.1]:%s %s", port, host), 0o600))
	user := strings.TrimSpace(output(o.t, "id", "-un"))
	return Remote{
		URL:  "ssh://" + user + "@" + listener.Addr().String() + o.bare.root,
		Auth: Auth{SSHKey: filepath.Join(dir, "user"), KnownHosts: filepath.Join(dir, "known")},
	}, dir
}

// serveSSH lets an sshd have one connection, as inetd would, and waits for its end.
func serveSSH(listener net.Listener, sshd, config string, log io.Writer) bool {
	conn, err := listener.Accept()
	if err != nil {
		return false
	}
	defer conn.Close()
	f, err := conn.(*net.TCPConn).File()
	if err != nil {
		return false
	}
	defer f.Close()
	cmd := exec.Command(sshd, "-i", "-e", "-f", config)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = f, f, log
	_ = conn.Close() // sshd has its own handle
	_ = cmd.Run()
	return true
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v %s", name, err, stderr.String())
	}
	return string(out)
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
	var unsupported *UnsupportedError
	if !errors.As(err, &unsupported) {
		t.Fatalf("error is %v, want an UnsupportedError", err)
	}
}
