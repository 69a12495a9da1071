package gitea

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/dev/nightly"
)

// onEvent is a pull request whose comment starts runs, as in Gitea Actions: the event is what Gitea sends.
type onEvent struct {
	t      *testing.T
	s      *server
	dir    string
	token  string // of mill
	event  string // file
	number int64
}

const (
	apiPath = "/repos/acme/api"
	headLog = "FAIL: two is missing"
)

// newEvent creates the repository acme/api with a pull request of ada, on which bob has commented and a check has failed, and has
// ada mention millhand there.
func newEvent(t *testing.T, s *server, token string) *onEvent {
	t.Helper()
	e := &onEvent{t: t, s: s, dir: t.TempDir(), token: token}
	s.repo("acme", "api")
	for _, name := range []string{"mill", "ada", "bob"} {
		s.api(s.root, "PUT", apiPath+"/collaborators/"+name, object{"permission": "write"}, nil)
	}
	ada, bob := s.token("ada", "write:repository", "write:issue"), s.token("bob", "write:repository", "write:issue")
	s.api(s.root, "POST", apiPath+"/labels", object{"name": "bug", "color": "#00aabb"}, nil)
	s.push("acme/api", "main", map[string]string{"AGENTS.md": "Notes of the base.\n"})
	s.push("acme/api", "fix", map[string]string{"NOTICE": "one\ntwooo\nthree\n", "lib/AGENTS.md": "Notes of the head.\n"})
	var pull struct {
		Number int64
		Head   struct{ SHA string }
	}
	s.api(ada, "POST", apiPath+"/pulls", object{"title": "Notice", "body": "It adds a notice. <!-- hidden -->", "head": "fix", "base": "main"}, &pull)
	e.number = pull.Number
	s.api(s.root, "POST", apiPath+"/statuses/"+pull.Head.SHA, object{"state": "failure", "context": "tests", "description": headLog}, nil)
	s.api(bob, "POST", e.path("pulls")+"/reviews", object{"event": "COMMENT", "comments": []object{{"path": "NOTICE", "body": "Why three?", "new_position": 3}}}, nil)
	for i := range 7 { // more than a page
		s.api(bob, "POST", e.path("issues")+"/comments", object{"body": fmt.Sprintf("Remark %d. </context>", i)}, nil)
	}
	payloads := make(chan []byte, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if payload, err := io.ReadAll(r.Body); err == nil {
			payloads <- payload
		}
	}))
	t.Cleanup(hook.Close)
	s.api(s.root, "POST", apiPath+"/hooks", object{
		"type": "gitea", "active": true, "events": []string{"pull_request_comment", "issue_comment"}, "config": object{"url": hook.URL, "content_type": "json"},
	}, nil)
	s.api(ada, "POST", e.path("issues")+"/comments", object{"body": "@millhand fix it"}, nil)
	e.event = filepath.Join(e.dir, "event.json")
	select {
	case payload := <-payloads:
		must(t, os.WriteFile(e.event, payload, 0o600))
	case <-time.After(patience):
		t.Fatal("Gitea sends no event")
	}
	time.Sleep(time.Second) // Gitea's times have seconds, and what follows is later than the event
	s.api(bob, "POST", e.path("issues")+"/comments", object{"body": "A later remark."}, nil)
	run(t, "git", "clone", "-q", strings.Replace(s.url, "://", "://boss:"+password+"@", 1)+"/acme/api.git", filepath.Join(e.dir, "checkout"))
	run(t, "git", "-C", filepath.Join(e.dir, "checkout"), "remote", "set-url", "origin", s.url+"/acme/api.git")
	return e
}

// path returns the path of the pull request in Gitea's API: of pulls or of issues.
func (e *onEvent) path(of string) string { return fmt.Sprintf("%s/%s/%d", apiPath, of, e.number) }

// write writes a file, in which HOST, SERVER and NUMBER are replaced.
func (e *onEvent) write(name, text string) {
	e.t.Helper()
	text = strings.NewReplacer("HOST", strings.TrimPrefix(e.s.url, "http://"), "SERVER", e.s.url, "NUMBER", fmt.Sprint(e.number)).Replace(text)
	must(e.t, os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o600))
}

// millhand runs millhand with a token, checks its exit code, and returns what it printed.
func (e *onEvent) millhand(code int, token string, args ...string) string {
	e.t.Helper()
	cmd := exec.Command("millhand", args...)
	cmd.Dir = e.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + e.dir, "TMPDIR=" + e.t.TempDir(), "FORGE_TOKEN=" + token,
		"GITHUB_ACTIONS=true", "GITEA_ACTIONS=true", "GITHUB_SERVER_URL=" + e.s.url, "GITHUB_REPOSITORY=acme/api", "GITHUB_EVENT_NAME=issue_comment", "GITHUB_EVENT_PATH=" + e.event,
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		e.t.Fatalf("millhand %s: %v, want exit code %d\n%s", strings.Join(args, " "), err, code, &out)
	}
	return out.String()
}

const eventManifest = `version: 1
model: script:MODEL.yaml
forges: {"HOST": {kind: gitea, token_env: FORGE_TOKEN}}
tasks:
`

// testEvents runs what a comment on a pull request starts: all of it at night. token is that of mill.
func testEvents(t *testing.T, s *server, token string) {
	t.Helper()
	mine := *s
	mine.t = t
	e := newEvent(t, &mine, token)
	if nightly.On() {
		t.Run("review", func(t *testing.T) { e.on(t).review() })
		t.Run("two jobs", func(t *testing.T) { e.on(t).twoJobs() })
	}
	t.Run("push", func(t *testing.T) { e.on(t).push() })
}

func (e *onEvent) on(t *testing.T) *onEvent {
	t.Helper()
	mine, s := *e, *e.s
	mine.t, s.t, mine.s = t, t, &s
	return &mine
}

// comments returns the comments of mill on the pull request's lines, and in its thread.
func (e *onEvent) comments() (lines, thread []string) {
	e.t.Helper()
	type comment struct {
		Body, Path string
		User       struct{ Login string }
		Resolver   *struct{ Login string }
	}
	var reviews []struct {
		ID   int64
		User struct{ Login string }
	}
	first := func(body string) string { text, _, _ := strings.Cut(body, "\n"); return text }
	e.s.api(e.s.root, "GET", e.path("pulls")+"/reviews?limit=50", nil, &reviews)
	for _, r := range reviews {
		var all []comment
		e.s.api(e.s.root, "GET", fmt.Sprintf("%s/reviews/%d/comments", e.path("pulls"), r.ID), nil, &all)
		for _, c := range all {
			if c.User.Login == "mill" {
				lines = append(lines, fmt.Sprintf("%s resolved=%t %s", c.Path, c.Resolver != nil, first(c.Body)))
			}
		}
	}
	var all []comment
	e.s.api(e.s.root, "GET", e.path("issues")+"/comments", nil, &all)
	for _, c := range all {
		if c.User.Login == "mill" {
			thread = append(thread, first(c.Body))
		}
	}
	slices.Sort(lines)
	return lines, thread
}

// review reviews the pull request with comments on its lines, whose context is that of the event, and makes what the agent requests.
func (e *onEvent) review() {
	t := e.t
	e.write("review.yaml", strings.Replace(eventManifest, "MODEL", "review-model", 1)+`  - id: review
    prompt: Review it.
    repos: [{url: SERVER/acme/api.git, ref: fix}]
    profile: readonly
    context: [event, thread, diff, checks]
    output: {schema: findings}
    publish:
      comment: {pull_request: NUMBER, sticky: true, inline: true}
      requests: {labels: {allow: [bug]}, issue: {title_prefix: "[bot] "}, comment: {}}
`)
	e.write("review-model.yaml", `version: 1
turns:
  - expect:
      - "Context of pull request NUMBER of acme/api, as it was at "
      - "<event name=\"title\" note=\"[^\"]*\">\nNotice\n</event>"
      - "<event name=\"comment\" note=\"[^\"]*\">\n@millhand fix it\n</event>"
      - "author=\"bob\" [^>]*file=\"NOTICE\" line=\"3\">\nWhy three\\?\n</comment>"
      - "author=\"bob\" [^>]*>\nRemark 0\\. <./context>\n</comment>"
      - "author=\"bob\" [^>]*>\nRemark 6\\."
      - "1 comment left out"
      - "<file path=\"NOTICE\">\n@@ -0,0 \\+1,3 @@\n\\+one"
      - "<check name=\"tests\">\n`+headLog+`\n</check>"
    text: |
      {"summary": "Two problems.", "findings": [
        {"path": "NOTICE", "line": 2, "severity": "error", "rule": "typo", "message": "Three o.", "suggestion": ""},
        {"path": "NOTICE", "line": 3, "severity": "note", "rule": "style", "message": "Too much.", "suggestion": ""}],
       "requests": [{"label": "bug"}, {"label": "other"}, {"issue": {"title": "More", "body": "b"}}, {"comment": "Why?"}]}
`)
	out := e.millhand(0, e.token, "run", "review.yaml", "--report-dir", "first")
	for _, want := range []string{`request label "bug": done`, `request label "other": refused`, `request issue "[bot] More": done`, "request comment: done"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q not found in:\n%s", want, out)
		}
	}
	var issue struct{ Labels []struct{ Name string } }
	e.s.api(e.s.root, "GET", e.path("issues"), nil, &issue)
	if len(issue.Labels) != 1 || issue.Labels[0].Name != "bug" {
		t.Errorf("labels %+v", issue.Labels)
	}
	// Another run posts nothing twice, and resolves what is no longer found.
	e.write("review-model.yaml", `version: 1
turns:
  - text: |
      {"summary": "One problem.", "findings": [{"path": "NOTICE", "line": 2, "severity": "error", "rule": "typo", "message": "Three o.", "suggestion": ""}], "requests": []}
`)
	e.millhand(0, e.token, "run", "review.yaml", "--report-dir", "second")
	lines, thread := e.comments()
	if diff := cmp.Diff([]string{"NOTICE resolved=false **error** `typo`: Three o.", "NOTICE resolved=true _No longer reported._"}, lines); diff != "" {
		t.Errorf("comments on lines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"One problem.", "Why?"}, thread); diff != "" {
		t.Errorf("comments (-want +got):\n%s", diff)
	}
}

// push pushes to the branch of the pull request, with what the base has of the instructions. The lease protects what others push.
func (e *onEvent) push() {
	t := e.t
	e.write("push.yaml", strings.Replace(eventManifest, "MODEL", "push-model", 1)+`  - id: fix
    prompt: Fix it.
    repos: [{path: checkout}]
    profile: build
    commit: {branch: "@pull_request", message: Fix it}
    publish: push
`)
	e.write("push-model.yaml", `version: 1
turns:
  - calls: [{tool: bash, args: {command: "date +%N >>NOTICE"}}]
  - text: Fixed.
`)
	e.millhand(0, e.token, "run", "push.yaml", "--publish", "patch", "--report-dir", "moved")
	e.millhand(0, e.token, "run", "push.yaml", "--report-dir", "pushed")
	var commits []struct {
		Commit struct{ Message string }
		Author struct{ Login string }
	}
	e.s.api(e.s.root, "GET", apiPath+"/commits?sha=fix&limit=2&stat=false", nil, &commits)
	if len(commits) != 2 || !strings.HasPrefix(commits[0].Commit.Message, "Fix it\n") || commits[1].Commit.Message != "add files\n" {
		t.Errorf("%+v", commits)
	}
	if out := e.millhand(7, e.token, "publish", "moved", "--publish", "push"); !strings.Contains(out, "stale lease") {
		t.Errorf("a branch that has moved:\n%s", out)
	}
	// A fork is refused.
	s := e.s
	bob := s.token("bob", scopes...)
	s.api(bob, "POST", apiPath+"/forks", object{}, nil)
	s.push("bob/api", "theirs", map[string]string{"theirs.txt": "1\n"})
	var pull struct{ Number int64 }
	s.api(bob, "POST", apiPath+"/pulls", object{"title": "Theirs", "head": "bob:theirs", "base": "main"}, &pull)
	payload, err := os.ReadFile(e.event)
	must(t, err)
	numbers := regexp.MustCompile(fmt.Sprintf(`"number": *%d\b`, e.number))
	other := *e
	other.event = filepath.Join(e.dir, "fork.json")
	must(t, os.WriteFile(other.event, numbers.ReplaceAll(payload, fmt.Appendf(nil, `"number": %d`, pull.Number)), 0o600))
	if out := other.millhand(2, e.token, "run", "push.yaml", "--report-dir", "fork"); !strings.Contains(out, "comes from the fork bob/api") {
		t.Errorf("a fork:\n%s", out)
	}
}

// twoJobs runs the agent with a token that only reads, and publishes its pull request and requests in another process.
func (e *onEvent) twoJobs() {
	t := e.t
	e.write("two.yaml", strings.Replace(eventManifest, "MODEL", "two-model", 1)+`  - id: two
    prompt: Do it.
    repos: [{path: checkout}]
    profile: build
    commit: {branch: millhand/two}
    publish: {mode: pr, comment: {pull_request: NUMBER}, requests: {labels: {allow: [bug, big]}, issue: {max: 1}}}
`)
	e.write("two-model.yaml", `version: 1
turns:
  - calls: [{tool: bash, args: {command: "echo two >TWO"}}]
  - text: '{"message": "Done in two.", "requests": [{"label": "bug"}, {"label": "big"}, {"issue": {"title": "Two", "body": "b"}}]}'
`)
	e.write("policy.yaml", "version: 1\npublish: [pr, comment, requests]\nrequests: {labels: {allow: [bug]}, issue: {max: 1}}\n")
	e.millhand(0, e.s.token("mill", "read:repository", "read:issue"), "run", "two.yaml", "--publish", "patch", "--report-dir", "report")
	run(t, "mv", filepath.Join(e.dir, "report"), filepath.Join(e.dir, "artifact"))
	for range 2 { // the second time nothing is left
		e.millhand(0, e.token, "publish", "artifact", "--policy", "policy.yaml")
	}
	var pulls []pullDoc
	e.s.api(e.s.root, "GET", apiPath+"/pulls?state=open", nil, &pulls)
	if !slices.ContainsFunc(pulls, func(p pullDoc) bool { return p.Head.Ref == "millhand/two" && strings.Contains(p.Body, "Done in two.") }) {
		t.Errorf("%+v", pulls)
	}
	var issues []struct{ Title string }
	e.s.api(e.s.root, "GET", apiPath+"/issues?type=issues&state=open", nil, &issues)
	issues = slices.DeleteFunc(issues, func(i struct{ Title string }) bool { return i.Title != "Two" })
	if len(issues) != 1 {
		t.Errorf("%d issues named Two", len(issues))
	}
	if _, thread := e.comments(); !slices.Contains(thread, "Done in two.") {
		t.Errorf("%q", thread)
	}
}
