package gitops

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// jobCommit commits a change to the branch bot/x of a mirror, as a job does.
func (o *origin) jobCommit(r *Repo, parent, content string) string {
	o.t.Helper()
	wt, err := r.AddWorktree(o.t.Context(), filepath.Join(o.t.TempDir(), "wt"), parent)
	must(o.t, err)
	o.sandbox.at(wt.Root()).write("a", content, "d/e/new", content)
	opts := options(parent)
	opts.Branch, opts.Force = "bot/x", true
	done, err := wt.Commit(o.t.Context(), measure(o.t, wt, parent), opts)
	must(o.t, err)
	must(o.t, r.RemoveWorktree(o.t.Context(), wt.Root()))
	return done.Hash
}

func TestAPushMovesOneBranchUnderALease(t *testing.T) {
	for depth, kinds := range [][]string{{"file", "path", "ssh"}, {"file", "http"}} {
		for _, kind := range kinds {
			t.Run(kind, func(t *testing.T) {
				o := newOrigin(t)
				remote := o.remotes(t)[kind]()
				r := o.mirrorOf(remote, depth)
				base := o.run("rev-parse", "HEAD")
				first := o.jobCommit(r, base, "first\n")
				second := o.jobCommit(r, base, "second\n")
				before := o.bare.run("for-each-ref")
				push := func(commit, expect string) error {
					return r.Push(t.Context(), PushOptions{Remote: remote, Commit: commit, Branch: "bot/x", Expect: expect})
				}
				wantError(t, push(first, base), ErrLease)
				must(t, push(first, ""))
				must(t, push(first, "")) // it is there
				wantError(t, push(second, ""), ErrLease)
				wantError(t, push(second, base), ErrLease)
				must(t, push(second, first))
				o.bare.fsck()
				if at := o.at("bot/x"); at != second {
					t.Errorf("the branch is at %q", at)
				}
				o.bare.run("update-ref", "-d", "refs/heads/bot/x")
				if after := o.bare.run("for-each-ref"); after != before {
					t.Errorf("more was moved:\n%s\n%s", before, after)
				}
			})
		}
	}
}

func TestABranchThatMovesAfterItWasListedIsNotOverwritten(t *testing.T) {
	o := newOrigin(t)
	var move func()
	remote := o.overHTTP(func(r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, receivePack) && move != nil {
			move()
			move = nil
		}
	})
	r := o.mirrorOf(remote, 0)
	base := o.run("rev-parse", "HEAD")
	commit := o.jobCommit(r, base, "x\n")
	o.bare.run("branch", "moving", base)
	other := o.run("rev-parse", "HEAD~1")
	for _, step := range []struct{ expect, then string }{{"", "moving2"}, {base, "moving"}} {
		move = func() { o.bare.run("update-ref", "refs/heads/"+step.then, other) }
		err := r.Push(t.Context(), PushOptions{Remote: remote, Commit: commit, Branch: step.then, Expect: step.expect})
		wantError(t, err, ErrLease)
		if at := o.at(step.then); at != other {
			t.Errorf("%s is at %s", step.then, at)
		}
	}
	move = func() { o.bare.run("update-ref", "-d", "refs/heads/moving") }
	wantError(t, r.Push(t.Context(), PushOptions{Remote: remote, Commit: commit, Branch: "moving", Expect: other}), ErrLease)
}

func TestAServerThatRejectsIsQuoted(t *testing.T) {
	for _, kind := range []string{"file", "http", "ssh"} {
		t.Run(kind, func(t *testing.T) {
			o := newOrigin(t)
			remote := o.remotes(t)[kind]()
			r := o.mirrorOf(remote, 0)
			base := o.run("rev-parse", "HEAD")
			commit := o.jobCommit(r, base, "x\n")
			o.hook("update", "echo 'branches of bots are protected' >&2; exit 1\n")
			err := r.Push(t.Context(), PushOptions{Remote: remote, Commit: commit, Branch: "bot/x"})
			wantError(t, err, ErrRejected)
			if !strings.Contains(err.Error(), "branches of bots are protected") {
				t.Errorf("the server's words are not in %q", err)
			}
			must(t, os.Remove(filepath.Join(o.bare.root, "hooks", "update")))
			mark := filepath.Join(o.home, "ran")
			o.hook("post-receive", "sleep 0.2; echo done >"+mark+"\n")
			must(t, r.Push(t.Context(), PushOptions{Remote: remote, Commit: commit, Branch: "bot/x"}))
			if _, err := os.Stat(mark); err != nil {
				t.Error("the server's work after a push was cut off")
			}
		})
	}
}

func TestAPushWhoseAnswerIsLostIsFoundOut(t *testing.T) {
	o := newOrigin(t)
	whole := o.overHTTP(nil)
	r := o.mirrorOf(whole, 0)
	commit := o.jobCommit(r, o.run("rev-parse", "HEAD"), "x\n")
	lossy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		out, err := http.NewRequest(req.Method, strings.TrimSuffix(whole.URL, "/origin.git")+req.URL.String(), req.Body)
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
		_, _ = io.Copy(w, res.Body)
	}))
	defer lossy.Close()
	remote := Remote{URL: lossy.URL + "/origin.git", Auth: whole.Auth}
	must(t, r.Push(t.Context(), PushOptions{Remote: remote, Commit: commit, Branch: "bot/x"}))
	if at := o.at("bot/x"); at != commit {
		t.Errorf("the branch is at %q", at)
	}
}

func TestCredentialsThatAreMissingOrWrong(t *testing.T) {
	o := newOrigin(t)
	good := o.overHTTP(nil)
	r := o.mirrorOf(good, 0)
	commit := o.jobCommit(r, o.run("rev-parse", "HEAD"), "x\n")
	host := strings.TrimPrefix(good.URL, "http://")
	for name, remote := range map[string]Remote{
		"none":            {URL: good.URL},
		"wrong":           {URL: good.URL, Auth: Auth{Token: testToken + "x"}},
		"wrong in URL":    {URL: "http://jo:" + testToken + "@" + host},
		"http to nowhere": {URL: "http://git.example.com/x", Auth: good.Auth},
		"http in URL":     {URL: "http://jo:" + testToken + "@git.example.com/x"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := RemoteBranches(t.Context(), remote)
			wantError(t, err, ErrAuth)
			wantError(t, r.Push(t.Context(), PushOptions{Remote: remote, Commit: commit, Branch: "bot/x"}), ErrAuth)
			_, err = r.FetchCommit(t.Context(), remote, "main")
			wantError(t, err, ErrAuth)
			_, err = Mirror(t.Context(), o.mirrorDir(), remote, MirrorOptions{}, o.env())
			wantError(t, err, ErrAuth)
			if strings.Contains(err.Error(), "jo") {
				t.Errorf("the user is in %q", err)
			}
		})
	}
	inURL := Remote{URL: "http://" + tokenUser + ":" + testToken + "@" + host}
	if _, _, err := RemoteBranches(t.Context(), inURL); err != nil {
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
	_, _, err := RemoteBranches(t.Context(), Remote{URL: away.URL + "/origin.git", Auth: good.Auth})
	wantError(t, err, ErrUnreachable)
}

func TestSSHChecksTheHostAndTheKey(t *testing.T) {
	o := newOrigin(t)
	remote, dir := o.overSSH()
	list := func(change func(*Remote)) error {
		changed := remote
		change(&changed)
		_, _, err := RemoteBranches(t.Context(), changed)
		return err
	}
	must(t, list(func(*Remote) {}))
	must(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600))
	known, err := os.ReadFile(filepath.Join(dir, "known"))
	must(t, err)
	other, err := os.ReadFile(filepath.Join(dir, "user.pub"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "changed"), []byte(strings.Fields(string(known))[0]+" "+string(other)), 0o600))
	for name, change := range map[string]func(*Remote){
		"unknown host":     func(r *Remote) { r.Auth.KnownHosts = filepath.Join(dir, "empty") },
		"changed host":     func(r *Remote) { r.Auth.KnownHosts = filepath.Join(dir, "changed") },
		"no file of hosts": func(r *Remote) { r.Auth.KnownHosts = filepath.Join(dir, "missing") },
		"no known hosts":   func(r *Remote) { r.Auth.KnownHosts = "" },
		"no key":           func(r *Remote) { r.Auth.SSHKey = "" },
		"wrong key":        func(r *Remote) { r.Auth.SSHKey = filepath.Join(dir, "host") },
		"locked key":       func(r *Remote) { r.Auth.SSHKey = filepath.Join(dir, "locked") },
		"wrong passphrase": func(r *Remote) { r.Auth.SSHKey, r.Auth.SSHPassphrase = filepath.Join(dir, "locked"), testToken },
		"no agent":         func(r *Remote) { r.Auth.SSHKey, r.Auth.SSHAgent = "", filepath.Join(dir, "missing") },
	} {
		t.Run(name, func(t *testing.T) { wantError(t, list(change), ErrAuth) })
	}
	must(t, list(func(r *Remote) { r.Auth.SSHKey, r.Auth.SSHPassphrase = filepath.Join(dir, "locked"), "a passphrase" }))
	wantError(t, list(func(r *Remote) { r.URL += "x" }), ErrNotFound)

	socket := startAgent(t)
	add := exec.Command("ssh-add", "-q", filepath.Join(dir, "user"))
	add.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("ssh-add: %v %s", err, out)
	}
	must(t, list(func(r *Remote) { r.Auth.SSHKey, r.Auth.SSHAgent = "", socket }))
	short := strings.TrimPrefix(remote.URL, "ssh://")
	user, rest, _ := strings.Cut(short, "@")
	host, path, _ := strings.Cut(rest, "/")
	must(t, list(func(r *Remote) { r.URL = user + "@[" + host + "]:/" + path }))
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
		if _, err := os.Stat(socket); err == nil {
			return socket
		}
		if t.Context().Err() != nil {
			t.Fatal("the agent does not start")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestAServerThatNeverAnswersEndsWithTheContext(t *testing.T) {
	o := newOrigin(t)
	address := silent(t)
	key := filepath.Join(o.home, "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Skipf("ssh-keygen: %v %s", err, out)
	}
	public, err := os.ReadFile(key + ".pub")
	must(t, err)
	_, port, _ := strings.Cut(address, ":")
	must(t, os.WriteFile(filepath.Join(o.home, "known"), []byte("[127.0.0.1]:"+port+" "+string(public)), 0o600))
	slow := filepath.Join(o.home, "git")
	must(t, os.WriteFile(slow, []byte("#!/bin/sh\nsleep 1000\n"), 0o755))
	for name, remote := range map[string]Remote{
		"http": {URL: "http://" + address + "/x"},
		"ssh":  {URL: "ssh://git@" + address + "/x", Auth: Auth{SSHKey: key, KnownHosts: filepath.Join(o.home, "known")}},
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
					_, _, err := RemoteBranches(ctx, remote)
					return err
				},
				func(ctx context.Context) error {
					_, err := Mirror(ctx, o.mirrorDir(), remote, MirrorOptions{}, env)
					return err
				},
				func(ctx context.Context) error {
					r, err := Open(o.root, env)
					must(t, err)
					return r.Push(ctx, PushOptions{Remote: remote, Commit: o.run("rev-parse", "HEAD"), Branch: "b"})
				},
			} {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				err := do(ctx)
				cancel()
				if err != nil {
					wantError(t, err, context.DeadlineExceeded)
				}
			}
		})
	}
	if _, _, err := RemoteBranches(t.Context(), Remote{URL: "http://127.0.0.1:1/x"}); err != nil {
		wantError(t, err, ErrUnreachable)
	}
}

func TestFetchCommitLeavesNoReference(t *testing.T) {
	for _, kind := range []string{"file", "http"} {
		t.Run(kind, func(t *testing.T) {
			o := newOrigin(t)
			remote := o.remotes(t)[kind]()
			mine := filepath.Join(filepath.Dir(o.root), "mine")
			o.run("clone", "-q", o.bare.root, mine)
			r, err := Open(mine, o.env())
			must(t, err)
			tip := o.advance("bot/x", "a", "x\n")
			before := o.sandbox.at(mine).run("for-each-ref")
			hash, err := r.FetchCommit(t.Context(), remote, "bot/x")
			if err != nil || hash != tip {
				t.Fatalf("%s, %v", hash, err)
			}
			if after := o.sandbox.at(mine).run("for-each-ref"); after != before {
				t.Errorf("references:\n%s", after)
			}
			message, err := r.Message(hash)
			if err != nil || message != "base\n" {
				t.Errorf("%q %v", message, err)
			}
			o.sandbox.at(mine).run("rev-list", "--objects", hash)
			_, err = r.FetchCommit(t.Context(), remote, "nothing")
			wantError(t, err, ErrNotFound)
		})
	}
}

func TestAPushFromAWorkTreeSendsAllThatIsMissing(t *testing.T) {
	o := newOrigin(t)
	r := o.open()
	o.write("x/y/z", "1\n")
	o.commit()
	o.run("checkout", "-q", "-b", "merge", "HEAD~1")
	o.write("m", "1\n")
	o.commit()
	o.run("merge", "-q", "--no-edit", "main")
	tip := o.run("rev-parse", "HEAD")
	must(t, r.Push(t.Context(), PushOptions{Remote: o.remote(), Commit: tip, Branch: "bot/x"}))
	o.bare.fsck()
	env := o.env()
	env.GitProgram = ""
	bare, err := Open(o.root, env)
	must(t, err)
	wantUnsupported(t, bare.Push(t.Context(), PushOptions{Remote: o.remote(), Commit: tip, Branch: "bot/y"}))
	empty := filepath.Join(filepath.Dir(o.root), "empty.git")
	o.run("init", "-q", "--bare", empty)
	must(t, r.Push(t.Context(), PushOptions{Remote: Remote{URL: empty}, Commit: tip, Branch: "bot/x"}))
	o.sandbox.at(empty).fsck()
}
