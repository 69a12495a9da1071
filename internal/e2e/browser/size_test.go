package browser

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/go-rod/rod"

	"github.com/millhand/millhand/internal/nightly"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/html"
)

// large returns the page of a run with a number of jobs, each of them one of the fleet's.
func large(tb testing.TB, fleet string, jobs int) []byte {
	tb.Helper()
	dir := filepath.Dir(fleet)
	events, err := os.Open(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	defer events.Close()
	r, err := report.Load(events)
	if err != nil {
		tb.Fatal(err)
	}
	some := r.Jobs
	r.Jobs = nil
	for i := range jobs {
		j := some[i%len(some)]
		j.ID = fmt.Sprintf("%s-%d", j.ID, i)
		r.Jobs = append(r.Jobs, j)
	}
	var b bytes.Buffer
	if err := html.Write(&b, r, rundir.Details(os.DirFS(dir)), nil); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func TestAPageOf10000Jobs(t *testing.T) {
	if !nightly.On() {
		t.Skip("runs at night")
	}
	if n := len(large(t, fleet(t), 10_000)); n > 60e6 {
		t.Errorf("%d bytes", n)
	}
}

var (
	embedded = regexp.MustCompile(`(?s)<script.*?</script>\n?`)
	controls = regexp.MustCompile(`(?s)<div class="controls".*?</div>`)
)

// BenchmarkOpen measures how long a browser needs to load a page of 1,000 jobs, as a multiple
// of the same table without scripts and details.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	page := large(b, fleet(b), 1000)
	static := controls.ReplaceAll(embedded.ReplaceAll(page, nil), nil)
	files := map[string][]byte{"page": page, "static": static}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name+".html"), content, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	browser := chromium(b)
	times := map[string][]float64{}
	for range 5 * b.N {
		for name := range files {
			times[name] = append(times[name], loaded(b, browser, filepath.Join(dir, name+".html")))
		}
	}
	median := func(name string) float64 {
		slices.Sort(times[name])
		return times[name][len(times[name])/2]
	}
	b.ReportMetric(median("page")/median("static"), "x-static")
	b.ReportMetric(median("page"), "ms/page")
	b.ReportMetric(float64(len(page)), "bytes/page")
	b.ReportMetric(0, "ns/op")
}

// loaded returns the milliseconds until a page is loaded and painted.
func loaded(b *testing.B, browser *rod.Browser, file string) float64 {
	b.Helper()
	p := open(b, browser, file, 1400, "light")
	ms, err := strconv.ParseFloat(p.js(`() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()), 0)))`), 64)
	if err != nil {
		b.Fatal(err)
	}
	p.Close()
	return ms
}
