package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// convertText converts a document in a directory with other files.
func convertText(t *testing.T, text string) (string, *document, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"docs/a.md": text, "docs/b.md": "# B\n\n## An item\n", "main.go": "package main\n", "examples/x/README.md": "# X\n"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := newMarkdown(dir)
	for _, page := range []entry{{"docs/a.md", "A"}, {"docs/b.md", "The B"}, {"examples/x/README.md", "X"}} {
		if err := m.add(page.source, page.title); err != nil {
			return "", nil, err
		}
	}
	d := m.pages["docs/a.md"]
	if err := m.render(d); err != nil {
		return "", nil, err
	}
	return string(d.body), d, nil
}

func TestConvert(t *testing.T) {
	for text, want := range map[string]string{
		"See [b.md](b.md).":              `See <a href="../docs/b.html">The B</a>.`,
		"See [b.md](b.md#an-item).":      `See <a href="../docs/b.html#an-item">An item</a>.`,
		"See [docs/b.md](b.md).":         `See <a href="../docs/b.html">The B</a>.`,
		"See [more](b.md).":              `See <a href="../docs/b.html">more</a>.`,
		"See [it](../main.go).":          `See <a href="` + repository + `/blob/main/main.go">it</a>.`,
		"See [it](../examples/x).":       `See <a href="../examples/x/index.html">it</a>.`,
		"See [it](../examples).":         `See <a href="` + repository + `/tree/main/examples">it</a>.`,
		"See <https://example.com/?a&b>": `<a href="https://example.com/?a&amp;b">`,
		"`<script>` & text":              `<code>&lt;script&gt;</code> &amp; text`,
		"[x](javascript:alert)":          `<a href="">x</a>`,
		"## The `--flag`, and_more (x)":  `<h2 id="the---flag-and_more-x">The <code>--flag</code>, and_more (x)`,
	} {
		if got, _, err := convertText(t, text+"\n"); err != nil || !strings.Contains(got, want) {
			t.Errorf("%q: got %v\n%s\nwant\n%s", text, err, got, want)
		}
	}
}

func TestHeadings(t *testing.T) {
	_, d, err := convertText(t, "# The *title*\n\n## Item\n\n### Item\n\n## Ärger, 2 mal\n")
	if err != nil || d.title != "The title" {
		t.Fatalf("%+v, %v", d, err)
	}
	want := []heading{{2, "item", "Item"}, {3, "item-1", "Item"}, {2, "ärger-2-mal", "Ärger, 2 mal"}}
	if !slices.Equal(d.headings, want) {
		t.Errorf("got %v, want %v", d.headings, want)
	}
}

func TestRefusedDocuments(t *testing.T) {
	for text, want := range map[string]string{
		"[x](b.md#gone)":           "no section gone",
		"[x](gone.md)":             "gone.md",
		"a <b>bold</b> text":       "raw HTML",
		"<script>alert()</script>": "raw HTML",
		"<!-- a comment -->":       "raw HTML",
	} {
		if _, _, err := convertText(t, text+"\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", text, err)
		}
	}
}
