package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Extensions are those of Markdown that models use: tables and deleted text.
func Extensions() []parser.Option {
	return []parser.Option{
		parser.WithParagraphTransformers(util.Prioritized(tables{extension.NewTableParagraphTransformer()}, 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
		parser.WithInlineParsers(util.Prioritized(extension.NewStrikethroughParser(), 500)),
	}
}

// maxCells is the maximum number of cells of a table, which has one in each column of a short row, too: 16 KiB
// could be six million, and take minutes.
const maxCells = 20_000

// tables parses tables of up to [maxCells] cells. Larger ones are text.
type tables struct{ parser.ParagraphTransformer }

// Transform implements [parser.ParagraphTransformer].
func (t tables) Transform(p *ast.Paragraph, reader text.Reader, pc parser.Context) {
	columns := 0
	for i := range p.Lines().Len() {
		line := p.Lines().At(i)
		columns = max(columns, 1+bytes.Count(line.Value(reader.Source()), []byte("|")))
	}
	if columns*p.Lines().Len() <= maxCells {
		t.ParagraphTransformer.Transform(p, reader, pc)
	}
}
