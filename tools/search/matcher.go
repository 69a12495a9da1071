package search

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// patience is the amount of matching, in steps of the program per byte,
// without checking the context. It lasts some hundredths of a second.
const patience = 1 << 20

// matcher finds the lines of a text that match a regular expression. It is
// immutable and safe for concurrent use.
type matcher struct {
	re    *regexp.Regexp
	size  int // instructions of its program
	prog  *syntax.Prog
	needs needs // of any text
	plain needs // of texts without oddLetters
}

// newMatcher compiles a regular expression.
func newMatcher(pattern string) (*matcher, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, explain(pattern, err)
	}
	if breaksLine(tree) {
		return nil, fmt.Errorf(`invalid regular expression %q: \n never matches, because each line is searched separately`, pattern)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, explain(pattern, err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, explain(pattern, err)
	}
	return &matcher{re, len(program.Inst), program, needed(tree, false), needed(tree, true)}, nil
}

// explain describes the error in a regular expression, and suggests an alternative
// for syntax of other engines.
func explain(pattern string, err error) error {
	var se *syntax.Error
	if !errors.As(err, &se) {
		return fmt.Errorf("invalid regular expression %q: %w", pattern, err)
	}
	where := ""
	if n := position(pattern, se); n > 0 {
		where = fmt.Sprintf(" at character %d", n)
	}
	if se.Expr != pattern && se.Expr != "" && se.Code != syntax.ErrInvalidUTF8 {
		where += ": " + se.Expr
	}
	hint := ""
	if strings.HasPrefix(se.Expr, "(?") {
		hint = "; RE2 syntax does not support lookahead and lookbehind"
	}
	return fmt.Errorf("invalid regular expression %q: %s%s%s", pattern, se.Code, where, hint)
}

// maxPosition is the maximum length in bytes of an expression that is parsed repeatedly
// to locate an error.
const maxPosition = 1000

// position returns the character, counted from 1, of the error in an expression;
// 0 if unknown. The parser returns the invalid substring,
// which may occur more than once: the shortest prefix of the expression
// with the same error ends with it.
func position(pattern string, se *syntax.Error) int {
	expr := se.Expr
	if expr == pattern {
		expr = ""
	}
	switch before, _, found := strings.Cut(pattern, expr); {
	case se.Code == syntax.ErrMissingParen:
		return utf8.RuneCountInString(pattern) + 1 // something is missing at the end
	case expr != "" && found && strings.Count(pattern, expr) == 1:
		return utf8.RuneCountInString(before) + 1
	case se.Code == syntax.ErrLarge || se.Code == syntax.ErrInvalidRepeatSize || se.Code == syntax.ErrNestingDepth || len(pattern) > maxPosition:
		return 0 // it is the entire expression
	}
	for end := 1; end <= len(pattern); end++ {
		var e *syntax.Error
		_, err := syntax.Parse(pattern[:end], syntax.Perl)
		if errors.As(err, &e) && e.Code == se.Code && (expr == "" || e.Expr == expr) {
			return utf8.RuneCountInString(pattern[:end-max(1, len(expr))]) + 1
		}
	}
	return 0
}

// breaksLine reports whether every match of a subexpression contains an explicit
// line feed.
func breaksLine(re *syntax.Regexp) bool {
	return re.Op == syntax.OpLiteral && slices.Contains(re.Rune, '\n') || slices.ContainsFunc(re.Sub, breaksLine)
}

// matches reports whether a line matches, for expressions with too many dfa states.
// For a long line or a large program it checks the context, and returns false when it
// is done.
func (m *matcher) matches(ctx context.Context, line []byte) bool {
	if len(line)*m.size <= patience {
		return m.re.Match(line)
	}
	return m.re.MatchReader(&runes{ctx.Err, line})
}

// runes reads the runes of a line until it is stopped.
type runes struct {
	stopped func() error
	line    []byte
}

// ReadRune returns the next rune, and io.EOF at the end or when stopped.
func (r *runes) ReadRune() (rune, int, error) {
	if len(r.line) == 0 || r.stopped() != nil {
		return 0, 0, io.EOF
	}
	c, n := utf8.DecodeRune(r.line)
	r.line = r.line[n:]
	return c, n, nil
}

// lineScan iterates over the matching lines of a text. If the expression
// has required literals, only lines that contain one are
// compared with it: bytes.Index is several hundred times faster than package
// regexp.
type lineScan struct {
	*matcher
	needs       needs
	dfa         *dfa
	text, lower []byte
	pos         int   // start of the lines not searched yet
	at          []int // next occurrence of each literal; less than pos if unknown
}

// scan starts the iteration over a text, with the memory of a buffer.
func (m *matcher) scan(text []byte, b *buffer) lineScan {
	if b.dfa == nil {
		b.dfa = newDFA(m.prog)
	}
	s := lineScan{matcher: m, needs: m.plain, text: text, dfa: b.dfa}
	if m.plain.folded() && hasOddLetters(text) {
		s.needs = m.needs
	}
	if s.needs.folded() {
		b.lower = lowerASCII(b.lower[:0], text)
		s.lower = b.lower
	}
	b.at = b.at[:0]
	for range s.needs.any {
		b.at = append(b.at, -1)
	}
	s.at = b.at
	return s
}

// next returns the start and end of the next matching line, without its line
// ending. It returns false if no line is left, or the context is done.
func (s *lineScan) next(ctx context.Context) (start, end int, ok bool) {
	for s.pos < len(s.text) && ctx.Err() == nil {
		start = s.candidate()
		if start < 0 {
			break
		}
		end = len(s.text)
		if n := bytes.IndexByte(s.text[start:], '\n'); n >= 0 {
			end = start + n
		}
		s.pos = end + 1
		if end > start && s.text[end-1] == '\r' {
			end--
		}
		if len(s.at) > 0 && s.needs.enough || s.lineMatches(ctx, s.text[start:end]) {
			return start, end, true
		}
	}
	return 0, 0, false
}

// lineMatches reports whether a line matches, false if the context is done.
func (s *lineScan) lineMatches(ctx context.Context, line []byte) bool {
	if match, ok := s.dfa.match(ctx, line); ok {
		return match
	}
	return s.matches(ctx, line)
}

// candidate returns the start of the next line that may match, -1 if not found.
func (s *lineScan) candidate() int {
	if len(s.at) == 0 {
		return s.pos
	}
	hit := len(s.text)
	for i, lit := range s.needs.any {
		if s.at[i] < s.pos {
			s.at[i] = len(s.text)
			if n := bytes.Index(s.in(lit)[s.pos:], lit.text); n >= 0 {
				s.at[i] = s.pos + n
			}
		}
		hit = min(hit, s.at[i])
	}
	if hit == len(s.text) {
		return -1
	}
	return s.pos + bytes.LastIndexByte(s.text[s.pos:hit], '\n') + 1
}

// in returns the text to search for a literal.
func (s *lineScan) in(lit literal) []byte {
	if lit.fold {
		return s.lower
	}
	return s.text
}

// lowerASCII appends a text with its ASCII letters in lower case, eight bytes at a time.
func lowerASCII(to, text []byte) []byte {
	to = slices.Grow(to, len(text))[:len(text)]
	i := 0
	for ; i+8 <= len(text); i += 8 {
		binary.LittleEndian.PutUint64(to[i:], lowerEight(binary.LittleEndian.Uint64(text[i:])))
	}
	for ; i < len(text); i++ {
		to[i] = byte(lowerEight(uint64(text[i])))
	}
	return to
}

// lowerEight converts eight bytes: bit 7 of each sum reports whether its byte, without
// its own bit 7, is at least 'A' or more than 'Z', and no sum carries into the next byte.
func lowerEight(x uint64) uint64 {
	const ones = 0x0101010101010101
	low := x &^ (ones << 7)
	capital := (low + ones*(0x80-'A')) &^ (low + ones*(0x7f-'Z')) &^ x & (ones << 7)
	return x | capital>>2 // 'a' - 'A' is bit 5
}
