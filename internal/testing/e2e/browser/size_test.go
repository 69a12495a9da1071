package browser

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/millhand/millhand/internal/dev/nightly"
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
	if err := html.Write(&b, r, rundir.Details(os.DirFS(dir))); err != nil {
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

// BenchmarkOpen measures how long a browser needs to load and paint a page of 2,000 jobs, as a multiple
// of a page with one.
func BenchmarkOpen(b *testing.B) {
	dir, fleet := b.TempDir(), fleet(b)
	sizes := map[int]int{}
	file := func(jobs int) string { return filepath.Join(dir, fmt.Sprintf("%d.html", jobs)) }
	for _, jobs := range []int{1, 2000} {
		page := large(b, fleet, jobs)
		sizes[jobs] = len(page)
		if err := os.WriteFile(file(jobs), page, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	browser := chromium(b)
	times := map[int][]float64{}
	for range 7 * b.N {
		for jobs := range sizes {
			times[jobs] = append(times[jobs], loaded(b, browser, file(jobs)))
		}
	}
	median := func(jobs int) float64 {
		slices.Sort(times[jobs])
		return times[jobs][len(times[jobs])/2]
	}
	b.ReportMetric(median(2000)/median(1), "x-one-job")
	b.ReportMetric(median(2000), "ms/page")
	b.ReportMetric(float64(sizes[2000]), "bytes/page")
	b.ReportMetric(0, "ns/op")
}

// loaded returns the milliseconds until a page is loaded and painted.
func loaded(b *testing.B, browser context.Context, file string) float64 {
	b.Helper()
	p := open(b, browser, "file://"+file, 1400, "light")
	ms, err := strconv.ParseFloat(p.js(`() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()), 0)))`), 64)
	if err != nil {
		b.Fatal(err)
	}
	p.close()
	return ms
}
