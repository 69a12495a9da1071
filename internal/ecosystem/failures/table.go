package failures

import (
	"regexp"
	"strings"
	"sync"
)

// Ranks of failures: a failed test is more informative than an error of a compiler, and both
// more than any line that has the word error, which also logs of passing tests have.
const (
	failedTest = iota
	buildError
	otherError
	possibleError
)

// kind is a form in which a program reports a failure. The expressions are for single lines
// without colours. Empty ones match nothing.
type kind struct {
	program string
	rank    int
	has     string // literal of every line that start matches, because most lines need no expression then
	start   string // first line of a failure; its first group is the name
	not     string // lines that start matches by mistake
	after   string // start is only valid after such a line, which has one of words, or starts with There
	message string // line of the message; its first group, if it has one, is the text. Empty: any line after the first
	end     string // line after the failure
	alone   bool   // the first line has everything
	above   int    // lines before the first one that have the name
}

// table lists the kinds. The first that matches a line wins.
var table = []kind{
	{program: "go", has: "--- FAIL: ", start: `--- FAIL: ([^ "\\]+)`, message: `(\S+\.go:\d+: .*)|^\s*(?:panic: |fatal error: |Error Trace:|Error:|got:|want:)`, end: goEnd},
	{program: "gotestsum", has: "=== FAIL: ", start: `^=== FAIL: (\S+ \S+)`, message: `(\S+\.go:\d+: .*)|^\s*(?:panic: |fatal error: |Error Trace:|Error:)`, end: `^DONE |^=== `},
	{program: "go", has: "panic: ", start: `^(panic: .+)`, message: `^(\S+\(.*\))$`, end: goEnd},
	{program: "go", has: "DATA RACE", start: `^(WARNING: DATA RACE)`, end: `^={10,}$`},

	{program: "pytest", has: "__ ", start: `^_{2,} (.+?) _{2,}$`, message: `^E\s+(\S.*)|^[\w./-]+:\d+: \w|^([A-Za-z_][\w.]*(?:Error|Exception|Failed|Exit|Interrupt)\b.*)`, end: `^=+ .* =+$|^-+ Captured .* -+$`},
	{program: "pytest", has: ".py", start: `^(?:FAILED|ERROR) (\S+\.py\S*(?: - .*)?)$`, alone: true},
	{program: "unittest", has: ": ", start: `^(?:FAIL|ERROR): (\w.*)`, message: `^([A-Za-z_][\w.]*(?:: .*)?)$`, end: `^Ran \d+ tests?|^={10,}$`},

	{program: "jest", has: "● ", start: `^\s+● (.+)`, not: `● (?:Console$|Deprecation |.* Warning)`, end: `^(?:Test Suites:|PASS |FAIL )`},
	{program: "vitest", has: "FAIL ", start: `^\s*FAIL\s+(\S+.* > .*|\S+ \[ \S+ \]$)`, message: `^((?:[A-Za-z_][\w.]*)?(?:Error|Exception)\b.*)|^[-+] `, end: `^⎯+\[\d+/\d+\]⎯`},
	{program: "vitest", has: "× ", start: `^\s*× (.+)`, message: `^\s*→ (.*)`, end: `^⎯+|^\s*[✓❯] `},
	{program: "node", has: "not ok ", start: `^\s*not ok \d+(?: -)? (.+)`, not: `(?i)# (?:todo|skip)\b`, message: `^\s*(?:error|message): (.+)|^\s*#\s+(\S.*)`, end: `^\s*(?:\.\.\.|ok \d+.*|1\.\.\d+|# Subtest: .*)$`},
	{program: "node", has: "✖ ", start: `^\s*✖ (.+?)(?: \([\d.]+m?s\))?$`, not: `✖ (?:failing tests:$|\d+ problems? )`, end: `^ℹ |^\s*[✔▶] |^✖ failing tests:|^test at `},
	{program: "mocha", has: ") ", after: `^\s+\d+ failing\b`, start: `^\s+\d+\) (\S.*)`, message: `^\s+(\S*(?:Error|Exception)\b.*)`},

	{program: "cargo", has: "---- ", start: `^---- (\S+) stdout ----`, message: `panicked at|^(assertion.*)|^Error: `, end: `^failures:$|^test result: `},
	{program: "cargo", has: "panicked at", start: `^\s*thread '(.+?)'.* panicked at`, end: `^\s*note: |^test `},
	{program: "cargo", has: "... FAILED", start: `^test (\S+) (?:- .* )?\.\.\. FAILED`, alone: true},
	{program: "nextest", has: "FAIL [", start: `^\s+FAIL \[.*\] (\S.*)`, alone: true},

	{program: "maven", has: "<<< ", start: `^(?:\[ERROR\] )?\s*(\S.*?)\s+(?:-- )?Time elapsed: .*<<< (?:FAILURE|ERROR)!`, not: `Tests run:`, message: `^([A-Za-z_][\w.$]*(?:Error|Exception|Failure|Failed)\b.*)|^([a-z][\w$]*(?:\.[\w$]+)+(?::.*)?)$`, end: `^\[(?:INFO|WARNING|ERROR)\]`},
	{program: "maven", has: "[ERROR]  ", start: `^\[ERROR\]\s{2,}(\S+?(?::\d+|»|->).*)`, alone: true},
	{program: "gradle", has: " FAILED", start: `^([^>\s:].* > .*) FAILED$`},
	{program: "rspec", has: ") ", after: `^Failures:$`, start: `^\s{0,3}\d+\) (\S.*)`, end: `^Finished in |^Failed examples:`},
	{program: "rspec", has: "rspec ", start: `^(rspec \S+(?::\d+|\[[\d:]+\]).*)`, alone: true},
	{program: "minitest", has: "#", after: `^\s+\d+\) (?:Failure|Error):`, start: `^(\S+#\S.*?)(?: \[[^\]]*\])?:$`, end: `^\s+\d+\) (?:Failure|Error|Skipped):|^\d+ runs, `},
	{program: "test-unit", has: "): ", start: `^(?:Failure|Error): (test\S+\(\S+\)):`, end: `^={10,}$`},
	{program: "phpunit", has: ") ", after: `^There (?:was|were) \d+ `, start: `^\d+\) (\S.*)`, end: `^(?:FAILURES|ERRORS|WARNINGS)!|^--$`},
	{program: "phpunit", has: "✘ ", start: `^\s*✘ (.+)`, message: `^\s*[│|┐┊├]\s*(\S.*)`, end: `^\s*[✔✓] `},
	{program: "pest", has: "FAILED ", start: `^\s*FAILED\s+(\S.* > .*)`},

	{program: "dotnet", has: "ailed ", start: `^\s*[Ff]ailed (\S.*?) [\[(][^\])]*\d+\s?m?s[\])]$`, message: `^\s*((?:Assert|Expected|[A-Z][\w.]*(?:Exception|Error))\b.*)`, end: `^\s*Passed \S|^\s*(?:Standard Output Messages|Stack Trace):`},
	{program: "dotnet", has: "[FAIL]", start: `^\[xUnit\.net [\d:.]+\]\s+(\S.*) \[FAIL\]`, message: `^\[xUnit\.net [\d:.]+\]\s+(\S.*)`},
	{program: "dotnet", has: "error TESTERROR", start: `^(.*error TESTERROR:.*)`},

	{program: "exunit", has: ") ", start: `^\s{1,3}\d+\) ((?:test|property|doctest) .+ \(\S+\))$`, end: `^Finished in `},
	{program: "scalatest", has: "*** FAILED ***", start: `^(?:\[info\] )?\s*- (.+) \*\*\* FAILED \*\*\*`, end: `^(?:\[info\] )?\s*- |^\[(?:error|warn)\]`},
	{program: "deno", has: " => ", start: `^(.+) => \S+:\d+:\d+$`, message: `^error: (.*)`, end: `^ *(?:FAILURES|ERRORS)|^FAILED \|`},
	{program: "bun", has: "(fail) ", start: `^\(fail\) (.+?)(?: \[[\d.]+m?s\])?$`, alone: true},
	{program: "doctest", has: "File ", start: `^File ".+", line \d+, in (\S+)$`, end: `^\*{10,}$`},
	{program: "dart", has: " [E]", start: `^\d+:\d+ .*-\d+: (.+) \[E\]$`, end: `^\d+:\d+ \+`},
	{program: "bats", has: "✗ ", start: `^\s*✗ (.+)`, end: `^\s*✓ |^\d+ tests?, `},
	{program: "catch2", has: ": FAILED", start: `^(\S+:\d+: FAILED:.*)`, end: `^(?:-{10,}|={10,})$`, above: 8},
	{program: "gtest", has: ": Failure", start: `^(\S+:\d+: Failure)`, end: `^\[ +(?:OK|FAILED|RUN) +\]`},
	{program: "gtest", has: "[  FAILED  ] ", start: `^\[  FAILED  \] (\S+\.\S+)`, alone: true},
	{program: "ctest", has: "***", start: `^\s*\d+/\d+ Test\s+#\d+: (.+?) \.*\s*\*\*\*\s*(?:Failed|Timeout|Exception|Not Run|Bad)`, end: `^\s+Start\s+\d+: |^\s*\d+/\d+ Test\s+#|^\d+% tests passed`},
	{program: "ctest", has: " (", start: `^\s+(\d+ - .+ \((?:Failed|Timeout|SEGFAULT|Not Run|ILLEGAL|BAD_COMMAND|NUMERICAL|OTHER_FAULT|Subprocess .*)\))`, alone: true},

	{program: "rustc", rank: buildError, has: "error", start: `^(error(?:\[E\d+\])?: .*)`, not: `^error: (?:test failed|could not compile|aborting|\d+ target)`},
	{program: "compiler", rank: buildError, has: "error", start: `^(\s*\S.*?[:(]\d+(?:[:,]\d+)?\)?\s*(?::|-)\s*(?:fatal )?error\b.*)`},
	{program: "linker", rank: buildError, has: "undefined reference to ", start: `^(.*\bundefined reference to .*)`},
	{program: "kotlin", rank: buildError, has: "e: ", start: `^(e: \S+\.kts?:.*)`},
	{program: "php", rank: buildError, has: "PHP ", start: `^(PHP (?:Parse|Fatal) error: .*)`},
	{program: "elixir", rank: buildError, has: "** (", start: `^(\*\* \(\w+\) .*)`},
	{program: "ruff", rank: buildError, start: "^([A-Z]{1,6}\\d{3,4} (?:\\[\\*\\]|`|[A-Z][a-z]).*)"},
	{program: "eslint", rank: buildError, has: "error", start: `^\s+(\d+:\d+\s+error\s+\S.*)`, above: 1},
	{program: "maven", rank: buildError, has: "[ERROR] ", start: `^\[ERROR\] (\S+\.(?:java|kt|scala|groovy):\[?\d+.*)`},
	{program: "linter", rank: buildError, has: ": ", start: `^(?:vet: )?([\w./@+-]+\.[A-Za-z]+:\d+:\d+: .*)`, not: `:\d+: (?:warning|note|info|debug|remark|help|convention)\b`},
	{program: "gradle", rank: buildError, has: "went wrong", start: `^\* What went wrong:`},
	{program: "python", rank: buildError, has: "Traceback", start: `^\s*Traceback \(most recent call last\)`, message: `^([A-Za-z_][\w.]*(?:: .*)?)$`},

	{program: "any", rank: otherError, start: `^(\s*(?:\[?(?:ERROR|FATAL|FAIL(?:ED|URE)?)\]?|(?:fatal |\w+ )?[Ee]rror|fatal|panic|[A-Za-z_][\w.]*(?:Error|Exception)|Assertion failed)\b:? .*)`, not: `\b0 (?:errors|failed|failures)\b`},
	{program: "any", rank: possibleError, start: `(?i)\b(?:errors?|fatal|fail(?:ed|s|ure)?|exception|assert(?:ion)?|undefined|unexpected|segmentation fault|not ok|cannot|mismatch)\b`, not: `(?i)\b(?:0|no) (?:errors|failed|failures)\b`},
}

// goEnd matches what follows the result of a test of Go.
const goEnd = `^=== (?:RUN|NAME|CONT|PAUSE)|^--- (?:PASS|SKIP)|^(?:ok|FAIL|PASS)(?:\s|$)|^coverage: `

// compiled is a kind with its expressions, nil for empty ones.
type compiled struct {
	kind
	start, not, after, message, end *regexp.Regexp
}

// kinds is the table with its expressions.
var kinds = sync.OnceValue(func() []compiled {
	expression := func(text string) *regexp.Regexp {
		if text == "" {
			return nil
		}
		return regexp.MustCompile(text)
	}
	var all []compiled
	for _, k := range table {
		all = append(all, compiled{k, expression(k.start), expression(k.not), expression(k.after), expression(k.message), expression(k.end)})
	}
	return all
})

// Lines that attribute output to a test whose result comes later.
var (
	goTest      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^=== (?:RUN|NAME|CONT)\s+(\S+)`) })
	goResult    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*--- (?:PASS|SKIP|FAIL): (\S+)`) })
	goMessage   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s+\S+\.go:\d+: `) })
	ctestOutput = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d+): `) })
	ctestStart  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\d+: (?:Test command|Working Directory|Test timeout|Environment variables|$)`)
	})
	ctestResult = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*\d+/\d+ Test\s+#(\d+): `) })
)

// withDigits matches words that differ between lines of a log: times, numbers, identifiers.
var withDigits = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\S*\d\S*`) })

// words are parts of words in each line that may report an error or a number of failures.
var words = []string{"error", "fail", "fatal", "panic", "exception", "assert", "undefined", "unexpected", "segmentation fault", "not ok", "cannot", "mismatch"}

// likely matches lines that belong to the message of a failure whose form is not known.
var likely = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:errors?|fail(?:ed|ure)?|expected|assert\w*|panic|exception)\b`)
})

// summary matches lines with the numbers of failed tests.
var summary = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:FAILED \(|FAIL\s|Tests(?: run)?:\s.*[Ff]ail|Test Suites:.* fail|test result: |=+ .*\d+ failed.* =+$|\d+ examples?, \d+ fail|# fail |ℹ fail |\s+Tests\s+\d+ failed|\d+% tests passed|\d+ tests completed, \d+ fail)`)
})

// matches reports whether an expression, which may be nil, matches a line.
func matches(r *regexp.Regexp, line string) bool { return r != nil && r.MatchString(line) }

// group returns the first group of an expression in a line that is not empty, or all of the
// line; false if it does not match.
func group(r *regexp.Regexp, line string) (string, bool) {
	if r == nil {
		return "", false
	}
	found := r.FindStringSubmatch(line)
	if found == nil {
		return "", false
	}
	for _, g := range found[1:] {
		if g != "" {
			return strings.TrimSpace(g), true
		}
	}
	return strings.TrimSpace(line), true
}
