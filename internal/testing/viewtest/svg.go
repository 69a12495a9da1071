package viewtest

import (
	"encoding/xml"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The colours of a picture: those of the styles that the log uses.
const (
	ground     = "#16181d"
	foreground = "#d7dae0"
)

var colours = map[string]string{"2": "#8b919e", "31": "#f47067", "32": "#6bc46d", "33": "#daaa3f", "36": "#56c2d6"}

// The size of a character in a picture, in pixels.
const (
	charWidth = 8.0
	rowHeight = 19.0
	margin    = 16.0
)

// SVG returns a picture of rows of the terminal, by their index from 0. Index -1 is a row that
// stands for rows which are left out.
func (v *Terminal) SVG(title string, rows []int) string {
	width, height := float64(v.Cols)*charWidth+2*margin, float64(len(rows))*rowHeight+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img" aria-label="%s">`+"\n", width, height, width, height, escaped(title))
	fmt.Fprintf(&b, "<title>%s</title>\n", escaped(title))
	fmt.Fprintf(&b, `<rect width="%g" height="%g" rx="8" fill="%s"/>`+"\n", width, height, ground)
	fmt.Fprintf(&b, `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13.3" fill="%s">`+"\n", foreground)
	for i, row := range rows {
		line := []cell{{'⋮', "2"}}
		if row >= 0 {
			line = v.text[row]
			line = line[:utf8.RuneCountInString(plain(line))]
		}
		if len(line) > 0 {
			y := margin + (float64(i)+0.75)*rowHeight
			fmt.Fprintf(&b, `<text x="%g" y="%g" textLength="%g">%s</text>`+"\n", margin, y, float64(len(line))*charWidth, spans(line))
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// spans returns the text of a row, with an element for each colour.
func spans(line []cell) string {
	var b strings.Builder
	for len(line) > 0 {
		n := 1
		for n < len(line) && line[n].style == line[0].style {
			n++
		}
		text := make([]rune, n)
		for i, c := range line[:n] {
			if text[i] = c.char; c.char == ' ' {
				text[i] = '\u00a0' // renderers collapse spaces
			}
		}
		if colour := colours[line[0].style]; colour != "" {
			fmt.Fprintf(&b, `<tspan fill="%s">%s</tspan>`, colour, escaped(string(text)))
		} else {
			b.WriteString(escaped(string(text)))
		}
		line = line[n:]
	}
	return b.String()
}

func escaped(text string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(text)) //nolint:errcheck // a strings.Builder has no errors
	return b.String()
}
