package schema

import (
	"math"
	"regexp"
	"regexp/syntax"
)

// pattern compiles a regular expression, nil if it is invalid.
func (r *reader) pattern(text string, at *position) *pattern {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		r.c.fault(at, Other(quote(text)+" is not valid regex: "+err.Error()))
		return nil
	}
	size := patternSize(parsed)
	if r.c.patterns += size; r.c.patterns > maxPatterns {
		r.c.fault(at, Other("regular expressions too large"))
		return nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		r.c.fault(at, Other(quote(text)+" is not valid regex: "+err.Error()))
		return nil
	}
	return &pattern{re, size}
}

// patternSize returns about how many instructions an expression has: repetitions are
// expanded, so that a short one may need gigabytes.
func patternSize(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)/2
	for _, sub := range re.Sub {
		size = min(size+patternSize(sub), math.MaxInt32)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Max, re.Min, 1)
	}
	return min(size, math.MaxInt32)
}
