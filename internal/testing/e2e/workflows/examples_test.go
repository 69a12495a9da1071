package workflows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/testing/e2e/scripts"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// serveScript serves a script as an OpenAI endpoint and returns its base URL.
// Before each response it asks fault, which may also make the client wait.
func serveScript(t *testing.T, turns string, fault func(int) wiretest.Fault) string {
	t.Helper()
	s, err := script.Parse([]byte(turns), "turns")
	if err != nil {
		t.Fatal(err)
	}
	server := wiretest.New(s)
	server.Fault = fault
	listening := httptest.NewServer(server)
	t.Cleanup(func() {
		listening.CloseClientConnections()
		listening.Close()
		for _, p := range server.Problems() {
			t.Errorf("the endpoint met: %v", p)
		}
	})
	return listening.URL + "/v1"
}

// millhandDir is the directory that has this test's binary under the name
// millhand.
func millhandDir(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("millhand")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(path)
}

// cronJob is a crontab: what it sets, and its one command.
type cronJob struct {
	env     []string
	shell   string
	command string
}

// parseCrontab reads a user's crontab as crontab(5) describes it.
func parseCrontab(t *testing.T, text string) cronJob {
	t.Helper()
	setting := regexp.MustCompile(`^([A-Z_]+)\s*=\s*(.*)$`)
	times := []*regexp.Regexp{}
	for range 5 {
		times = append(times, regexp.MustCompile(`^(\*|[0-9]+)([-,/][0-9]+)*$`))
	}
	job := cronJob{shell: "/bin/sh"}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if m := setting.FindStringSubmatch(line); m != nil {
			if strings.Contains(m[2], "$") {
				t.Errorf("%s: cron replaces no variables", line)
			}
			if m[1] == "SHELL" {
				job.shell = m[2]
			}
			job.env = append(job.env, m[1]+"="+m[2])
			continue
		}
		f := strings.Fields(line)
		if len(f) < 6 || job.command != "" {
			t.Fatalf("%q: want five times and a command, once", line)
		}
		for i, re := range times {
			if !re.MatchString(f[i]) {
				t.Errorf("%q is no time", f[i])
			}
		}
		if job.command = strings.Join(f[5:], " "); strings.Contains(job.command, "%") {
			t.Errorf("%q: cron makes a line end of %%", job.command)
		}
	}
	if job.command == "" {
		t.Fatal("no job")
	}
	return job
}

// start starts the job as cron would, but with standard input closed, and with
// nothing in its environment that the crontab does not set, except a HOME that does not exist,
// as that of the README's user.
func (j cronJob) start(t *testing.T) (wait func() (exit int, output string)) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `exec "$0" -c "$1" <&-`, j.shell, j.command)
	cmd.Env, cmd.Dir = append([]string{"HOME=/dev/null/none"}, j.env...), "/"
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() (int, string) {
		cmd.Wait()
		return cmd.ProcessState.ExitCode(), out.String()
	}
}

// cronModel is what the model does in the cron example: it fixes a document.
const cronModel = `
version: 1
turns:
  - calls: [{tool: read, args: {filePath: README.md}}]
    usage: {input: 900, output: 20}
  - expect: [make chek]
    calls: [{tool: edit, args: {filePath: README.md, oldString: make chek, newString: make test}}]
    usage: {input: 1000, output: 40}
  - expect: [Edit applied]
    text: README named a target that does not exist.
    usage: {input: 1100, output: 20}
`

// installCron sets the cron example up in a directory, as in its README.
func installCron(t *testing.T, fault func(int) wiretest.Fault) (dir string, job cronJob) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "srv")
	scripts.CopyExample(t, "cron", dir, "/srv/millhand", dir, "PATH=/usr/local/bin", "PATH="+millhandDir(t)+":/usr/local/bin")
	scripts.MakeRepo(t, filepath.Join(dir, "shop"), map[string]string{"README.md": "Try `make chek`.\n", "Makefile": "test:\n\t@grep -q 'make test' README.md\n"})
	key := fmt.Sprintf("OPENAI_API_KEY=sk-of-the-test\nOPENAI_BASE_URL=%s\n", serveScript(t, cronModel, fault))
	if err := os.WriteFile(filepath.Join(dir, "key.env"), []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, parseCrontab(t, read(t, filepath.Join(dir, "crontab")))
}

// listed are the outcomes of the runs in a report directory, newest first.
func listed(t *testing.T, dir string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "millhand", "runs", "list", "--json", "--dir", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Runs []struct{ Outcome string } }
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, r := range doc.Runs {
		list = append(list, r.Outcome)
	}
	return list
}

// TestNightlyRunsOfCronNeverOverlap runs the crontab's command twice concurrently:
// the first is held in its first call of the model until the second has ended.
func TestNightlyRunsOfCronNeverOverlap(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	asked, answer := make(chan struct{}), make(chan struct{})
	goOn := sync.OnceFunc(func() { close(answer) })
	t.Cleanup(goOn)
	dir, job := installCron(t, func(n int) wiretest.Fault {
		if n == 0 {
			close(asked)
			<-answer
		}
		return wiretest.Fault{}
	})
	reports := filepath.Join(dir, "reports")
	type end struct {
		exit   int
		output string
	}
	first := make(chan end, 1)
	wait := job.start(t)
	go func() {
		exit, output := wait()
		first <- end{exit, output}
	}()
	select {
	case <-asked:
	case e := <-first:
		t.Fatalf("the first run ended early: exit %d, %s%s", e.exit, e.output, read(t, filepath.Join(dir, "run.log")))
	}
	if diff := cmp.Diff([]string{"running"}, listed(t, reports)); diff != "" {
		t.Error(diff)
	}

	exit, output := job.start(t)()
	inUse := regexp.MustCompile(`report directory ` + reports + ` is in use by run [0-9]{8}-[0-9]{6}-[0-9a-f]{8} \(pid [0-9]+ on .+ since .+Z\): wait for it, or choose another --report-dir`)
	if exit != 2 || !inUse.MatchString(output) {
		t.Errorf("the second run: exit %d, and cron mails\n%s", exit, output)
	}

	goOn()
	if e := <-first; e.exit != 0 || e.output != "" {
		t.Errorf("the first run: exit %d, and cron mails\n%s", e.exit, e.output)
	}
	branches := strings.Fields(scripts.Git(t, filepath.Join(dir, "shop"), "branch", "--list", "--format=%(refname:short)", "millhand/*"))
	if len(branches) != 1 || !regexp.MustCompile(`^millhand/documents-[0-9]{8}-[0-9]{6}$`).MatchString(branches[0]) {
		t.Fatalf("branches %q; log:\n%s", branches, read(t, filepath.Join(dir, "run.log")))
	}
	if got := scripts.Git(t, filepath.Join(dir, "shop"), "show", branches[0]+":README.md"); got != "Try `make test`.\n" {
		t.Errorf("README is %q", got)
	}
	scripts.Git(t, filepath.Join(dir, "shop"), "branch", "-D", branches[0]) // the next run may be in the same second

	if log := read(t, filepath.Join(dir, "run.log")); strings.Contains(log, "warning") {
		t.Errorf("warnings every night:\n%s", log)
	}

	if exit, output := job.start(t)(); exit != 0 || output != "" {
		t.Errorf("the run afterwards: exit %d\n%s", exit, output)
	}
	if diff := cmp.Diff([]string{"passed", "passed"}, listed(t, reports)); diff != "" {
		t.Error(diff)
	}
}

// TestNightlyRunsKeepThirty gives the example a history and runs it once more.
func TestNightlyRunsKeepThirty(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	dir, job := installCron(t, nil)
	reports, log := filepath.Join(dir, "reports"), filepath.Join(dir, "run.log")
	for n := range 40 {
		run := filepath.Join(reports, "earlier", fmt.Sprintf("before-%02d", n))
		if err := os.MkdirAll(run, 0o755); err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf(`{"seq":1,"time":"2026-01-%02dT00:00:00Z","type":"run.started","run":{"id":"%02d"}}`+"\n", n%30+1, n)
		if err := os.WriteFile(filepath.Join(run, "events.jsonl"), []byte(line), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(log, bytes.Repeat([]byte("an old line\n"), 100_000), 0o644); err != nil {
		t.Fatal(err)
	}
	if exit, output := job.start(t)(); exit != 0 {
		t.Fatalf("exit %d: %s", exit, output)
	}
	if list := listed(t, reports); len(list) != 31 || list[0] != "passed" || slices.Contains(list[1:], "passed") {
		t.Errorf("left: %q", list) // the 30, and the new one
	}
	if old := read(t, log+".1"); !strings.HasPrefix(old, "an old line") || strings.Contains(read(t, log), "an old line") {
		t.Error("the log was not moved aside")
	}
	if !strings.Contains(read(t, log), "removed 10 runs") {
		t.Errorf("log:\n%s", read(t, log))
	}
}

// TestUnitsOfSystemd reads the units, has systemd check them where it is
// installed, and runs the service's command in the service's environment.
func TestUnitsOfSystemd(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	dir, job := installCron(t, nil)
	service, timer := parseUnit(t, filepath.Join(dir, "millhand.service")), parseUnit(t, filepath.Join(dir, "millhand.timer"))
	if got := timer["Timer.OnCalendar"]; got != "*-*-* 03:17:00" || timer["Install.WantedBy"] != "timers.target" {
		t.Errorf("the timer: %v", timer)
	}
	for key, want := range map[string]string{
		"Service.Type": "oneshot", "Service.WorkingDirectory": dir, "Service.ReadWritePaths": dir,
		"Service.EnvironmentFile": filepath.Join(dir, "key.env"), "Service.ExecStart": filepath.Join(dir, "run.sh"), "Service.KillMode": "mixed",
	} {
		if service[key] != want {
			t.Errorf("%s is %q, want %q", key, service[key], want)
		}
	}
	if analyze, err := exec.LookPath("systemd-analyze"); err == nil {
		cmd := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", "millhand.service", "millhand.timer")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("millhand.")) {
			t.Errorf("systemd-analyze: %v\n%s", err, out)
		}
	}

	env := []string{service["Service.Environment"], "INVOCATION_ID=0"}
	for _, kv := range job.env { // systemd's own PATH has /usr/local/bin, too
		if strings.HasPrefix(kv, "PATH=") {
			env = append(env, kv)
		}
	}
	for line := range strings.Lines(read(t, service["Service.EnvironmentFile"])) {
		env = append(env, strings.TrimSpace(line))
	}
	cmd := exec.CommandContext(t.Context(), service["Service.ExecStart"])
	cmd.Env, cmd.Dir = env, service["Service.WorkingDirectory"]
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if diff := cmp.Diff([]string{"passed"}, listed(t, filepath.Join(dir, "reports"))); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "run.log")); err == nil {
		t.Error("there is a second log beside the journal's")
	}
}

// parseUnit reads a unit of systemd: Section.Key to its value.
func parseUnit(t *testing.T, path string) map[string]string {
	t.Helper()
	unit, section := map[string]string{}, ""
	in := bufio.NewScanner(strings.NewReader(read(t, path)))
	for in.Scan() {
		line := in.Text()
		switch key, value, ok := strings.Cut(line, "="); {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			section = line[1 : len(line)-1]
		case !ok || section == "" || key != strings.TrimSpace(key):
			t.Errorf("%s: %q is no setting", path, line)
		default:
			if _, twice := unit[section+"."+key]; twice {
				t.Errorf("%s: %s is set twice", path, key)
			}
			unit[section+"."+key] = value
		}
	}
	return unit
}

// gitLabJob is what the example uses of a job of GitLab CI.
type gitLabJob struct {
	Stage     string            `yaml:"stage"`
	When      string            `yaml:"when"`
	Parallel  int               `yaml:"parallel"`
	Timeout   string            `yaml:"timeout"`
	Image     string            `yaml:"image"`
	Before    []string          `yaml:"before_script"`
	Variables map[string]string `yaml:"variables"`
	Script    []string          `yaml:"script"`
	Artifacts struct {
		When     string            `yaml:"when"`
		Paths    []string          `yaml:"paths"`
		Reports  map[string]string `yaml:"reports"`
		ExpireIn string            `yaml:"expire_in"`
	} `yaml:"artifacts"`
}

// gitLabPipeline is the example's file; an unknown key is a mistake.
type gitLabPipeline struct {
	Workflow struct {
		Rules []struct {
			If string `yaml:"if"`
		} `yaml:"rules"`
	} `yaml:"workflow"`
	Stages  []string `yaml:"stages"`
	Default struct {
		Image        string   `yaml:"image"`
		BeforeScript []string `yaml:"before_script"`
	} `yaml:"default"`
	Work   gitLabJob `yaml:"work"`
	Report gitLabJob `yaml:"report"`
}

func parsePipeline(t *testing.T) gitLabPipeline {
	t.Helper()
	var p gitLabPipeline
	dec := yaml.NewDecoder(strings.NewReader(read(t, scripts.Root(t)+"/examples/gitlab/.gitlab-ci.yml")))
	dec.KnownFields(true)
	if err := dec.Decode(&p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestGitLabPipelineKeepsArtifactsOfFailures(t *testing.T) {
	p := parsePipeline(t)
	if diff := cmp.Diff([]string{p.Work.Stage, p.Report.Stage}, p.Stages); diff != "" {
		t.Error(diff)
	}
	if p.Work.Parallel < 2 || p.Work.Artifacts.When != "always" || p.Report.When != "always" || p.Report.Artifacts.When != "always" {
		t.Errorf("a failed job would lose its work or its report: %+v", p)
	}
	if rules := p.Workflow.Rules; len(rules) != 1 || rules[0].If != `$CI_PIPELINE_SOURCE == "schedule" || $CI_PIPELINE_SOURCE == "web"` {
		t.Errorf("pipelines that somebody's push starts cost money: %v", rules)
	}
	if p.Report.Artifacts.Reports["junit"] != "report/junit.xml" {
		t.Errorf("reports: %v", p.Report.Artifacts.Reports)
	}
}

// gitLab runs the lines of a job in a directory, as a runner's shell would.
func gitLab(t *testing.T, dir string, p gitLabPipeline, job gitLabJob, env ...string) (exit int, output string) {
	t.Helper()
	lines := append([]string{"set -eo pipefail"}, append(slices.Clone(p.Default.BeforeScript), job.Script...)...)
	cmd := exec.CommandContext(t.Context(), "bash", "-c", strings.Join(lines, "\n"))
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "CI=true", "GITLAB_CI=true", "CI_PROJECT_DIR=" + dir}, env...)
	for k, v := range job.Variables {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	out, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(out)
}

// TestThePipelineOfGitLab runs every parallel job in a clone of its own, and
// hands the artifacts to the last one.
func TestThePipelineOfGitLab(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	p := parsePipeline(t)
	origin, turns := t.TempDir(), "version: 1\nturns:\n"
	files := map[string]string{"millhand.yaml": read(t, scripts.Root(t)+"/examples/gitlab/millhand.yaml")}
	for _, part := range []string{"api", "billing", "mail", "search", "web", "worker"} {
		files[part+"/main.txt"] = part + "\n"
		turns += fmt.Sprintf("  - calls: [{tool: write, args: {filePath: %s/README.md, content: It works.}}]\n    usage: {input: 10, output: 10}\n", part)
	}
	scripts.MakeRepo(t, origin, files)
	key := []string{"OPENAI_API_KEY=sk-of-the-test", "OPENAI_BASE_URL=" + serveScript(t, turns+"  - {text: Done., usage: {input: 10, output: 10}}\n", nil)}

	merged := t.TempDir()
	jobs := 0
	for n := range p.Work.Parallel {
		clone := filepath.Join(t.TempDir(), "project")
		scripts.Git(t, origin, "clone", "-q", origin, clone)
		scripts.Git(t, clone, "checkout", "-q", "--detach")
		exit, output := gitLab(t, clone, p, p.Work, append(key, fmt.Sprintf("CI_NODE_INDEX=%d", n+1), fmt.Sprintf("CI_NODE_TOTAL=%d", p.Work.Parallel))...)
		if exit != 0 {
			t.Fatalf("job %d: exit %d\n%s", n+1, exit, output)
		}
		if err := os.CopyFS(filepath.Join(merged, "shards"), os.DirFS(filepath.Join(clone, "shards"))); err != nil {
			t.Fatal(err)
		}
		jobs += len(jobsOf(t, filepath.Join(clone, "shards", fmt.Sprint(n+1))))
	}
	if exit, output := gitLab(t, merged, p, p.Report); exit != 0 {
		t.Fatalf("merge: exit %d\n%s", exit, output)
	}
	all := jobsOf(t, filepath.Join(merged, "report"))
	if jobs != 6 || len(all) != 6 {
		t.Errorf("%d jobs in all shards, %d in the merged report; want 6", jobs, len(all))
	}
	for id, outcome := range all {
		if outcome != "passed" {
			t.Errorf("%s: %s", id, outcome)
		}
	}
	if junit := read(t, filepath.Join(merged, p.Report.Artifacts.Reports["junit"])); !strings.Contains(junit, "<testsuite") {
		t.Errorf("junit: %s", junit)
	}
	// A shard whose machine was lost.
	if err := os.RemoveAll(filepath.Join(merged, "shards", "1")); err != nil {
		t.Fatal(err)
	}
	if exit, output := gitLab(t, merged, p, p.Report); exit == 0 {
		t.Errorf("with a shard missing: exit 0\n%s", output)
	}
}

// TestTheComponentOfGitLab runs the component's job, with its inputs filled in, on the manifest that
// reviews merge requests. Nothing is published: that is tested with forges.
func TestTheComponentOfGitLab(t *testing.T) {
	head, text, found := strings.Cut(read(t, scripts.Root(t)+"/examples/gitlab/component.yml"), "\n---\n")
	if !found {
		t.Fatal("component.yml has no specification")
	}
	var component struct {
		Spec struct {
			Inputs map[string]struct{ Default *string }
		}
	}
	if err := yaml.Unmarshal([]byte(head), &component); err != nil {
		t.Fatal(err)
	}
	with := map[string]string{"job": "review", "manifest": "a b.yaml", "publish": "patch"}
	for input, spec := range component.Spec.Inputs {
		switch value, given := with[input]; {
		case spec.Default == nil:
			t.Errorf("the input %s has no default", input)
		case input == "publish" && *spec.Default != "": // none would be a flag that comments nothing
			t.Errorf("the component publishes %q, whatever the manifest says", *spec.Default)
		case given:
			text = strings.ReplaceAll(text, "$[[ inputs."+input+" ]]", value)
		default:
			text = strings.ReplaceAll(text, "$[[ inputs."+input+" ]]", *spec.Default)
		}
	}
	var jobs map[string]gitLabJob
	if err := yaml.Unmarshal([]byte(text), &jobs); err != nil || strings.Contains(text, "$[[") {
		t.Fatalf("%v\n%s", err, text)
	}
	job := jobs["review"]
	if len(jobs) != 1 || strings.Contains(strings.Join(job.Script, " "), "a b.yaml") {
		t.Errorf("an input is in a script: %v", job.Script)
	}
	dir := t.TempDir()
	scripts.MakeRepo(t, dir, map[string]string{"a b.yaml": read(t, scripts.Root(t)+"/examples/gitlab/review.yaml"), "main.txt": "old\n"})
	base := strings.TrimSpace(scripts.Git(t, dir, "rev-parse", "HEAD"))
	if err := os.WriteFile(filepath.Join(dir, "main.txt"), []byte("new line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	scripts.Git(t, dir, "commit", "-q", "-a", "-m", "change")
	exit, output := gitLab(t, dir, gitLabPipeline{}, job, "CI_MERGE_REQUEST_IID=7", "CI_MERGE_REQUEST_DIFF_BASE_SHA="+base,
		"OPENAI_API_KEY=sk-of-the-test", "OPENAI_BASE_URL="+serveScript(t, "version: 1\nturns: [{text: '{\"summary\": \"Looks good.\", \"findings\": []}', usage: {input: 10, output: 10}}]\n", nil))
	if exit != 0 || jobsOf(t, filepath.Join(dir, ".millhand/report"))["review"] != "passed" {
		t.Fatalf("exit %d\n%s", exit, output)
	}
	sessions, err := filepath.Glob(filepath.Join(dir, ".millhand/report/sessions/*.jsonl"))
	if err != nil || len(sessions) != 1 || !strings.Contains(read(t, sessions[0]), "+new line") {
		t.Errorf("the prompt does not have the change: %v %v", sessions, err)
	}
	if junit := read(t, filepath.Join(dir, job.Artifacts.Reports["junit"])); !strings.Contains(junit, "<testsuite") {
		t.Errorf("junit: %s", junit)
	}
}

// jobsOf are the outcomes of the jobs in a report, by id.
func jobsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	var doc struct {
		Jobs []struct{ ID, Outcome string }
	}
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, "report.json"))), &doc); err != nil {
		t.Fatal(err)
	}
	jobs := map[string]string{}
	for _, j := range doc.Jobs {
		jobs[j.ID] = j.Outcome
	}
	return jobs
}
