package shell

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "update the table's expectations")

// tableCase is a line with the outline that is expected of it. In the files a
// case starts with "$ " and the line, whose further lines start with "> ".
type tableCase struct {
	line, want string
}

// tableFiles returns the table: every line of testdata/*.txt.
func tableFiles(tb testing.TB) map[string][]tableCase {
	tb.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no table: %v", err)
	}
	all := map[string][]tableCase{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		all[f] = parseTable(string(text))
	}
	return all
}

func parseTable(text string) []tableCase {
	var cases []tableCase
	for l := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(l, "$ "):
			cases = append(cases, tableCase{line: strings.TrimSuffix(l[2:], "\n")})
		case strings.HasPrefix(l, "> "):
			cases[len(cases)-1].line += "\n" + strings.TrimSuffix(l[2:], "\n")
		case strings.HasPrefix(l, "#") || l == "\n":
		default:
			cases[len(cases)-1].want += l
		}
	}
	return cases
}

func TestAnalyzeAgreesWithTheTable(t *testing.T) {
	n := 0
	for file, cases := range tableFiles(t) {
		n += len(cases)
		if *update {
			rewriteTable(t, file)
			continue
		}
		for _, c := range cases {
			if diff := cmp.Diff(c.want, outline(Analyze(c.line))); diff != "" {
				t.Errorf("%s: %s\n(-want +got)\n%s", filepath.Base(file), c.line, diff)
			}
		}
	}
	if n < 250 {
		t.Errorf("the table has only %d lines", n)
	}
}

// rewriteTable writes the present outlines into a file, and keeps its comments.
func rewriteTable(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	line, open := "", false
	flush := func() {
		if open {
			b.WriteString(outline(Analyze(line)))
			open = false
		}
	}
	for l := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(l, "$ "):
			flush()
			line, open = strings.TrimSuffix(l[2:], "\n"), true
			b.WriteString(l)
		case strings.HasPrefix(l, "> "):
			line += "\n" + strings.TrimSuffix(l[2:], "\n")
			b.WriteString(l)
		case strings.HasPrefix(l, "#") || l == "\n":
			flush()
			b.WriteString(l)
		}
	}
	flush()
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
