package main

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// repository is where files that are no pages are read.
const repository = "https://github.com/millhand/millhand"

// heading is an entry of a page's table of contents.
type heading struct {
	Level    int
	ID, Text string
}

// document is a page: its body as HTML, and its headings.
type document struct {
	source   string // relative to the root
	label    string // title in the navigation
	title    string // of the first heading
	headings []heading
	body     []byte
	images   []string // files that it shows, relative to the root

	data []byte
	tree ast.Node
}

// markdown converts documents of a repository.
type markdown struct {
	root  string               // the repository
	pages map[string]*document // by their sources
	md    goldmark.Markdown
}

func newMarkdown(root string) *markdown {
	return &markdown{root: root, pages: map[string]*document{}, md: goldmark.New(
		goldmark.WithExtensions(extension.GFM),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(anchored{}, 100))),
	)}
}

// add parses a source, a path relative to the root, which becomes a page. The error is also for
// raw HTML, which pages do not have.
func (m *markdown) add(source, label string) error {
	data, err := os.ReadFile(filepath.Join(m.root, filepath.FromSlash(source)))
	if err != nil {
		return err
	}
	ids := parser.WithIDs(&headingIDs{used: map[string]int{}})
	d := &document{
		source: source, label: label, data: data,
		tree: m.md.Parser().Parse(text.NewReader(data), parser.WithContext(parser.NewContext(ids))),
	}
	m.pages[source] = d
	return ast.Walk(d.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.HTMLBlock:
			return ast.WalkStop, fmt.Errorf("%s has raw HTML: %q", source, n.Lines().Value(data))
		case *ast.RawHTML:
			return ast.WalkStop, fmt.Errorf("%s has raw HTML: %q", source, n.Segments.Value(data))
		case *ast.Heading:
			d.addHeading(n)
		case *ast.Image:
			d.images = append(d.images, path.Join(path.Dir(source), string(n.Destination)))
		}
		return ast.WalkContinue, nil
	})
}

func (d *document) addHeading(n *ast.Heading) {
	id, _ := n.AttributeString("id")
	h := heading{n.Level, string(id.([]byte)), plainText(n, d.data)}
	if d.title == "" {
		d.title = h.Text
	} else {
		d.headings = append(d.headings, h)
	}
}

// render makes the body of a page, when all pages were added. The error is for references to what
// does not exist.
func (m *markdown) render(d *document) error {
	err := ast.Walk(d.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if to, ok := n.(*ast.Link); ok && entering {
			return ast.WalkContinue, m.resolve(d, to)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := m.md.Renderer().Render(&b, d.data, d.tree); err != nil {
		return fmt.Errorf("%s: %w", d.source, err)
	}
	d.body = b.Bytes()
	return nil
}

// resolve changes a reference of a document: it leads to a page if there is one, otherwise to the
// file in the repository. A file name as its text becomes the title of the page or section.
func (m *markdown) resolve(d *document, n *ast.Link) error {
	u, err := url.Parse(string(n.Destination))
	if err != nil {
		return fmt.Errorf("%s: %w", d.source, err)
	}
	if u.Scheme != "" || u.Path == "" {
		return nil
	}
	target := path.Join(path.Dir(d.source), u.Path)
	info, err := os.Stat(filepath.Join(m.root, filepath.FromSlash(target)))
	if err != nil {
		return fmt.Errorf("%s refers to %s: %w", d.source, u.Path, err)
	}
	kind := "blob"
	if info.IsDir() {
		kind = "tree"
		if index := path.Join(target, "README.md"); m.pages[index] != nil {
			target = index
		}
	}
	to := m.pages[target]
	if to == nil {
		n.Destination = []byte(repository + "/" + kind + "/main/" + target)
		return nil
	}
	label := to.label
	if u.Fragment != "" {
		i := slices.IndexFunc(to.headings, func(h heading) bool { return h.ID == u.Fragment })
		if i < 0 {
			return fmt.Errorf("%s refers to %s, which has no section %s", d.source, target, u.Fragment)
		}
		label = to.headings[i].Text
	}
	if name := plainText(n, d.data); name == path.Base(target) || name == target {
		n.RemoveChildren(n)
		n.AppendChild(n, ast.NewString([]byte(label)))
	}
	u.Path = relative(d.source, target)
	n.Destination = []byte(u.String())
	return nil
}

// plainText returns the text of a node without its markup.
func plainText(n ast.Node, data []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(data))
		} else {
			b.WriteString(plainText(c, data))
		}
	}
	return b.String()
}

// file returns the path of a page in the site.
func file(source string) string {
	if dir, ok := strings.CutSuffix(source, "README.md"); ok {
		return dir + "index.html"
	}
	return strings.TrimSuffix(source, ".md") + ".html"
}

// relative returns the reference from a page to another.
func relative(from, to string) string {
	return relativeRoot(from) + file(to)
}

// relativeRoot returns the reference from a page to the top of the site.
func relativeRoot(from string) string { return strings.Repeat("../", strings.Count(from, "/")) }

// headingIDs makes the anchors of headings as GitHub does, so that references work there, too.
type headingIDs struct{ used map[string]int }

// Generate returns the anchor of a heading.
func (h *headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, string(value))
	n := h.used[id]
	if h.used[id]++; n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return []byte(id)
}

// Put does nothing: documents state no anchors of their own.
func (h *headingIDs) Put([]byte) {}

// anchored renders headings with a reference to themselves.
type anchored struct{}

// RegisterFuncs registers the renderer of headings.
func (anchored) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, func(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		n := node.(*ast.Heading)
		id, _ := n.AttributeString("id")
		var err error
		if entering {
			_, err = fmt.Fprintf(w, "<h%d id=\"%s\">", n.Level, id)
		} else {
			_, err = fmt.Fprintf(w, " <a class=\"anchor\" href=\"#%s\" aria-label=\"this section\">#</a></h%d>\n", id, n.Level)
		}
		return ast.WalkContinue, err
	})
}
