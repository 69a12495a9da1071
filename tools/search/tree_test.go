package search

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// aTime is the modification time of test files that have no other.
var aTime = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

// openTree makes files and returns the directory they are in. A name with a slash
// at its end is a directory.
func openTree(tb testing.TB, files map[string]string) *os.Root {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range files {
		writeFile(tb, dir, name, text)
	}
	return openRoot(tb, dir)
}

func openRoot(tb testing.TB, dir string) *os.Root {
	tb.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := root.Close(); err != nil {
			tb.Error(err)
		}
	})
	return root
}

func writeFile(tb testing.TB, dir, name, text string) {
	tb.Helper()
	p := filepath.Join(dir, name)
	if strings.HasSuffix(name, "/") {
		if err := os.MkdirAll(p, 0o755); err != nil {
			tb.Fatal(err)
		}
		return
	}
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
	setTime(tb, p, aTime)
}

func setTime(tb testing.TB, p string, at time.Time) {
	tb.Helper()
	if err := os.Chtimes(p, at, at); err != nil {
		tb.Fatal(err)
	}
}

// growTree makes a tree of so many files, some ignored, as a repository of
// source text has them. Each file has its own time.
func growTree(tb testing.TB, count int) string {
	tb.Helper()
	dir := tb.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	ext := []string{".go", ".go", ".ts", ".tsx", ".md", ".log", ".json", ".o", "_test.go", ".generated.go"}
	for i := range count {
		name := fmt.Sprintf("pkg%d/sub%d/file%d%s", i%17, i%7, i, ext[rng.IntN(len(ext))])
		switch rng.IntN(12) {
		case 0:
			name = fmt.Sprintf("file%d%s", i, ext[rng.IntN(len(ext))])
		case 1:
			name = fmt.Sprintf("pkg%d/node_modules/lib%d/index%d.js", i%17, i%5, i)
		case 2:
			name = fmt.Sprintf("pkg%d/.hidden/sub/file%d.go", i%17, i)
		case 3:
			name = fmt.Sprintf("deep/a/b/c/d/e%d/build/x%d.go", i%3, i)
		}
		writeFile(tb, dir, name, sourceText(rng))
		setTime(tb, filepath.Join(dir, name), aTime.Add(time.Duration(rng.IntN(count))*time.Second))
	}
	for name, text := range map[string]string{
		".gitignore":                "*.log\n*.o\nnode_modules/\n/deep/a/b/c/d/e1/\n!keep*.log\n*.generated.go\n",
		"pkg1/.gitignore":           "!*.log\nsub3/\n/*.md\n",
		"pkg2/.gitignore":           "*\n!*.go\n!*/\n",
		"pkg3/sub3/.gitignore":      "file*[13579].*\n",
		"deep/a/b/.gitignore":       "build/*\n!build/x*5.go\n",
		"pkg4/.hidden/.gitignore":   "sub/**\n",
		"pkg5/.hidden/a/.gitignore": "*.go",
		"keep1.log":                 "func Keep() {}\n",
		"crlf.txt":                  "func One() {\r\n}\r\nerror: last\r\n",
		"latin1.txt":                "func caf\xe9() error\n\xff\xfe func broken\n",
		"binary.go":                 "func Binary() {}\n\x00\x01",
		"noend.go":                  "package noend\nfunc NoEnd() error",
		"empty.go":                  "",
		"ünïcode dir/né w.go":       "func Ünïcode(naïve string) {}\n日本語 func\n",
		"long.js":                   strings.Repeat("var x=1;", 40_000) + "func minified\nfunc after() {}\n",
	} {
		writeFile(tb, dir, name, text)
	}
	return dir
}

// sourceText returns some lines that look like a program's.
func sourceText(rng *rand.Rand) string {
	lines := []string{
		"package main", "", "import \"fmt\"", "// Deprecated: use NewStreaming instead.", "func NewStreamingContext(ctx context.Context) error {",
		"\treturn fmt.Errorf(\"open %s: %w\", name, err)", "}", "\tif err != nil {", "var Timeout = 30 * time.Second", "\t// TODO(someone): DEPRECATED and slow",
		"type Server struct {", "\tmu sync.Mutex // guards 192.168.0.1:8080", "class Foo extends Bar {", "  const kelvin = 'K';", "export default function useTask() {",
		"\tctx, cancel := context.WithTimeout(ctx, time.Minute)", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "password=hunter2", "x := a[i] + b[j] // ok?",
	}
	var b strings.Builder
	for range 3 + rng.IntN(40) {
		b.WriteString(lines[rng.IntN(len(lines))])
		b.WriteByte('\n')
	}
	return b.String()
}
