package runner

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/forge/connect"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/testing/forgetest"
	"github.com/millhand/millhand/internal/testing/gittest"
	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tasks"
)

// onForge gives the stage's repository a remote, whose repository acme/web is on a GitHub server.
func (s *stage) onForge() (server *forgetest.Server, url string) {
	s.t.Helper()
	url = s.remote()
	dir := strings.TrimPrefix(url, "file://")
	server = &forgetest.Server{Kind: "github", User: "mill", Users: []string{"ada"}}
	server.Add(forgetest.Repo{Owner: "acme", Name: "web"})
	server.Resolve = func(_, branch string) string {
		hash, err := gitOf(dir, "rev-parse", "-q", "--verify", "refs/heads/"+branch)
		if err != nil {
			return ""
		}
		return hash
	}
	server.Commit = func(c forgetest.Commit) (string, error) {
		return gittest.CommitAsForge(dir, c.Branch, c.Parent, c.Message, c.Files, c.Deleted)
	}
	api := httptest.NewServer(server)
	s.t.Cleanup(api.Close)
	client, err := connect.Client(forge.Options{
		Kind: forge.GitHub, Server: api.URL, Now: time.Now, Sleep: func(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) },
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.forge = func(string) (*forge.Client, forge.Path, error) {
		return client, forge.Path{Owner: "acme", Name: "web"}, nil
	}
	return server, url
}

// asksForAll is a model that writes a file and requests four changes of the forge, of which the task allows three.
const asksForAll = "  - {calls: [{tool: write, args: {filePath: a, content: x}}], usage: {input: 10, output: 1}}\n" +
	`  - {text: '{"message": "Wrote a.", "requests": [{"label": "bug"}, {"issue": {"title": "Next", "body": "More."}}, {"comment": "Please look."}, {"label": "other"}]}', usage: {input: 10, output: 1}}` + "\n"

// allPublished is a job that publishes everything that a task can publish, with a commit of the forge.
func (s *stage) allPublished() tasks.Job {
	j := s.job("a")
	j.Publish, j.Pull = tasks.PublishPR, &tasks.PullRequest{Title: "Write a", Draft: true, Labels: []string{"bot"}, Reviewers: []string{"ada"}}
	j.Commit.Sign, j.Comment = tasks.SignAPI, &tasks.Comment{Number: 70, Issue: true}
	j.Requests = &tasks.Requests{Labels: []string{"bug"}, TitlePrefix: "[bot] ", MaxLabels: 1, MaxIssues: 1, MaxComments: 1}
	j.Verify = []tasks.Verify{{Name: "v", Run: "test -e a", Time: time.Minute}}
	return j
}

// A job leaves on its forge what its task asks for, each once: a commit with the forge's signature, a pull request, a comment
// and what the agent has requested. Its events record all of it.
func TestEverythingOfAJobIsPublished(t *testing.T) {
	s := setUp(t)
	server, url := s.onForge()
	writeFile(t, filepath.Join(s.repo, "README"), "text\n")
	git(t, s.repo, "add", "-A")
	git(t, s.repo, "commit", "-q", "-m", "more")
	git(t, s.repo, "push", "-q", "origin", "main")
	s.opts.Equipment.OpenModel = plays(t, asksForAll)
	s.opts.Sandbox.Warning, s.opts.Warnings = "commands run without a sandbox", []string{"a warning of the command"}
	s.opts.About = About{
		Invocation: &event.Invocation{Dir: "/dir", Args: []string{"m.yaml"}}, Version: "1.2.3", Prices: &event.PriceTable{Dated: "2029-01-01", Version: "v"},
		StartedBy: &event.StartedBy{CI: "github", RunURL: "https://ci.example/1"}, Head: func(job string) string { return "chain of " + job },
	}
	plan := &tasks.Plan{
		Name: "m", Manifests: []string{"m.yaml"}, Hash: "plan", Parallel: 1, Jobs: []tasks.Job{s.allPublished()}, Budget: tasks.Budget{CostUSD: money.Dollar},
		Policies: policy.Set{{Name: "p.yaml", SHA256: "sum"}}, Sources: []tasks.Listed{{Source: tasks.Source{Host: "h.example", Owner: "acme"}}},
		Hooks: []tasks.Hook{hookOf(tasks.RunStart, "true"), hookOf(tasks.AfterCommit, "true"), hookOf(tasks.JobEnd, "true"), hookOf(tasks.RunEnd, "true")},
	}
	if exit := s.run(t.Context(), plan); exit != event.ExitOK {
		t.Fatalf("exit %d: %s", exit, s.reason("a"))
	}
	s.matches("published")
	s.published(server, url)
	before := git(t, s.repo, "rev-parse", "millhand/a")
	done, err := s.reverts(plan, history.Revert{})
	if err != nil {
		t.Fatal(err)
	}
	s.matches("reverted")
	want := Reverted{Job: "a", Files: []string{"a"}, Branch: "millhand/a", Commit: git(t, s.repo, "rev-parse", "millhand/a"), Previous: before, Pushed: url}
	if diff := cmp.Diff(want, done); diff != "" || at(t, url, "millhand/a") != before {
		t.Errorf("the remote's branch is at %s; reverted (-want +got):\n%s", at(t, url, "millhand/a"), diff)
	}
}

// A job that was interrupted after its commit reports that it made no requests, and the process that resumes the run only publishes it.
func TestAnInterruptedJobIsPublishedLater(t *testing.T) {
	s := setUp(t)
	server, url := s.onForge()
	s.opts.Equipment.OpenModel = plays(t, asksForAll)
	plan := &tasks.Plan{Name: "m", Parallel: 1, Jobs: []tasks.Job{s.allPublished()}}
	if exit := s.run(s.signalAt(func(e event.Event) bool { return e.Type == event.Committed }), plan); exit != event.ExitTerminate {
		t.Fatalf("exit %d: %s", exit, s.reason("a"))
	}
	s.matches("interrupted")
	if pulls, notes := server.Pulls(), server.Notes(); len(pulls)+len(notes) > 0 || at(t, url, "millhand/a") != "" {
		t.Errorf("published: %v, %v", pulls, notes)
	}
	var err error
	if s.opts.History, err = history.Decide(s.past(), history.Order{Do: history.Resume{}}); err != nil {
		t.Fatal(err)
	}
	s.events, s.opts.Equipment.OpenModel = nil, nil
	if exit := s.run(t.Context(), plan); exit != event.ExitOK {
		t.Fatalf("exit %d: %s", exit, s.reason("a"))
	}
	s.matches("resumed")
	s.published(server, url)
}

// A process that is interrupted when the forge has made the job's commit leaves that one to the next process, which publishes it, and
// does not request another, also if the branch of the forge's commit is gone.
func TestACommitOfTheForgeIsMadeOnce(t *testing.T) {
	s := setUp(t)
	server, url := s.onForge()
	made, commit := 0, server.Commit
	server.Commit = func(c forgetest.Commit) (string, error) {
		made++
		return commit(c)
	}
	s.opts.Equipment.OpenModel = plays(t, asksForAll)
	plan := &tasks.Plan{Name: "m", Parallel: 1, Jobs: []tasks.Job{s.allPublished()}}
	if exit := s.run(s.signalAt(func(event.Event) bool { return len(s.of(event.Committed)) == 2 }), plan); exit != event.ExitTerminate {
		t.Fatalf("exit %d: %s", exit, s.reason("a"))
	}
	git(t, strings.TrimPrefix(url, "file://"), "update-ref", "-d", "refs/heads/millhand-signing/r1/a") // somebody else has removed it
	if exit := s.continues(plan, s.past(), history.Order{Do: history.Resume{}}); exit != event.ExitOK {
		t.Fatalf("exit %d: %s", exit, s.reason("a"))
	}
	s.published(server, url)
	if made != 1 {
		t.Errorf("the forge has made %d commits", made)
	}
}

// published checks what a job that publishes everything has left.
func (s *stage) published(server *forgetest.Server, url string) {
	s.t.Helper()
	t := s.t
	hash := git(t, s.repo, "rev-parse", "millhand/a")
	if raw := git(t, s.repo, "cat-file", "commit", hash); at(t, url, "millhand/a") != hash || !strings.Contains(raw, "BEGIN PGP SIGNATURE") || !strings.Contains(raw, "\nMillhand-Job: a") {
		t.Errorf("%s is at %s on the remote:\n%s", hash, at(t, url, "millhand/a"), raw)
	}
	if names := git(t, s.repo, "show", "--format=", "--name-only", hash); names != "a" || git(t, s.repo, "rev-parse", hash+"^") != git(t, s.repo, "rev-parse", "main") {
		t.Errorf("the commit changes %s", names)
	}
	if list := git(t, t.TempDir(), "ls-remote", "--heads", url); strings.Contains(list, "millhand-signing") {
		t.Errorf("branches left: %s", list)
	}
	pulls := server.Pulls()
	if len(pulls) != 1 {
		t.Fatalf("%d pull requests", len(pulls))
	}
	p := pulls[0]
	if want := "Wrote a.\n\n| verify | before | after |\n|---|---|---|\n| v | failed (exit code 1) | passed |\n\n<sub>Task a of m · model script:x · profile build · 2 turns · "; !strings.HasPrefix(p.Body, want) {
		t.Errorf("the description is\n%s", p.Body)
	}
	if p.Title != "Write a" || !p.Draft || p.Base != "main" || p.Branch != "millhand/a" || strings.Join(p.Labels, " ") != "bot bug" || strings.Join(p.Reviewers, " ") != "ada" {
		t.Errorf("pull request %+v", p)
	}
	var notes []forgetest.Note
	for _, n := range server.Notes() {
		if n.Kind == "" {
			notes = append(notes, n)
		}
	}
	pull := "Pull request: http"
	if len(notes) != 2 || notes[0].Number != 70 || !strings.Contains(notes[0].Body, "Wrote a.") || !strings.Contains(notes[0].Body, pull) || notes[1].Number != p.Number || !strings.Contains(notes[1].Body, "Please look.") {
		t.Errorf("comments %+v", notes)
	}
	var issues []forgetest.Issue
	for _, i := range server.Issues() {
		if i.Title != "" {
			issues = append(issues, i)
		}
	}
	if len(issues) != 1 || issues[0].Title != "[bot] Next" || !strings.Contains(issues[0].Body, "More.") {
		t.Errorf("issues %+v", issues)
	}
	if left, err := os.ReadDir(filepath.Join(s.opts.Work, "trees")); err != nil || len(left) > 0 {
		t.Errorf("worktrees %v, %v", left, err)
	}
}

// Findings of a review are comments on the lines of the pull request that they are about, and the comment has the others.
func TestFindingsArePublished(t *testing.T) {
	const finding = `{"path": "%s", "line": 2, "severity": "note", "rule": "style", "message": "%s", "suggestion": ""}`
	message := fmt.Sprintf(`{"summary": "Read.", "findings": [`+finding+", "+finding+"]}", "new", "Use tabs.", "other", "Not of the change "+token+".")
	for name, c := range map[string]struct {
		change func(*tasks.Job)
		lines  int
		text   string
	}{
		"on lines":           {func(*tasks.Job) {}, 1, "1 finding on lines of the diff."},
		"as a table":         {func(j *tasks.Job) { j.Comment.Inline = false }, 0, "| note | new:2 "},
		"as another message": {func(j *tasks.Job) { j.Findings = false }, 0, "```json\n{\n  \"summary\": \"Read.\""},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			server, _ := s.onForge()
			for _, file := range []string{"new", "other"} {
				writeFile(t, filepath.Join(s.repo, file), "one\ntwo\n")
			}
			git(t, s.repo, "add", "-A")
			git(t, s.repo, "commit", "-q", "-m", "more")
			server.AddPull(forgetest.Pull{
				Repo: "acme/web", Head: "acme/web", Number: 4, Branch: "b", Base: "main", State: "open",
				Diff: "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+one\n+two\n",
			})
			spec := s.job("a")
			spec.Commit, spec.Schema, spec.Findings, spec.Comment = nil, findings.Schema(), true, &tasks.Comment{Number: 4, Inline: true}
			c.change(&spec)
			s.opts.Redact = redact.New(nil)
			s.opts.Equipment.OpenModel = plays(t, "  - {text: '"+message+"'}\n")
			if exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{spec}}); exit != event.ExitOK {
				t.Fatalf("exit %d: %s", exit, s.reason("a"))
			}
			var lines []forgetest.Note
			var texts []string
			for _, n := range server.Notes() {
				switch n.Kind {
				case forgetest.LineNote:
					lines = append(lines, n)
				case "":
					texts = append(texts, n.Body)
				}
			}
			text := strings.Join(texts, "")
			if len(lines) != c.lines || c.lines > 0 && (lines[0].Path != "new" || lines[0].Line != 2 || !strings.Contains(lines[0].Body, "Use tabs.")) {
				t.Errorf("comments on lines %+v", lines)
			}
			if !strings.Contains(text, c.text) || !strings.Contains(text, "Not of the change") || strings.Contains(text, token) || s.warnings() != "" {
				t.Errorf("the comment is\n%s\nwarnings: %s", text, s.warnings())
			}
			if posted := s.of(event.CommentPosted); len(posted) != 1 || posted[0].Comment.Lines != c.lines {
				t.Errorf("events %+v", posted)
			}
		})
	}
}

// Another prompt for a job appends its description to the pull request, whose first commit is described already, unless the texts are to
// be left as they are.
func TestAFollowUpOfAPullRequest(t *testing.T) {
	for _, keep := range []bool{false, true} {
		s := setUp(t)
		server, url := s.onForge()
		s.opts.Equipment.OpenModel = plays(t, writes)
		spec := s.job("a")
		spec.Publish, spec.Pull = tasks.PublishPR, &tasks.PullRequest{IfExists: tasks.ReplaceIfExists}
		plan := &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{spec}}
		if exit := s.run(t.Context(), plan); exit != event.ExitOK {
			t.Fatalf("exit %d: %s", exit, s.reason("a"))
		}
		body := server.Pulls()[0].Body
		s.opts.Equipment.OpenModel = plays(t, strings.NewReplacer("filePath: a", "filePath: b", "text: ok", "text: Wrote b.").Replace(writes))
		exit := s.continues(plan, s.past(), history.Order{Do: history.FollowUp{Prompt: "Write b."}, Job: "a", KeepDescriptions: keep})
		pulls := server.Pulls()
		if exit != event.ExitOK || len(pulls) != 1 || at(t, url, "millhand/a") != git(t, s.repo, "rev-parse", "millhand/a") || git(t, s.repo, "ls-tree", "--name-only", "millhand/a") != "a\nb" {
			t.Fatalf("exit %d: %s; pull requests %+v", exit, s.reason("a"), pulls)
		}
		if now := pulls[0].Body; keep != (now == body) || !strings.HasPrefix(now, body) || keep == strings.Contains(now, "Wrote b.") {
			t.Errorf("the texts are to stay: %t; the description was\n%s\nand is\n%s", keep, body, now)
		}
		if published := s.of(event.CommitPublished); published[len(published)-1].Published.PullRequest == nil {
			t.Errorf("published %+v", published)
		}
	}
}

// What the forge does not accept ends the job with its reason, and what was made before it stays.
func TestWhatAForgeDoesNotAccept(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *stage, server *forgetest.Server, dir string)
		turns  string
		code   event.Code
		reason string
		pushed bool
	}{
		"an unsigned commit": {
			change: func(s *stage, _ *forgetest.Server, dir string) {
				writeFile(s.t, filepath.Join(dir, "no-signature"), "")
			},
			code: event.CodePush, reason: "sign: api: the forge did not sign its commit ",
		},
		"other files": {
			change: func(_ *stage, server *forgetest.Server, _ string) {
				commit := server.Commit
				server.Commit = func(c forgetest.Commit) (string, error) {
					c.Files["b"] = "y"
					return commit(c)
				}
			},
			code: event.CodePush, reason: " of the forge has other files or another parent than the job's",
		},
		"a symlink": {
			turns: "  - {calls: [{tool: bash, args: {command: ln -s x a, description: symlink}}]}\n" + asksForAll,
			code:  event.CodePush, reason: "sign: api: GitHub can't commit a, which is a symlink",
		},
		"a comment": {
			change: func(_ *stage, server *forgetest.Server, _ string) {
				server.Fail(9, forgetest.Denied, "POST", "/issues/70/comments")
			},
			code: event.CodeComment, reason: "Resource not accessible by integration", pushed: true,
		},
		"a request": {
			change: func(_ *stage, server *forgetest.Server, _ string) {
				server.Fail(9, forgetest.Denied, "POST", "/labels")
			},
			code: event.CodeForge, reason: `label "bug": `, pushed: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			server, url := s.onForge()
			spec := s.allPublished()
			spec.Verify = nil
			turns := asksForAll
			if c.turns != "" {
				turns = c.turns
			}
			if c.change != nil {
				c.change(s, server, strings.TrimPrefix(url, "file://"))
			}
			s.opts.Equipment.OpenModel = plays(t, turns)
			s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{spec}})
			end := s.of(event.JobEnded)[0].JobEnd
			if end.Code != c.code && end.Cause != c.code || !strings.Contains(end.Reason, c.reason) || end.Patch == "" {
				t.Errorf("%+v", end)
			}
			if pushed := at(t, url, "millhand/a") != ""; pushed != c.pushed || len(server.Pulls()) > 0 != c.pushed || gitLacks(s, "millhand/a") {
				t.Errorf("pushed: %t, %d pull requests", pushed, len(server.Pulls()))
			}
			if list := git(t, t.TempDir(), "ls-remote", "--heads", url); strings.Contains(list, "millhand-signing") {
				t.Errorf("branches left: %s", list)
			}
			var done []string
			for _, e := range s.of(event.ForgeRequestEnded) {
				done = append(done, string(e.ForgeRequest.Outcome))
			}
			want := "skipped skipped skipped refused"
			if name == "a request" {
				want = "failed done done refused"
			}
			if got := strings.Join(done, " "); got != want {
				t.Errorf("requests %s", got)
			}
		})
	}
}

// gitLacks reports whether the stage's repository has no branch of a name.
func gitLacks(s *stage, branch string) bool {
	return git(s.t, s.repo, "branch", "--list", branch) == ""
}
