package web

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxWork is how much work a conversion may be, in bytes handled; maxCells how
// many cells a table may come to. The converter handles a text once for every
// list and quotation around it, and fills tables up to a rectangle, so that a
// small page could take hours.
const (
	maxWork  = 16 << 20
	maxCells = 200_000
)

// Markdown converts an HTML document to Markdown. base is the document's URL,
// against which hyperlinks are resolved. A document that can't be converted,
// such as one nested too deeply, becomes plain text.
func Markdown(document, base string) string {
	text, err := convert(document, base)
	if err != nil || strings.TrimSpace(text) == "" {
		return PlainText(document)
	}
	return text
}

// convert converts HTML to Markdown; a panic of the converter becomes an error.
func convert(document, address string) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("convert HTML: %v", r)
		}
	}()
	root, err := html.Parse(strings.NewReader(document))
	if err != nil {
		return "", fmt.Errorf("parse HTML: %w", err)
	}
	if work(root, 1) > maxWork {
		return "", errors.New("convert HTML: nested too deeply")
	}
	plugins := []converter.Plugin{base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(commonmark.WithHorizontalRule("---"))}
	if cells(root) <= maxCells {
		plugins = append(plugins, table.NewTablePlugin(table.WithNewlineBehavior(table.NewlineBehaviorPreserve)))
	}
	out, err := converter.NewConverter(converter.WithPlugins(plugins...)).ConvertNode(root, converter.WithDomain(address))
	return string(out), err
}

// work estimates the cost of converting a node: its bytes, times the enclosing
// elements whose content is processed again. The parser limits the recursion.
func work(n *html.Node, around int) int {
	switch n.DataAtom {
	case atom.Ul, atom.Ol, atom.Li, atom.Blockquote, atom.Table, atom.Td, atom.Th, atom.A, atom.Strong, atom.B, atom.Em, atom.I:
		around++
	default:
	}
	sum := (len(n.Data) + 16) * around
	for c := range n.ChildNodes() {
		sum += work(c, around)
	}
	return sum
}

// cells returns an upper bound of the cells of the largest table: all rows, as
// wide as the widest, times the largest rowspan.
func cells(root *html.Node) int {
	most := 0
	for n := range root.Descendants() {
		if n.DataAtom != atom.Table {
			continue
		}
		rows, widest, span := 0, 0, 1
		for row := range n.Descendants() {
			if row.DataAtom != atom.Tr {
				continue
			}
			rows++
			width := 0
			for cell := range row.ChildNodes() {
				width += spans(cell, "colspan")
				span = max(span, spans(cell, "rowspan"))
			}
			widest = max(widest, width)
		}
		most = max(most, (rows+span)*widest*span)
	}
	return most
}

// spans returns how many rows or columns a cell spans.
func spans(cell *html.Node, attribute string) int {
	for _, a := range cell.Attr {
		if n, err := strconv.Atoi(strings.TrimSpace(a.Val)); a.Key == attribute && err == nil {
			return min(max(n, 1), 1000)
		}
	}
	return 1
}
