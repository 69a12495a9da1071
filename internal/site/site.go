package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"slices"
)

//go:embed style.css
var style []byte

//go:embed page.html
var layout string

// page is what the layout shows.
type page struct {
	Title, Root string // Root is the reference to the top of the site, "" there
	Sections    []group
	Headings    []heading
	Body        template.HTML
	Before      *reference
	After       *reference
	Source      string
}

// group is a section of the navigation, as a page shows it.
type group struct {
	Title string
	Pages []reference
	Open  bool // it has the current page
}

type reference struct {
	Title, Path string
	Current     bool
}

// build writes the site of a repository into a directory, and returns the number of pages.
func build(root, out string) (int, error) {
	shape, err := template.New("page").Parse(layout)
	if err != nil {
		return 0, err
	}
	var all []entry
	m := newMarkdown(root)
	for _, s := range contents() {
		for _, e := range s.pages {
			all = append(all, e)
			if err := m.add(e.source, e.title); err != nil {
				return 0, err
			}
		}
	}
	for i, e := range all {
		d := m.pages[e.source]
		if err := m.render(d); err != nil {
			return 0, err
		}
		p := pageOf(e, d)
		if i > 0 {
			p.Before = &reference{Title: all[i-1].title, Path: relative(e.source, all[i-1].source)}
		}
		if i+1 < len(all) {
			p.After = &reference{Title: all[i+1].title, Path: relative(e.source, all[i+1].source)}
		}
		var b bytes.Buffer
		if err := shape.Execute(&b, p); err != nil {
			return 0, fmt.Errorf("%s: %w", e.source, err)
		}
		if err := write(out, file(e.source), b.Bytes()); err != nil {
			return 0, err
		}
		for _, image := range d.images {
			data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(image)))
			if err != nil {
				return 0, fmt.Errorf("%s: %w", e.source, err)
			}
			if err := write(out, image, data); err != nil {
				return 0, err
			}
		}
	}
	return len(all), write(out, "style.css", style)
}

// pageOf returns the page of a document, without its neighbours.
func pageOf(e entry, d *document) page {
	p := page{
		Title: d.title, Root: relativeRoot(e.source), Body: template.HTML(d.body), //nolint:gosec // goldmark escapes texts, and sources have no HTML
		Source: repository + "/blob/main/" + e.source,
		Headings: slices.DeleteFunc(slices.Clone(d.headings), func(h heading) bool {
			return h.Level > 3
		}),
	}
	for _, s := range contents() {
		g := group{Title: s.title}
		for _, other := range s.pages {
			current := other.source == e.source
			g.Open = g.Open || current
			g.Pages = append(g.Pages, reference{other.title, relative(e.source, other.source), current})
		}
		p.Sections = append(p.Sections, g)
	}
	return p
}

func write(out, name string, data []byte) error {
	to := filepath.Join(out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // a website is for everybody
		return err
	}
	return os.WriteFile(to, data, 0o644) //nolint:gosec // as above
}
