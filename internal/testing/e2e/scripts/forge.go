package scripts

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/millhand/millhand/internal/testing/forgetest"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// forgeKey is the key of a script's forge.
type forgeKey struct{}

func forgeOf(ts *testscript.TestScript) *forgetest.Server {
	return ts.Value(forgeKey{}).(*forgetest.Server)
}

// tokenUses is the number of requests after which a token in a file expires: more than other jobs send
// between a request that is refused and its repetition.
const tokenUses = 12

// serveForge serves the API of a forge beside its repositories. With @FILE, the token is the last line
// of the file, and expires after some requests.
func serveForge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args) > 4 {
		ts.Fatalf("usage: forge KIND DIR TOKEN|@FILE [LOG]")
	}
	s := forgeOf(ts)
	accepts := func(token string) bool { return token == args[2] }
	if tokens, changes := strings.CutPrefix(args[2], "@"); changes {
		tokens = ts.MkAbs(tokens)
		var uses atomic.Int64
		accepts = func(token string) bool {
			valid := isLast(tokens, token)
			if valid && uses.Add(1)%tokenUses == 0 {
				appendLine(tokens, "expired")
			}
			return valid
		}
	}
	s.Tokens.Accepts = accepts
	populate(ts, s, args[0], args[1], accepts)
	if len(args) == 4 {
		f, err := os.Create(ts.MkAbs(args[3]))
		ts.Check(err)
		ts.Defer(func() { _ = f.Close() })
		s.Log = f
	}
	server := httptest.NewServer(s)
	ts.Defer(server.Close)
	ts.Setenv("GIT_SERVER", server.URL)
	ts.Setenv("GIT_HOST", strings.TrimPrefix(server.URL, "http://"))
}

// populate gives a forge the repositories below a directory, which are at OWNER/NAME, and serves them
// to who has a token.
func populate(ts *testscript.TestScript, s *forgetest.Server, kind, below string, accepts func(token string) bool) {
	dir := ts.MkAbs(below)
	s.Kind, s.Users = kind, []string{"ada", "bob"}
	if s.Tokens.Bot == "" {
		s.User = "mill"
	}
	s.Resolve = func(repo, branch string) string {
		out, err := exec.Command("git", "-C", filepath.Join(dir, repo+".git"), "rev-parse", "--verify", "-q", "refs/heads/"+branch).Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	s.Commit = func(c forgetest.Commit) (string, error) {
		return gittest.CommitAsForge(filepath.Join(dir, c.Repo+".git"), c.Branch, c.Parent, c.Message, c.Files, c.Deleted)
	}
	s.Message = func(repo, sha string) (message, parent string) {
		out, err := exec.Command("git", "-C", filepath.Join(dir, repo+".git"), "log", "-1", "--format=%P%n%B", sha).Output()
		if err != nil {
			return "", ""
		}
		parent, message, _ = strings.Cut(string(out), "\n")
		return message, parent
	}
	s.Compare = func(repo, base, sha string) string {
		out, err := exec.Command("git", "-C", filepath.Join(dir, repo+".git"), "diff", base+"..."+sha).Output()
		if err != nil {
			return ""
		}
		return string(out)
	}
	var forks sync.Map
	s.Forked = func(fork, parent string) { forks.Store(fork, [2]string{parent, fork}) }
	backend := gitBackend(ts, below)
	s.Other = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, token, _ := r.BasicAuth(); !accepts(token) {
			unauthorized(w)
			return
		}
		if at := strings.SplitAfter(r.URL.Path, ".git/"); strings.Contains(r.URL.String(), "git-receive-pack") && exists(filepath.Join(dir, at[0], "no-push")) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		// A new fork is empty at first, as on forges.
		if parent, ok := forks.LoadAndDelete(strings.Split(strings.TrimPrefix(r.URL.Path, "/"), ".git/")[0]); ok {
			defer copyFork(dir, parent.([2]string))
		}
		backend.ServeHTTP(w, r)
	})
	repos, err := filepath.Glob(filepath.Join(dir, "*", "*.git"))
	ts.Check(err)
	deeper, err := filepath.Glob(filepath.Join(dir, "*", "*", "*.git"))
	ts.Check(err)
	for _, repo := range append(repos, deeper...) {
		owner, err := filepath.Rel(dir, filepath.Dir(repo))
		ts.Check(err)
		s.Add(forgetest.Repo{Owner: filepath.ToSlash(owner), Name: strings.TrimSuffix(filepath.Base(repo), ".git"), NoPush: exists(filepath.Join(repo, "no-push"))})
	}
}

// copyFork makes the repository of a fork, given its parent's path and its own.
func copyFork(dir string, paths [2]string) {
	to := filepath.Join(dir, paths[1]+".git")
	if err := exec.Command("git", "clone", "-q", "--bare", filepath.Join(dir, paths[0]+".git"), to).Run(); err != nil {
		panic(err)
	}
	if err := exec.Command("git", "-C", to, "config", "http.receivepack", "true").Run(); err != nil {
		panic(err)
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// scopeForge makes the token of the forge a classic one of GitHub with scopes, or, with
// -bot, one of an app.
func scopeForge(ts *testscript.TestScript, neg bool, args []string) {
	s := forgeOf(ts)
	if neg || s.Kind != "" {
		ts.Fatalf("usage, before forge: forge-scopes [SCOPE...] or forge-scopes -bot NAME")
	}
	if len(args) == 2 && args[0] == "-bot" {
		s.Tokens.Bot = args[1]
		return
	}
	s.Tokens.Scopes = append([]string{}, args...)
}

// changeRepo changes a repository of a script's forge, or adds it.
func changeRepo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || !strings.Contains(args[0], "/") {
		ts.Fatalf("usage: forge-repo OWNER/NAME [archived|fork|empty|language=NAME|TOPIC]...")
	}
	forgeOf(ts).Change(args[0], func(r *forgetest.Repo) {
		for _, what := range args[1:] {
			language, isLanguage := strings.CutPrefix(what, "language=")
			switch {
			case what == "archived":
				r.Archived = true
			case what == "fork":
				r.Parent = "other/original"
			case what == "empty":
				r.Empty = true
			case isLanguage:
				r.Language = language
			default:
				r.Topics = append(r.Topics, what)
			}
		}
	})
}

func failForge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: forge-fails N FAULT METHOD SUFFIX")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	forgeOf(ts).Fail(n, forgetest.Fault(args[1]), args[2], args[3])
}

// pullRequests prints the pull requests: the commit of each must be that of its branch.
func pullRequests(ts *testscript.TestScript, neg bool, args []string) {
	s := forgeOf(ts)
	for _, p := range s.Pulls() {
		if now := s.Resolve(p.Head, p.Branch); neg || p.State == "open" && now == "" {
			ts.Fatalf("pull request %d has no branch %s", p.Number, p.Branch)
		}
		fmt.Fprintf(ts.Stdout(), "%s %d %s %s->%s draft=%t labels=%v reviewers=%v assignees=%v: %s\n", p.Repo, p.Number, p.State, p.Branch, p.Base, p.Draft, p.Labels, p.Reviewers, p.Assignees, p.Title)
		if len(args) > 0 {
			fmt.Fprintln(ts.Stdout(), p.Body)
		}
	}
}

// setForge changes a pull request as people and CI do.
func setForge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: forge-set REPO NUMBER KEY=VALUE...")
	}
	number, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	found := false
	forgeOf(ts).Set(args[0], number, func(p *forgetest.Pull) {
		found = true
		for _, arg := range args[2:] {
			switch key, value, _ := strings.Cut(arg, "="); key {
			case "checks":
				p.Checks = value
			case "conflict":
				p.Conflict = value == "true"
			case "review":
				p.Review = value
			case "minutes":
				p.Minutes, _ = strconv.Atoi(value)
			case "created":
				p.Created = value
			case "draft":
				p.Draft = value == "true"
			case "state":
				p.State = value
			case "label":
				p.Labels = strings.Fields(value)
			case "updated":
				p.Updated = value
			case "branch":
				p.Branch = value
			default:
				ts.Fatalf("unknown key %s", key)
			}
		}
	})
	if !found {
		ts.Fatalf("no pull request %s of %s", args[1], args[0])
	}
}

// forgeNotes prints the comments.
func forgeNotes(ts *testscript.TestScript, neg bool, _ []string) {
	for _, n := range forgeOf(ts).Notes() {
		if neg {
			ts.Fatalf("there is a comment: %s", n.Body)
		}
		where := ""
		if n.Path != "" {
			where = fmt.Sprintf(" on %s:%d resolved=%t", n.Path, n.Line, n.Resolved)
		}
		fmt.Fprintf(ts.Stdout(), "%s %d issue=%t %s%s: %s\n", n.Repo, n.Number, n.Issue, n.Author, where, n.Body)
	}
}

// forgeIssues prints the issues that were created or labelled.
func forgeIssues(ts *testscript.TestScript, neg bool, _ []string) {
	for _, i := range forgeOf(ts).Issues() {
		if neg {
			ts.Fatalf("there is an issue: %s", i.Title)
		}
		fmt.Fprintf(ts.Stdout(), "%s %d labels=%v %s: %s\n%s\n", i.Repo, i.Number, i.Labels, i.Author, i.Title, i.Body)
	}
}

// forgePull adds a pull request for main.
func forgePull(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: forge-pull REPO NUMBER BRANCH [HEAD]")
	}
	number, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	p := forgetest.Pull{Repo: args[0], Head: args[0], Number: number, Branch: args[2], Base: "main", Title: "Fix", State: "open"}
	if len(args) > 3 {
		p.Head = args[3]
	}
	forgeOf(ts).AddPull(p)
}
