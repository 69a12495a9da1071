package testcases

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// testNames are names of test files in languages without names of their own.
var testNames = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:test_.*|tests?|spec|Test[A-Z].*|.*[._-](?:tests?|specs?|unittest)|.*[A-Za-z0-9](?:Tests?|Spec)|.*[a-z0-9]IT)\.[^.]+$`)
})

// language is how tests are written in a language. Patterns are applied to texts without
// comments and contents of strings.
type language struct {
	extensions string         // separated by spaces
	names      *regexp.Regexp // of test files, if testNames does not apply
	anywhere   bool           // other files than tests have cases, too
	lexis      lexis
	cases      *regexp.Regexp // start of a case; a group has its name
	name       *regexp.Regexp // finds the name after the start, if it is not in a group
	skips      *regexp.Regexp
	raw        *regexp.Regexp // skip markers in comments; nil for none
	off        disable        // how a case is disabled
}

// disable is how a case is disabled so that the rest of its file still compiles.
type disable int

const (
	notDisabled disable = iota
	renamed             // a letter before its name: runners find cases by their names
	skipped             // ".skip" after the function that declares it
	commented           // what marks it becomes a comment
)

var (
	literal = regexp.MustCompile("^\\s*[^\n]*?[\"'`]([ \n]*)[\"'`]")
	called  = regexp.MustCompile("(?:^|[^\\w@.])(\\w+|`[^`\n]+`)\\s*\\(")
)

var languages = sync.OnceValue(func() []language {
	return []language{
		{
			extensions: "go", names: regexp.MustCompile(`^[^_.].*_test\.go$`),
			lexis: lexis{line: []string{"//"}, open: "/*", end: "*/", quotes: []quote{{"`", "`", true, true}, {`"`, `"`, false, false}, char}},
			cases: regexp.MustCompile(`(?m)^func\s+(?:\([^()]*\)\s*)?((?:Test|Fuzz|Example)\w*)\(`),
			skips: regexp.MustCompile(`\b\w+\.Skip(?:f|Now)?\(`),
			raw:   regexp.MustCompile(`(?m)^//(?:go:build| ?\+build)\b`),
			off:   renamed,
		},
		{
			extensions: "py",
			lexis:      lexis{line: []string{"#"}, quotes: []quote{{`"""`, `"""`, false, true}, {"'''", "'''", false, true}, {`"`, `"`, false, false}, {"'", "'", false, false}}},
			cases:      regexp.MustCompile(`(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+(test\w*)[ \t]*\(`),
			skips:      regexp.MustCompile(`\bmark\.(?:skip|skipif|xfail)\b|@(?:\w+\.)*(?:skip(?:If|Unless)?|expectedFailure)\b|\bpytest\.(?:skip|xfail)\b|\bskipTest\(|\braise[ \t]+(?:\w+\.)*SkipTest\b|\b__test__\s*=\s*False`),
			off:        renamed,
		},
		{
			extensions: "js jsx ts tsx mjs cjs mts cts",
			lexis:      lexis{line: []string{"//"}, open: "/*", end: "*/", quotes: []quote{{"`", "`", false, true}, {`"`, `"`, false, false}, {"'", "'", false, false}}},
			cases:      regexp.MustCompile("(?m)(?:^|[;{}>(,])[ \t]*(?:await[ \t]+)?(?:Deno\\.)?[xf]?(?:it|test|specify)(?:\\.(?:only|skip|todo|each|for|concurrent|sequential|failing|fails|fixme|slow|skipIf|runIf))*[ \t]*[(`]"),
			name:       literal,
			skips:      regexp.MustCompile(`\b(?:it|test|specify|describe|context|suite)(?:\.\w+)*\.(?:skip|only|todo|fixme|skipIf|runIf)\b|(?:^|[^\w.])[xf](?:it|test|specify|describe|context)[ \t]*[.(]|\bthis\.skip\(|\bpending\(|\b(?:skip|todo|only):[ \t]*(?:true\b|["'` + "`" + `])`),
			off:        skipped,
		},
		{
			extensions: "java kt groovy",
			lexis:      lexis{line: []string{"//"}, open: "/*", end: "*/", quotes: []quote{{`"""`, `"""`, false, true}, {`"`, `"`, false, false}, char}},
			cases:      regexp.MustCompile(`@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate)\b`),
			name:       called,
			skips:      regexp.MustCompile(`@(?:\w+\.)*(?:Disabled\w*|Ignore)\b|\bassume\w*\(|\benabled\s*=\s*false\b`),
			off:        commented,
		},
		{
			extensions: "rs", anywhere: true,
			lexis: lexis{line: []string{"//"}, open: "/*", end: "*/", nests: true, quotes: []quote{{`r##"`, `"##`, true, true}, {`r#"`, `"#`, true, true}, {`r"`, `"`, true, true}, {`"`, `"`, false, true}, char}},
			cases: regexp.MustCompile(`#\[\s*(?:\w+::)*(?:test|rstest|test_case|wasm_bindgen_test)\b`),
			name:  regexp.MustCompile(`\bfn\s+(\w+)`),
			skips: regexp.MustCompile(`#\[\s*ignore\b|#!?\[\s*cfg_attr\s*\([^\]]*\bignore\b`),
			off:   commented,
		},
		{
			extensions: "rb",
			lexis:      lexis{line: []string{"#"}, open: "\n=begin", end: "\n=end", quotes: []quote{{`"`, `"`, false, false}, {"'", "'", false, false}}},
			cases:      regexp.MustCompile(`(?m)^[ \t]*(?:def[ \t]+(test\w*)|[xf]?(?:it|specify|example|scenario|test|should)\b[ \t]*(?:[({"']|do\b))`),
			name:       literal,
			skips:      regexp.MustCompile(`(?m)^[ \t]*(?:skip|pending|[xf](?:it|specify|example|describe|context|scenario))\b|[,(][ \t]*(?:skip|pending|focus):|[,(][ \t]*:(?:skip|focus|pending)\b`),
			off:        renamed,
		},
		{
			extensions: "cs",
			lexis:      lexis{line: []string{"//"}, open: "/*", end: "*/", quotes: []quote{{`"""`, `"""`, true, true}, {`@"`, `"`, true, true}, {`"`, `"`, false, false}, char}},
			cases:      regexp.MustCompile(`\[\s*(?:\w+\.)*(?:Fact|Theory|Test|TestMethod|DataTestMethod|TestCase|TestCaseSource)\b`),
			name:       regexp.MustCompile(`\bpublic\s[^(;{]*?(\w+)\s*(?:<[^<>]*>)?\(`),
			skips:      regexp.MustCompile(`\bSkip\s*=|\[\s*(?:\w+\.)*(?:Ignore|Explicit)\b|\bAssert\.(?:Ignore|Inconclusive|Skip)\(`),
		},
		{
			extensions: "php",
			lexis:      lexis{line: []string{"//", "#"}, not: "#[", open: "/*", end: "*/", quotes: []quote{{`"`, `"`, false, false}, {"'", "'", false, false}}},
			cases:      regexp.MustCompile(`(?m)\bfunction\s+(test\w*)\s*\(|#\[\s*(?:\\?\w+\\)*Test\b|^[ \t]*(?:it|test)\(`),
			name:       regexp.MustCompile(`\bfunction\s+(\w+)|["']([ ]*)["']`),
			skips:      regexp.MustCompile(`\bmarkTest(?:Skipped|Incomplete)\(|->(?:skip|todo|only)\(`),
			off:        renamed,
		},
		{
			extensions: "c cc cpp cxx",
			lexis:      lexis{line: []string{"//"}, open: "/*", end: "*/", quotes: []quote{{`R"(`, `)"`, true, true}, {`"`, `"`, false, false}, char}},
			cases:      regexp.MustCompile(`(?m)^[ \t]*(?:TEST|TEST_F|TEST_P|TYPED_TEST|TEST_CASE|SCENARIO)[ \t]*\(([^)]*)\)`),
			skips:      regexp.MustCompile(`\bGTEST_SKIP\(|\bDISABLED_`),
		},
	}
})

// languageOf returns the language of a file; nil if it is not known.
func languageOf(file string) *language {
	ext := strings.TrimPrefix(path.Ext(file), ".")
	all := languages()
	i := slices.IndexFunc(all, func(l language) bool { return slices.Contains(strings.Fields(l.extensions), ext) })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// maxName is the number of bytes after the start of a case in which its name is.
const maxName = 300

// count returns the names of the test cases in a text, and the number of skip markers.
func (l *language) count(text string) (cases []string, skips int) {
	code := l.lexis.mask(text)
	for _, m := range l.cases.FindAllStringSubmatchIndex(code, -1) {
		cases = append(cases, l.caseName(text, code, m))
	}
	skips = len(l.skips.FindAllStringIndex(code, -1))
	if l.raw != nil {
		skips += len(l.raw.FindAllStringIndex(text, -1))
	}
	return cases, skips
}

// caseName returns the name of a case that starts with a match in the code of a text.
func (l *language) caseName(text, code string, m []int) string {
	name, ok := group(text, 0, m)
	if at := m[1]; !ok && l.name != nil {
		end := min(len(code), at+maxName)
		if strings.IndexByte("\"'`", code[at-1]) >= 0 {
			at--
		}
		name, _ = group(text, at, l.name.FindStringSubmatchIndex(code[at:end]))
	}
	return name
}

// group returns the text of the first group of a match that starts at an index.
func group(text string, at int, match []int) (string, bool) {
	for i := 2; i < len(match); i += 2 {
		if match[i] >= 0 {
			return text[at+match[i] : at+match[i+1]], true
		}
	}
	return "", false
}
