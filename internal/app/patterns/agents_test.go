package patterns

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	gotoken "go/token"
	"maps"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"

	"github.com/millhand/millhand/internal/dev/nightly"
)

func seed(t *testing.T) uint64 {
	t.Helper()
	return nightly.Random(t).Uint64()
}

func moduleCache(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatalf("go env: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// successors are the functions that replace those of io/ioutil.
var successors = map[string]string{
	"ReadFile": "os.ReadFile", "WriteFile": "os.WriteFile", "ReadAll": "io.ReadAll", "ReadDir": "os.ReadDir",
	"TempFile": "os.CreateTemp", "TempDir": "os.MkdirTemp", "NopCloser": "io.NopCloser", "Discard": "io.Discard",
}

// habit is how an agent migrates a file.
type habit struct {
	textual  bool // also in comments and strings
	sameLine bool // the new import is on the line of the old one, others below
	remark   bool // a comment above some changes
	octal    bool // octal literals in the new form on changed lines
	renames  bool // results of ReadDir get another name
}

// habits are those of the agents, some of them frequent.
var habits = []habit{{}, {}, {}, {sameLine: true}, {sameLine: true}, {octal: true}, {remark: true}, {renames: true}, {textual: true}, {sameLine: true, remark: true, octal: true}}

// migrate returns the files after the migration.
func (h habit) migrate(t *testing.T, rng *rand.Rand, before map[string]string) map[string]string {
	t.Helper()
	after := maps.Clone(before)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if strings.HasSuffix(name, ".go") {
			after[name] = h.file(rng, name, before[name])
		}
	}
	return after
}

var (
	literalMode = regexp.MustCompile(`\b0([0-7]{3})\b`)
	listingOf   = regexp.MustCompile(`\b(\w+), (\w+) (:?=) os\.ReadDir\(`)
	anyCall     = regexp.MustCompile(`\bioutil\.(\w+)\b`)
)

func (h habit) file(rng *rand.Rand, name, text string) string {
	set := gotoken.NewFileSet()
	f, err := parser.ParseFile(set, name, text, parser.ParseComments)
	if err != nil {
		return text
	}
	needed := map[string]bool{}
	var at []int
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "ioutil" && successors[s.Sel.Name] != "" {
				at = append(at, set.Position(s.Pos()).Offset)
				needed[strings.Split(successors[s.Sel.Name], ".")[0]] = true
			}
		}
		return true
	})
	if len(at) == 0 {
		return text
	}
	for _, i := range f.Imports {
		delete(needed, strings.Trim(i.Path.Value, `"`))
	}
	slices.Sort(at)
	replace := func(s string) string {
		return anyCall.ReplaceAllStringFunc(s, func(m string) string {
			if to := successors[strings.TrimPrefix(m, "ioutil.")]; to != "" {
				return to
			}
			return m
		})
	}
	if h.textual {
		text = replace(text)
	} else {
		for _, i := range slices.Backward(at) {
			end := i + len(anyCall.FindString(text[i:]))
			text = text[:i] + replace(text[i:end]) + text[end:]
		}
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		changed := strings.Contains(line, "os.") || strings.Contains(line, "io.")
		if h.octal && changed && strings.Contains(line, "os.WriteFile(") {
			lines[i] = literalMode.ReplaceAllString(line, "0o$1")
		}
		if h.remark && strings.Contains(line, "os.ReadFile(") && rng.IntN(3) == 0 && !strings.HasPrefix(strings.TrimSpace(line), "//") && strings.HasPrefix(line, "\t") {
			indent := line[:len(line)-len(strings.TrimLeft(line, "\t"))]
			lines[i] = indent + []string{"// os.ReadFile replaces ioutil.ReadFile.", "// Since Go 1.16.", "// ioutil is deprecated"}[rng.IntN(3)] + "\n" + line
		}
	}
	text = strings.Join(lines, "\n")
	if h.renames {
		for _, m := range listingOf.FindAllStringSubmatch(text, -1) {
			if m[1] != "_" && m[1] != "entries" && !regexp.MustCompile(`\bentries\b`).MatchString(text) {
				text = regexp.MustCompile(`\b`+m[1]+`\b`).ReplaceAllString(text, "entries")
			}
		}
	}
	return h.imports(text, slices.Sorted(maps.Keys(needed)))
}

var importLine = regexp.MustCompile(`(?m)^(import )?(\s*)"io/ioutil"\n`)

// imports replaces the import of io/ioutil.
func (h habit) imports(text string, needed []string) string {
	m := importLine.FindStringSubmatchIndex(text)
	if m == nil {
		return text
	}
	indent := text[m[4]:m[5]]
	var b strings.Builder
	for _, n := range needed {
		if m[2] >= 0 {
			fmt.Fprintf(&b, "import %q\n", n)
		} else {
			fmt.Fprintf(&b, "%s%q\n", indent, n)
		}
	}
	text = text[:m[0]] + b.String() + text[m[1]:]
	if h.sameLine {
		return text
	}
	if sorted, err := format.Source([]byte(text)); err == nil {
		return string(sorted)
	}
	return text
}

// gitPatch returns the patch between two versions of files.
func gitPatch(before, after map[string]string, modes map[string]string) string {
	var b strings.Builder
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		old, was := before[name]
		text, is := after[name]
		if old == text && modes[name] == "" {
			continue
		}
		fmt.Fprintf(&b, "diff --git a/%s b/%s\n", name, name)
		from, to := "a/"+name, "b/"+name
		switch {
		case !was:
			fmt.Fprintf(&b, "new file mode 100644\n")
			from = "/dev/null"
		case !is:
			fmt.Fprintf(&b, "deleted file mode 100644\n")
			to = "/dev/null"
		case modes[name] != "":
			fmt.Fprintf(&b, "old mode 100644\nnew mode %s\n", modes[name])
		}
		b.WriteString(udiff.Unified(from, to, old, text))
	}
	return b.String()
}
