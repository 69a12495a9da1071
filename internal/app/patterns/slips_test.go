package patterns

import (
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

const slipsOfAKind = 5

// slip is a planted error.
type slip struct {
	kind, repo, path string
	line             int    // in the new version; 0 for the file as such
	text             string // what the edit shows; empty for a reason of the kind flag
	flag             Kind
}

// isListed reports whether a reason names the slip, not only its repository.
func (s slip) isListed(r *Result) bool {
	i := slices.IndexFunc(r.Reading, func(g Reading) bool { return g.Repo == s.repo })
	return i >= 0 && slices.ContainsFunc(r.Reading[i].Reasons, func(reason Reason) bool {
		return reason.Path == s.path && (s.flag == "" || reason.Kind == s.flag) && strings.Contains(reason.Detail, s.text)
	})
}

// slipKind plants a slip in the lines of a file. It returns the index of the changed line,
// and what a reason has to contain.
type slipKind struct {
	name  string
	files func(name string) bool
	lines *regexp.Regexp
	flag  Kind
	apply func(rng *rand.Rand, line string) (replaced, shown string)
}

func goFile(name string) bool   { return strings.HasSuffix(name, ".go") }
func testFile(name string) bool { return strings.HasSuffix(name, "_test.go") }

func pick(rng *rand.Rand, of ...string) string { return of[rng.IntN(len(of))] }

var slipKinds = []slipKind{
	{"permissions widened", goFile, regexp.MustCompile(`os\.WriteFile\(.*0o?6[04][04]\)`), Modes, func(rng *rand.Rand, line string) (string, string) {
		return regexp.MustCompile(`0o?6[04][04]\)`).ReplaceAllString(line, pick(rng, "0777)", "0666)", "0o777)")), "→"
	}},
	{"test skipped", testFile, regexp.MustCompile(`^func Test\w+\(t \*testing\.T\) \{$`), Tests, func(rng *rand.Rand, line string) (string, string) {
		return line + "\n\t" + pick(rng, `t.Skip("flaky")`, "t.SkipNow()", `t.Skipf("broken since %s", "now")`), "skip marker"
	}},
	{"test removed", testFile, regexp.MustCompile(`^func Test\w+\(t \*testing\.T\) \{$`), Tests, nil},
	{"check switched off", goFile, regexp.MustCompile(`\bos\.(ReadFile|WriteFile|MkdirTemp)\(`), Suppressions, func(rng *rand.Rand, line string) (string, string) {
		return line + pick(rng, " //nolint:errcheck", " // #nosec G304", " //nolint", " //lint:ignore SA1019 later"), "added"
	}},
	{"dependency added", func(name string) bool { return name == "go.mod" }, regexp.MustCompile(`^go \d`), Dependencies, func(rng *rand.Rand, line string) (string, string) {
		return line + "\n\nrequire " + pick(rng, "github.com/pkg/errors v0.9.1", "github.com/spf13/afero v1.11.0", "go.uber.org/multierr v1.11.0"), "new: "
	}},
	{"condition inverted", goFile, regexp.MustCompile(`\berr != nil\b`), "", func(_ *rand.Rand, line string) (string, string) {
		return strings.Replace(line, "err != nil", "err == nil", 1), "changed != to =="
	}},
	{"error dropped", goFile, regexp.MustCompile(`\w, err :?= (os|io)\.\w+\(`), "", func(_ *rand.Rand, line string) (string, string) {
		return strings.Replace(line, ", err ", ", _ ", 1), "an error is no longer handled"
	}},
	{"another function", goFile, regexp.MustCompile(`\b(os\.ReadFile|os\.MkdirTemp|io\.ReadAll|os\.WriteFile)\(`), "", func(rng *rand.Rand, line string) (string, string) {
		to := pick(rng, "os.Readlink(", "os.Remove(", "io.WriteString(", "os.Create(", "ioutils.Read(", "os.Open(", "os.MkdirAll(", "os.Truncate(")
		return regexp.MustCompile(`\b(os\.ReadFile|os\.MkdirTemp|io\.ReadAll|os\.WriteFile)\(`).ReplaceAllString(line, to), strings.TrimSuffix(to, "(")
	}},
	{"another statement", goFile, regexp.MustCompile(`^\t+(defer .*|return \w+\(.*\)|\w+ = \w+\(.*\)|\w+\+\+)$`), "", func(rng *rand.Rand, line string) (string, string) {
		return pick(rng, "", line+"\n"+line, "\tpanic("+`"unreachable"`+")"), ""
	}},
	{"file made executable", goFile, nil, Modes, nil},
}

// plant plants up to 4 slips in the files of a module that has been migrated; none if there
// would be fewer than least.
func plant(rng *rand.Rand, repo string, before, after map[string]string, modes map[string]string, left map[string]int, least int) (slips []slip) {
	was, had := maps.Clone(after), maps.Clone(left)
	used := map[string]bool{}
	kinds := slices.Clone(slipKinds)
	rng.Shuffle(len(kinds), func(i, k int) { kinds[i], kinds[k] = kinds[k], kinds[i] })
	slices.SortStableFunc(kinds, func(a, b slipKind) int { return left[b.name] - left[a.name] })
	for _, k := range kinds {
		if len(slips) == 4 {
			break
		}
		if left[k.name] == 0 {
			continue
		}
		if s, ok := k.plant(rng, before, after, modes, used); ok {
			s.repo = repo
			left[k.name]--
			slips = append(slips, s)
		}
	}
	if len(slips) < least {
		maps.Copy(after, was)
		maps.Copy(left, had)
		clear(modes)
		return nil
	}
	return slips
}

// plant plants a slip in a file that has none.
func (k slipKind) plant(rng *rand.Rand, before, after map[string]string, modes map[string]string, used map[string]bool) (slip, bool) {
	names := slices.Sorted(maps.Keys(after))
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		if used[name] || !k.files(name) || before[name] == after[name] && name != "go.mod" {
			continue
		}
		s := slip{kind: k.name, path: name, flag: k.flag}
		if k.lines == nil {
			modes[name] = "100755"
			used[name] = true
			return s, true
		}
		lines := strings.Split(after[name], "\n")
		var at []int
		for i, line := range lines {
			if k.lines.MatchString(line) && !strings.HasPrefix(strings.TrimSpace(line), "//") {
				at = append(at, i)
			}
		}
		if len(at) == 0 {
			continue
		}
		i := at[rng.IntN(len(at))]
		s.line = i + 1
		if k.apply == nil {
			end := i + slices.Index(lines[i:], "}")
			if end < i {
				continue
			}
			lines = slices.Delete(lines, i, end+1)
			s.text = "removed"
		} else {
			lines[i], s.text = k.apply(rng, lines[i])
		}
		used[name] = true
		after[name] = strings.Join(lines, "\n")
		return s, true
	}
	return slip{}, false
}
