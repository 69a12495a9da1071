package form

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/files/pathglob"
	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/tasks/problem"
)

// beside returns a value of a file in a directory with other files.
func beside(t *testing.T, text string, files map[string]string) Value {
	t.Helper()
	v := valueOf(t, text)
	v.Src.Dir = userfile.Real(t.TempDir())
	for name, content := range files {
		path := filepath.Join(v.Src.Dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

func TestUnreadableFilesAreReportedWithTheirNames(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"m.yaml":     {os.ErrNotExist, "m.yaml: not found; check its path"},
		"fix a bug":  {os.ErrNotExist, "fix a bug: not found; check its path, or write -p before it if it is a prompt"},
		"large.yaml": {userfile.ErrTooLarge, "large.yaml: the file exceeds 1 MiB; split it into several"},
	} {
		s := &Source{File: problem.File{Name: name, Found: problem.NewCollector()}}
		s.Unreadable(c.err)
		if got := s.Found.Err(); got == nil || got.Error() != c.want {
			t.Errorf("%v, want %s", got, c.want)
		}
	}
}

func TestPathsThatHaveToExist(t *testing.T) {
	files := map[string]string{"docs/a.md": "A"}
	v := beside(t, "docs", files)
	if text, info, ok := v.Existing(); !ok || text.S != "docs" || !info.IsDir() || !v.Uses().Files[filepath.Join(v.Src.Dir, "docs")] {
		t.Errorf("%v, %v, %t", text, info, ok)
	}
	v = beside(t, "nope", files)
	if _, _, ok := v.Existing(); ok || problemsOf(v) != `v.yaml:1:4: "nope": not found; check its path; it is relative to the manifest` {
		t.Errorf("%t, %q", ok, problemsOf(v))
	}
	if _, _, ok := beside(t, "[a]", files).Existing(); ok {
		t.Error("a list is a path")
	}
}

func TestPatternsAreSearchedNextToTheFile(t *testing.T) {
	v := beside(t, "'docs/*.md'", map[string]string{"docs/a.md": "", "docs/b.md": "", "docs/c.txt": ""})
	text, _ := v.Filled()
	found, ok := text.Search("pattern", text.S, pathglob.Search{Files: true, Limit: 100})
	if !ok || !slices.Equal(found, []string{"docs/a.md", "docs/b.md"}) {
		t.Errorf("%q, %t, %s", found, ok, problemsOf(v))
	}
	if _, ok := text.Search("pattern", "[x", pathglob.Search{}); ok || problemsOf(v) != `v.yaml:1:4: invalid pattern "docs/*.md"; close its brackets` {
		t.Errorf("%t, %q", ok, problemsOf(v))
	}
}

func TestAMarkdownFileHasAHeadAndABody(t *testing.T) {
	for text, want := range map[string]struct{ key, body, said string }{
		"---\nmodel: x\n---\nDo it.\n":  {"model", "Do it.\n", ""},
		"---\n---\nDo it.\n":            {"", "Do it.\n", ""},
		"Do it.\n":                      {"", "Do it.\n", "a.md:1: no front matter: all of the file is the prompt"},
		"---\nmodel: x\n":               {"-", "", "a.md:1:1: "},
		"---\n- model\n---\nDo it.\n":   {"-", "Do it.\n", "a.md:2:1: frontmatter must be a mapping; write KEY: VALUE"},
		"---\nmodel: [x\n---\nDo it.\n": {"-", "Do it.\n", "a.md:2:1: a bracket is not closed, or a comma is missing"},
	} {
		s := &Source{File: problem.File{Name: "a.md", Found: problem.NewCollector()}}
		root, body := s.Head(text)
		said := strings.Join(s.Found.Notes, "\n")
		if err := s.Found.Err(); err != nil {
			said += err.Error()
		}
		key := "-"
		if root != nil {
			key = ""
			entries, _ := root.Entries()
			for _, e := range entries {
				key += e.Key.Value
			}
		}
		if key != want.key || body != want.body || !strings.HasPrefix(said, want.said) || want.said == "" && said != "" {
			t.Errorf("%q: key %q, body %q, %s", text, key, body, said)
		}
	}
}

func TestMarkdownFilesAreBoundedText(t *testing.T) {
	v := beside(t, "1", map[string]string{"a.md": "é", "large.md": strings.Repeat("a", maxMarkdown+1), "binary.md": "\xff"})
	for name, want := range map[string]string{
		"a.md": "", "large.md": "large.md:1:1: the file exceeds 256 KiB; a prompt is sent with every request: shorten it",
		"binary.md": "binary.md:1:1: the file is not UTF-8 text; save it as UTF-8", "nope.md": "nope.md: not found; check its path",
	} {
		src := v.MarkdownFile(name)
		src.Found = problem.NewCollector()
		text, ok := src.Markdown(name)
		got := ""
		if err := src.Found.Err(); err != nil {
			got = err.Error()
		}
		if got != want || ok != (want == "") || ok && text != "é" {
			t.Errorf("%s: %q, %t, %q", name, text, ok, got)
		}
	}
	if !v.Uses().Files[filepath.Join(v.Src.Dir, "a.md")] {
		t.Errorf("the file is not an input: %v", v.Uses().Files)
	}
	if src := v.MarkdownFile("/etc/a.md"); src.Name != "/etc/a.md" {
		t.Errorf("an absolute file is called %s", src.Name)
	}
}

func TestForgivenFilesHaveNotesInsteadOfProblems(t *testing.T) {
	v := valueOf(t, "{size: 99, color: red, permision: x, name: 5}")
	new(box).keys().Forgive(v, func(name string) bool { return strings.HasPrefix(name, "perm") })
	if want := []string{
		`v.yaml:1: "size" must be an integer from 1 to 9, not the number 99; the key is ignored`,
		`v.yaml:1: unknown key "color" is ignored`,
		`v.yaml:1: "name" must be a string, not the number 5; the key is ignored`,
	}; !slices.Equal(v.Src.Found.Notes, want) {
		t.Errorf("notes %s", strings.Join(v.Src.Found.Notes, "\n"))
	}
	if got := problemsOf(v); !strings.HasPrefix(got, `v.yaml:1:27: unknown key "permision", which may be a restriction; `) || strings.Contains(got, "\n") {
		t.Errorf("problems %s", got)
	}
	flaws := v.Src.Forgiving(func() { v.Problem("what", "fix"); v.Src.Found.Note("note") })
	if len(flaws.Faults) != 1 || len(flaws.Notes) != 1 {
		t.Fatalf("%+v", flaws)
	}
	to := problem.NewCollector()
	flaws.Report(to)
	if len(to.List) != 1 || len(to.Notes) != 1 {
		t.Errorf("%+v", to)
	}
}
