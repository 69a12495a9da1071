package faults

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
)

// reportsOf returns the reports of a run without what varies.
func (m *machines) reportsOf(dir string) map[string]any {
	m.t.Helper()
	var doc any
	if err := json.Unmarshal([]byte(m.read(dir+"/report.json")), &doc); err != nil {
		m.t.Fatal(err)
	}
	all := map[string]any{"report.json": normal(doc)}
	for _, name := range []string{"junit.xml", "summary.md", "report.html"} {
		text, _ := normal(shown.ReplaceAllString(m.inflated(m.read(dir+"/"+name)), "VARIES")).(string)
		all[name] = strings.Split(strings.ReplaceAll(text, "><", ">\n<"), "\n")
	}
	return all
}

// outcome returns the reports of a run without what varies, and the trees of its commits: one in
// each repository, with one pull request.
func (m *machines) outcome(dir string) map[string]any {
	m.t.Helper()
	all := m.reportsOf(dir)
	for i, name := range m.repos {
		if n := m.git("--git-dir", m.bare(i), "rev-list", "--count", "main..millhand/ioutil"); n != "1" {
			m.t.Errorf("%s: %s commits in the branch of %s", dir, n, name)
		}
		all[name] = m.git("--git-dir", m.bare(i), "rev-parse", "millhand/ioutil^{tree}")
	}
	heads := map[string]int{}
	for _, p := range m.forge.Pulls() {
		heads[p.Repo]++
	}
	all["pull requests"] = heads
	if len(heads) != len(m.repos) || len(m.forge.Pulls()) != len(m.repos) {
		m.t.Errorf("%s: pull requests %v of %d repositories", dir, heads, len(m.repos))
	}
	return all
}

// shown are times and hashes as they are in other formats than JSON; the timeline of report.html
// is drawn to scale.
var shown = regexp.MustCompile("\\b(time|timestamp|datetime)=\"[^\"]*\"|\\d{4}-\\d\\d-\\d\\d( \\d\\d:\\d\\d UTC)?|<svg class=\"lane\".*?</svg>" +
	"|(data-v=\"\\d+\">)?\\b[0-9.]+(ms|s|m[0-9]+s)\\b|`[0-9a-f]{7}`|<code>[0-9a-f]{10}</code>")

// details are the compressed details of the jobs in report.html, a line each.
var details = regexp.MustCompile(`(<div id="details" hidden><!--)([^-]+)-->`)

// inflated returns a report with its compressed details as text.
func (m *machines) inflated(text string) string {
	m.t.Helper()
	return details.ReplaceAllStringFunc(text, func(block string) string {
		found := details.FindStringSubmatch(block)
		var pages strings.Builder
		pages.WriteString(found[1])
		var stream bytes.Buffer
		var inflate io.Reader // of the stream so far
		for line := range strings.Lines(found[2]) {
			size, data, _ := strings.Cut(strings.TrimSpace(line), " ")
			raw, err := base64.StdEncoding.DecodeString(data)
			n, notNumber := strconv.Atoi(size)
			if err != nil || notNumber != nil {
				m.t.Fatal(err, notNumber)
			}
			if !strings.HasPrefix(size, "+") { // it does not continue the stream of the line before
				stream.Reset()
				inflate = flate.NewReader(&stream)
			}
			stream.Write(raw)
			page := make([]byte, n)
			if _, err := io.ReadFull(inflate, page); err != nil {
				m.t.Fatal(err)
			}
			pages.Write(page)
			pages.WriteByte('\n')
		}
		return pages.String()
	})
}

// lastStart is the last start of a job. Deliveries before it were killed.
type lastStart struct {
	seq   int64 // number of its job.started event
	begun bool  // whether a turn has started since then
	turns int   // before that turn
	usage money.Usage
	cost  money.USD
}

// undisturbed copies the reports of a run without the events of deliveries that were killed. The
// program makes the other files again.
func (m *machines) undisturbed(from, to string) {
	m.t.Helper()
	if out, err := exec.CommandContext(m.t.Context(), "cp", "-a", filepath.Join(m.dir, from), filepath.Join(m.dir, to)).CombinedOutput(); err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
	var events []event.Event
	jobs := map[string]*lastStart{}
	_, err := event.Read(strings.NewReader(m.read(from+"/events.jsonl")), func(e event.Event) error {
		events = append(events, e)
		l := jobs[e.Job]
		switch {
		case e.Type == event.JobStarted:
			jobs[e.Job] = &lastStart{seq: e.Seq}
		case e.Type == event.TurnStarted && !l.begun:
			l.begun, l.turns = true, e.Turn.Number-1
		}
		return nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
	var text bytes.Buffer
	lines, seq := event.JSONL(&text), int64(0)
	for _, e := range events {
		if l := jobs[e.Job]; l != nil && l.before(&e) {
			continue
		}
		seq++
		e.Seq = seq
		if err := lines.Emit(e); err != nil {
			m.t.Fatal(err)
		}
	}
	m.write(to+"/events.jsonl", text.String())
	for job, l := range jobs {
		name := to + "/sessions/" + job + ".jsonl"
		m.write(name, turnNumbers.ReplaceAllStringFunc(m.read(name), func(field string) string {
			at := strings.LastIndexByte(field, ':') + 1
			n, _ := strconv.Atoi(field[at:])
			return field[:at] + strconv.Itoa(n-l.turns)
		}))
	}
	for format, name := range map[string]string{"json": "report.json", "junit": "junit.xml", "markdown": "summary.md", "html": "report.html"} {
		out, err := m.command(98, nil, "millhand", "report", format, filepath.Join(m.dir, to)).Output()
		if err != nil {
			m.t.Fatal(err)
		}
		m.write(to+"/"+name, string(out))
	}
}

// turnNumbers are those of turns in a file of a session.
var turnNumbers = regexp.MustCompile(`"(turn|number)":\d+`)

// before reports whether an event is of a delivery that was killed. It changes others to what they
// would be without these deliveries.
func (l *lastStart) before(e *event.Event) bool {
	switch {
	case e.Turn != nil && e.Turn.Number > l.turns:
		e.Turn.Number -= l.turns
		if e.Type == event.TurnEnded {
			l.usage, l.cost = l.usage.Add(*e.Turn.Usage), l.cost.Add(*e.Turn.CostUSD)
		}
	case e.Call != nil && e.Call.Turn > l.turns:
		e.Call.Turn -= l.turns
	case e.JobEnd != nil:
		e.JobEnd.Turns -= l.turns
		e.JobEnd.Usage, e.JobEnd.CostUSD = l.usage, &l.cost
	default:
		return e.Seq < l.seq || e.Turn != nil || e.Call != nil
	}
	return false
}
