package web

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// Text returns the page as UTF-8, decoded from the character set of its byte
// order mark, content type or HTML head.
func (p Page) Text() string {
	enc, _, certain := charset.DetermineEncoding(p.Body, p.ContentType)
	if !certain && utf8.Valid(p.Body) { // detection reads only the start
		return string(p.Body)
	}
	text, err := enc.NewDecoder().Bytes(p.Body)
	if err != nil {
		text = p.Body
	}
	return strings.ToValidUTF8(string(bytes.TrimPrefix(text, []byte("\uFEFF"))), "\uFFFD")
}

// PlainText returns the text of an HTML document, one line per block. It scans
// tags sequentially, so nesting depth does not matter.
func PlainText(document string) string {
	z := html.NewTokenizer(strings.NewReader(document))
	var out writer
	skipped := atom.Atom(0) // the element whose content is skipped
	depth := 0
	for {
		kind := z.Next()
		if kind == html.ErrorToken { // end of input: nothing else can fail here
			return strings.TrimSpace(out.String())
		}
		if kind == html.TextToken && skipped == 0 {
			out.text(string(z.Text()))
			continue
		}
		name, _ := z.TagName()
		tag := atom.Lookup(name)
		switch {
		case skipped != 0 && tag == skipped && kind == html.StartTagToken:
			depth++
		case skipped != 0 && tag == skipped && kind == html.EndTagToken:
			if depth--; depth == 0 {
				skipped = 0
			}
		case skipped != 0:
		case kind == html.StartTagToken && unread(tag):
			skipped, depth = tag, 1
		default:
			out.tag(tag, kind == html.EndTagToken)
		}
	}
}

// unread reports whether an element's content is not visible text.
func unread(tag atom.Atom) bool {
	switch tag {
	case atom.Script, atom.Style, atom.Noscript, atom.Iframe, atom.Object, atom.Template, atom.Svg, atom.Title:
		return true
	default:
		return false
	}
}

// writer collects text and collapses whitespace except in <pre>.
type writer struct {
	strings.Builder
	pre   int
	space bool // whitespace since the last character
	lines int  // number of newlines at the end of the output
}

func (w *writer) text(s string) {
	if w.pre > 0 {
		w.put(s)
		return
	}
	words := strings.Fields(s)
	if len(words) == 0 {
		w.space = w.space || s != ""
		return
	}
	if first, _ := utf8.DecodeRuneInString(s); strings.TrimSpace(string(first)) == "" {
		w.space = true
	}
	if w.space && w.lines == 0 && w.Len() > 0 {
		w.WriteByte(' ')
	}
	w.put(strings.Join(words, " "))
	last, _ := utf8.DecodeLastRuneInString(s)
	w.space = strings.TrimSpace(string(last)) == ""
}

func (w *writer) put(s string) {
	if s == "" {
		return
	}
	w.WriteString(s)
	w.lines = len(s) - len(strings.TrimRight(s, "\n"))
	w.space = false
}

// tag writes the line breaks of an element.
func (w *writer) tag(tag atom.Atom, end bool) {
	switch tag {
	case atom.Pre:
		if w.pre++; end {
			w.pre = max(w.pre-2, 0)
		}
		w.breakTo(2)
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Table, atom.Ul, atom.Ol, atom.Blockquote, atom.Section, atom.Article:
		w.breakTo(2)
	case atom.Br:
		w.breakTo(w.lines + 1)
	case atom.Div, atom.Li, atom.Tr, atom.Dt, atom.Dd, atom.Header, atom.Footer, atom.Nav, atom.Main, atom.Hr, atom.Form, atom.Figure:
		w.breakTo(1)
	case atom.Td, atom.Th:
		w.space = true
	default:
	}
}

// breakTo ends the line with n newlines in total, at most two.
func (w *writer) breakTo(n int) {
	w.space = false
	for w.Len() > 0 && w.lines < min(n, 2) {
		w.WriteByte('\n')
		w.lines++
	}
}
