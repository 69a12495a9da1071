package html

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	_ "embed" // page.css and page.js
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/transcript"
)

//go:embed page.css
var style string

//go:embed page.js
var script string

// Detail is what the report directory has of a job beside the report.
type Detail struct {
	Sessions map[string]*transcript.Session // conversations by the id of their session, as far as they were saved
	Patch    string                         // the changes of the job; empty for none
}

// Write writes the page. detail is called once for each job, in order; nil if nothing but the
// report is available.
func Write(w io.Writer, r *report.Report, detail func(*report.Job) Detail) error {
	if detail == nil {
		detail = func(*report.Job) Detail { return Detail{} }
	}
	out := bufio.NewWriterSize(w, 64<<10) // the rows of thousands of jobs are megabytes
	if err := write(out, r, detail); err != nil {
		return fmt.Errorf("write the HTML report: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the HTML report: %w", err)
	}
	return nil
}

func write(out *bufio.Writer, r *report.Report, detail func(*report.Job) Detail) error {
	p := newPage(r)
	out.WriteString("<!doctype html>\n<html lang=\"en\">\n") //nolint:errcheck // a later write fails, too
	for i, n := range []g.Node{p.head(), p.header(), p.main(), p.footer()} {
		if i == 1 {
			out.WriteString("<body>\n") //nolint:errcheck // as above
		}
		if err := n.Render(out); err != nil {
			return err
		}
		out.WriteByte('\n') //nolint:errcheck // as above
	}
	out.WriteString("<div id=\"details\" hidden><!--") //nolint:errcheck // browsers read a comment faster than a script, and one element faster than thousands
	blocks := newBlocks(len(r.Jobs), maxBlocks)
	var b bytes.Buffer
	for i := range r.Jobs {
		j, err := r.Jobs[i].Complete()
		if err != nil {
			return err
		}
		if err := blocks.write(&b, newJobPage(r, j, detail(j), p.shown[causeKey{j.Outcome, j.Reason}])); err != nil {
			return fmt.Errorf("job %s: %w", j.ID, err)
		}
		if _, err := b.WriteTo(out); err != nil {
			return err
		}
	}
	_, err := out.WriteString("--></div>\n<script>" + script + "</script>\n</body>\n</html>\n")
	return err
}

// policy is the content security policy of the page.
func policy() string {
	sum := func(text string) string {
		hash := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
	}
	return "default-src 'none'; style-src " + sum(style) + "; script-src " + sum(script) + "; base-uri 'none'; form-action 'none'"
}

func (p *page) head() g.Node {
	return h.Head(
		h.Meta(h.Charset("utf-8")),
		h.Meta(g.Attr("http-equiv", "Content-Security-Policy"), h.Content(policy())),
		h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
		h.Meta(h.Name("color-scheme"), h.Content("light dark")),
		h.Meta(h.Name("robots"), h.Content("noindex")),
		h.Meta(h.Name("referrer"), h.Content("no-referrer")),
		h.TitleEl(text(fmt.Sprintf("%s %s, millhand run %s", p.title(), p.r.Run.Outcome, p.r.Run.ID))),
		h.StyleEl(g.Raw(style)),
	)
}

// title is the name of the run.
func (p *page) title() string { return cut(p.r.Run.Title(), 200) }

func (p *page) footer() g.Node {
	return h.Footer(h.P(
		text("millhand "+p.r.Run.Version+", "), h.A(h.Href("https://github.com/millhand/millhand"), g.Attr("rel", "noopener noreferrer"), g.Text("github.com/millhand/millhand")),
		g.Text(". Everything here, and more, is in "), h.Code(g.Text("report.json")), g.Text(" and "), h.Code(g.Text("events.jsonl")), g.Text("."),
	))
}

// tokens formats a number of tokens: 950, 12.3k, 4.56M.
func tokens(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprintf("%.2fM", float64(n)/1_000_000)
}

// names joins up to limit texts, with the number of others.
func names(all []string, limit int, noun string) string {
	if len(all) <= limit {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %s", strings.Join(all[:limit], ", "), figures.Count(len(all)-limit, "other "+noun))
}
