package html

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	mdtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// The extensions of Markdown that models use: tables and deleted text. Those of goldmark
// would do, but each process would allocate 264 KB in the initialization of their package.

// tables replaces paragraphs by tables: a row of names, a row of dashes, and rows of values.
type tables struct{}

// Transform implements [parser.ParagraphTransformer].
func (tables) Transform(p *ast.Paragraph, reader mdtext.Reader, _ parser.Context) {
	lines, source := p.Lines(), reader.Source()
	for i := 1; i < lines.Len(); i++ {
		columns := dashes(lines.At(i), source)
		if columns == 0 {
			continue
		}
		names := cells(lines.At(i-1), source)
		if len(names) > columns {
			return
		}
		table := extension.NewTable()
		table.AppendChild(table, extension.NewTableHeader(row(names, columns)))
		for j := i + 1; j < lines.Len(); j++ {
			table.AppendChild(table, row(cells(lines.At(j), source), columns))
		}
		p.Parent().InsertAfter(p.Parent(), p, table)
		if i == 1 {
			p.Parent().RemoveChild(p.Parent(), p)
			return
		}
		lines.SetSliced(0, i-1) // text before the table
		last := lines.At(i - 2)
		lines.Set(i-2, last.TrimRightSpace(source))
		return
	}
}

// row returns a row of a number of columns: further cells are ignored.
func row(content []mdtext.Segment, columns int) *extension.TableRow {
	r := extension.NewTableRow(nil)
	for i := range columns {
		cell := extension.NewTableCell()
		if i < len(content) {
			cell.Lines().Append(content[i])
		}
		r.AppendChild(r, cell)
	}
	return r
}

// cells returns the cells of a line, without the space around them. A pipe after a backslash
// is text.
func cells(line mdtext.Segment, source []byte) []mdtext.Segment {
	line = line.TrimLeftSpace(source)
	line = line.TrimRightSpace(source)
	content := line.Value(source)
	start := 0
	if bytes.HasPrefix(content, []byte("|")) {
		start = 1
	}
	if last := len(content) - 1; last > 0 && content[last] == '|' && content[last-1] != '\\' {
		content = content[:last]
	}
	var all []mdtext.Segment
	for i := start; i <= len(content); i++ {
		end := i == len(content)
		if end && i == start || !end && (content[i] != '|' || i > 0 && content[i-1] == '\\') {
			continue
		}
		cell := mdtext.NewSegment(line.Start+start, line.Start+i)
		cell = cell.TrimLeftSpace(source)
		all = append(all, cell.TrimRightSpace(source))
		start = i + 1
	}
	return all
}

// dashes returns the number of columns of a row of dashes, 0 if a line is another one.
func dashes(line mdtext.Segment, source []byte) int {
	if width, _ := util.IndentWidth(line.Value(source), 0); width > 3 || !bytes.ContainsAny(line.Value(source), "|:") {
		return 0
	}
	all := cells(line, source)
	for _, cell := range all {
		s := bytes.TrimSuffix(bytes.TrimPrefix(cell.Value(source), []byte(":")), []byte(":"))
		if len(s) == 0 || len(bytes.Trim(s, "-")) > 0 {
			return 0
		}
	}
	return len(all)
}

// deletions parses deleted text, between one or two tildes.
type deletions struct{}

// Trigger implements [parser.InlineParser].
func (deletions) Trigger() []byte { return []byte("~") }

// Parse implements [parser.InlineParser].
func (d deletions) Parse(_ ast.Node, block mdtext.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, at := block.PeekLine()
	tildes := parser.ScanDelimiter(line, before, 1, d)
	if tildes == nil || before == '~' || tildes.OriginalLength > 2 {
		return nil
	}
	block.Advance(tildes.OriginalLength)
	tildes.Segment = at.WithStop(at.Start + tildes.OriginalLength)
	pc.PushDelimiter(tildes)
	return tildes
}

// IsDelimiter implements [parser.DelimiterProcessor], as the following methods.
func (deletions) IsDelimiter(b byte) bool { return b == '~' }

// CanOpenCloser reports whether a delimiter matches another one.
func (deletions) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

// OnMatch returns the node of deleted text.
func (deletions) OnMatch(int) ast.Node { return extension.NewStrikethrough() }

// gfm renders the extensions.
type gfm struct{}

// RegisterFuncs implements [renderer.NodeRenderer].
func (gfm) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	tags := func(open, end func(ast.Node) string) renderer.NodeRendererFunc {
		return func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
			tag := open
			if !entering {
				tag = end
			}
			_, err := w.WriteString(tag(n))
			return ast.WalkContinue, err
		}
	}
	always := func(tag string) func(ast.Node) string { return func(ast.Node) string { return tag } }
	reg.Register(extension.KindStrikethrough, tags(always("<del>"), always("</del>")))
	reg.Register(extension.KindTable, tags(always("<table>\n"), always("</table>\n")))
	reg.Register(extension.KindTableHeader, tags(always("<thead>\n<tr>\n"), func(n ast.Node) string {
		if n.NextSibling() != nil {
			return "</tr>\n</thead>\n<tbody>\n"
		}
		return "</tr>\n</thead>\n"
	}))
	reg.Register(extension.KindTableRow, tags(always("<tr>\n"), func(n ast.Node) string {
		if n.NextSibling() == nil {
			return "</tr>\n</tbody>\n"
		}
		return "</tr>\n"
	}))
	cell := func(n ast.Node) string {
		if n.Parent().Kind() == extension.KindTableHeader {
			return "th>"
		}
		return "td>"
	}
	reg.Register(extension.KindTableCell, tags(func(n ast.Node) string { return "<" + cell(n) }, func(n ast.Node) string { return "</" + cell(n) + "\n" }))
	reg.Register(ast.KindCodeSpan, codeSpan)
}

// codeSpan renders code within text. In a table its pipes are after backslashes.
func codeSpan(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	var code []byte
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			code = append(code, t.Segment.Value(source)...)
		}
	}
	code = bytes.ReplaceAll(code, []byte("\n"), []byte(" "))
	for up := n.Parent(); up != nil; up = up.Parent() {
		if up.Kind() == extension.KindTableCell {
			code = bytes.ReplaceAll(code, []byte(`\|`), []byte("|"))
		}
	}
	if _, err := w.WriteString("<code>"); err != nil {
		return ast.WalkStop, err
	}
	if err := escaped(w, code); err != nil {
		return ast.WalkStop, err
	}
	_, err := w.WriteString("</code>")
	return ast.WalkSkipChildren, err
}
