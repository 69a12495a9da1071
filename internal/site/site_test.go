package main

import (
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

const root = "../.."

// parsed is a page as browsers see it.
type parsed struct {
	ids        map[string]bool
	references []string // href and src of all elements
	navigation []string // href in the sidebar
	elements   map[string]int
}

func parse(t *testing.T, name string) parsed {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	top, err := html.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	p := parsed{ids: map[string]bool{}, elements: map[string]int{}}
	for n := range top.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		p.elements[n.Data]++
		for _, a := range n.Attr {
			switch a.Key {
			case "id":
				if p.ids[a.Val] {
					t.Errorf("%s: two elements have the id %s", name, a.Val)
				}
				p.ids[a.Val] = true
			case "href", "src":
				p.references = append(p.references, a.Val)
				if inSidebar(n) {
					p.navigation = append(p.navigation, a.Val)
				}
			}
			if strings.HasPrefix(a.Key, "on") {
				t.Errorf("%s has a script in the attribute %s", name, a.Key)
			}
		}
	}
	return p
}

func inSidebar(n *html.Node) bool {
	for above := range n.Ancestors() {
		if slices.Contains(above.Attr, html.Attribute{Key: "class", Val: "pages"}) {
			return true
		}
	}
	return false
}

// The site has a page for each document, every reference in it leads somewhere, and every page
// is in the navigation of every other.
func TestSite(t *testing.T) {
	out := t.TempDir()
	n, err := build(root, out)
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]parsed{}
	err = filepath.WalkDir(out, func(name string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".html") {
			rel, _ := filepath.Rel(out, name)
			pages[filepath.ToSlash(rel)] = parse(t, name)
		}
		return err
	})
	if err != nil || len(pages) != n || n < 30 {
		t.Fatalf("%d pages of %d: %v", len(pages), n, err)
	}
	for name, p := range pages {
		if p.elements["script"] > 0 || p.elements["h1"] != 1 {
			t.Errorf("%s has %d scripts and %d titles", name, p.elements["script"], p.elements["h1"])
		}
		for _, to := range p.references {
			u, err := url.Parse(to)
			switch {
			case err != nil:
				t.Errorf("%s: %v", name, err)
				continue
			case u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "data" || u.Scheme == "mailto":
				continue
			case u.Scheme != "" || path.IsAbs(u.Path):
				t.Errorf("%s refers to %s", name, to)
				continue
			}
			target := name
			if u.Path != "" {
				target = path.Join(path.Dir(name), u.Path)
			}
			if _, err := os.Stat(filepath.Join(out, filepath.FromSlash(target))); err != nil {
				t.Errorf("%s refers to %s: %v", name, to, err)
			}
			if u.Fragment != "" && !pages[target].ids[u.Fragment] {
				t.Errorf("%s refers to %s, and %s has no such section", name, to, target)
			}
		}
		listed := map[string]bool{}
		for _, to := range p.navigation {
			listed[path.Join(path.Dir(name), to)] = true
		}
		for other := range pages {
			if !listed[other] {
				t.Errorf("%s is not in the navigation of %s", other, name)
			}
		}
	}
}

// Every document for users is in the contents.
func TestContentsAreComplete(t *testing.T) {
	listed := map[string]bool{}
	for _, s := range contents() {
		for _, e := range s.pages {
			if listed[e.source] {
				t.Errorf("%s is twice in the contents", e.source)
			}
			listed[e.source] = true
		}
	}
	for _, pattern := range []string{"docs/*.md", "examples/README.md", "examples/*/README.md", "examples/*/*/README.md"} {
		names, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			// Directories of repositories that examples work on.
			if !listed[name] && !slices.Contains([]string{"examples/quickstart/shop/README.md", "examples/go/shop/README.md", "examples/tools/notes/README.md"}, name) {
				t.Errorf("%s is not in the contents", name)
			}
		}
	}
}
