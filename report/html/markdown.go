package html

import (
	"bytes"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	mdtext "github.com/millhand/millhand/internal/text/markdown"
	"github.com/millhand/millhand/internal/text/printable"
)

// maxMarkdown is the length of a text up to which it is rendered as Markdown: the time and the
// output of the parser may grow with its square. 64 KiB of ">" are 3 seconds, and a table is 30 MB.
const maxMarkdown = 16 << 10

// renderers is created once, since it is expensive.
var renderers = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithParserOptions(mdtext.Extensions()...),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(
			util.Prioritized(harmless{}, 100),
			util.Prioritized(extension.NewTableHTMLRenderer(extension.WithTableCellAlignMethod(extension.TableCellAlignNone)), 500),
			util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500),
		)),
	)
})

// markdown renders a model's Markdown: paragraphs, lists, tables and code. HTML is shown as
// text, hyperlinks and images as their text and address.
func markdown(s string) g.Node {
	s = printable.Visible(s)
	var b unbuffered
	if len(s) > maxMarkdown || renderers().Convert([]byte(s), &b) != nil {
		return block("", s)
	}
	return h.Div(h.Class("md"), g.Raw(b.String()))
}

// unbuffered is memory to render into. goldmark allocates a buffer of 4 KB for each text, and most texts
// are shorter, unless it can write to a [util.BufWriter].
type unbuffered struct{ bytes.Buffer }

// Buffered implements [util.BufWriter].
func (*unbuffered) Buffered() int { return 0 }

// Flush implements [util.BufWriter].
func (*unbuffered) Flush() error { return nil }

// harmless renders what goldmark would render as HTML of the text, as hyperlinks, images and
// headings.
type harmless struct{}

// RegisterFuncs implements [renderer.NodeRenderer].
func (r harmless) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindRawHTML, r.rawHTML)
	reg.Register(ast.KindHTMLBlock, r.htmlBlock)
	reg.Register(ast.KindLink, r.hyperlink)
	reg.Register(ast.KindImage, r.image)
	reg.Register(ast.KindAutoLink, r.autolink)
	reg.Register(ast.KindHeading, r.heading)
}

func escaped(w util.BufWriter, text []byte) error {
	_, err := w.Write(util.EscapeHTML(text))
	return err
}

func (harmless) rawHTML(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	segments := n.(*ast.RawHTML).Segments
	for i := range segments.Len() {
		at := segments.At(i)
		if err := escaped(w, at.Value(source)); err != nil {
			return ast.WalkStop, err
		}
	}
	return ast.WalkSkipChildren, nil
}

func (harmless) htmlBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	block := n.(*ast.HTMLBlock)
	if !entering {
		if block.HasClosure() {
			if err := escaped(w, block.ClosureLine.Value(source)); err != nil {
				return ast.WalkStop, err
			}
		}
		_, err := w.WriteString("</pre>\n")
		return ast.WalkContinue, err
	}
	if _, err := w.WriteString("<pre>"); err != nil {
		return ast.WalkStop, err
	}
	for i := range block.Lines().Len() {
		at := block.Lines().At(i)
		if err := escaped(w, at.Value(source)); err != nil {
			return ast.WalkStop, err
		}
	}
	return ast.WalkContinue, nil
}

// target writes an address after the text of its hyperlink.
func target(w util.BufWriter, url []byte) (ast.WalkStatus, error) {
	if _, err := w.WriteString(" <code>"); err != nil {
		return ast.WalkStop, err
	}
	if err := escaped(w, url); err != nil {
		return ast.WalkStop, err
	}
	_, err := w.WriteString("</code>")
	return ast.WalkContinue, err
}

func (harmless) hyperlink(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		return ast.WalkContinue, nil
	}
	return target(w, n.(*ast.Link).Destination)
}

func (harmless) image(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, err := w.WriteString("image: ")
		return ast.WalkContinue, err
	}
	return target(w, n.(*ast.Image).Destination)
}

func (harmless) autolink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	return target(w, n.(*ast.AutoLink).URL(source))
}

// heading writes a heading as a bold paragraph: those of the page have their own order.
func (harmless) heading(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := "<p><strong>"
	if !entering {
		tag = "</strong></p>\n"
	}
	_, err := w.WriteString(tag)
	return ast.WalkContinue, err
}
