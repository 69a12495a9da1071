package textcall

import (
	"regexp"
	"strings"
	"sync"
)

// either parses arguments of several syntaxes.
func either(syntaxes ...func(string) (string, bool)) func(string) (string, bool) {
	return func(s string) (string, bool) {
		for _, parse := range syntaxes {
			if rest, ok := parse(s); ok {
				return rest, true
			}
		}
		return s, false
	}
}

// object parses a JSON object.
func object(s string) (rest string, ok bool) {
	if !strings.HasPrefix(s, "{") {
		return s, false
	}
	_, rest, ok = value(s)
	return strings.TrimPrefix(strings.TrimSpace(rest), "```"), ok
}

// opened is the start of an object or array, to tell it from prose with a brace.
var opened = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:\{\s*(?:["'}]|$)|\[\s*(?:[\[{"'\]]|$))`) })

// value parses an object or array of JSON, in which models make mistakes: line feeds in strings, single quotes, a missing
// brace. It ends with its last bracket, at a tag, or with the text.
func value(s string) (value, rest string, ok bool) {
	if !opened().MatchString(s) {
		return "", s, false
	}
	n := balanced(s, 0, "{[", "}]", "<`")
	return s[:n], s[n:], true
}

// balanced returns the length of the start of s that ends with the bracket for a depth of 0, outside of quotes, or
// before one of other characters; all of s without them.
func balanced(s string, depth int, opening, closing, ends string) int {
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"', c == '\'':
			quote = c
		case strings.IndexByte(opening, c) >= 0:
			depth++
		case strings.IndexByte(closing, c) >= 0:
			if depth--; depth == 0 {
				return i + 1
			}
		case strings.IndexByte(ends, c) >= 0:
			return i
		}
	}
	return len(s)
}

// nameKey is the key of a tool's name.
var nameKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`["'](?:name|tool_name|tool|function)["']\s*:\s*["']([^"']+)["']`)
})

func namesIn(value string) (names []string) {
	for rest := value; ; {
		m := nameKey().FindStringSubmatchIndex(rest)
		if m == nil {
			return names
		}
		names, rest = append(names, rest[m[2]:m[3]]), rest[m[1]:]
	}
}

var (
	parameter = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*<` + prefix + `parameter(?:=|\s+name=)["']?[^\s<>"']+["']?[^<>]*>`)
	})
	// A closing tag is often missing.
	parameterEnd = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`</` + prefix + `parameter>|</(?:function|` + prefix + `(?:invoke|` + outer + `))>|<` + prefix + `parameter(?:=|\s+name=)`)
	})
	key    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*<arg_key>[^<>]*</arg_key>\s*<arg_value>`) })
	keyEnd = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`</arg_value>|</tool_call>|<arg_key>`) })
)

// parameters parses parameters in tags.
func parameters(s string) (rest string, ok bool) { return elements(s, parameter(), parameterEnd()) }

// pairs parses keys and values in tags of GLM.
func pairs(s string) (rest string, ok bool) { return elements(s, key(), keyEnd()) }

// elements parses tags with values, up to the first other text. The last value may be truncated, but does not start with a
// space, as prose after the tag does.
func elements(s string, open, end *regexp.Regexp) (rest string, ok bool) {
	for {
		n := len(open.FindString(s))
		if n == 0 {
			return s, ok
		}
		s, ok = s[n:], true
		at := end.FindStringIndex(s)
		if at == nil {
			return "", !strings.HasPrefix(s, " ")
		}
		if tag := s[at[0]:at[1]]; strings.HasSuffix(tag, "parameter>") || tag == "</arg_value>" {
			s = s[at[1]:]
		} else {
			s = s[at[0]:]
		}
	}
}

var endTag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*</(?:function|` + prefix + named + `)>`) })

// closed parses no arguments: the call ends.
func closed(s string) (rest string, ok bool) { return s, endTag().MatchString(s) }

var bracesEnd = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<end_function_call>|<tool_call\|>`) })

// braces parses arguments with keys and values that have no quotes of JSON.
func braces(s string) (rest string, ok bool) {
	if at := bracesEnd().FindStringIndex(s); at != nil {
		return s[at[0]:], true
	}
	return "", true
}

var keyword = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*[A-Za-z_]\w*\s*=`) })

// keywords parses arguments of Python, of which there is at least one.
func keywords(s string) (rest string, ok bool) {
	if !keyword().MatchString(s) {
		return s, false
	}
	return s[balanced(s, 1, "(", ")", ""):], true
}
