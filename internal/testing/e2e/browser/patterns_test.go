package browser

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/html"
	"github.com/millhand/millhand/report/patterns"
)

// compared writes the page of a run whose 12 jobs share an edit; one of them has a hostile one.
func compared(t *testing.T) string {
	t.Helper()
	r := &report.Report{Run: report.Run{ID: "run", Outcome: event.Passed}}
	c := &patterns.Collector{}
	const head = "diff --git a/%[1]s b/%[1]s\n--- a/%[1]s\n+++ b/%[1]s\n@@ -1 +1 @@\n"
	for i := range 12 {
		id := fmt.Sprintf("migrate-%d", i)
		r.Jobs = append(r.Jobs, report.Job{ID: id, Repo: fmt.Sprintf("acme/service-%d", i), Task: "migrate", Outcome: event.Passed})
		patch := fmt.Sprintf(head+"-\ttext, err := ioutil.ReadFile(name)\n+\ttext, err := os.ReadFile(name)\n", "main.go")
		if i == 7 {
			patch += fmt.Sprintf(head+"-a\n+f(\"</script><script>alert(1)</script><img src=x onerror=alert(2)> \u202egnp.exe\") //nolint\n", "<b>x</b>.go")
		}
		c.Add(patterns.Change{Job: id, Repo: r.Jobs[i].Repo, URL: "javascript:alert(3)"}, strings.NewReader(patch))
	}
	var b bytes.Buffer
	if err := html.Write(&b, r, nil, c.Result()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPatterns(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	b, file := chromium(t), compared(t)
	pictures := os.Getenv("MILLHAND_PICTURES")
	if pictures == "" {
		pictures = t.TempDir()
	}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{390, 1400} {
			p := open(t, b, "file://"+file, width, scheme)
			p.js(`() => { for (const d of document.querySelectorAll("details")) d.open = true; }`)
			p.picture(pictures, fmt.Sprintf("patterns-%s-%d", scheme, width))
			axe(t, p)
			if got := p.js(`() => document.documentElement.scrollWidth - window.innerWidth`); got != "0" {
				t.Errorf("%s at %d: the page is %s pixels wider than the window", scheme, width, got)
			}
			p.quiet()
		}
	}
	p := open(t, b, "file://"+file, 900, "light")
	text := p.js(`() => document.querySelector(".patterns").textContent`)
	for _, want := range []string{"Read the changes of 1 (8 %)", "ioutil.ReadFile → os.ReadFile", "12 repositories, 12 edits", `</script><script>alert(1)</script>`, `\u{202e}gnp.exe`, "added nolint"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown in %s", want, text)
		}
	}
	if n := p.js(`() => document.querySelectorAll(".patterns img, .patterns script, .patterns b, .patterns a[href^=javascript]").length`); n != "0" {
		t.Errorf("%s elements of hostile texts", n)
	}
	p.js(`() => document.querySelector('.patterns a[href="#job=migrate-7"]').click()`)
	p.do(chromedp.WaitReady("tr.detail .job"))
	if got := p.js(`() => document.querySelector("tr.detail").previousSibling.querySelector("button").textContent`); got != "migrate-7" {
		t.Errorf("%s is open", got)
	}
	p.quiet()
}
