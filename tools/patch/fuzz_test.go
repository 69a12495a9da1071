package patch

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
)

// FuzzApply checks what must hold of any patch of the files a and b: only paths
// that it names are written, the same each time and within bounds, and text stays
// text.
func FuzzApply(f *testing.F) {
	dirs, err := filepath.Glob("testdata/scenarios/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, dir := range dirs {
		text, _ := content(f, dir, "patch.txt")
		files := tree(f, filepath.Join(dir, "input"))
		f.Add(text, files["a"], files["b"])
	}
	f.Fuzz(func(t *testing.T, text, a, b string) {
		files := map[string]string{"a": a, "b": b}
		p, err := Parse(text)
		if err != nil {
			if len(p.Files) > 0 || utf8.ValidString(text) && !utf8.ValidString(err.Error()) {
				t.Fatalf("%d sections, %v", len(p.Files), err)
			}
			return
		}
		writes, err := Apply(p, readFrom(files))
		again, _ := Apply(p, readFrom(files))
		if diff := gocmp.Diff(writes, again); diff != "" {
			t.Fatal(diff)
		}
		if err != nil {
			if len(writes) > 0 {
				t.Fatalf("an error and %d writes", len(writes))
			}
			return
		}
		checkWrites(t, p, writes, text, a+"\n"+b)
		apply(t, files, writes)
		if f := p.Files[0]; len(p.Files) == 1 && f.Op == Update && path.Clean(f.Path) == "a" {
			exact := !slices.ContainsFunc(writes, func(w Write) bool { return len(w.Notes) > 0 })
			checkLines(t, f, a, files[path.Clean(cmp.Or(f.MoveTo, "a"))], exact)
		}
	})
}

func checkWrites(t *testing.T, p Patch, writes []Write, text, input string) {
	t.Helper()
	seen := map[string]bool{}
	for _, w := range writes {
		if !slices.Contains(p.Paths(), w.Path) || seen[path.Clean(w.Path)] {
			t.Errorf("write of %q", w.Path)
		}
		seen[path.Clean(w.Path)] = true
		if len(w.Content) > len(input)+2*len(text)+2 {
			t.Errorf("%d bytes of %d and %d", len(w.Content), len(input), len(text))
		}
		if utf8.ValidString(text+input) && !utf8.Valid(w.Content) {
			t.Errorf("%q is no text", w.Content)
		}
	}
}

// checkLines checks an update against counts of lines: what comes is in the
// patch, no more goes than the patch removes, and the rest keeps every byte. An
// inexact hunk adds lines that differ from those of the patch, so that they are not
// compared. A missing newline at the end is ignored.
func checkLines(t *testing.T, f File, before, after string, exact bool) {
	t.Helper()
	added := map[string]int{}
	most := 0
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			switch {
			case sign(l) == '+':
				added[strings.TrimRight(text(l), "\r")]++
			case sign(l) == '-':
				most++
			case strings.TrimSpace(l) == "": // can become a new line at the end
				added[""]++
			}
		}
	}
	d := newDocument(before)
	ended := func(line string) string {
		if len(f.Hunks) > 0 && !strings.HasSuffix(line, "\n") {
			line += d.newline(len(d.lines))
		}
		return line
	}
	balance := map[string]int{}
	for i := range d.lines {
		line := d.lines[i]
		balance[ended(line)]--
	}
	for line := range strings.Lines(strings.TrimPrefix(after, d.mark)) {
		balance[ended(line)]++
	}
	gone := 0
	for line, n := range balance {
		bare := strings.TrimRight(line, "\r\n")
		if exact && n > 0 && added[bare] < n {
			t.Errorf("%q came %d times more than the patch adds it", line, n)
		}
		gone -= min(n, 0)
	}
	if gone > most {
		t.Errorf("%d lines are gone, the patch removes %d", gone, most)
	}
}
