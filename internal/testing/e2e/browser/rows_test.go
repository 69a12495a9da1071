package browser

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/html"
)

// bulk writes the page of a run with a number of jobs.
func bulk(t *testing.T, jobs int) string {
	t.Helper()
	r := &report.Report{Run: report.Run{ID: "run", Outcome: event.Failed}}
	for i := range jobs {
		j := report.Job{ID: fmt.Sprintf("task-%d", i), Repo: fmt.Sprintf("acme/service-%d", i%7), Task: "task", Outcome: event.Passed, CostUSD: new(money.USD(i)), FinalMessage: fmt.Sprintf("The end of %d.", i)}
		if i%10 == 3 {
			j.Outcome, j.Reason = event.Failed, "</noscript><script>alert(1)</script><img src=x onerror=alert(2)>"
			j.Repo = j.Reason
		}
		r.Jobs = append(r.Jobs, j)
	}
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

// inTable returns the number of jobs in the table, and of all elements of the page.
func inTable(p *opened) (rows, elements int) {
	p.t.Helper()
	count := func(selector string) int {
		n, err := strconv.Atoi(p.js(`(s) => document.querySelectorAll(s).length`, selector))
		if err != nil {
			p.t.Fatal(err)
		}
		return n
	}
	return count("#jobs tbody tr[data-n]"), count("*")
}

const (
	choose  = `(id, value) => { const e = document.getElementById(id); e.value = value; e.dispatchEvent(new Event(e.tagName === "INPUT" ? "input" : "change")); }`
	status  = `() => document.getElementById("shown").textContent`
	firstID = `() => document.querySelector("#jobs tbody tr[data-n] th").textContent`
	// harmful are elements of hostile texts.
	harmful = `() => document.querySelectorAll("img, iframe, #jobs script, .jobs script").length`
)

func TestRows(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	b := chromium(t)
	t.Run("added when needed", func(t *testing.T) { addedRows(t, b) })
	t.Run("address of a later one", func(t *testing.T) { laterRow(t, b) })
	t.Run("without scripts", func(t *testing.T) { staticRows(t, b) })
}

func addedRows(t *testing.T, b context.Context) {
	t.Helper()
	small, large := bulk(t, 200), bulk(t, 2000)
	_, limit := inTable(open(t, b, "file://"+small, 1400, "light"))
	p := open(t, b, "file://"+large, 1400, "light")
	if rows, elements := inTable(p); rows != 100 || elements > limit+50 { // reasons name a few jobs
		t.Errorf("%d rows and %d elements, with 200 jobs %d", rows, elements, limit)
	}
	if got := p.js(status); got != "2000 jobs" {
		t.Error(got)
	}
	if got := p.js(`() => document.getElementById("jobs").getAttribute("aria-rowcount") + " " + document.querySelector("#jobs tbody tr").getAttribute("aria-rowindex")`); got != "2001 2" {
		t.Errorf("row count and index: %s", got)
	}
	axe(t, p)

	p.js(`async () => {
		window.scrollTo(0, document.body.scrollHeight);
		for (let i = 0; i < 600 && document.querySelectorAll("#jobs tbody tr").length < 200; i++) await new Promise((r) => setTimeout(r, 50));
	}`)
	if rows, _ := inTable(p); rows < 200 || rows > 500 {
		t.Errorf("%d rows after scrolling", rows)
	}
	p.js(`() => [...document.querySelectorAll("#jobs thead button")].find((b) => b.textContent.startsWith("Cost")).click()`)
	if got := p.js(firstID); got != "task-1999" {
		t.Errorf("the highest cost is that of %s", got)
	}
	p.js(choose, "filter", "task-1777")
	if rows, _ := inTable(p); rows != 1 || p.js(firstID) != "task-1777" || p.js(status) != "1 of 2000 jobs" {
		t.Errorf("filtered: %d rows, %s, %s", rows, p.js(firstID), p.js(status))
	}
	p.js(choose, "filter", "no such job")
	if rows, _ := inTable(p); rows != 0 || p.js(status) != "0 of 2000 jobs" {
		t.Errorf("filtered: %d rows, %s", rows, p.js(status))
	}
	p.js(choose, "filter", "")
	p.js(choose, "outcome", "failed")
	p.js(choose, "group", "outcome")
	if got := p.js(`() => document.querySelector("#jobs tbody tr").textContent`); got != "failed: 200 jobs, 0 passed" {
		t.Errorf("grouped: %s", got)
	}
	p.js(`() => document.querySelector("#more button").click()`)
	if rows, _ := inTable(p); rows != 200 || p.js(`() => document.getElementById("more").hidden + String(document.getElementById("jobs").hasAttribute("aria-rowcount"))`) != "truefalse" {
		t.Errorf("%d of 200 rows after all were requested", rows)
	}
	if n := p.js(harmful); n != "0" {
		t.Errorf("%s elements of hostile texts", n)
	}
	p.quiet()
}

// laterRow opens the page at a job whose row is not in the table yet, and prints it.
func laterRow(t *testing.T, b context.Context) {
	t.Helper()
	p := open(t, b, "file://"+bulk(t, 250)+"#job=task-177", 1400, "light")
	p.do(chromedp.WaitReady("tr.detail .job"))
	if got := p.js(`() => document.querySelector("tr.detail").previousSibling.querySelector("button").textContent + ": " + document.querySelector(".job .md").textContent.trim()`); got != "task-177: The end of 177." {
		t.Errorf("%s is open", got)
	}
	if pdf := run(p, chromedp.PrintToPDF()); !bytes.HasPrefix(pdf, []byte("%PDF-")) {
		t.Errorf("printed: %.20q", pdf)
	}
	if rows, _ := inTable(p); rows != 250 {
		t.Errorf("%d rows are printed", rows)
	}
	p.quiet()
}

// staticRows reads the page in a browser that runs no scripts.
func staticRows(t *testing.T, b context.Context) {
	t.Helper()
	file := bulk(t, 300)
	p := open(t, b, "file://"+file, 1400, "light")
	call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	p.do(chromedp.Navigate("file://" + file))
	if got := p.js(`() => [...document.querySelectorAll(".jobs")].map((t) => t.tBodies[0].rows.length + " " + (t.getBoundingClientRect().height > 1000)).join(", ")`); got != "100 true, 200 true" {
		t.Errorf("rows of the tables: %s", got)
	}
	if n := p.js(harmful); n != "0" {
		t.Errorf("%s elements of hostile texts", n)
	}
}
