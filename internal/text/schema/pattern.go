package schema

import (
	"errors"
	"math"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const maxPatterns = 200_000 // instructions of the regular expressions of a schema

// pattern is a regular expression, which needs time for each character and instruction.
type pattern struct {
	*regexp.Regexp
	size int // instructions, roughly
	work *work
}

// MatchString implements jsonschema.Regexp.
func (p *pattern) MatchString(text string) bool {
	p.work.spend(len(text) * p.size / 64)
	return p.Regexp.MatchString(text)
}

// expressions compiles the regular expressions of a schema, each of which the library
// compiles twice.
func (w *work) expressions() jsonschema.RegexpEngine {
	total, known := 0, map[string]*pattern{}
	return func(text string) (jsonschema.Regexp, error) {
		if p := known[text]; p != nil {
			again := *p // the library uses expressions as keys
			return &again, nil
		}
		parsed, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			return nil, err
		}
		size := patternSize(parsed)
		if total += size; total > maxPatterns {
			return nil, errors.New("regular expressions too large")
		}
		re, err := regexp.Compile(text)
		if err != nil {
			return nil, err
		}
		known[text] = &pattern{re, size, w}
		return known[text], nil
	}
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
