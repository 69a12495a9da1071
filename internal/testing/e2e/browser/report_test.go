package browser

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/millhand/millhand/internal/testing/e2e/scripts"
)

var draw = flag.Bool("draw", false, "draw docs/report.png")

// fleet runs testdata/fleet and returns its HTML report: 40 jobs, of which some fail, are
// denied, use subagents, or have hostile texts.
func fleet(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/fleet")); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), "millhand", "run", "millhand.yaml", "--report-dir", "report", "--sandbox", "off")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 4 {
		tb.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "report", "report.html")
}

// openAll opens every job and every section.
const openAll = `async () => {
	for (const b of document.querySelectorAll("#jobs tbody th > button")) b.click();
	for (let i = 0; i < 600 && document.querySelectorAll("tr.detail .job").length < 40; i++) await new Promise((r) => setTimeout(r, 50));
	for (const d of document.querySelectorAll("details")) d.open = true;
	return document.querySelectorAll("tr.detail .job").length;
}`

func TestReport(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	b, file := chromium(t), fleet(t)
	t.Run("appearance", func(t *testing.T) { appearance(t, b, file) })
	t.Run("table", func(t *testing.T) { table(t, b, file) })
	t.Run("picture", func(t *testing.T) { documented(t, b, file) })
	t.Run("address", func(t *testing.T) { addressed(t, b, file) })
}

// appearance opens the page at three widths and in both themes.
func appearance(t *testing.T, b context.Context, file string) {
	t.Helper()
	pictures := os.Getenv("MILLHAND_PICTURES") // where they are looked at later
	if pictures == "" {
		pictures = t.TempDir()
	}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{390, 900, 1400} {
			t.Run(fmt.Sprintf("%s at %d", scheme, width), func(t *testing.T) {
				p := open(t, b, "file://"+file, width, scheme)
				p.picture(pictures, fmt.Sprintf("table-%s-%d", scheme, width))
				axe(t, p)
				p.js(`async () => {
					for (const b of document.querySelectorAll("#jobs tbody th > button")) if (/rename-api|research-api|hostile-api|endless-api|upgrade-api/.test(b.textContent)) b.click();
					for (let i = 0; i < 600 && document.querySelectorAll("tr.detail .job").length < 5; i++) await new Promise((r) => setTimeout(r, 50));
				}`)
				p.picture(pictures, fmt.Sprintf("jobs-%s-%d", scheme, width))
				p.js(`() => { for (const d of document.querySelectorAll("details")) d.open = true; }`)
				if got := p.js(`() => document.documentElement.scrollWidth - window.innerWidth`); got != "0" {
					t.Errorf("the page is %s pixels wider than the window", got)
				}
				if width == 900 { // the others look the same
					p.picture(pictures, fmt.Sprintf("open-%s-%d", scheme, width))
					axe(t, p)
				}
				p.quiet()
			})
		}
	}
}

// documented opens a job as docs/report.png shows it, and draws it with -draw.
func documented(t *testing.T, b context.Context, file string) {
	t.Helper()
	p := open(t, b, "file://"+file, 1100, "light")
	p.js(`() => { const e = document.getElementById("filter"); e.value = "rename"; e.dispatchEvent(new Event("input")); }`)
	p.js(`async () => {
		document.querySelector("#jobs tbody th > button").click();
		while (!document.querySelector("tr.detail .job")) await new Promise((r) => setTimeout(r, 50));
	}`)
	for _, section := range []string{"Timeline", "Cost by turn", "Verify", "Changes"} {
		if n := p.js(`(name) => [...document.querySelectorAll(".job h3")].filter((h) => h.textContent === name).length`, section); n != "1" {
			t.Errorf("section %s: %s times", section, n)
		}
	}
	if !*draw {
		return
	}
	picture := call(p, page.CaptureScreenshot, page.CaptureScreenshotParams{
		CaptureBeyondViewport: new(true), Clip: &page.Viewport{Width: 1100, Height: 1500, Scale: 1},
	})
	if err := os.WriteFile(filepath.Join(scripts.Root(t), "docs", "report.png"), picture.Data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// axe checks the accessibility of the page.
func axe(t *testing.T, p *opened) {
	t.Helper()
	script := os.Getenv("MILLHAND_AXE")
	if script == "" {
		t.Log("MILLHAND_AXE, the path of axe.min.js, is not set: accessibility is not checked")
		return
	}
	source, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	p.js("() => {\n" + string(source) + "\n}")
	var found []struct {
		ID, Help string
		Nodes    []struct{ HTML, FailureSummary string }
	}
	result := p.js(`async () => JSON.stringify((await axe.run(document, {resultTypes: ["violations"]})).violations)`)
	if err := json.Unmarshal([]byte(result), &found); err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Errorf("%s: %s, %d times, such as %s: %s", v.ID, v.Help, len(v.Nodes), v.Nodes[0].HTML, v.Nodes[0].FailureSummary)
	}
}

// table sorts, filters and groups the table of jobs, and opens all of them.
func table(t *testing.T, b context.Context, file string) {
	t.Helper()
	p := open(t, b, "file://"+file, 1400, "light")
	order := func() string {
		return p.js(`() => [...document.querySelectorAll("#jobs tbody tr:not(.detail) th")].map((th) => th.textContent).slice(0, 3).join(" ")`)
	}
	set := func(id, value string) {
		p.js(`(id, value) => { const e = document.getElementById(id); e.value = value; e.dispatchEvent(new Event(e.tagName === "INPUT" ? "input" : "change")); }`, id, value)
	}
	if got := order(); got != "hostile-api hostile-billing hostile-cart" { // failed
		t.Errorf("at first %s", got)
	}
	if got := p.js(`() => [...document.querySelectorAll("#jobs tbody tr td:first-child")].map((td) => td.textContent).filter((o, i, all) => o !== all[i - 1]).join(" ")`); got != "failed limit passed" {
		t.Errorf("at first %s", got)
	}
	sort := `(name) => { [...document.querySelectorAll("#jobs thead button")].find((b) => b.textContent.startsWith(name)).click(); }`
	p.js(sort, "Cost")
	if got := order(); !strings.HasPrefix(got, "hostile-") {
		t.Errorf("by cost %s", got)
	}
	p.js(sort, "Cost")
	if got := order(); !strings.HasPrefix(got, "endless-") {
		t.Errorf("by cost, cheapest first: %s", got)
	}
	set("filter", "research-")
	if got := p.js(`() => document.getElementById("shown").textContent`); got != "8 of 40 jobs" {
		t.Errorf("filtered: %s", got)
	}
	set("filter", "")
	set("outcome", "limit")
	set("group", "task")
	if got := order(); !strings.HasPrefix(got, "endless: 8 jobs, 0 passed endless-") {
		t.Errorf("grouped: %s", got)
	}
	set("outcome", "")
	set("group", "")
	if got := p.js(openAll); got != "40" {
		t.Errorf("%s jobs were opened", got)
	}
	if n := p.js(`() => document.querySelectorAll("#jobs img, #jobs iframe, #jobs script, #jobs a[href^=javascript]").length`); n != "0" {
		t.Errorf("%s elements of hostile texts", n)
	}
	text := p.js(`() => document.body.textContent`)
	for _, want := range []string{`</script><script>alert(1)</script>`, `\u{202e}gnp.exe`, "FAIL: total is left", "Denied by", "Subagent", "git push *"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown", want)
		}
	}
	p.quiet()
}

// addressed opens the page at a job, as a pull request refers to it.
func addressed(t *testing.T, b context.Context, file string) {
	t.Helper()
	p := open(t, b, "file://"+file+"#job=research-api", 900, "light")
	p.do(chromedp.WaitReady("tr.detail .job"))
	if got := p.js(`() => document.querySelector("tr.detail").previousSibling.cells[1].textContent`); got != "research-api" {
		t.Errorf("%s is open", got)
	}
	if got := p.js(`() => { const b = document.querySelector("button[aria-expanded=true]"); b.click(); return b.getAttribute("aria-expanded") + document.querySelector("tr.detail").hidden; }`); got != "falsetrue" {
		t.Errorf("closed: %s", got)
	}
	if got := p.js(`() => document.getElementById(document.querySelector("button[aria-controls]").getAttribute("aria-controls")).className`); got != "detail" {
		t.Errorf("the button controls %s", got)
	}
	p.quiet()
	p = open(t, b, "file://"+file+"#job=research%", 900, "light") // an address that was cut
	if got := p.js(`() => document.querySelectorAll("tr.detail").length + " " + document.querySelectorAll("#jobs thead button").length`); !strings.HasPrefix(got, "0 ") {
		t.Errorf("%s jobs are open", got)
	}
	p.quiet()
}
