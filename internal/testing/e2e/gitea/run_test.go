package gitea

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/forge"
)

// published is a repository of Gitea that runs publish to.
type published struct {
	t     *testing.T
	s     *server
	dir   string
	token string
	runs  int
}

const publishedManifest = `version: 1
model: script:turns.yaml
profile: build
forges: {"%s": {kind: gitea, token_env: FORGE_TOKEN}}
repos: [{url: %s/acme/web.git}]
tasks:
  - id: notice
    prompt: %s
    verify: [test -f NOTICE]
    commit: {branch: %s, if_exists: replace}
    publish: {mode: pr%s}
`

// run runs one task whose commit is a new one each time, checks the exit code, and returns
// what millhand printed.
func (p *published) run(code int, prompt, branch, keys string) string {
	p.t.Helper()
	p.runs++
	turns := fmt.Sprintf("version: 1\nturns:\n  - calls: [{tool: bash, args: {command: echo %d >NOTICE}}]\n  - text: This is run %[1]d.\n", p.runs)
	must(p.t, os.WriteFile(filepath.Join(p.dir, "turns.yaml"), []byte(turns), 0o600))
	host := strings.TrimPrefix(p.s.url, "http://")
	must(p.t, os.WriteFile(filepath.Join(p.dir, "run.yaml"), fmt.Appendf(nil, publishedManifest, host, p.s.url, prompt, branch, keys), 0o600))
	cmd := exec.Command("millhand", "run", "run.yaml", "--report-dir", fmt.Sprintf("r%d", p.runs))
	cmd.Dir = p.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TMPDIR=" + p.t.TempDir(), "FORGE_TOKEN=" + p.token}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		p.t.Fatalf("%s: %v, want exit code %d\n%s", prompt, err, code, &out)
	}
	if strings.Contains(out.String(), p.token) {
		p.t.Error("the token was printed")
	}
	return out.String()
}

// TestRun publishes the work of runs as pull requests of a Gitea server, and runs what comments on one start.
func TestRun(t *testing.T) {
	s := start(t)
	p := &published{t: t, s: s, dir: t.TempDir(), token: s.populate()}
	t.Run("events", func(t *testing.T) { testEvents(t, s, p.token) })
	pulls := func() []pullDoc {
		t.Helper()
		var all []pullDoc
		s.api(s.root, "GET", "/repos/acme/web/pulls?state=all", nil, &all)
		return all
	}
	contains := func(text string, all ...string) {
		t.Helper()
		for _, want := range all {
			if !strings.Contains(text, want) {
				t.Errorf("%q not found in:\n%s", want, text)
			}
		}
	}

	p.run(0, "Add a notice.", "millhand/notice", ", draft: true, labels: [bot], reviewers: [ada], assignees: [bob]")
	all := pulls()
	if len(all) != 1 || !all[0].Draft || all[0].Title != "WIP: notice: Add a notice" || all[0].names() != "labels [bot] assignees [bob] reviewers [ada]" || all[0].Base.Ref != "main" {
		t.Fatalf("%+v", all)
	}
	contains(all[0].Body, "This is run 1.", "| failed (exit code 1) | passed |")

	// Another run on the branch updates the pull request, as if_exists states.
	p.run(0, "Add another notice.", "millhand/notice", ", labels: [big]")
	now := s.pull(web, all[0].Number)
	contains(now.Body, "This is run 2.")
	if now.Title != "WIP: notice: Add another notice" || strings.Contains(now.Body, "run 1.") || now.names() != "labels [big bot] assignees [bob] reviewers [ada]" {
		t.Errorf("replaced: %+v", now)
	}
	p.run(0, "Add a third notice.", "millhand/notice", ", if_exists: append")
	now = s.pull(web, all[0].Number)
	contains(now.Body, "This is run 2.", "This is run 3.")
	if now.Title != "WIP: notice: Add another notice" {
		t.Errorf("appended: %+v", now)
	}
	contains(p.run(0, "Skip it.", "millhand/notice", ", if_exists: skip"), now.HTMLURL+" is open")
	contains(p.run(2, "Refuse it.", "millhand/notice", ", if_exists: fail"), now.HTMLURL+" is open", "nothing was run")
	if again := s.pull(web, all[0].Number); again.Body != now.Body || again.Head.SHA != now.Head.SHA || len(pulls()) != 1 {
		t.Errorf("%+v", again)
	}

	// After it was merged, the branch gets another pull request.
	c := s.client(p.token)
	ready := false
	_, err := c.Update(t.Context(), web, now.Number, forge.Change{Draft: &ready})
	must(t, err)
	must(t, c.Merge(t.Context(), web, now.Number, now.Head.SHA, forge.Squash))
	p.run(0, "Add a fourth notice.", "millhand/notice", "")
	if all = pulls(); len(all) != 2 {
		t.Errorf("%+v", all)
	}

	// What the server ignores or refuses.
	contains(p.run(0, "Add a label.", "millhand/label", ", labels: [unknown, bot]"), "labels not found: unknown; create them")
	s.api(s.root, "POST", "/repos/acme/web/branch_protections", object{"rule_name": "protected/*", "enable_push": false}, nil)
	text := p.run(7, "Push to a protected branch.", "protected/notice", "")
	contains(text, "push branch protected/notice to "+s.url)
	contains(text, "Not allowed to push to protected branch protected/notice", "with publish.mode: pr, or let the token's user push to this one")
	s.api(s.root, "POST", "/repos/acme/web/branch_protections", object{"rule_name": "signed/*", "enable_push": true, "require_signed_commits": true}, nil)
	text = p.run(7, "Push without a signature.", "signed/notice", "")
	contains(text, "pre-receive hook declined", "(commit.sign)") // Gitea 1.26 fails at its own check
	p.token = s.user("eve", scopes...)
	contains(p.run(2, "Push without rights.", "millhand/eve", ""), "the token can't push to acme/web", "nothing was run")
	p.token = "0123456789012345678901234567890123456789"
	contains(p.run(2, "Push without rights.", "millhand/eve", ""), "401", "nothing was run")
	if all = pulls(); len(all) != 3 {
		t.Errorf("%+v", all)
	}
}
