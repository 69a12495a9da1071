package main

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
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

// document is a page's body as HTML, with its headings.
type document struct {
	title    string // of the first heading
	headings []heading
	body     []byte
	images   []string // files that it shows, relative to the root
}

// markdown converts documents of a repository.
type markdown struct {
	root  string            // the repository
	pages map[string]string // titles of the sources that are pages
}

// convert returns the document of a source, a path relative to the root. The error is for
// destinations that do not exist, and for raw HTML, which pages do not have.
func (m markdown) convert(source string) (*document, error) {
	data, err := os.ReadFile(filepath.Join(m.root, filepath.FromSlash(source)))
	if err != nil {
		return nil, err
	}
	md := goldmark.New(
		goldmark.WithExtensions(extension.GFM),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(anchored{}, 100))),
	)
	tree := md.Parser().Parse(text.NewReader(data), parser.WithContext(parser.NewContext(parser.WithIDs(&headingIDs{used: map[string]int{}}))))
	d := &document{}
	err = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		var err error
		switch n := n.(type) {
		case *ast.HTMLBlock:
			err = fmt.Errorf("%s has raw HTML: %q", source, n.Lines().Value(data))
		case *ast.RawHTML:
			err = fmt.Errorf("%s has raw HTML: %q", source, n.Segments.Value(data))
		case *ast.Heading:
			d.add(n, data)
		case *ast.Link:
			file, _, _ := strings.Cut(string(n.Destination), "#")
			if title := m.pages[path.Join(path.Dir(source), file)]; title != "" && plainText(n, data) == path.Base(file) {
				n.RemoveChildren(n) // file names are for readers of the repository
				n.AppendChild(n, ast.NewString([]byte(title)))
			}
			n.Destination, err = m.destination(source, n.Destination)
		case *ast.Image:
			d.images = append(d.images, path.Join(path.Dir(source), string(n.Destination)))
		}
		return ast.WalkContinue, err
	})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, data, tree); err != nil {
		return nil, err
	}
	d.body = b.Bytes()
	return d, nil
}

func (d *document) add(n *ast.Heading, data []byte) {
	id, _ := n.AttributeString("id")
	h := heading{n.Level, string(id.([]byte)), plainText(n, data)}
	if d.title == "" {
		d.title = h.Text
	} else {
		d.headings = append(d.headings, h)
	}
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

// destination returns where a reference of a source leads: to a page if there is one, otherwise
// to the file in the repository.
func (m markdown) destination(source string, to []byte) ([]byte, error) {
	u, err := url.Parse(string(to))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	if u.Scheme != "" || u.Path == "" {
		return to, nil
	}
	target := path.Join(path.Dir(source), u.Path)
	info, err := os.Stat(filepath.Join(m.root, filepath.FromSlash(target)))
	if err != nil {
		return nil, fmt.Errorf("%s refers to %s: %w", source, u.Path, err)
	}
	kind := "blob"
	if info.IsDir() {
		kind = "tree"
		if index := path.Join(target, "README.md"); m.pages[index] != "" {
			target = index
		}
	}
	if m.pages[target] != "" {
		u.Path = relative(source, target)
		return []byte(u.String()), nil
	}
	return []byte(repository + "/" + kind + "/main/" + target), nil
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
