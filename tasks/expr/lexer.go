package expr

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/millhand/millhand/tasks/problem"
)

// tokenKind is the kind of a token.
type tokenKind int

const (
	atEnd tokenKind = iota
	aText           // in quotes, a number, true or false
	aName
	aSign
)

type token struct {
	kind tokenKind
	text string // of a text in quotes, what is in them
	at   int    // offset in the condition
}

// lexer splits a condition into tokens. After a fault there are no more.
type lexer struct {
	s     string
	pos   int
	fault *problem.Fault
}

var (
	numberToken = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)*`)
	nameToken   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*`)
	signToken   = regexp.MustCompile(`^(==|!=|&&|\|\||[!(),])`)
)

func (l *lexer) fail(at int, what, fix string) {
	if l.fault == nil {
		l.fault = &problem.Fault{At: at, What: what, Fix: fix}
	}
	l.pos = len(l.s)
}

// next returns the next token.
func (l *lexer) next() token {
	l.pos = len(l.s) - len(strings.TrimLeft(l.s[l.pos:], " \t\r\n"))
	t, rest := token{at: l.pos}, l.s[l.pos:]
	switch {
	case rest == "":
		return t
	case rest[0] == '\'' || rest[0] == '"':
		return l.quoted(rest[:1])
	}
	for _, form := range []struct {
		re   *regexp.Regexp
		kind tokenKind
	}{{numberToken, aText}, {nameToken, aName}, {signToken, aSign}} {
		if t.text = form.re.FindString(rest); t.text != "" {
			t.kind = form.kind
			break
		}
	}
	l.pos += len(t.text)
	switch {
	case t.text == "":
		return l.stray(rest)
	case t.text == "true" || t.text == "false":
		t.kind = aText
	case t.kind == aText && nameToken.MatchString(l.s[l.pos:]):
		l.fail(t.at, problem.Quote(t.text+l.s[l.pos:l.pos+1])+" is neither a number nor a name", "put a text in quotes")
		return token{at: len(l.s)}
	}
	return t
}

// quoted reads a text in quotes.
func (l *lexer) quoted(mark string) token {
	t := token{kind: aText, at: l.pos}
	rest := l.s[l.pos+1:]
	for {
		inside, after, closed := strings.Cut(rest, mark)
		t.text += inside
		if !closed {
			l.fail(t.at, "unclosed quote", "close it; a quote within is doubled")
			return token{at: len(l.s)}
		}
		if rest = after; !strings.HasPrefix(rest, mark) {
			l.pos = len(l.s) - len(rest)
			return t
		}
		t.text += mark
		rest = rest[1:]
	}
}

// stray records a character that begins nothing.
func (l *lexer) stray(rest string) token {
	fix := "put a text in quotes"
	switch rest[0] {
	case '$', '{', '}':
		fix = "write one ${{ }} around the entire condition"
	case '=':
		fix = "write == to compare"
	case '&', '|':
		fix = "write && or ||"
	}
	_, size := utf8.DecodeRuneInString(rest)
	l.fail(l.pos, "unexpected "+problem.Quote(rest[:size]), fix)
	return token{at: len(l.s)}
}
