package html

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	xhtml "golang.org/x/net/html"
	g "maragu.dev/gomponents"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/transcript"
)

// hostile has everything that must stay text.
const hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)> \x1b[31mred\x1b[0m \u202egnp.exe\u202c {{x}} ]]> <!-- ` $(id)"

func page1(tb testing.TB, r *report.Report, detail func(*report.Job) Detail) string {
	tb.Helper()
	var b bytes.Buffer
	if err := Write(&b, r, detail); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

var packed = regexp.MustCompile(`<div id="details" hidden><!--([A-Za-z0-9+/= \n]*)--></div>`)

// inflated returns the details of the jobs of a page.
func inflated(tb testing.TB, page string) []string {
	tb.Helper()
	m := packed.FindStringSubmatch(page)
	if m == nil {
		tb.Fatal("no details")
	}
	return unpacked(tb, m[1])
}

// unpacked returns the details of jobs, each a line.
func unpacked(tb testing.TB, lines string) []string {
	tb.Helper()
	var all []string
	var stream bytes.Buffer
	var inflate io.Reader // of the stream so far
	for line := range strings.Lines(lines) {
		size, data, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		raw, err := base64.StdEncoding.DecodeString(data)
		n, notNumber := strconv.Atoi(size)
		if err != nil || notNumber != nil {
			tb.Fatal(err, notNumber)
		}
		if !strings.HasPrefix(size, "+") {
			stream.Reset()
			inflate = flate.NewReader(&stream)
		}
		stream.Write(raw)
		text := make([]byte, n)
		if _, err := io.ReadFull(inflate, text); err != nil {
			tb.Fatal(err)
		}
		all = append(all, string(text))
	}
	return all
}

// wellFormed checks that each tag is closed, in order, and returns the names of all tags and
// the attributes.
func wellFormed(tb testing.TB, text string) (tags, attributes map[string]int) {
	tb.Helper()
	tags, attributes = map[string]int{}, map[string]int{}
	void := map[string]bool{"meta": true, "input": true, "br": true, "hr": true}
	var open []string
	for z := xhtml.NewTokenizer(strings.NewReader(text)); ; {
		kind := z.Next()
		token := z.Token()
		switch kind { //nolint:exhaustive // texts are not looked at
		case xhtml.ErrorToken:
			if len(open) > 0 {
				tb.Errorf("not closed: %v", open)
			}
			return tags, attributes
		case xhtml.StartTagToken:
			tags[token.Data]++
			for _, a := range token.Attr {
				attributes[a.Key]++
			}
			if !void[token.Data] {
				open = append(open, token.Data)
			}
		case xhtml.EndTagToken:
			if len(open) == 0 || open[len(open)-1] != token.Data {
				tb.Fatalf("</%s> closes %v", token.Data, open)
			}
			open = open[:len(open)-1]
		}
	}
}

func TestReportsOfGoldenStreams(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.jsonl")
	if err != nil || len(files) < 5 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			r, err := report.Load(f)
			if err != nil {
				t.Fatal(err)
			}
			page := page1(t, r, nil)
			tags, _ := wellFormed(t, page)
			if tags["script"] != 1 {
				t.Errorf("%d scripts, want that of the page", tags["script"])
			}
			all := inflated(t, page)
			if len(all) != len(r.Jobs) {
				t.Fatalf("%d details of %d jobs", len(all), len(r.Jobs))
			}
			for i, detail := range all {
				tags, attributes := wellFormed(t, detail)
				if tags["script"]+tags["img"]+tags["iframe"]+tags["style"]+attributes["style"]+attributes["onerror"]+attributes["src"] > 0 {
					t.Errorf("job %d: %v %v", i, tags, attributes)
				}
			}
			if page != page1(t, r, nil) {
				t.Error("two pages of one report differ")
			}
		})
	}
}

// hostileReport is a run whose texts are hostile, with a conversation and a patch.
func hostileReport() (*report.Report, func(*report.Job) Detail) {
	at := report.Time{Time: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	raw, _ := json.Marshal(hostile)
	id := "r/" + hostile
	r := &report.Report{Run: report.Run{ID: hostile, Manifest: []string{hostile}, Version: hostile, Outcome: event.Failed, StartedAt: at, StartedBy: &event.StartedBy{Actor: hostile, RunURL: "javascript:alert(1)"}}}
	r.Warnings = []report.Warning{{Job: new(hostile), Message: hostile}}
	r.Jobs = []report.Job{{
		ID: hostile, Task: hostile, Repo: hostile, Matrix: map[string]string{hostile: hostile}, Outcome: event.Failed, Reason: hostile, ReasonCode: event.Code(hostile), Model: hostile, Profile: hostile,
		FinalMessage: hostile, Patch: hostile, Phases: []report.Phase{{Name: hostile, StartedAt: at, ElapsedMS: 9}},
		Baseline: []report.Baseline{{Name: hostile, Tail: hostile}}, Verify: []report.Verify{{Verify: event.Verify{Name: hostile, Tail: hostile}, StartedAt: at}},
		Changes: []event.Change{{Path: hostile, Kind: hostile}}, Untracked: []event.Untracked{{Path: hostile, Kind: hostile}},
		Commit: &event.Commit{Hash: hostile, Branch: hostile}, Published: &report.Published{Remote: hostile}, PullRequest: &event.PullRequest{URL: "javascript:alert(1)//" + hostile, State: hostile},
		Comment: &report.Comment{URL: "https://x/" + hostile}, Base: &report.Base{Ref: hostile, Commit: hostile}, Sandbox: event.Sandbox{Level: "A", Reason: hostile},
		Calls: []report.Call{{
			ID: "c", Session: id, Turn: 1, Tool: hostile, Extension: hostile, Input: raw, InputGiven: raw, Status: event.CallDenied, Title: hostile, Error: hostile, StartedAt: at,
			Decision: &event.Decision{Effect: "deny", Rule: hostile, Source: hostile}, Metadata: &event.CallMetadata{OutputPath: hostile, Matcher: hostile},
		}, {ID: "d", Session: id, Turn: 1, Tool: "edit", Input: json.RawMessage(`{"oldString":` + string(raw) + `,"newString":` + string(raw) + `,` + string(raw) + `:` + string(raw) + `}`)}},
		Denied:     []report.Denial{{Tool: hostile, Input: raw, Rule: hostile, Source: hostile}},
		Network:    []report.NetworkDenial{{Host: hostile, Reason: hostile, Fix: hostile}},
		Fallbacks:  []report.Fallback{{From: hostile, To: hostile, Error: hostile}},
		Extensions: []report.Extension{{Kind: hostile, Name: hostile, Error: hostile, StderrTail: hostile, Server: &event.ServerInfo{Name: hostile, Version: hostile}}},
		Sessions:   []report.Session{{ID: id, Agent: hostile, Model: hostile, End: hostile, TurnCosts: []report.TurnCost{{Turn: 1, Model: hostile, Error: hostile, StartedAt: at}}}},
	}}
	entries := []journal.Entry{
		{Session: &journal.Session{System: hostile, Tools: []string{hostile}}},
		{Message: &journal.Message{ID: "1", Message: model.Message{Role: model.User, Text: hostile}}},
		{Message: &journal.Message{ID: "2", Turn: 1, Message: model.Message{Role: model.Assistant, Text: hostile, Reasoning: hostile}}},
		{Message: &journal.Message{ID: "3", Turn: 1, Message: model.Message{Role: model.ToolRole, CallID: "c", Text: hostile, Attachments: []model.Attachment{{Name: hostile, MIME: hostile}}}}},
		{Compaction: &journal.Compaction{By: journal.Message{ID: "4", Message: model.Message{Text: hostile}}}},
	}
	d := Detail{
		Sessions: map[string]*transcript.Session{id: {State: &journal.State{History: entries}}},
		Patch:    "diff --git a/x b/x\n--- a/" + hostile + "\n+++ b/" + hostile + "\n@@ -1 +1 @@\n-" + hostile + "\n+" + hostile + "\n",
	}
	return r, func(*report.Job) Detail { return d }
}

func TestHostileTextsStayTexts(t *testing.T) {
	r, detail := hostileReport()
	page := page1(t, r, detail)
	all := inflated(t, page)
	if len(all) != 1 {
		t.Fatalf("%d details", len(all))
	}
	for _, c := range []struct {
		text    string
		scripts int
	}{{page, 1}, {all[0], 0}} {
		tags, attributes := wellFormed(t, c.text)
		if tags["script"] != c.scripts || tags["img"] > 0 || attributes["onerror"] > 0 || attributes["src"] > 0 {
			t.Errorf("tags %v, attributes %v", tags, attributes)
		}
		if strings.ContainsAny(c.text, "\x1b\u202e") || strings.Contains(c.text, `="javascript:`) {
			at := max(strings.IndexAny(c.text, "\x1b\u202e"), strings.Index(c.text, `="javascript:`))
			t.Errorf("a hidden character or an address of a script: %q", c.text[max(0, at-80):at+20])
		}
		if n := strings.Count(c.text, "alert(1)&lt;/script&gt;"); n < 4 {
			t.Errorf("the text is shown %d times", n)
		}
	}
	for _, section := range []string{"Final message", "Models", "Timeline", "Cost by turn", "Verify", "Changes", "Denied calls", "Denied network access", "Extensions", "Conversation"} {
		if !strings.Contains(all[0], "<h3>"+section+"</h3>") {
			t.Errorf("section %s not found", section)
		}
	}
}

// TestFailedJobsAreFirst has a job of each outcome twice.
func TestFailedJobsAreFirst(t *testing.T) {
	r := &report.Report{}
	for _, o := range append(worstFirst(), worstFirst()...) {
		r.Jobs = slices.Insert(r.Jobs, 0, report.Job{ID: fmt.Sprint("job-", len(r.Jobs)), Outcome: o})
	}
	var got []string
	for _, m := range regexp.MustCompile(`data-n="(\d+)"><td><span class="badge \w+">(\w+)</span>.*?(job-\d+)`).FindAllStringSubmatch(page1(t, r, nil), -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil || string(r.Jobs[n].Outcome) != m[2] || r.Jobs[n].ID != m[3] {
			t.Errorf("row %q is not job %d", m[0], n)
		}
		got = append(got, m[1]+" "+m[2])
	}
	if want := "9 error,19 error,8 failed,18 failed,7 publish"; len(got) != 20 || strings.Join(got[:5], ",") != want || got[19] != "10 passed" {
		t.Errorf("%v", got)
	}
}

// TestLaterRowsStayTexts checks the rows that scripts read from a noscript element.
func TestLaterRowsStayTexts(t *testing.T) {
	r, detail := hostileReport()
	for range firstRows + 1 {
		r.Jobs = append(r.Jobs, r.Jobs[0])
	}
	page := page1(t, r, detail)
	if tags, _ := wellFormed(t, page); tags["script"] != 1 || tags["noscript"] != 2 || tags["img"] > 0 {
		t.Errorf("tags %v", tags)
	}
	_, rest, _ := strings.Cut(page, `<noscript id="rest" data-rows="2">`)
	rest, _, _ = strings.Cut(rest, "</noscript>")
	tags, attributes := wellFormed(t, rest)
	if tags["tr"] != 3 || tags["table"] != 1 || tags["script"]+tags["img"]+attributes["onerror"]+attributes["src"] > 0 {
		t.Errorf("tags %v, attributes %v", tags, attributes)
	}
	if n := len(inflated(t, page)); n != len(r.Jobs) {
		t.Errorf("details of %d jobs, want %d", n, len(r.Jobs))
	}
}

// TestSpaceIsDivided writes details whose texts are too long for the space.
func TestSpaceIsDivided(t *testing.T) {
	r, detail := hostileReport()
	var noise []byte
	for i := range 1 << 14 {
		noise = fmt.Appendf(noise, "%x\n", uint64(i)*0x9e3779b97f4a7c15>>28)
	}
	job := &r.Jobs[0]
	job.FinalMessage = string(noise)
	d := detail(job)
	d.Patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n" + string(noise)
	for kib := 48; kib <= 60; kib += 2 { // one of them could use all of it
		checkSpace(t, r, d, 2, kib<<10)
	}
	checkSpace(t, r, d, 50, 800<<10)
}

// checkSpace writes the details of the first job so many times, within a size in bytes.
func checkSpace(t *testing.T, r *report.Report, d Detail, jobs, size int) {
	t.Helper()
	var b bytes.Buffer
	blocks := newBlocks(jobs, size)
	for range jobs {
		if err := blocks.write(&b, newJobPage(r, &r.Jobs[0], d, shownReason{})); err != nil {
			t.Fatal(err)
		}
	}
	all := unpacked(t, b.String())
	if b.Len() > size || b.Len() < size/4 || len(all) != jobs {
		t.Errorf("%d bytes, %d details", b.Len(), len(all))
	}
	for i, one := range all {
		if !strings.Contains(one, "<h3>Conversation</h3>") || !strings.Contains(one, "omitted …") {
			t.Fatalf("job %d of %d in %d bytes has no conversation, or it is complete", i, jobs, size)
		}
	}
}

// The details of a job that resemble those of the job before need little space, but not more jobs have to be inflated
// for one than maxGroup allows.
func TestSimilarDetailsAreCompressedTogether(t *testing.T) {
	r, detail := hostileReport()
	d := detail(&r.Jobs[0])
	var b bytes.Buffer
	blocks := newBlocks(1000, maxBlocks)
	var alone, together, group int
	for range 1000 {
		before := b.Len()
		if err := blocks.write(&b, newJobPage(r, &r.Jobs[0], d, shownReason{})); err != nil {
			t.Fatal(err)
		}
		line := string(b.Bytes()[before:])
		if strings.HasPrefix(line, "+") {
			together = max(together, len(line))
			if group += blocks.plain.Len(); group > maxGroup+blocks.plain.Len() {
				t.Fatalf("%d bytes are compressed together", group)
			}
			continue
		}
		alone, group = len(line), blocks.plain.Len()
	}
	all := unpacked(t, b.String())
	if together == 0 || together > alone/2 || len(all) != 1000 || all[0] != all[999] {
		t.Errorf("%d bytes alone, %d together; %d details", alone, together, len(all))
	}
}

func rendered(tb testing.TB, n g.Node) string {
	tb.Helper()
	var b strings.Builder
	if err := n.Render(&b); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func TestMarkdown(t *testing.T) {
	for in, want := range map[string]string{
		"# a\n\n*b* `c`":                "<p><strong>a</strong></p>\n<p><em>b</em> <code>c</code></p>",
		"x <b onclick=y>z</b>":          "<p>x &lt;b onclick=y&gt;z&lt;/b&gt;</p>",
		"<script>\nalert(1)\n</script>": "<pre>&lt;script&gt;\nalert(1)\n&lt;/script&gt;</pre>",
		"[a](javascript:x)":             "<p>a <code>javascript:x</code></p>",
		"![a](https://x/y.png)":         "<p>image: a <code>https://x/y.png</code></p>",
		"<https://x.example>":           "<p> <code>https://x.example</code></p>",
		"| a |\n|:-|\n| b |":            "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>b</td>\n</tr>\n</tbody>\n</table>",
		"- [x] done":                    "<ul>\n<li>[x] done</li>\n</ul>",
		"a\u202eb":                      "<p>a\\u{202e}b</p>",
	} {
		got := strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(rendered(t, markdown(in)), `<div class="md">`)), "</div>")
		if strings.TrimSpace(got) != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// FuzzMarkdown checks that no Markdown has tags or attributes that could load or run something.
func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{hostile, "[a]: <b>\n[a]", "```x\" onload=1\n```", "<a href=x>b</a>", "***a*__b__", "| a |\n|--|\n| <br> |", "<!-- a", "&#60;script&#62;"} {
		f.Add(s)
	}
	harmless := map[string]bool{}
	for tag := range strings.FieldsSeq("div p strong em code pre ul ol li blockquote table thead tbody tr th td del hr br") {
		harmless[tag] = true
	}
	f.Fuzz(func(t *testing.T, in string) {
		tags, attributes := wellFormed(t, rendered(t, markdown(in)))
		for tag := range tags {
			if !harmless[tag] {
				t.Errorf("%q has the tag %s", in, tag)
			}
		}
		for name := range attributes {
			if name != "class" && name != "start" {
				t.Errorf("%q has the attribute %s", in, name)
			}
		}
	})
}

// FuzzPatch checks that patches of repositories stay texts.
func FuzzPatch(f *testing.F) {
	f.Add("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", 100)
	f.Add("diff --git a/x b/x\nBinary files differ\ndiff --git a/y b/y\n@@", 3)
	f.Fuzz(func(t *testing.T, in string, limit int) {
		if limit < 0 || limit > 1<<20 {
			return
		}
		wellFormed(t, rendered(t, g.Group(patch(in, nil, limit))))
	})
}

// TestChangesThatNothingNeedsAreMarkedInTheirDiff has a replaced line, a deletion, two blocks of an added file, and a
// deleted file.
func TestChangesThatNothingNeedsAreMarkedInTheirDiff(t *testing.T) {
	diff := "diff --git a/x.go b/x.go\n--- a/x.go\n+++ b/x.go\n@@ -1,7 +1,6 @@\n one\n-two\n+TWO\n three\n four\n-five\n six\n seven\n" +
		"diff --git a/new.go b/new.go\nnew file mode 100644\n--- /dev/null\n+++ b/new.go\n@@ -0,0 +1,3 @@\n+a\n+b\n+c\n" +
		"diff --git a/old.go b/old.go\ndeleted file mode 100644\n--- a/old.go\n+++ /dev/null\n@@ -1 +0,0 @@\n-z\n"
	a := &event.Hunks{List: []event.Hunk{
		{Path: "x.go", Kind: "lines", Line: 2, Added: 1, Removed: 1, State: "needed", By: "go test"},
		{Path: "x.go", Kind: "lines", Line: 5, Removed: 1, State: "unneeded"},
		{Path: "new.go", Kind: "lines", Line: 1, Added: 1, State: "untried"},
		{Path: "new.go", Kind: "lines", Line: 2, Added: 2, State: "unneeded"},
		{Path: "old.go", Kind: "deleted", Removed: 1, State: "unneeded"},
	}}
	got := rendered(t, g.Group(patch(diff, a, 10_000)))
	mark := func(s string) string { return `<span class="mark">needed by nothing` + s + `</span>` }
	for _, want := range []string{
		"four\n" + mark(": +0 −1\n") + `<span class="del">-five`, `+a` + "\n</span>" + mark(": +2 −0\n") + `<span class="add">+b`, "<code>old.go</code> +0 −1, " + mark(""),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if n := strings.Count(got, `class="mark"`); n != 3 {
		t.Errorf("%d marks: %s", n, got)
	}
}

// TestIdleTimesAreShort draws a job that was resumed a day later.
func TestIdleTimesAreShort(t *testing.T) {
	start := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	at := func(d time.Duration) report.Time { return report.Time{Time: start.Add(d)} }
	var l lane
	l.add(at(0), 10_000, "model", "turn 1")
	l.add(at(24*time.Hour), 10_000, "model", "turn 2")
	s := newScale([]lane{l})
	for d, want := range map[time.Duration]float64{0: 0, 10 * time.Second: 490, 24 * time.Hour: 510, 24*time.Hour + 10*time.Second: 1000} {
		if got := s.position(start.Add(d)); got < want-1 || got > want+1 {
			t.Errorf("%s: position %.1f, want %.0f", d, got, want)
		}
	}
}

func TestContentOfBinaryFilesIsNotShown(t *testing.T) {
	content := strings.Repeat("zcmV+b0RR6000031", 5000)
	diff := "diff --git a/x.png b/x.png\nnew file mode 100644\nindex 0000000..1111111\nGIT binary patch\nliteral 9\n" + content + "\n\nliteral 0\nHcmV?d00001\n\n" +
		"diff --git a/y.png b/y.png\nindex 0000000..1111111 100644\nGIT binary patch\nliteral 9\n" + content + "\n"
	got := rendered(t, g.Group(patch(diff, nil, 1000)))
	if len(got) > 2000 || strings.Contains(got, "zcmV") || !strings.Contains(got, "new file mode") || strings.Count(got, "Binary content") != 1 || !strings.Contains(got, "<code>x.png</code>") || !strings.Contains(got, "1 other file") {
		t.Errorf("%d bytes: %.2000s", len(got), got)
	}
}

// TestMarkdownDoesNotGrow has a table whose empty rows are completed with cells.
func TestMarkdownDoesNotGrow(t *testing.T) {
	text := strings.Repeat("|a", 100) + "\n" + strings.Repeat("|-", 100) + "\n"
	for _, length := range []int{maxMarkdown, 64 << 10} {
		if n := len(rendered(t, markdown(text+strings.Repeat("|\n", (length-len(text))/2)))); n > 10<<20 {
			t.Errorf("%d bytes of %d", n, length)
		}
	}
}

// TestSessionsAreShownOnce has sessions that are their own subagents, and those of each other.
func TestSessionsAreShownOnce(t *testing.T) {
	parent := "r/x"
	j := &report.Job{Sessions: []report.Session{{ID: "r/a"}, {ID: "r/b", Parent: &parent}, {ID: "r/c", Parent: &parent}}}
	for _, c := range [][2]string{{"r/a", "r/a"}, {"r/b", "r/c"}, {"r/c", "r/b"}} {
		j.Calls = append(j.Calls, report.Call{Session: c[0], Turn: 1, Metadata: &event.CallMetadata{ChildSession: c[1]}})
	}
	got := rendered(t, newJobPage(&report.Report{}, j, Detail{}, shownReason{}).render(levels[0]))
	if n := strings.Count(got, `<div class="session">`); n != 3 {
		t.Errorf("3 sessions are shown %d times", n)
	}
}

// TestLongConversationsAreShortened has a job whose edits are 160 MB with the longest texts.
func TestLongConversationsAreShortened(t *testing.T) {
	j := &report.Job{ID: "x", Sessions: []report.Session{{ID: "s"}}}
	var before, after strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&before, "%d\n", i%10)
		fmt.Fprintf(&after, "%d\n", i*7%13)
	}
	in, err := json.Marshal(map[string]string{"oldString": before.String(), "newString": after.String()})
	if err != nil {
		t.Fatal(err)
	}
	for range 600 {
		j.Calls = append(j.Calls, report.Call{Session: "s", Turn: 1, Tool: "edit", Input: in, Status: event.CallCompleted})
	}
	var b bytes.Buffer
	blocks := newBlocks(1, maxBlocks)
	if err := blocks.write(&b, newJobPage(&report.Report{}, j, Detail{}, shownReason{})); err != nil {
		t.Fatal(err)
	}
	one := unpacked(t, b.String())[0]
	if len(one) > maxPlain || strings.Count(one, "<summary>") < 600 || blocks.level == 0 {
		t.Errorf("%d bytes, level %d", len(one), blocks.level)
	}
}

// TestReasonsAreShownOnce has two jobs that failed for one reason, one for a reason that the page shortens, and one that was skipped.
func TestReasonsAreShownOnce(t *testing.T) {
	long := "too long: " + strings.Repeat("0123456789", maxReason/10)
	r := &report.Report{Jobs: []report.Job{
		{ID: "a", Outcome: event.Failed, Reason: "verify tests failed"},
		{ID: "b", Outcome: event.Failed, Reason: "verify tests failed"},
		{ID: "c", Outcome: event.Error, Reason: long},
		{ID: "d", Outcome: event.Skipped, Reason: "not needed"},
	}}
	page := page1(t, r, nil)
	if strings.Count(page, "verify tests failed") != 1 || !strings.Contains(page, `<li id="reason-1">`) || !strings.Contains(page, `<li id="reason-2">`) {
		t.Errorf("reasons: %s", page)
	}
	all := inflated(t, page)
	for i, want := range []string{`<a href="#reason-1">the reason is above, with 1 other job</a>`, `<a href="#reason-1">the reason is above, with 1 other job</a>`, long, "not needed"} {
		if !strings.Contains(all[i], want) || strings.Contains(all[i], "verify tests failed") {
			t.Errorf("job %s: %s", r.Jobs[i].ID, all[i])
		}
	}
}

// TestTheLastFailureIsOpen has a verify command that failed twice, and one that passed in the end.
func TestTheLastFailureIsOpen(t *testing.T) {
	j := &report.Job{ID: "a", Outcome: event.Failed}
	for attempt := range 2 {
		for _, name := range []string{"tests", "lint"} {
			v := event.Verify{Name: name, Attempt: attempt + 1, Tail: fmt.Sprint("output of ", name, attempt+1), Passed: name == "lint" && attempt == 1}
			j.Verify = append(j.Verify, report.Verify{Verify: v})
		}
	}
	got := rendered(t, newJobPage(&report.Report{}, j, Detail{}, shownReason{}).render(levels[0]))
	open := regexp.MustCompile(`<details open>.*?<pre>([^<]*)</pre>`).FindAllStringSubmatch(got, -1)
	if len(open) != 1 || open[0][1] != "output of tests2" {
		t.Errorf("open: %q", open)
	}
}

// TestOneOutcomeNeedsNoBar has runs with one outcome and with two, and tasks with the names of their jobs.
func TestOneOutcomeNeedsNoBar(t *testing.T) {
	r := &report.Report{Jobs: []report.Job{{ID: "a", Task: "a", Outcome: event.Passed}, {ID: "b", Task: "b", Outcome: event.Passed}}}
	if page := page1(t, r, nil); strings.Contains(page, `class="outcomes"`) || strings.Contains(page, ">Task<") || strings.Contains(page, "0 failed") {
		t.Error(page)
	}
	r.Jobs[1].Outcome, r.Jobs[1].ID = event.Failed, "b-shop"
	if page := page1(t, r, nil); !strings.Contains(page, `class="outcomes"`) || !strings.Contains(page, ">Task<") {
		t.Error(page)
	}
}
