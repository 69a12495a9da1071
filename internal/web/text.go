package web

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// Text returns the page as valid UTF-8, from whatever character set its mark,
// its content type or its own head name.
func (p Page) Text() string {
	enc, _, certain := charset.DetermineEncoding(p.Body, p.ContentType)
	if !certain && utf8.Valid(p.Body) { // the guess looks at the beginning only
		return string(p.Body)
	}
	text, err := enc.NewDecoder().Bytes(p.Body)
	if err != nil {
		text = p.Body
	}
	return strings.ToValidUTF8(string(bytes.TrimPrefix(text, []byte("\uFEFF"))), "\uFFFD")
}

// PlainText returns the text of an HTML document, a line for each block. It
// reads the tags one after the other, so that no nesting is too deep.
func PlainText(document string) string {
	z := html.NewTokenizer(strings.NewReader(document))
	var out writer
	skipped := atom.Atom(0) // the element whose content is left out
	depth := 0
	for {
		kind := z.Next()
		if kind == html.ErrorToken { // the end: nothing else can fail here
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

// unread reports whether an element's content is not text for readers.
func unread(tag atom.Atom) bool {
	switch tag {
	case atom.Script, atom.Style, atom.Noscript, atom.Iframe, atom.Object, atom.Template, atom.Svg, atom.Title:
		return true
	default:
		return false
	}
}

// writer collects text, white space folded except in <pre>.
type writer struct {
	strings.Builder
	pre   int
	space bool // white space came since the last letter
	lines int  // line ends that the output ends in
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

// tag makes line ends where an element stands for them.
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

// breakTo ends the line, leaving n line ends in all, at most two.
func (w *writer) breakTo(n int) {
	w.space = false
	for w.Len() > 0 && w.lines < min(n, 2) {
		w.WriteByte('\n')
		w.lines++
	}
}
