package html

import (
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/millhand/millhand/internal/text/printable"
)

// svg is a decorative drawing that is stretched to its box: it has no texts, which would be
// distorted.
func svg(class string, width, height float64, shapes ...g.Node) g.Node {
	return drawing(class, width, height, h.Aria("hidden", "true"), shapes)
}

// svgImage is a drawing with a description for those who can't see it.
func svgImage(label, class string, width, height float64, shapes ...g.Node) g.Node {
	return drawing(class, width, height, g.Group{g.Attr("role", "img"), h.Aria("label", printable.Visible(label))}, shapes)
}

func drawing(class string, width, height float64, about g.Node, shapes []g.Node) g.Node {
	return g.El("svg", h.Class(class), about, g.Attr("viewBox", "0 0 "+decimal(width)+" "+decimal(height)), g.Attr("preserveAspectRatio", "none"), g.Group(shapes))
}

// rect is a rectangle with a tooltip; none for "".
func rect(title, class string, x, y, width, height float64) g.Node {
	return g.El("rect", h.Class(class), g.Attr("x", decimal(x)), g.Attr("y", decimal(y)),
		g.Attr("width", decimal(width)), g.Attr("height", decimal(height)), g.If(title != "", g.El("title", text(title))))
}

func decimal(v float64) string { return strconv.FormatFloat(float64(int64(v*10+0.5))/10, 'f', -1, 64) }
