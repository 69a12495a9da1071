package fleet

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/testing/forgetest"
)

// manifest is that of the migration. The verbs are the URL of the models, the forge's host,
// the canaries, the prompt, and further keys of the task.
const manifest = `version: 1
name: ioutil
model: responses/m
profile: build
limits: {cost: 1.50}
evidence: {sign: ssh}
providers: {responses: {kind: responses, base_url: %s/v1}}
prices: {responses/m: {input: 1, output: 4}}
forges: {"%s": {kind: github, token_env: FORGE_TOKEN}}
repos: [{file: repos.txt}]
follow: {on: [conflict, checks], attempts: 2, cost: 1.00}
rollout:
  canary: [%s]
  waves: [10, 25%%, 100%%]
  advance: {passed: 80%%, checks: 90%%, merged: 2, forecast: 100}
  stop: {failed: 30%%, denied: 5, cost_per_job: 1.00}
  max_open: 40
tasks:
  - id: ioutil
    prompt: %s in the repository ${{ repo.name }}.
    verify:
      - {name: gone, run: "! grep -rqE --include=*.go --exclude-dir=testdata --exclude-dir=vendor '\"io/ioutil\"( //.*)?$' ."}
      - {name: parses, run: "git diff -z --name-only HEAD -- '*.go' | xargs -0 -r gofmt -l >/dev/null"}
    commit: {branch: millhand/ioutil}
    publish: {mode: pr, draft: false}
%s`

const (
	wrongPrompt = "Replace io/ioutil by example.com/acme/fsutil, except in tests,"
	rightPrompt = "Replace io/ioutil by io and os"
)

func (f *fleet) manifest(canary []string, prompt, more string) {
	f.t.Helper()
	f.write("desk/fleet.yaml", fmt.Sprintf(manifest, f.models, f.host, strings.Join(canary, ", "), prompt, more))
}

// canaries returns two modules that the wrong prompt passes verify in, and one that it does not,
// which is the last of them in the order of the jobs.
func (f *fleet) canaries() []string {
	order := func(a, b module) int {
		first, second := sha256.Sum256([]byte("ioutil-"+a.name)), sha256.Sum256([]byte("ioutil-"+b.name))
		return slices.Compare(first[:], second[:])
	}
	var chosen []string
	for _, m := range slices.SortedFunc(slices.Values(f.modules), order) {
		if len(chosen) < 2 && m.other && !m.tests || len(chosen) == 2 && m.tests {
			chosen = append(chosen, m.name)
		}
	}
	if len(chosen) < 3 {
		f.t.Fatalf("only %q are canaries", chosen)
	}
	return chosen
}

// tend is what happens between two waves: CI runs, the pull requests are followed, and people
// merge those that are good.
func (f *fleet) tend() {
	f.t.Helper()
	for range 4 {
		f.ci()
		code, out := f.millhand("follow", "fleet.yaml", "--quiet")
		if code != 0 && code != 1 {
			f.t.Fatalf("follow: exit code %d\n%s", code, out)
		}
		f.ci()
		if f.merge(); len(f.open()) == 0 {
			return
		}
	}
}

// wave repeats the command as cron does until a wave is complete, and returns its runs.
func (f *fleet) wave(disturb func()) string {
	f.t.Helper()
	for range 8 {
		before := len(f.runs())
		code, out := f.millhand("run", "fleet.yaml", "--jobs", "2", "--quiet")
		if code != 0 && code != 1 {
			f.t.Fatalf("exit code %d", code)
		}
		disturb()
		f.tend()
		if len(f.runs()) > before && !strings.Contains(out, "held back") {
			return f.last().Run.Outcome
		}
		if len(f.runs()) > before && f.last().Run.Outcome != "waiting" {
			f.t.Errorf("a run that was held back is %s", f.last().Run.Outcome)
		}
	}
	f.t.Fatal("the wave is not complete")
	return ""
}

func nothing() {}

// TestMigration migrates 120 modules off io/ioutil.
func TestMigration(t *testing.T) {
	if !nightly.On() {
		t.Skip("long: make nightly runs it")
	}
	began := time.Now()
	f := newFleet(t, findModules(t, nightly.Count(0, 120, 120)))
	t.Logf("%d repositories after %s", len(f.modules), time.Since(began).Round(time.Second))
	canary := f.canaries()
	f.stopped(canary)

	// The prompt is corrected. Canaries, and the wave of ten.
	f.manifest(canary, rightPrompt, "")
	if got := f.wave(nothing); got != "waiting" {
		t.Fatalf("the canaries' run is %s", got)
	}
	if got := f.wave(func() { f.disturb(1, 1, 0) }); got != "waiting" {
		t.Fatalf("the second wave is %s", got)
	}
	f.distill()
	f.manifest(canary, rightPrompt, "    script: scripts/ioutil.py\n")
	outcome := "waiting"
	for outcome == "waiting" {
		outcome = f.wave(func() { f.disturb(2, 2, 2) })
	}
	if outcome != "passed" {
		t.Errorf("the last wave is %s", outcome)
	}
	f.checkEnd()
	f.review()
	f.verify()
	f.figures(began)
}

// stopped runs the wrong prompt, which is stopped among the canaries, and undoes it after people
// have merged a pull request.
func (f *fleet) stopped(canary []string) {
	f.t.Helper()
	f.manifest(canary, wrongPrompt, "")
	if code, _ := f.millhand("run", "fleet.yaml", "--jobs", "2", "--quiet"); code != 3 {
		f.t.Fatalf("exit code %d", code)
	}
	f.ci()
	run, open := f.last(), f.open()
	if run.Run.Outcome != "stopped" || len(open) != 2 {
		f.t.Fatalf("%s with %d pull requests", run.Run.Outcome, len(open))
	}
	if code, _ := f.millhand("run", "fleet.yaml", "--jobs", "2", "--quiet"); code != 3 || f.last().Run.ID != run.Run.ID {
		f.t.Errorf("exit code %d of the next invocation", code)
	}
	f.mergeOne(open[0])
	if code, _ := f.millhand("publish", "revert", run.Run.ID, "--delete-branch", "--comment", "The prompt was wrong."); code != 0 {
		f.t.Fatalf("exit code %d", code)
	}
	open = f.open()
	if len(open) != 1 || !strings.HasPrefix(open[0].Title, "Revert ") {
		f.t.Fatalf("open after the revert: %+v", open)
	}
	f.ci()
	f.mergeOne(open[0])
	f.t.Logf("the wrong prompt cost $%.4f", run.Run.Totals.CostUSD)
}

var (
	removed = regexp.MustCompile(`(?m)^-.*"io/ioutil"`)
	special = regexp.MustCompile(`(?m)^\+(  (import )?"(io|os)"|.*// Since|.*, 0o)`)
)

// distill makes a script of the merged patches of the latest run, except those with edits of an
// agent's own, which people do not want everywhere, and those of follow-ups.
func (f *fleet) distill() {
	f.t.Helper()
	f.must(os.Mkdir(filepath.Join(f.dir, "desk/scripts"), 0o700))
	run, patches := f.last(), []string{}
	for _, j := range run.Jobs {
		patch, err := os.ReadFile(filepath.Join(run.dir, "patches", j.ID+".patch"))
		f.must(err)
		isOpen := slices.ContainsFunc(f.open(), func(p forgetest.Pull) bool { return p.Repo == "acme/"+j.Repo })
		if !isOpen && removed.Match(patch) && !special.Match(patch) {
			patches = append(patches, "--patch", filepath.Join(run.dir, "patches", j.ID+".patch"))
		}
	}
	args := append([]string{"distill", run.Run.ID, "--task", "ioutil", "--jobs", "2", "--output", "scripts/ioutil", "--report-dir", "distilled", "--quiet"}, patches...)
	if code, _ := f.millhand(args...); code != 0 {
		f.t.Fatalf("exit code %d", code)
	}
}
