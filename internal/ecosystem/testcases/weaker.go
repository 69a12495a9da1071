package testcases

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Change is how a line of a test differs from the assertion that it replaces.
type Change string

// The changes of an assertion.
const (
	Replaced  Change = "replaced"  // by another one that is not known to accept more
	Weaker    Change = "weaker"    // by one that accepts more by its name or operator
	Loosened  Change = "loosened"  // by the same with a larger tolerance or another bound that accepts more
	Expected  Change = "expected"  // by the same with another value
	Logged    Change = "logged"    // by a statement that only prints
	Commented Change = "commented" // by a comment
)

// Compare returns how an assertion differs from the one that it replaces. Lines have no white space around them.
func Compare(was, now string) Change {
	before, after := strengthOf(was), strengthOf(now)
	switch {
	case loosened(was, now):
		return Loosened
	case before != unknown && after != unknown && after < before:
		return Weaker
	case literals().ReplaceAllString(was, "0") == literals().ReplaceAllString(now, "0"):
		return Expected
	}
	return Replaced
}

// Silenced returns how a line that is no assertion replaces one; "" if it does not.
func Silenced(was, now string) Change {
	for _, mark := range []string{"//", "#", "--", "/*"} {
		if text, ok := strings.CutPrefix(now, mark); ok && strings.TrimSpace(strings.TrimSuffix(text, "*/")) == was {
			return Commented
		}
	}
	if at := strings.IndexAny(was, "('\""); at > 0 && logs().MatchString(now) && strings.HasSuffix(now, was[at:]) {
		return Logged
	}
	return ""
}

var (
	literals = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|` + "`[^`]*`" + `|\b\d[\d_.]*(?:[eE][+-]?\d+)?\w*|\b(?:true|True|false|False)\b`)
	})
	logs = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:\w+[.:])*(?:[Ll]ogf?|[Pp]rint(?:ln|f)?!?|eprintln!|puts|warn|info|debug|echo|note|diag)\b`)
	})
	quoted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|` + "`[^`]*`") })
	names  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z_]\w*\(?`) })
)

// strength orders assertions by how many values they accept.
type strength int

const (
	unknown  strength = iota
	anything          // it can't fail
	present           // true, not null, defined
	similar           // contains, matches, is close to, is greater than, is not equal to
	equal
)

// strengths are the names of assertions, in lower case and without underscores.
var strengths = sync.OnceValue(func() map[string]strength {
	all := map[string]strength{}
	for s, text := range map[strength]string{
		equal: `equal equals assertequal assertequals asserteq expecteq assertstreq expectstreq strictequal deepequal deepstrictequal assertsame same issame tobe toequal tostrictequal
			isequalto issameas eq eql isdeeply assertis exactly assertarrayequals assertiterableequals assertlistequal assertdictequal assertsetequal assertcountequal tohavebeencalledwith
			tohavebeencalledtimes assertcalledoncewith tothrowerror jsoneq yamleq equalvalues exactlyequal errorIs assertsnapshot tomatchsnapshot tomatchinlinesnapshot assertequalvalues mustequal`,
		similar: `contains contain include includes assertin assertcontains assertinclude tocontain tocontainequal tomatch match matches regexp assertregex assertmatch assertmatches isin almostequal
			assertalmostequal tobecloseto indelta inepsilon assertindelta expectnear assertnear approx closeto tomatchobject objectcontaining arraycontaining startswith hasprefix hassuffix endswith like
			subset elementsmatch notequal assertnotequal assertnotequals assertne expectne assertnotsame isnotequalto notstrictequal notdeepequal tobegreaterthan tobegreaterthanorequal tobelessthan
			tobelessthanorequal greater greaterorequal less lessorequal assertgreater assertgreaterequal assertless assertlessequal expectgt expectge expectlt expectle isgreaterthan islessthan isbetween
			isinstance assertisinstance tobeinstanceof isinstanceof assertinstanceof isa tohavelength hassize hassameas tohaveproperty beinstanceof errorcontains errorcontain anyof oneof mustmatch mustinclude`,
		present: `true asserttrue istrue expecttrue ok assert assertisnotnone assertnotnull notnull isnotnull isnotnone notnil notempty isnotempty assertnotempty assertnotnil tobedefined tobetruthy
			betruthy bepresent tohavebeencalled noerror nilerror nothrow doesnotthrow donotthrow assertdoesnotthrow assertnothingraised isok issome exists assertexists isdefined notzero expectnothrow
			assertcalled satisfies tobeany anything any mustbe assertthat`,
	} {
		for name := range strings.FieldsSeq(strings.ToLower(text)) {
			all[name] = s
		}
	}
	return all
})

var (
	always = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\bassert(?:\.?_?(?:is)?true|\.ok|that)?!?\((?:t, )?(?:true|1)\s*[,);]|\bassert (?:true|1)$|\bexpect\((?:true|1)\)|\bok\((?:true|1)[,)]|^if false\b|^(?:true|:)$|\|\| (?:true|:)$`)
	})
	absent = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:[!=]==?|\bis(?: not)?)\s*(?:nil|null|None|undefined|""|''|0)(?:[^\w.]|$)|^(?:test|\[\[?) (?:! )?-[a-z] |^(?:test|\[\[?) "?\$[\w{}]+"?(?: \]|$)|^(?:test|\[\[?) x1(?: \]|$)`)
	})
	equals  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`===?|\s-eq\s|\seq\s|^(?:test|\[\[?) .* = `) })
	differs = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`!==?|\s-ne\s|\sne\s|<>`) })
	orders  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\s(?:[<>]=?|-[gl][te]|=~|not in|in)\s|\b(?:Contains|HasPrefix|HasSuffix|includes|startsWith|endsWith)\(`)
	})
	denies  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:if|unless|die)\b|^[^(]*\b(?:if|unless)\b`) })
	negated = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\.not\b|\b(?:not_to|to_not|should_not)\b`) })
)

// strengthOf returns how many values an assertion accepts, by its names and operators.
func strengthOf(line string) strength {
	if always().MatchString(line) {
		return anything
	}
	code := quoted().ReplaceAllStringFunc(line, func(s string) string {
		if len(s) == 2 {
			return s
		}
		return "x1"
	})
	best := unknown
	for _, name := range names().FindAllString(code, -1) {
		if name == "is(" { // of TAP
			best = equal
		}
		best = max(best, strengths()[strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(name, "("), "_", ""))])
	}
	if negated().MatchString(code) {
		return min(best, similar)
	}
	if best > present {
		return best
	}
	if by := byOperator(code); by != unknown {
		return by
	}
	if best == unknown && strings.HasPrefix(line, "assert") {
		return present
	}
	return best
}

// byOperator returns the strength of a comparison.
func byOperator(code string) strength {
	positive, negative := equals().MatchString(strings.ReplaceAll(code, "!==", "")), differs().MatchString(code)
	if denies().MatchString(code) && !strings.Contains(code, "unless") { // a condition under which the test fails
		positive, negative = negative, positive
	}
	switch {
	case absent().MatchString(code):
		return present
	case positive:
		return equal
	case negative, orders().MatchString(code):
		return similar
	}
	return unknown
}

// bound finds a number that limits what an assertion accepts.
type bound struct {
	number  *regexp.Regexp // its group has the number
	smaller bool           // a smaller number accepts more
}

var bounds = sync.OnceValue(func() []bound {
	const number = `(-?\d[\d_]*\.?\d*(?:[eE][+-]?\d+)?)`
	larger := func(pattern string) bound { return bound{number: regexp.MustCompile(pattern)} }
	smaller := func(pattern string) bound { return bound{regexp.MustCompile(pattern), true} }
	return []bound{
		larger(`(?i)\b(?:delta|epsilon|eps|tolerance|tol|rel_tol|abs_tol|rtol|atol|rel|abs|max_relative|margin|max_diff)\s*[:=]\s*` + number),
		larger(`(?i)\b(?:within|be_within|isCloseTo\(.*(?:within|offset)|offset)\(\s*` + number),
		larger(`(?:InDelta|InEpsilon|in_delta|in_epsilon|WithDelta|_NEAR|assertEquals)f?\(.*,.*,\s*` + number + `f?\s*(?:,\s*["'].*)?\)`),
		larger(`(?i)\babs\w*\(.*\)\s*[<>]=?\s*` + number),
		smaller(`\bplaces\s*=\s*` + number),
		smaller(`\.toBeCloseTo\(.*,\s*` + number + `\s*\)`),
		smaller(`(?:GreaterThan\w*|[Gg]reater\w*|isGreaterThan\w*)\(.*?` + number + `\s*\)`),
		larger(`(?:LessThan\w*|[Ll]ess\w*|isLessThan\w*)\(.*?` + number + `\s*\)`),
		smaller(`^assert\b[^<]*\s>=?\s*` + number),
		larger(`^assert\b[^>]*\s<=?\s*` + number),
		smaller(`^if\b.*\s<=?\s*` + number),
		larger(`^if\b.*\s>=?\s*` + number),
		smaller(`^(?:test|\[\[?) .*-g[te] ` + number),
		larger(`^(?:test|\[\[?) .*-l[te] ` + number),
	}
})

// loosened reports whether two assertions differ only by a bound, and the second one accepts more.
func loosened(was, now string) bool {
	return slices.ContainsFunc(bounds(), func(b bound) bool {
		before, after := b.number.FindStringSubmatchIndex(was), b.number.FindStringSubmatchIndex(now)
		if before == nil || after == nil || was[:before[2]] != now[:after[2]] || was[before[3]:] != now[after[3]:] {
			return false
		}
		x, err := strconv.ParseFloat(strings.ReplaceAll(was[before[2]:before[3]], "_", ""), 64)
		y, err2 := strconv.ParseFloat(strings.ReplaceAll(now[after[2]:after[3]], "_", ""), 64)
		return err == nil && err2 == nil && (y > x) != b.smaller && y != x
	})
}

// Case is a test case that a text declares.
type Case struct {
	Name string
	Line int // from 0
}

// Declared returns the test cases of a text with names, in their order.
func Declared(file, text string) (all []Case) {
	l := languageOf(file)
	if l == nil || len(text) > maxText || !l.anywhere && !IsTest(file) {
		return nil
	}
	code := l.lexis.mask(text)
	for _, m := range l.cases.FindAllStringSubmatchIndex(code, -1) {
		if name := l.caseName(text, code, m); name != "" {
			start := m[0] + len(code[m[0]:m[1]]) - len(strings.TrimLeft(code[m[0]:m[1]], " \t\n;{}"))
			all = append(all, Case{name, strings.Count(text[:start], "\n")})
		}
	}
	return all
}

// Skips returns the lines of a text, from 0, that have a marker which excludes test cases.
func Skips(file, text string) (lines []int) {
	l := languageOf(file)
	if l == nil || len(text) > maxText {
		return nil
	}
	code := l.lexis.mask(text)
	for _, m := range l.skips.FindAllStringIndex(code, -1) {
		end := m[0] + len(strings.TrimRight(code[m[0]:m[1]], "\n"))
		lines = append(lines, strings.Count(text[:end], "\n"))
	}
	if l.raw != nil {
		for _, m := range l.raw.FindAllStringIndex(text, -1) {
			lines = append(lines, strings.Count(text[:m[0]], "\n"))
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

var (
	ignored = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\|\|\s*(?:true|:|exit 0|echo\b)|;\s*true\s*["']?,?$|\bcontinue-on-error:\s*true\b|^set \+e\b|--passWithNoTests\b`)
	})
	runner = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)test|spec\b|\bcheck|verify|\bctest|\btox\b|\blint|continue-on-error`)
	})
	script = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|/)(?:Makefile|GNUmakefile|[Jj]ustfile|package\.json|Jenkinsfile|tox\.ini)$|\.(?:sh|bash|zsh|mk|ya?ml)$`)
	})
)

// Ignores reports whether a line of a script makes a command that tests pass whatever its exit code is.
func Ignores(file, line string) bool {
	return script().MatchString(file) && ignored().MatchString(line) && (IsTest(file) || runner().MatchString(line)) && !strings.HasPrefix(line, "#")
}
