package remote

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/gitops"
)

// jobCommit commits a change to the branch bot/x of a mirror, as a job does.
func (o *origin) jobCommit(r *gitops.Repo, parent, content string) string {
	o.T.Helper()
	wt, err := r.AddWorktree(o.T.Context(), filepath.Join(o.T.TempDir(), "wt"), parent)
	must(o.T, err)
	o.Sandbox.At(wt.Root()).Write("a", content, "d/e/new", content)
	opts := options(parent)
	opts.Branch, opts.Force = "bot/x", true
	done, err := wt.Commit(o.T.Context(), measure(o.T, wt, parent), opts)
	must(o.T, err)
	must(o.T, r.RemoveWorktree(o.T.Context(), wt.Root()))
	return done.Hash
}

func TestPushUsesLease(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	for depth, kinds := range [][]string{{"file", "path", "ssh"}, {"file", "http"}} {
		for _, kind := range kinds {
			t.Run(kind, func(t *testing.T) {
				o := newOrigin(t)
				remote := o.remotes(t)[kind]()
				r := o.mirrorOf(remote, depth)
				base := o.Run("rev-parse", "HEAD")
				first := o.jobCommit(r, base, "first\n")
				second := o.jobCommit(r, base, "second\n")
				before := o.bare.Run("for-each-ref")
				push := func(commit, expect string) error {
					return Push(t.Context(), r.Git, PushOptions{Remote: remote, Commit: commit, Branch: "bot/x", Expect: expect})
				}
				wantError(t, push(first, base), ErrLease)
				must(t, push(first, ""))
				must(t, push(first, "")) // it is there
				wantError(t, push(second, ""), ErrLease)
				wantError(t, push(second, base), ErrLease)
				must(t, push(second, first))
				o.bare.Fsck()
				if at := o.at("bot/x"); at != second {
					t.Errorf("the branch is at %q", at)
				}
				o.bare.Run("update-ref", "-d", "refs/heads/bot/x")
				if after := o.bare.Run("for-each-ref"); after != before {
					t.Errorf("more was moved:\n%s\n%s", before, after)
				}
			})
		}
	}
}

func TestAPushSendsTheOriginalsOfReplacedObjects(t *testing.T) {
	o := newOrigin(t)
	remote := o.remotes(t)["file"]()
	base := o.Run("rev-parse", "HEAD")
	r, err := gitops.Open(o.Root, o.env())
	must(t, err)
	commit := o.jobCommit(r, base, "pushed\n")
	o.Run("replace", commit, base)
	o.Run("replace", commit+":a", base+":a")
	r, err = gitops.Open(o.Root, o.env()) // which reads the replacements
	must(t, err)
	if err := Push(t.Context(), r.Git, PushOptions{Remote: remote, Commit: commit, Branch: "bot/x"}); err != nil {
		t.Fatal(err)
	}
	o.bare.Fsck()
	if got := o.bare.Run("show", "bot/x:a"); got != "pushed" {
		t.Errorf("the remote has %q", got)
	}
}

func TestBranchMovedAfterListingIsNotOverwritten(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	o := newOrigin(t)
	var move func()
	remote := o.overHTTP(func(r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, receivePack) && move != nil {
			move()
			move = nil
		}
	})
	r := o.mirrorOf(remote, 0)
	base := o.Run("rev-parse", "HEAD")
	commit := o.jobCommit(r, base, "x\n")
	o.bare.Run("branch", "moving", base)
	other := o.Run("rev-parse", "HEAD~1")
	for _, step := range []struct{ expect, then string }{{"", "moving2"}, {base, "moving"}} {
		move = func() { o.bare.Run("update-ref", "refs/heads/"+step.then, other) }
		err := Push(t.Context(), r.Git, PushOptions{Remote: remote, Commit: commit, Branch: step.then, Expect: step.expect})
		wantError(t, err, ErrLease)
		if at := o.at(step.then); at != other {
			t.Errorf("%s is at %s", step.then, at)
		}
	}
	move = func() { o.bare.Run("update-ref", "-d", "refs/heads/moving") }
	wantError(t, Push(t.Context(), r.Git, PushOptions{Remote: remote, Commit: commit, Branch: "moving", Expect: other}), ErrLease)
}

func TestServerRejectionIsQuoted(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	for _, kind := range []string{"file", "http", "ssh"} {
		t.Run(kind, func(t *testing.T) {
			o := newOrigin(t)
			remote := o.remotes(t)[kind]()
			r := o.mirrorOf(remote, 0)
			base := o.Run("rev-parse", "HEAD")
			commit := o.jobCommit(r, base, "x\n")
			o.hook("update", "echo 'branches of bots are protected' >&2; exit 1\n")
			err := Push(t.Context(), r.Git, PushOptions{Remote: remote, Commit: commit, Branch: "bot/x"})
			wantError(t, err, ErrRejected)
			if !strings.Contains(err.Error(), "branches of bots are protected") {
				t.Errorf("the server's words are not in %q", err)
			}
			must(t, os.Remove(filepath.Join(o.bare.Root, "hooks", "update")))
			mark := filepath.Join(o.Home, "ran")
			o.hook("post-receive", "sleep 0.2; echo done >"+mark+"\n")
			must(t, Push(t.Context(), r.Git, PushOptions{Remote: remote, Commit: commit, Branch: "bot/x"}))
			if _, err := os.Stat(mark); err != nil {
				t.Error("the server's work after a push was cut off")
			}
		})
	}
}

func TestPushWithLostResponseIsVerified(t *testing.T) {
	o := newOrigin(t)
	full := o.overHTTP(nil)
	r := o.mirrorOf(full, 0)
	commit := o.jobCommit(r, o.Run("rev-parse", "HEAD"), "x\n")
	lossy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		out, err := http.NewRequest(req.Method, strings.TrimSuffix(full.URL, "/origin.git")+req.URL.String(), req.Body)
		if err != nil {
			t.Error(err)
			return
		}
		out.Header, out.ContentLength = req.Header.Clone(), req.ContentLength
		res, err := http.DefaultClient.Do(out)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		if req.Method == http.MethodPost {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
		w.WriteHeader(res.StatusCode)
		_, _ = io.Copy(w, res.Body)
	}))
	defer lossy.Close()
	remote := Repo{URL: lossy.URL + "/origin.git", Auth: full.Auth}
	must(t, Push(t.Context(), r.Git, PushOptions{Remote: remote, Commit: commit, Branch: "bot/x"}))
	if at := o.at("bot/x"); at != commit {
		t.Errorf("the branch is at %q", at)
	}
}

func TestCredentialsThatAreMissingOrWrong(t *testing.T) {
	o := newOrigin(t)
	good := o.overHTTP(nil)
	r := o.mirrorOf(good, 0)
	commit := o.jobCommit(r, o.Run("rev-parse", "HEAD"), "x\n")
	host := strings.TrimPrefix(good.URL, "http://")
	for name, remote := range map[string]Repo{
		"none":            {URL: good.URL},
		"wrong":           {URL: good.URL, Auth: Auth{Token: testToken + "x"}},
		"wrong in URL":    {URL: "http://jo:" + testToken + "@" + host},
		"http to nowhere": {URL: "http://git.example.com/x", Auth: good.Auth},
		"http in URL":     {URL: "http://jo:" + testToken + "@git.example.com/x"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Branches(t.Context(), remote)
			wantError(t, err, ErrAuth)
			wantError(t, Push(t.Context(), r.Git, PushOptions{Remote: remote, Commit: commit, Branch: "bot/x"}), ErrAuth)
			_, err = Fetch(t.Context(), r.Git, remote, "main")
			wantError(t, err, ErrAuth)
			_, err = Mirror(t.Context(), o.mirrorDir(), remote, MirrorOptions{}, o.env())
			wantError(t, err, ErrAuth)
			if strings.Contains(err.Error(), "jo") {
				t.Errorf("the user is in %q", err)
			}
		})
	}
	inURL := Repo{URL: "http://" + tokenUser + ":" + testToken + "@" + host}
	if _, _, err := Branches(t.Context(), inURL); err != nil {
		t.Error(err)
	}
}

func TestRedirectsStayWithTheServer(t *testing.T) {
	o := newOrigin(t)
	good := o.overHTTP(nil)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("another server was asked")
	}))
	defer elsewhere.Close()
	away := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/x", http.StatusFound))
	defer away.Close()
	_, _, err := Branches(t.Context(), Repo{URL: away.URL + "/origin.git", Auth: good.Auth})
	wantError(t, err, ErrUnreachable)
}

func TestSSHChecksTheHostAndTheKey(t *testing.T) {
	o := newOrigin(t)
	remote, dir := o.overSSH()
	list := func(change func(*Repo)) error {
		changed := remote
		change(&changed)
		_, _, err := Branches(t.Context(), changed)
		return err
	}
	must(t, list(func(*Repo) {}))
	must(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600))
	known, err := os.ReadFile(filepath.Join(dir, "known"))
	must(t, err)
	other, err := os.ReadFile(filepath.Join(dir, "user.pub"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "changed"), []byte(strings.Fields(string(known))[0]+" "+string(other)), 0o600))
	for name, change := range map[string]func(*Repo){
		"unknown host":     func(r *Repo) { r.Auth.KnownHosts = filepath.Join(dir, "empty") },
		"changed host":     func(r *Repo) { r.Auth.KnownHosts = filepath.Join(dir, "changed") },
		"no file of hosts": func(r *Repo) { r.Auth.KnownHosts = filepath.Join(dir, "missing") },
		"no known hosts":   func(r *Repo) { r.Auth.KnownHosts = "" },
		"no key":           func(r *Repo) { r.Auth.SSHKey = "" },
		"wrong key":        func(r *Repo) { r.Auth.SSHKey = filepath.Join(dir, "host") },
		"locked key":       func(r *Repo) { r.Auth.SSHKey = filepath.Join(dir, "locked") },
		"wrong passphrase": func(r *Repo) { r.Auth.SSHKey, r.Auth.SSHPassphrase = filepath.Join(dir, "locked"), testToken },
		"no agent":         func(r *Repo) { r.Auth.SSHKey, r.Auth.SSHAgent = "", filepath.Join(dir, "missing") },
	} {
		t.Run(name, func(t *testing.T) { wantError(t, list(change), ErrAuth) })
	}
	must(t, list(func(r *Repo) { r.Auth.SSHKey, r.Auth.SSHPassphrase = filepath.Join(dir, "locked"), "a passphrase" }))
	wantError(t, list(func(r *Repo) { r.URL += "x" }), ErrNotFound)

	socket := startAgent(t)
	add := exec.Command("ssh-add", "-q", filepath.Join(dir, "user"))
	add.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("ssh-add: %v %s", err, out)
	}
	must(t, list(func(r *Repo) { r.Auth.SSHKey, r.Auth.SSHAgent = "", socket }))
	short := strings.TrimPrefix(remote.URL, "ssh://")
	user, rest, _ := strings.Cut(short, "@")
	host, path, _ := strings.Cut(rest, "/")
	must(t, list(func(r *Repo) { r.URL = user + "@[" + host + "]:/" + path }))
}

// startAgent starts an ssh agent and returns its socket.
func startAgent(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("ssh-agent")
	if err != nil {
		t.Skip("ssh-agent is not installed")
	}
	dir, err := os.MkdirTemp("", "a") //nolint:usetesting // a socket's path must be short
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	cmd := exec.Command(program, "-D", "-a", socket)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for {
		if c, err := net.Dial("unix", socket); err == nil { // the file exists before the agent listens
			must(t, c.Close())
			return socket
		}
		if t.Context().Err() != nil {
			t.Fatal("the agent does not start")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestHangingServerEndsWithContext(t *testing.T) {
	o := newOrigin(t)
	address := silent(t)
	key := filepath.Join(o.Home, "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Skipf("ssh-keygen: %v %s", err, out)
	}
	public, err := os.ReadFile(key + ".pub")
	must(t, err)
	_, port, _ := strings.Cut(address, ":")
	must(t, os.WriteFile(filepath.Join(o.Home, "known"), []byte("[127.0.0.1]:"+port+" "+string(public)), 0o600))
	slow := filepath.Join(o.Home, "git")
	must(t, os.WriteFile(slow, []byte("#!/bin/sh\nsleep 1000\n"), 0o755))
	for name, remote := range map[string]Repo{
		"http": {URL: "http://" + address + "/x"},
		"ssh":  {URL: "ssh://git@" + address + "/x", Auth: Auth{SSHKey: key, KnownHosts: filepath.Join(o.Home, "known")}},
		"file": o.remote(),
	} {
		t.Run(name, func(t *testing.T) {
			env := o.env()
			env.GitProgram = slow
			for _, do := range []func(context.Context) error{
				func(ctx context.Context) error {
					if name == "file" {
						return ctx.Err()
					}
					_, _, err := Branches(ctx, remote)
					return err
				},
				func(ctx context.Context) error {
					_, err := Mirror(ctx, o.mirrorDir(), remote, MirrorOptions{}, env)
					return err
				},
				func(ctx context.Context) error {
					r, err := gitops.Open(o.Root, env)
					must(t, err)
					return Push(ctx, r.Git, PushOptions{Remote: remote, Commit: o.Run("rev-parse", "HEAD"), Branch: "b"})
				},
			} {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				err := do(ctx)
				cancel()
				if err != nil {
					wantError(t, err, context.DeadlineExceeded)
				}
			}
		})
	}
	if _, _, err := Branches(t.Context(), Repo{URL: "http://127.0.0.1:1/x"}); err != nil {
		wantError(t, err, ErrUnreachable)
	}
}

func TestFetchCommitLeavesNoReference(t *testing.T) {
	for _, kind := range nightly.Sample([]string{"file", "http"}, 2, 0) {
		t.Run(kind, func(t *testing.T) {
			o := newOrigin(t)
			remote := o.remotes(t)[kind]()
			mine := filepath.Join(filepath.Dir(o.Root), "mine")
			o.Run("clone", "-q", o.bare.Root, mine)
			r, err := gitops.Open(mine, o.env())
			must(t, err)
			tip := o.advance("bot/x", "a", "x\n")
			before := o.Sandbox.At(mine).Run("for-each-ref")
			hash, err := Fetch(t.Context(), r.Git, remote, "bot/x")
			if err != nil || hash != tip {
				t.Fatalf("%s, %v", hash, err)
			}
			if after := o.Sandbox.At(mine).Run("for-each-ref"); after != before {
				t.Errorf("references:\n%s", after)
			}
			message, err := r.Message(hash)
			if err != nil || message != "base\n" {
				t.Errorf("%q %v", message, err)
			}
			o.Sandbox.At(mine).Run("rev-list", "--objects", hash)
			_, err = Fetch(t.Context(), r.Git, remote, "nothing")
			wantError(t, err, ErrNotFound)
		})
	}
}

func TestPushFromWorktreeSendsMissingObjects(t *testing.T) {
	o := newOrigin(t)
	r, err := gitops.Open(o.Root, o.env())
	must(t, err)
	o.Write("x/y/z", "1\n")
	o.Commit()
	o.Run("checkout", "-q", "-b", "merge", "HEAD~1")
	o.Write("m", "1\n")
	o.Commit()
	o.Run("merge", "-q", "--no-edit", "main")
	tip := o.Run("rev-parse", "HEAD")
	must(t, Push(t.Context(), r.Git, PushOptions{Remote: o.remote(), Commit: tip, Branch: "bot/x"}))
	o.bare.Fsck()
	env := o.env()
	env.GitProgram = ""
	bare, err := gitops.Open(o.Root, env)
	must(t, err)
	wantUnsupported(t, Push(t.Context(), bare.Git, PushOptions{Remote: o.remote(), Commit: tip, Branch: "bot/y"}))
	empty := filepath.Join(filepath.Dir(o.Root), "empty.git")
	o.Run("init", "-q", "--bare", empty)
	must(t, Push(t.Context(), r.Git, PushOptions{Remote: Repo{URL: empty}, Commit: tip, Branch: "bot/x"}))
	o.Sandbox.At(empty).Fsck()
}
