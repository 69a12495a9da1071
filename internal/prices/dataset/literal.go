package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// start is where the package's JavaScript defines its data: a literal of an array of
// providers.
var start = regexp.MustCompile(`\bconst \w+\s*=\s*(\[\{id:)`)

// tokens are what minified literals consist of, beside strings.
var (
	numberForm = regexp.MustCompile(`^-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?`)
	nameForm   = regexp.MustCompile(`^[A-Za-z_$][\w$]*`)
)

// literal returns the data of the package's JavaScript as JSON. Only literals are
// read, nothing is evaluated.
func literal(source []byte) ([]byte, error) {
	at := start.FindSubmatchIndex(source)
	if at == nil {
		return nil, errors.New("no list of providers found")
	}
	s := scanner{rest: source[at[2]:]}
	for {
		if err := s.next(); err != nil {
			return nil, fmt.Errorf("at byte %d: %w", len(source)-len(s.rest), err)
		}
		if s.depth == 0 {
			break
		}
	}
	if !json.Valid(s.out.Bytes()) {
		return nil, errors.New("the list of providers is not a literal")
	}
	return s.out.Bytes(), nil
}

// scanner converts a literal token by token.
type scanner struct {
	rest  []byte
	out   bytes.Buffer
	depth int // of brackets
}

// next converts a token.
func (s *scanner) next() error {
	if len(s.rest) == 0 {
		return errors.New("unexpected end")
	}
	switch c := s.rest[0]; c {
	case '[', '{':
		s.depth++
		s.copy(1)
	case ']', '}':
		s.depth--
		s.copy(1)
	case ',', ':':
		s.copy(1)
	case ' ', '\t', '\r', '\n':
		s.rest = s.rest[1:]
	case '!':
		if len(s.rest) < 2 || s.rest[1] != '0' && s.rest[1] != '1' {
			return errors.New("operator ! before something else than 0 and 1")
		}
		s.replace(2, strconv.FormatBool(s.rest[1] == '0'))
	case '"', '\'', '`':
		return s.quoted(c)
	default:
		return s.word()
	}
	return nil
}

func (s *scanner) copy(n int) { s.replace(n, string(s.rest[:n])) }

func (s *scanner) replace(n int, text string) {
	s.out.WriteString(text)
	s.rest = s.rest[n:]
}

// word converts a number or a name, which is a key or a constant.
func (s *scanner) word() error {
	if n := numberForm.Find(s.rest); n != nil {
		f, err := strconv.ParseFloat(string(n), 64)
		if err != nil {
			return fmt.Errorf("invalid number %s: %w", n, err)
		}
		s.replace(len(n), strconv.FormatFloat(f, 'f', -1, 64))
		return nil
	}
	switch name := string(nameForm.Find(s.rest)); name {
	case "":
		return fmt.Errorf("unexpected %q", s.rest[0])
	case "true", "false", "null":
		s.copy(len(name))
	default:
		s.replace(len(name), strconv.Quote(name)) // of ASCII letters, without escapes
	}
	return nil
}

// quoted converts a string, also a template without expressions.
func (s *scanner) quoted(quote byte) error {
	var text strings.Builder
	for i := 1; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == quote:
			encoded, err := json.Marshal(text.String())
			if err != nil {
				return err
			}
			s.replace(i+1, string(encoded))
			return nil
		case quote == '`' && bytes.HasPrefix(s.rest[i:], []byte("${")):
			return errors.New("unexpected expression in a template")
		case c != '\\':
			text.WriteByte(c)
		default:
			n, char, err := escape(s.rest[i+1:])
			if err != nil {
				return err
			}
			text.WriteString(char)
			i += n
		}
	}
	return errors.New("unexpected end of a string")
}

// escape returns what an escape sequence stands for, and its length after the
// backslash.
func escape(rest []byte) (n int, char string, err error) {
	if len(rest) == 0 {
		return 0, "", errors.New("unexpected end of a string")
	}
	hex := map[byte]int{'x': 2, 'u': 4}[rest[0]]
	switch {
	case hex > 0 && len(rest) > hex:
		code, err := strconv.ParseUint(string(rest[1:1+hex]), 16, 32)
		return 1 + hex, string(rune(code)), err
	case hex > 0 || rest[0] >= '0' && rest[0] <= '9':
		return 0, "", fmt.Errorf("unsupported escape sequence \\%c", rest[0])
	case rest[0] == '\n':
		return 1, "", nil
	}
	if char, ok := map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", 'v': "\v"}[rest[0]]; ok {
		return 1, char, nil
	}
	return 1, string(rest[:1]), nil
}
