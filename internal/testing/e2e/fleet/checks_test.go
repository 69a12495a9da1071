package fleet

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// checkEnd checks that no repository uses io/ioutil any more, except those of people.
func (f *fleet) checkEnd() {
	f.t.Helper()
	for _, p := range f.open() {
		f.t.Logf("left to people: %s#%d %v", p.Repo, p.Number, p.Labels)
	}
	left := 0
	for _, m := range f.modules {
		out, _ := f.git("acme/"+m.name, "grep", "-lE", `^[^/]*"io/ioutil"( //.*)?$`, "main", "--", "*.go", ":!vendor", ":!*/vendor/*", ":!testdata", ":!*/testdata/*")
		if out != "" {
			left++
			f.t.Logf("not migrated: %s: %.200s", m.name, out)
		}
	}
	f.t.Logf("%d of %d repositories migrated", len(f.modules)-left, len(f.modules))
	if left*20 > len(f.modules) {
		f.t.Errorf("%d repositories are not migrated", left)
	}
}

// review reads the patterns of the largest run.
func (f *fleet) review() {
	f.t.Helper()
	largest := f.last()
	for _, r := range f.runs() {
		if len(r.Jobs) > len(largest.Jobs) {
			largest = r
		}
	}
	code, out := f.millhand("report", "patterns", largest.Run.ID)
	head, _, _ := strings.Cut(out, "\n")
	if code != 0 || !strings.Contains(head, "patterns of edits") {
		f.t.Errorf("exit code %d: %s", code, head)
	}
	f.t.Log(head)
	page, err := os.ReadFile(filepath.Join(largest.dir, "report.html"))
	f.must(err)
	if dir := os.Getenv("MILLHAND_PICTURES"); dir != "" {
		f.must(os.MkdirAll(dir, 0o755))
		f.must(os.WriteFile(filepath.Join(dir, "fleet.html"), page, 0o644))
		f.must(os.WriteFile(filepath.Join(dir, "fleet.txt"), []byte(out), 0o644))
	}
}

// verify verifies the evidence of all runs where nothing but the repositories, the report
// directories and the allowed signers exist.
func (f *fleet) verify() {
	f.t.Helper()
	f.must(os.MkdirAll(filepath.Join(f.dir, "audit/home"), 0o700))
	f.run("audit", "cp", "../allowed_signers", ".")
	cloned := map[string]bool{}
	for _, r := range f.runs() {
		name := r.Run.ID
		f.run("audit", "cp", "-a", r.dir, name)
		args := []string{"verify-report", name, "--allowed-signers", "allowed_signers"}
		for _, j := range r.Jobs {
			if j.Outcome != "passed" {
				continue
			}
			if !cloned[j.Repo] {
				cloned[j.Repo] = true
				f.run("audit", "git", "clone", "-q", "../acme/"+j.Repo+".git", j.Repo)
				f.run("audit/"+j.Repo, "git", "fetch", "-q", "origin", "+refs/pull/*/head:refs/remotes/pull/*")
			}
			args = append(args, "--repo", j.Repo)
		}
		cmd := f.command("audit", "millhand", args...)
		cmd.Env = append(cmd.Env, "HOME="+filepath.Join(f.dir, "audit/home"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			f.t.Errorf("verify-report of wave %v: %v\n%.3000s", r.Run.Rollout, err, out)
			continue
		}
		f.t.Logf("verified the run of wave %d with %d repositories, %d lines", r.Run.Rollout.Wave, len(args)/2-2, strings.Count(string(out), "\n"))
	}
}

// figures logs what the migration needed.
func (f *fleet) figures(began time.Time) {
	f.t.Helper()
	var b strings.Builder
	sessions, jobs, total := 0, 0, 0.0
	for _, r := range f.runs() {
		sessions, jobs, total = sessions+r.sessions(f.t), jobs+len(r.Jobs), total+r.Run.Totals.CostUSD
		free, skipped := 0, 0
		for _, j := range r.Jobs {
			switch {
			case j.Outcome == "skipped":
				jobs--
				skipped++
			case j.CostUSD != nil && *j.CostUSD == 0:
				free++
			}
		}
		fmt.Fprintf(&b, "wave %d: %d jobs, %d of them for nothing, %d held back, %d sessions, $%.4f, %s\n", r.Run.Rollout.Wave, len(r.Jobs)-skipped, free, skipped, r.sessions(f.t), r.Run.Totals.CostUSD, r.Run.Outcome)
	}
	text, err := os.ReadFile(filepath.Join(f.dir, "desk/distilled/report.json"))
	f.must(err)
	var d savedRun
	f.must(json.Unmarshal(text, &d))
	usage := f.model.Usage()
	f.t.Logf("%sdistill: $%.4f\n%d jobs, %d sessions, $%.4f; the models counted %d requests, %d + %d tokens\n%d pull requests, %d red checks, %s",
		&b, d.Run.Totals.CostUSD, jobs, sessions, total, f.model.Served(), usage.Input, usage.Output, len(f.forge.Pulls()), f.reds, time.Since(began).Round(time.Second))
}
