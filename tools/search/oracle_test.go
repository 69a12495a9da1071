package search

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The oracle tests compare what is found with what ripgrep finds, as sets. Its
// globs bring back what is ignored, ours never do: so it is asked for the
// files that match and for those that are not ignored.

func TestRipgrepFindsTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	const files = 2000
	dir := growTree(t, files)
	unignored := rgFiles(t, dir)
	cache := NewCache(1 << 20)
	for _, scope := range []Scope{{}, {Cache: cache}, {Cache: cache}} {
		scope.Root = openRoot(t, dir)
		t.Run("glob", func(t *testing.T) { compareGlobs(t, dir, scope, unignored) })
		t.Run("grep", func(t *testing.T) { compareGreps(t, dir, scope, unignored) })
	}
}

func compareGlobs(t *testing.T, dir string, scope Scope, unignored map[string]bool) {
	t.Helper()
	for _, pattern := range []string{
		"*", "**", "**/*", "*.go", "**/*.go", "*_test.go", "/*.go", "pkg1/**", "pkg1/*/*.go", "pkg*/sub[0-3]/*.{ts,tsx}", "*.{ts,tsx,md}", "**/.hidden/**",
		"file1?.go", "file[!1]*.go", "deep/**/x*.go", "**/build/*", "pkg[1-3]/**/file*[02468].*", "{pkg1,deep}/**/*.go", "né w.go", "ünïcode dir/*", "{a,b}", "*.log", "nothing*",
		"**/e1/**", "pkg2/*", "pkg16/sub?/*", "!*.go", "!pkg*/**", "?ong.js", "*.g[no]*", "*/*/*.json", "*.ts,*.md", "*.{ts,tsx},!pkg1/**", "!*.go,!*.ts", "pkg*/*/*.go,deep/**,!*_test.go",
	} {
		t.Run(pattern, func(t *testing.T) {
			args := []string{"--no-ignore"}
			list, err := SplitGlobs(pattern)
			if err != nil {
				t.Fatal(err)
			}
			for _, glob := range list {
				args = append(args, "--glob", glob)
			}
			matching := rgFiles(t, dir, args...)
			var want []string
			for p := range matching {
				if unignored[p] {
					want = append(want, p)
				}
			}
			slices.Sort(want)
			got := allFiles(t, scope, pattern)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-rg +got):\n%s", d)
			}
		})
	}
}

// allFiles returns all that a glob finds, beyond the limit of Glob.
func allFiles(t *testing.T, scope Scope, pattern string) []string {
	t.Helper()
	r, err := glob(t.Context(), scope, pattern, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	paths := pathsOf(r)
	slices.Sort(paths)
	return paths
}

func compareGreps(t *testing.T, dir string, scope Scope, unignored map[string]bool) {
	t.Helper()
	for _, c := range []struct{ pattern, include string }{
		{"NewStreaming", ""},
		{"func \\w+Context\\(", ""},
		{"\\bctx\\s+context\\.Context\\b", "*.go"},
		{"(?i)deprecated", ""},
		{"(?i)kelvin|TODO", "*.{ts,tsx}"},
		{"error|hunter2|Mutex", "pkg1/**"},
		{"^}$", "pkg3/**/*.go"},
		{"^$", "pkg4/**"},
		{"[0-9]+\\.[0-9]+", ""},
		{"a{20,}$", "*.json"},
		{"(a|b)\\[[ij]\\]", "pkg5/*/*"},
		{"^\\s*return .*%w", ""},
		{"last$", ""},
		{"func", "*.{js,txt}"},
		{"日本|naïve", ""},
		{"Keep", ""},
		{"NoEnd", ""},
		{"Binary", ""},
		{"nowhere to be found", ""},
		{"(export|import) ", "deep/**"},
		{"'K'", "!*.go"},
	} {
		t.Run(c.pattern+" "+c.include, func(t *testing.T) {
			want := rgLines(t, dir, unignored, c.pattern, c.include)
			got := allLines(t, scope, c.pattern, c.include)
			if len(want) == 0 && c.pattern != "nowhere to be found" && c.pattern != "Binary" {
				t.Error("ripgrep found nothing: the pattern says too little")
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-rg +got):\n%.4000s", d)
			}
		})
	}
}

// allLines returns all that a search finds, beyond the limit of Grep.
func allLines(t *testing.T, scope Scope, pattern, include string) []string {
	t.Helper()
	r, err := grep(t.Context(), scope, Query{Pattern: pattern, Include: include, Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	lines := asLines(r)
	slices.Sort(lines)
	return lines
}

// rgFiles returns the files that ripgrep would search.
func rgFiles(tb testing.TB, dir string, args ...string) map[string]bool {
	tb.Helper()
	files := map[string]bool{}
	for p := range strings.SplitSeq(string(rg(tb, dir, append([]string{"--files", "--null"}, args...)...)), "\x00") {
		if p != "" {
			files[p] = true
		}
	}
	return files
}

func rgLines(t *testing.T, dir string, unignored map[string]bool, pattern, include string) []string {
	t.Helper()
	args := []string{"--line-number", "--with-filename", "--no-heading", "--null", "--crlf", "--regexp", pattern}
	if include != "" {
		args = append(args, "--no-ignore", "--glob", include)
	}
	m, err := newMatcher(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range bytes.Lines(rg(t, dir, args...)) {
		p, rest, _ := bytes.Cut(line, []byte("\x00"))
		number, text, ok := bytes.Cut(bytes.TrimRight(rest, "\r\n"), []byte(":"))
		if ok && unignored[string(p)] {
			lines = append(lines, fmt.Sprintf("%s:%s:%s", p, number, m.match(t.Context(), "", 0, text).Text))
		}
	}
	slices.Sort(lines)
	return lines
}

// rg runs ripgrep in a directory, and skips the test if it is not installed.
func rg(tb testing.TB, dir string, args ...string) []byte {
	tb.Helper()
	needRipgrep(tb)
	args = append([]string{"--no-config", "--hidden", "--no-require-git", "--no-ignore-global", "--no-ignore-dot", "--no-ignore-parent", "--color=never"}, args...)
	cmd := exec.CommandContext(tb.Context(), "rg", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 { // 1: nothing was found
		tb.Fatalf("rg %q: %v\n%s", args, err, stderr.Bytes())
	}
	return out
}
