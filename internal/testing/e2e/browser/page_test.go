package browser

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/html"
)

// upgrades writes the page of a run in CI on 30 repositories, with all that a job can end as.
func upgrades(t *testing.T) string {
	t.Helper()
	began := time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)
	r := &report.Report{Run: report.Run{
		ID: "20261129-080000-5b1c9d2e", Name: "Upgrade the logging library to 2.0", Manifest: []string{".millhand/upgrade-logging.yaml"}, Version: "1.4.0",
		StartedAt: report.Time{Time: began}, ElapsedMS: 1_934_000, Outcome: event.Error, ExitCode: 2, MaxCostUSD: new(25 * money.Dollar),
		StartedBy: &event.StartedBy{CI: "github", Actor: "maintainer-of-everything", Event: "workflow_dispatch", RunURL: "https://github.com/acme/automation/actions/runs/19283746501"},
	}}
	ends := map[int]struct {
		outcome event.Outcome
		code    event.Code
		reason  string
	}{
		3:  {event.Failed, "", "verify tests failed after 3 attempts: --- FAIL: TestLoggerIsConfigured (0.02s)\n    logger_test.go:41: level is \"info\", want \"warn\""},
		8:  {event.Failed, "", "verify tests failed after 3 attempts: --- FAIL: TestLoggerIsConfigured (0.02s)\n    logger_test.go:41: level is \"info\", want \"warn\""},
		11: {event.Policy, "", "4 calls denied: git push origin main, denied by policy: bash: {\"git push *\": deny}"},
		17: {event.Budget, "", "run budget exceeded: $0.0012 of $25.00 remaining, not enough for another request"},
		18: {event.Budget, "", "run budget exceeded: $0.0012 of $25.00 remaining, not enough for another request"},
		21: {event.Limit, "", "turn limit exceeded (60)"},
		24: {event.Error, "", "clone https://github.com/acme/service-for-the-migration-of-legacy-billing-accounts-24: authentication failed"},
		27: {event.Skipped, "", "not started: the rollout was stopped"},
		28: {event.Skipped, "", "not started: the rollout was stopped"},
		29: {event.Cancelled, "", "interrupted"},
	}
	names := []string{"api", "billing-and-invoicing-backend", "cart", "service-for-the-migration-of-legacy-billing-accounts", "search"}
	for i := range 30 {
		repo := fmt.Sprintf("acme/%s-%d", names[i%len(names)], i)
		j := report.Job{
			ID: "upgrade-" + filepath.Base(repo), Task: "upgrade", Repo: repo, Outcome: event.Passed, Turns: 7 + i, CostUSD: new(money.USD(i+1) * money.Dollar / 37), ElapsedMS: int64(40_000 + 3100*i),
			Changes: []event.Change{{Path: "go.mod", Added: 2 + i, Removed: 1}}, Commit: &event.Commit{Branch: "millhand/upgrade-" + filepath.Base(repo)},
			FinalMessage: "The library is upgraded.", Sessions: []report.Session{{ID: "s", Agent: "build"}},
		}
		for turn := range 12 {
			j.Sessions[0].TurnCosts = append(j.Sessions[0].TurnCosts, report.TurnCost{Turn: turn + 1, Model: "anthropic/claude-sonnet-5", StartedAt: report.Time{Time: began.Add(time.Duration(turn) * 3 * time.Second)}, ElapsedMS: 2100, CostUSD: new(money.USD(1+turn*turn%7) * money.Dollar / 300)})
		}
		if i%4 == 1 {
			j.PullRequest = &event.PullRequest{Number: int64(100 + i), State: "open", URL: fmt.Sprintf("https://github.com/%s/pull/%d", repo, 100+i)}
		}
		if end, ok := ends[i]; ok {
			j.Outcome, j.ReasonCode, j.Reason, j.Commit, j.PullRequest = end.outcome, end.code, end.reason, nil, nil
		}
		switch j.Outcome {
		case event.Skipped:
			j.Turns, j.CostUSD, j.ElapsedMS, j.Changes, j.Sessions = 0, new(money.USD), 0, nil, nil
			r.Run.Totals.Skipped++
		case event.Passed:
			r.Run.Totals.Passed++
		default:
			r.Run.Totals.Failed++
		}
		r.Jobs = append(r.Jobs, j)
	}
	t1 := &r.Run.Totals
	t1.Jobs, t1.Turns, t1.ToolCalls, t1.DeniedCalls, t1.Changes, t1.Retries, t1.CostUSD = 30, 612, 1204, 4, 61, 3, new(24*money.Dollar+998*money.Dollar/1000)
	t1.Usage = money.Usage{Input: 3_400_000, Output: 91_000, CacheRead: 2_900_000}
	var b bytes.Buffer
	if err := html.Write(&b, r, nil); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// outside returns the texts that are not visible in the window without horizontal scrolling.
const outside = `() => {
	const all = [...document.querySelectorAll("header, .totals, .outcomes, .reasons li, .controls label, #jobs tbody tr:not(.detail) > *, .job section, .job figure, .chart")];
	return all.filter((e) => e.checkVisibility() && (e.getBoundingClientRect().right > innerWidth || e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline")).map((e) => e.textContent.trim().slice(0, 40)).join("; ");
}`

func TestPage(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	b, file := chromium(t), upgrades(t)
	pictures := os.Getenv("MILLHAND_PICTURES")
	if pictures == "" {
		pictures = t.TempDir()
	}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{390, 900, 1400} {
			t.Run(fmt.Sprintf("%s at %d", scheme, width), func(t *testing.T) { pageAt(t, b, file, pictures, scheme, width) })
		}
	}
}

func pageAt(t *testing.T, b context.Context, file, pictures, scheme string, width int64) {
	t.Helper()
	p := open(t, b, "file://"+file, width, scheme)
	p.picture(pictures, fmt.Sprintf("page-%s-%d", scheme, width))
	axe(t, p)
	if got := p.js(outside); got != "" {
		t.Errorf("off-screen: %s", got)
	}
	for what, want := range map[string]string{
		`() => document.querySelector("h1").textContent`:                    "Upgrade the logging library to 2.0",
		`() => document.querySelector("header .of").innerText`:              "30 repositories CI run (github, workflow_dispatch) by maintainer-of-everything",
		`() => document.querySelector("header a").href`:                     "https://github.com/acme/automation/actions/runs/19283746501",
		`() => document.querySelector(".totals dl").innerText`:              "Outcome error 20 of 30 jobs passed Cost $25.00 of $25.00 Time 32m14s",
		`() => document.querySelectorAll(".reasons li").length`:             "6",
		`() => document.querySelector("#jobs tbody tr").cells[0].innerText`: "error",
	} {
		if got := p.js("() => String((" + what + ")()).replaceAll(/\\s+/g, ' ').trim()"); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	if got, want := p.js(`() => document.querySelector(".sort").checkVisibility() + " " + document.querySelector("#jobs thead").checkVisibility()`), fmt.Sprint(width == 390, " ", width != 390); got != want {
		t.Errorf("the list to sort by and the head of the table are visible: %s, want %s", got, want)
	}
	p.js(`() => { const s = document.getElementById("sort"); s.value = [...s.options].find((o) => o.text.startsWith("cost")).value; s.dispatchEvent(new Event("change")); }`)
	if got := p.js(`() => [...document.querySelectorAll("#jobs tbody tr")].map((tr) => Number(tr.querySelectorAll("td.n")[3].dataset.v)).every((v, i, all) => i === 0 || all[i - 1] >= v)`); got != "true" {
		t.Error("the costs are not sorted")
	}
	p.js(`() => document.querySelectorAll(".reasons a")[1].click()`)
	p.js(`async () => { while (!document.querySelector("tr.detail .job")) await new Promise((r) => setTimeout(r, 50)); }`)
	p.js(`() => { for (const d of document.querySelectorAll("details")) d.open = true; }`)
	p.picture(pictures, fmt.Sprintf("page-job-%s-%d", scheme, width))
	axe(t, p)
	if got := p.js(outside); got != "" {
		t.Errorf("off-screen in a job: %s", got)
	}
	p.quiet()
}
