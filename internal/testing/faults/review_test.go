package faults

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/testing/forgetest"
)

// reviewed is a forge with a pull request that a run has reviewed before: it has comments on lines.
type reviewed struct {
	*world
	forge *forgetest.Server
	out   bytes.Buffer
}

const reviewManifest = `version: 1
profile: readonly
model: script:%[1]s.yaml
forges: {"%[2]s": {kind: %[3]s, token_env: FORGE_TOKEN}}
repos: [{url: "http://%[2]s/acme/shop.git", ref: change}]
tasks:
  - id: review
    prompt: Review it.
    output: {schema: findings}
    publish:
      comment: {pull_request: 1, sticky: true, inline: true}
      requests: {labels: {allow: [bug, late]}, issue: {}, comment: {}}
`

// reviewTurn is the only turn of a review: findings by line of NOTICE, and requests.
func reviewTurn(findings map[int]string, requests string) string {
	var list []string
	for line, message := range findings {
		list = append(list, fmt.Sprintf(`{"path": "NOTICE", "line": %d, "severity": "error", "rule": "r", "message": %q, "suggestion": ""}`, line, message))
	}
	slices.Sort(list)
	return fmt.Sprintf("version: 1\nturns:\n  - text: '{\"summary\": \"Read.\", \"findings\": [%s], \"requests\": [%s]}'\n", strings.Join(list, ", "), requests)
}

func newReviewed(t *testing.T, template, kind string) *reviewed {
	t.Helper()
	r := &reviewed{world: newWorld(t, template, nil)}
	git := func(args ...string) string { // of the forge
		out, err := exec.Command("git", append([]string{"-C", filepath.Join(r.dir, "acme/shop.git")}, args...)...).Output()
		if err != nil {
			return ""
		}
		return string(out)
	}
	r.git("clone", "-q", "--bare", "../origin.git", "../acme/shop.git")
	r.git("clone", "-q", "../acme/shop.git", "../clone")
	r.write("clone/NOTICE", "one\ntwo\nthree\nfour\n", 0o600)
	r.git("-C", "../clone", "checkout", "-q", "-b", "change")
	r.git("-C", "../clone", "add", "-A")
	r.git("-C", "../clone", "commit", "-q", "-m", "change")
	r.git("-C", "../clone", "push", "-q", "origin", "change")
	r.forge = &forgetest.Server{
		Kind: kind, Token: forgeToken, User: "mill",
		Resolve: func(_, branch string) string {
			return strings.TrimSpace(git("rev-parse", "--verify", "-q", "refs/heads/"+branch))
		},
		Compare: func(_, base, sha string) string { return git("diff", base+"..."+sha) },
	}
	r.forge.Add(forgetest.Repo{Owner: "acme", Name: "shop"})
	r.forge.AddPull(forgetest.Pull{Repo: "acme/shop", Head: "acme/shop", Number: 1, Branch: "change", Base: "main", Title: "Change", State: "open"})
	backend := r.serveGit()
	r.forge.Other = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, token, _ := req.BasicAuth(); token != forgeToken {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, req)
	})
	server := httptest.NewServer(r.forge)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	host := strings.TrimPrefix(server.URL, "http://")
	r.write("first.yaml", reviewTurn(map[int]string{1: "It stays.", 2: "It changes.", 4: "It is fixed."}, ""), 0o600)
	r.write("second.yaml", reviewTurn(map[int]string{1: "It stays.", 2: "It has changed.", 3: "It is new."},
		`{"label": "bug"}, {"label": "late"}, {"label": "denied"}, {"issue": {"title": "More", "body": "b"}}, {"comment": "Why?"}`), 0o600)
	r.write("event.json", `{"pull_request": {"number": 1}, "repository": {"full_name": "acme/shop"}}`, 0o600)
	for _, name := range []string{"first", "second"} {
		r.write(name+"-run.yaml", fmt.Sprintf(reviewManifest, name, host, kind), 0o600)
	}
	if code := r.millhand(nil, "run", "../first-run.yaml", "--report-dir", "../before"); code != 0 {
		t.Fatalf("exit code %d of the first review\n%s", code, &r.out)
	}
	return r
}

func (r *reviewed) millhand(variables []string, args ...string) int {
	r.t.Helper()
	cmd := r.run(r.t.Context(), "r")
	cmd.Args = append([]string{"millhand"}, args...)
	cmd.Env = append(append(cmd.Env, "FORGE_TOKEN="+forgeToken, "GITHUB_EVENT_PATH="+filepath.Join(r.dir, "event.json")), variables...)
	cmd.Stdout, cmd.Stderr = &r.out, &r.out
	return exitCode(r.t, cmd.Run())
}

func (r *reviewed) review(variables ...string) int {
	r.t.Helper()
	return r.millhand(variables, "run", "../second-run.yaml", "--report-dir", "../r")
}

var ofOneRun = regexp.MustCompile(`<!--[^>]*-->|\d{8}-\d{6}-[0-9a-f]{8}`)

// published returns what the forge has, without what differs between runs.
func (r *reviewed) published() string {
	var lines []string
	for _, n := range r.forge.Notes() {
		lines = append(lines, fmt.Sprintf("%s %d %s on %s:%d resolved=%t: %s", n.Repo, n.Number, n.Kind, n.Path, n.Line, n.Resolved, strings.TrimSpace(ofOneRun.ReplaceAllString(n.Body, ""))))
	}
	for _, i := range r.forge.Issues() {
		lines = append(lines, fmt.Sprintf("%s %d %v %s: %s", i.Repo, i.Number, i.Labels, i.Title, strings.TrimSpace(ofOneRun.ReplaceAllString(i.Body, ""))))
	}
	for _, p := range r.forge.Pulls() {
		lines = append(lines, fmt.Sprintf("%s %d %v", p.Repo, p.Number, p.Labels))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestReviewsKilledBetweenRequests kills a review with comments on lines and requests of its agent at every point of its
// publication, and resumes it: the forge has the same as without a kill, on each kind of forge.
func TestReviewsKilledBetweenRequests(t *testing.T) {
	dir := template(t)
	for _, kind := range []string{"github", "gitlab", "gitea"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r, hits := newReviewed(t, dir, kind), filepath.Join(t.TempDir(), "hits")
			if code := r.review(hitsVariable + "=" + hits); code != 0 {
				t.Fatalf("exit code %d\n%s", code, &r.out)
			}
			want := r.published()
			for _, text := range []string{"on NOTICE:1", "It has changed", "on NOTICE:3", "No longer reported", "[bug late]", "More", "Why?"} {
				if !strings.Contains(want, text) {
					t.Errorf("the undisturbed review lacks %q:\n%s", text, want)
				}
			}
			text, err := os.ReadFile(hits)
			if err != nil {
				t.Fatal(err)
			}
			points := strings.Split(strings.TrimSpace(string(text)), "\n")
			from := slices.Index(points, "event.before phase.started.publish")
			to := slices.Index(points, "event.before phase.ended.publish")
			if from < 0 || to-from < 20 {
				t.Fatalf("points %d to %d of %q", from, to, points)
			}
			random := nightly.Random(t)
			cases := random.Perm(to - from + 1)
			for _, n := range cases[:nightly.Count(2, len(cases), len(cases))] {
				moment := when(from+n+1, 0, anyPoint)
				r := newReviewed(t, dir, kind)
				if code := r.review(killVariable + "=" + moment); code != 128+9 {
					t.Errorf("%s (%s): exit code %d", moment, points[from+n], code)
				}
				if code := r.millhand(nil, "run", "--resume", "../r"); code != 0 {
					t.Errorf("%s (%s): exit code %d when it is resumed\n%s", moment, points[from+n], code, &r.out)
				}
				if diff := cmp.Diff(want, r.published()); diff != "" {
					t.Errorf("%s (%s): the forge has something else (-undisturbed +killed):\n%s", moment, points[from+n], diff)
				}
			}
		})
	}
}
