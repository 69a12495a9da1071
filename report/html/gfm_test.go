package html

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

func TestTablesAndDeletedText(t *testing.T) {
	for in, want := range map[string]string{
		"a | b\n--|--\n`c \\| d` | e \\| f | g\nh": "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td><code>c | d</code></td>\n<td>e | f</td>\n</tr>\n<tr>\n<td>h</td>\n<td></td>\n</tr>\n</tbody>\n</table>\n",
		"text\n| a |\n|---|":                       "<p>text</p>\n<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n</table>\n",
		"| a | b |\n|---|":                         "<p>| a | b |\n|---|</p>\n",
		"~~a **b**~~ ~c~ ~~~d~~~ ~ e ~":            "<p><del>a <strong>b</strong></del> <del>c</del> ~~~d~~~ ~ e ~</p>\n",
		"`a\\|b\nc`":                               "<p><code>a\\|b c</code></p>\n",
	} {
		var b bytes.Buffer
		if err := renderers().Convert([]byte(in), &b); err != nil || b.String() != want {
			t.Errorf("%q: got %q, want %q: %v", in, b.String(), want, err)
		}
	}
}

// TestExtensionsAreThoseOfGoldmark compares random texts with what goldmark's extensions render.
func TestExtensionsAreThoseOfGoldmark(t *testing.T) {
	theirs := goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone)), extension.Strikethrough),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(harmless{}, 100))),
	)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a repeatable sequence is wanted
	tokens := []string{"a", "b ", " ", "|", "|", "\\|c", "`", "~", "~~", "*", "\n", "\n", "\n|-|-|\n", "\n--|:-\n", "\n|--|\n", "- ", "> ", "    ", "\\*", "é"}
	for range 5_000 {
		var in strings.Builder
		for range 3 + random.IntN(20) {
			in.WriteString(tokens[random.IntN(len(tokens))])
		}
		var got, want bytes.Buffer
		if err := renderers().Convert([]byte(in.String()), &got); err != nil {
			t.Fatal(err)
		}
		if err := theirs.Convert([]byte(in.String()), &want); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Fatalf("%q: got %q, want %q", in.String(), got.String(), want.String())
		}
	}
}
