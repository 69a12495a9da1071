package gitea

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// parallel is the number of jobs that run concurrently, kills that of SIGKILLs.
const (
	parallel = 4
	kills    = 2
	maxCost  = 5 // USD
)

// TestBulkRun runs three tasks on real repositories, is killed twice and resumed each time,
// and opens a pull request for each job on a Gitea server, at night. For every change, internal/testing/faults
// kills and resumes runs that publish, and TestRun publishes here.
func TestBulkRun(t *testing.T) {
	if !nightly.On() {
		t.Skip("long: make nightly-publish runs it")
	}
	s := start(t)
	random := nightly.Random(t)
	b := newBulk(t, s, 20, random)
	began := time.Now()
	for n := range kills {
		// Between 5 and 90 percent of the pull requests exist at the kill.
		at := 0.05 + (float64(n)+random.Float64())*0.85/kills
		b.kill(int(at*float64(b.jobs())), time.Duration(random.IntN(1500))*time.Millisecond)
	}
	b.millhand(b.next()...)
	t.Logf("%d jobs on %d repositories, %d kills, %s; the model got %d requests", b.jobs(), len(b.repos), kills, time.Since(began).Round(time.Second), len(b.served))
	b.checkReport()
	b.checkPulls()
	b.checkRepositories()
	b.checkRequests()
	b.show()
	b.followUp()
}

// bulk is a run over many repositories.
type bulk struct {
	t     *testing.T
	s     *server
	dir   string
	home  string
	token string
	repos []*repository

	mu     sync.Mutex
	served map[string]int // requests by job and number of responses before
}

// repository is a published module that was put into git. Of some, the user has a clone.
type repository struct {
	name, module string
	clone        string // directory, "" for a remote repository
	before       string
	goFiles      int
}

var bulkTasks = []string{"any", "inventory", "notice"}

func (b *bulk) jobs() int { return len(b.repos) * len(bulkTasks) }

func newBulk(t *testing.T, s *server, count int, random *rand.Rand) *bulk {
	t.Helper()
	b := &bulk{t: t, s: s, dir: t.TempDir(), served: map[string]int{}}
	b.home = filepath.Join(b.dir, "home")
	must(t, os.MkdirAll(filepath.Join(b.dir, "clones"), 0o755))
	must(t, os.MkdirAll(filepath.Join(b.dir, "tmp"), 0o755))
	must(t, os.MkdirAll(b.home, 0o755))
	must(t, os.WriteFile(filepath.Join(b.home, ".gitconfig"), []byte("[user]\n\tname = Tess Tester\n\temail = tess@example.com\n[safe]\n\tdirectory = *\n[init]\n\tdefaultBranch = main\n"), 0o600))
	b.token = s.user("mill", scopes...)
	s.api(s.root, "POST", "/orgs", object{"username": "bulk"}, nil)
	s.api(s.root, "POST", "/orgs/bulk/labels", object{"name": "bot", "color": "#00aabb"}, nil)
	modules := publishedModules(t)
	random.Shuffle(len(modules), func(i, j int) { modules[i], modules[j] = modules[j], modules[i] })
	for _, m := range modules {
		if len(b.repos) < count && rewritable(m.Dir) {
			b.add(m)
		}
	}
	if len(b.repos) != count {
		t.Fatalf("only %d modules can be used, want %d", len(b.repos), count)
	}
	b.writeManifest()
	return b
}

// module is a module in Go's cache.
type module struct{ Path, Dir string }

// publishedModules returns the modules that millhand is built of.
func publishedModules(t *testing.T) []module {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json")
	cmd.Dir = "../../../.."
	list := json.NewDecoder(strings.NewReader(output(t, cmd)))
	var all []module
	for list.More() {
		var m module
		must(t, list.Decode(&m))
		all = append(all, m)
	}
	return all
}

// rewrite is the command of the task any.
const rewrite = `find . -name '*.go' -not -path '*/testdata/*' | xargs gofmt -r 'interface{} -> any'`

// rewritable reports whether a module of moderate size has files that the task any changes.
func rewritable(dir string) bool {
	if size, err := exec.Command("du", "-sk", dir).Output(); err != nil || len(strings.Fields(string(size))[0]) > 4 {
		return false
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		return false
	}
	cmd := exec.Command("sh", "-c", rewrite+" -l")
	cmd.Dir = dir
	out, err := cmd.Output()
	return err == nil && len(out) > 0
}

// add puts a module into git and pushes it to Gitea. The user has a clone of every second
// repository, with changes of their own.
func (b *bulk) add(m module) {
	b.t.Helper()
	r := &repository{name: strings.NewReplacer("/", "-", ".", "-").Replace(strings.ToLower(m.Path)), module: m.Path}
	from := filepath.Join(b.dir, "from")
	must(b.t, os.CopyFS(from, os.DirFS(m.Dir)))
	run(b.t, "chmod", "-R", "u+w", from) // the module cache is read-only
	b.s.api(b.s.root, "POST", "/orgs/bulk/repos", object{"name": r.name, "default_branch": "main", "description": m.Path}, nil)
	b.s.api(b.s.root, "PUT", "/repos/bulk/"+r.name+"/collaborators/mill", object{"permission": "write"}, nil)
	b.git(from, "init", "-q")
	b.git(from, "add", "-A", "-f")
	b.git(from, "commit", "-q", "-m", "published")
	b.git(from, "push", "-q", b.pushURL(r), "main")
	r.goFiles = len(strings.Fields(run(b.t, "find", from, "-name", "*.go", "-printf", "x ")))
	if len(b.repos)%2 == 0 {
		r.clone = filepath.Join(b.dir, "clones", r.name)
		must(b.t, os.Rename(from, r.clone))
		b.git(r.clone, "remote", "add", "origin", b.s.url+"/bulk/"+r.name+".git")
		must(b.t, os.WriteFile(filepath.Join(r.clone, "mine.txt"), []byte("untracked\n"), 0o600))
		must(b.t, os.WriteFile(filepath.Join(r.clone, "go.mod"), []byte("module staged\n"), 0o600))
		b.git(r.clone, "add", "go.mod")
		r.before = b.state(r)
	}
	must(b.t, os.RemoveAll(from))
	b.repos = append(b.repos, r)
}

func (b *bulk) pushURL(r *repository) string {
	return strings.Replace(b.s.url, "://", "://boss:"+password+"@", 1) + "/bulk/" + r.name + ".git"
}

// state is what a run must not change in the user's clone.
func (b *bulk) state(r *repository) string {
	b.t.Helper()
	var all strings.Builder
	for _, args := range []string{"symbolic-ref HEAD", "rev-parse main", "status --porcelain -uall", "diff --cached", "diff", "config --list --local"} {
		all.WriteString(b.git(r.clone, strings.Fields(args)...) + "\n")
	}
	return all.String()
}

// git runs git in a directory.
func (b *bulk) git(dir string, args ...string) string {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C"}
	return output(b.t, cmd)
}

func (b *bulk) writeManifest() {
	b.t.Helper()
	server := wiretest.New(nil)
	server.Play = b.play
	var text strings.Builder
	fmt.Fprintf(&text, `version: 1
model: responses/m
profile: build
allow_dirty: true
providers:
  responses: {kind: responses, base_url: %s/v1}
prices: {responses/m: {input: 1, output: 4}}
forges: {"%s": {kind: gitea, token_env: FORGE_TOKEN}}
repos:
`, serve(b.t, server), strings.TrimPrefix(b.s.url, "http://"))
	for _, r := range b.repos {
		if r.clone != "" {
			fmt.Fprintf(&text, "  - path: clones/%s\n", r.name)
		} else {
			fmt.Fprintf(&text, "  - url: %s/bulk/%s.git\n", b.s.url, r.name)
		}
	}
	fmt.Fprintf(&text, `tasks:
  - id: any
    prompt: "Task any in ${{ repo.name }}: write any instead of interface{}."
    verify: [{name: gofmt finds no interface, run: "test -z \"$(%s -l)\""}]
    commit: {branch: millhand/any}
    publish: {mode: pr, labels: [bot]}
  - id: inventory
    prompt: "Task inventory in ${{ repo.name }}: list the Go files in FILES.md."
    verify: ["test \"$(grep -c '^- ' FILES.md)\" = \"$(find . -name '*.go' | wc -l)\""]
    commit: {branch: millhand/inventory}
    publish: {mode: pr, labels: [bot], title: "docs: list the Go files of ${{ repo.name }}"}
  - id: notice
    attempts: 2
    prompt: "Task notice in ${{ repo.name }}: state in go.mod who maintains the module."
    verify: [grep -q 'Maintained by the platform team' go.mod, go mod edit -json]
    commit: {branch: millhand/notice}
    publish: {mode: pr, draft: true, labels: [bot]}
`, strings.ReplaceAll(rewrite, `"`, `\"`))
	must(b.t, os.WriteFile(filepath.Join(b.dir, "run.yaml"), []byte(text.String()), 0o600))
}

// play is the model. What it does next follows from the conversation alone.
func (b *bulk) play(req wiretest.Request) *script.Turn {
	var task, repo, last string
	for _, m := range req.Messages {
		if rest, ok := strings.CutPrefix(m.Content, "Task "); ok && task == "" {
			task, rest, _ = strings.Cut(rest, " in ")
			repo, _, _ = strings.Cut(rest, ":")
		}
		if m.Role == "user" {
			last = m.Content
		}
	}
	n := req.Responses()
	turn := &script.Turn{Finish: model.FinishTools, Delay: 200 * time.Millisecond, Usage: &money.Usage{Input: int64(2000 + 300*n), Output: 120}}
	call := func(tool string, args map[string]string) {
		input, _ := json.Marshal(args) //nolint:errchkjson // strings can be encoded
		turn.Calls = append(turn.Calls, model.ToolCall{ID: fmt.Sprintf("call_%d_%d", n, len(turn.Calls)), Name: tool, Input: string(input)})
	}
	edit := func(old, text string) {
		call("edit", map[string]string{"filePath": "go.mod", "oldString": old, "newString": text})
	}
	switch step := fmt.Sprint(task, n); {
	case strings.Contains(last, "too?"):
		if req.Messages[len(req.Messages)-1].Role != "user" {
			turn.Finish, turn.Text = model.FinishStop, "The directories are listed, too."
			break
		}
		call("bash", map[string]string{"command": "{ echo; echo '# Directories'; echo; find . -type d -not -path '*/.git*' | sort | sed 's/^/* /'; } >>FILES.md", "description": "List the directories"})
	case step == "any0":
		call("grep", map[string]string{"pattern": `interface\{\}`})
	case step == "any1":
		call("bash", map[string]string{"command": rewrite + " -w", "description": "Rewrite the sources"})
	case step == "inventory0":
		call("bash", map[string]string{"command": "{ echo '# Go files'; echo; find . -name '*.go' | sort | sed 's/^/- /'; } >FILES.md", "description": "List the files"})
	case step == "inventory1":
		call("read", map[string]string{"filePath": "FILES.md"})
	case step == "notice0":
		call("read", map[string]string{"filePath": "go.mod"})
	case step == "notice1":
		edit("module ", "// Maintained by somebody.\nmodule ")
	case step == "notice3": // the first attempt failed
		edit("by somebody", "by the platform team")
	default:
		turn.Finish, turn.Text = model.FinishStop, finalText[task]
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.served[fmt.Sprintf("%s-%s request %d", task, repo, n+1)]++
	return turn
}

// finalText has final messages as models write them.
var finalText = map[string]string{
	"any":       "I replaced `interface{}` by `any` in all Go files outside of `testdata`, using `gofmt -r`.\n\n- The change is purely syntactic.\n- Nothing was renamed; see #12 and ask @ada.",
	"inventory": "`FILES.md` lists all Go files of the module.",
	"notice":    "## Summary\n\nThe comment in `go.mod` names the team that maintains the module.",
	"":          "Done.",
}

// command prepares a millhand process.
func (b *bulk) command(args ...string) *exec.Cmd {
	cmd := exec.Command("millhand", args...)
	cmd.Dir = b.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "TMPDIR=" + filepath.Join(b.dir, "tmp"), "LC_ALL=C", "FORGE_TOKEN=" + b.token,
		"GOTOOLCHAIN=local", "GOPROXY=off",
	}
	return cmd
}

// millhand runs millhand and returns what it printed; its exit code must be 0.
func (b *bulk) millhand(args ...string) string {
	b.t.Helper()
	cmd := b.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		b.t.Fatalf("millhand %s: %v\n%s%s", strings.Join(args, " "), err, &stderr, &stdout)
	}
	return stdout.String()
}

// next returns the arguments of the run's next process: a process that was killed before it
// wrote an event left nothing to resume, and the run starts again.
func (b *bulk) next() []string {
	if bytes.Contains(b.events(), []byte("\n")) {
		return []string{"run", "--resume", "r", "--jobs", fmt.Sprint(parallel)}
	}
	return []string{"run", "run.yaml", "--report-dir", "r", "--jobs", fmt.Sprint(parallel), "--max-cost", fmt.Sprint(maxCost)}
}

// events returns the run's events so far, nil before the first one.
func (b *bulk) events() []byte {
	events, _ := os.ReadFile(filepath.Join(b.dir, "r", "events.jsonl"))
	return events
}

// kill starts a process of the run, and kills it some time after a number of its pull
// requests exist.
func (b *bulk) kill(pulls int, after time.Duration) {
	b.t.Helper()
	cmd := b.command(b.next()...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	must(b.t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for b.created() < pulls {
		select {
		case err := <-ended:
			b.t.Fatalf("the run ended before %d pull requests existed: %v\n%s", pulls, err, &out)
		case <-time.After(20 * time.Millisecond):
		}
	}
	time.Sleep(after)
	_ = cmd.Process.Kill()
	if err := <-ended; cmd.ProcessState.ExitCode() >= 0 {
		b.t.Errorf("the run ended before it was killed: %v\n%s", err, &out)
	}
	b.t.Logf("killed %s after %d pull requests: %d are reported", after, pulls, b.created())
	if b.t.Failed() {
		b.t.Logf("%s", &out)
	}
}

// created returns how many pull requests the run has reported.
func (b *bulk) created() int {
	return bytes.Count(b.events(), []byte(`"pull_request":{`))
}

func serve(t *testing.T, server *wiretest.Server) string {
	t.Helper()
	listening := httptest.NewServer(server)
	t.Cleanup(func() { listening.CloseClientConnections(); listening.Close() })
	return listening.URL
}

// bulkReport has the fields of a report that the tests look at.
type bulkReport struct {
	Run struct {
		ID, Outcome string
		Totals      struct {
			CostUSD *float64 `json:"cost_usd"`
		}
	}
	Warnings []struct{ Job, Message string }
	Jobs     []struct {
		ID, Outcome, Reason, Task string
		Attempts                  int
		Commit                    *struct{ Hash, Branch string }
		Published                 *struct{ Branch, Hash string }
		PullRequest               *struct {
			URL     string
			Number  int64
			Created bool
		} `json:"pull_request"`
	}
}

func (b *bulk) report() bulkReport {
	b.t.Helper()
	written, err := os.ReadFile(filepath.Join(b.dir, "r", "report.json"))
	must(b.t, err)
	if made := b.millhand("report", "json", "r"); made != string(written) {
		b.t.Error("report.json differs from `millhand report json`")
	}
	var r bulkReport
	must(b.t, json.Unmarshal(written, &r))
	return r
}

// checkReport checks that every job is in the report once, and passed.
func (b *bulk) checkReport() {
	b.t.Helper()
	r := b.report()
	var ids, want []string
	for _, j := range r.Jobs {
		ids = append(ids, j.ID)
		if j.Outcome != "passed" || j.Commit == nil || j.Published == nil || j.PullRequest == nil {
			b.t.Errorf("job %s: %s: %s (commit %v, published %v, pull request %v)", j.ID, j.Outcome, j.Reason, j.Commit, j.Published, j.PullRequest)
		}
	}
	for _, repo := range b.repos {
		for _, task := range bulkTasks {
			want = append(want, task+"-"+repo.name)
		}
	}
	slices.Sort(ids)
	slices.Sort(want)
	if !slices.Equal(ids, want) {
		b.t.Errorf("jobs of the report are %q, want %q", ids, want)
	}
	if c := r.Run.Totals.CostUSD; c == nil || *c <= 0 || *c > maxCost {
		b.t.Errorf("the cost is %v", c)
	}
	for _, w := range r.Warnings {
		b.t.Logf("warning: %s: %s", w.Job, w.Message)
	}
}

// checkPulls checks that Gitea has one open pull request for each job, at the commit of
// the report.
func (b *bulk) checkPulls() {
	b.t.Helper()
	commits := map[string]string{}
	for _, j := range b.report().Jobs {
		if j.Commit != nil {
			commits[j.ID] = j.Commit.Hash
		}
	}
	total := 0
	for _, repo := range b.repos {
		var all []pullDoc
		b.s.api(b.s.root, "GET", "/repos/bulk/"+repo.name+"/pulls?state=all", nil, &all)
		heads := []string{}
		for _, p := range all {
			total++
			task := strings.TrimPrefix(p.Head.Ref, "millhand/")
			heads = append(heads, task)
			if want := commits[task+"-"+repo.name]; p.Head.SHA != want || p.State != "open" || p.Base.Ref != "main" || p.Draft != (task == "notice") {
				b.t.Errorf("%s %d: %s of %s at %s, want %s", repo.name, p.Number, p.State, p.Head.Ref, p.Head.SHA, want)
			}
			if names := p.names(); !strings.HasPrefix(names, "labels [bot] ") {
				b.t.Errorf("%s %d: %s", repo.name, p.Number, names)
			}
			if n := b.git(b.bare(repo), "rev-list", "--count", "main.."+p.Head.Ref); n != "1" {
				b.t.Errorf("%s: %s has %s commits, want 1", repo.name, p.Head.Ref, n)
			}
		}
		slices.Sort(heads)
		if !slices.Equal(heads, bulkTasks) {
			b.t.Errorf("%s: pull requests of %q, want %q", repo.name, heads, bulkTasks)
		}
	}
	b.t.Logf("Gitea has %d pull requests", total)
}

// bare returns the directory of Gitea's repository.
func (b *bulk) bare(r *repository) string {
	return filepath.Join(b.s.data, "data", "gitea-repositories", "bulk", r.name+".git")
}

// checkRepositories checks all repositories with git fsck, and that the user's clones have
// nothing but new branches.
func (b *bulk) checkRepositories() {
	b.t.Helper()
	for _, r := range b.repos {
		b.git(b.bare(r), "fsck", "--strict", "--no-dangling")
		if refs := b.git(b.bare(r), "for-each-ref", "--format=%(refname)", "refs/heads"); refs != "refs/heads/main\nrefs/heads/millhand/any\nrefs/heads/millhand/inventory\nrefs/heads/millhand/notice" {
			b.t.Errorf("%s: references %q", r.name, refs)
		}
		if r.clone == "" {
			continue
		}
		b.git(r.clone, "fsck", "--strict", "--no-dangling")
		if now := b.state(r); now != r.before {
			b.t.Errorf("%s: the user's clone changed:\n%s\nwas\n%s", r.name, now, r.before)
		}
		if trees := strings.Split(b.git(r.clone, "worktree", "list"), "\n"); len(trees) != 1 {
			b.t.Errorf("%s: worktrees %q", r.name, trees)
		}
	}
	left, err := os.ReadDir(filepath.Join(b.dir, "tmp"))
	// A kill during the probe of the sandbox leaves its directory for an hour.
	left = slices.DeleteFunc(left, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), sandbox.ProbeName) })
	if err != nil || len(left) > 0 {
		b.t.Errorf("temporary files: %v %v", left, err)
	}
}

// checkRequests checks that no more requests were repeated than were in flight at the kills.
func (b *bulk) checkRequests() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	repeated := 0
	for _, n := range b.served {
		repeated += n - 1
	}
	if most := kills * parallel; repeated > most {
		b.t.Errorf("%d requests were repeated, want at most %d", repeated, most)
	}
	b.t.Logf("%d of %d requests were repeated", repeated, len(b.served))
}

// show logs what a user reads after the run: the summary, one session and one page.
func (b *bulk) show() {
	b.t.Helper()
	summary, err := os.ReadFile(filepath.Join(b.dir, "r", "summary.md"))
	must(b.t, err)
	b.t.Logf("summary.md:\n%s", summary)
	r := b.repos[0]
	session := b.millhand("session", "show", "r", "notice-"+r.name)
	b.t.Logf("session show:\n%s", session)
	for _, want := range []string{"edit go.mod: completed", "Maintained by the platform team", "The verify commands"} {
		if !strings.Contains(session, want) {
			b.t.Errorf("session show: %q not found", want)
		}
	}
	for _, j := range b.report().Jobs {
		if strings.HasSuffix(j.ID, "-"+r.name) && j.PullRequest != nil {
			p := b.s.pull(forge.Path{Owner: "bulk", Name: r.name}, j.PullRequest.Number)
			b.t.Logf("pull request %s: %s\n%s", p.HTMLURL, p.Title, p.Body)
		}
	}
}

// followUp gives a job another prompt: its branch gets another commit, and its pull request
// is updated.
func (b *bulk) followUp() {
	b.t.Helper()
	repo := b.repos[1]
	path := forge.Path{Owner: "bulk", Name: repo.name}
	job := "inventory-" + repo.name
	number := func() int64 {
		for _, j := range b.report().Jobs {
			if j.ID == job && j.PullRequest != nil {
				return j.PullRequest.Number
			}
		}
		b.t.Fatalf("job %s has no pull request", job)
		return 0
	}
	before := number()
	first := b.s.pull(path, before)
	b.t.Logf("session resume:\n%s", b.millhand("session", "resume", "r", job, "--prompt", "Can you list the directories, too?"))
	now := b.s.pull(path, number())
	if now.Number != first.Number || now.Head.SHA == first.Head.SHA || now.State != "open" {
		b.t.Errorf("pull request %d at %s, was %d at %s", now.Number, now.Head.SHA, first.Number, first.Head.SHA)
	}
	if now.Title != first.Title || !strings.HasPrefix(now.Body, first.Body) || !strings.Contains(now.Body, "The directories are listed, too.") {
		b.t.Errorf("the description is not appended to:\n%s", now.Body)
	}
	if n := b.git(b.bare(repo), "rev-list", "--count", "main..millhand/inventory"); n != "2" {
		b.t.Errorf("the branch has %s commits, want 2", n)
	}
	if text := b.git(b.bare(repo), "show", "millhand/inventory:FILES.md"); !strings.Contains(text, "# Go files") || !strings.Contains(text, "# Directories") {
		b.t.Errorf("FILES.md is %s", text)
	}
	b.t.Logf("pull request %s: %s\n%s", now.HTMLURL, now.Title, now.Body)
	b.checkReport()
}
