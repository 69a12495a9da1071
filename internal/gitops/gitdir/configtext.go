package gitdir

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// option is one line of git's configuration, or the header of a section if key is "".
// Names of sections and keys are in lower case.
type option struct {
	section, subsection, key string
	value                    string // "true" if the key has none, as git reads booleans
}

// parseOptions calls add with the sections and options of a configuration file in their
// order, and ends at its first error. It follows the parser of git (git-config, "Syntax",
// and config.c), and rejects NULs, which git's strings end at.
func parseOptions(data []byte, add func(option) error) error {
	if bytes.IndexByte(data, 0) >= 0 {
		return errors.New("the file contains a NUL")
	}
	t := &configText{rest: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), line: 1}
	var at option
	for !t.ended {
		var err error
		switch c := t.next(); {
		case isConfigSpace(c):
			continue
		case c == '#' || c == ';':
			t.skipLine()
			continue
		case c == '[':
			at, err = t.header()
		case isLetter(c):
			at.key, at.value, err = t.keyAndValue(c)
		default:
			err = fmt.Errorf("unexpected character %q", c)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", t.line, err)
		}
		if at.section == "" {
			return fmt.Errorf("line %d: %s is in no section", t.line, at.key)
		}
		if err := add(at); err != nil {
			return err
		}
	}
	return nil
}

// configText reads the characters of a configuration file.
type configText struct {
	rest  []byte
	line  int  // of the last character
	last  byte // character
	ended bool
}

// next returns the next character: a newline for CRLF and for the end.
func (t *configText) next() byte {
	if t.last == '\n' {
		t.line++
	}
	if len(t.rest) == 0 {
		t.ended, t.last = true, '\n'
		return '\n'
	}
	t.last, t.rest = t.rest[0], t.rest[1:]
	if t.last == '\r' && len(t.rest) > 0 && t.rest[0] == '\n' {
		t.last, t.rest = '\n', t.rest[1:]
	}
	return t.last
}

func (t *configText) skipLine() {
	for t.next() != '\n' {
		continue
	}
}

// nameless is the name of a subsection whose name is empty: [core ""] is not [core]. No
// file can contain it.
const nameless = "\x00"

// header reads a section's name after its opening bracket: [name], [name "subsection"],
// or the old form [name.subsection].
func (t *configText) header() (option, error) {
	var name []byte
	for {
		switch c := t.next(); {
		case c == ']':
			section, subsection, dot := strings.Cut(string(name), ".")
			if section == "" {
				return option{}, errors.New("the section has no name")
			}
			if dot && subsection == "" {
				subsection = nameless
			}
			return option{section: section, subsection: subsection}, nil
		case isConfigSpace(c) && c != '\n':
			subsection, err := t.subsection()
			if err == nil && (len(name) == 0 || bytes.IndexByte(name, '.') >= 0) {
				err = fmt.Errorf("invalid section name %q", name)
			}
			return option{section: string(name), subsection: cmp.Or(subsection, nameless)}, err
		case !isKeyCharacter(c) && c != '.':
			return option{}, fmt.Errorf("unexpected character %q in the name of a section", c)
		default:
			name = append(name, lower(c))
		}
	}
}

// subsection reads a quoted name and the closing bracket.
func (t *configText) subsection() (string, error) {
	c := t.next()
	for isConfigSpace(c) && c != '\n' {
		c = t.next()
	}
	if c != '"' {
		return "", errors.New("the name of a subsection is not in quotes")
	}
	var name []byte
	for {
		if c = t.next(); c == '"' {
			break
		}
		if c == '\\' {
			c = t.next()
		}
		if c == '\n' {
			return "", errors.New("the name of a subsection has no closing quote")
		}
		name = append(name, c)
	}
	if t.next() != ']' {
		return "", errors.New("a section has no closing bracket")
	}
	return string(name), nil
}

// keyAndValue reads an option after the first character of its key.
func (t *configText) keyAndValue(first byte) (key, value string, err error) {
	name := []byte{lower(first)}
	c := t.next()
	for ; isKeyCharacter(c); c = t.next() {
		name = append(name, lower(c))
	}
	for c == ' ' || c == '\t' {
		c = t.next()
	}
	switch c {
	case '\n':
		return string(name), "true", nil
	case '=':
		value, err = t.value()
		return string(name), value, err
	}
	return "", "", fmt.Errorf("unexpected character %q after the key %s", c, name)
}

// value reads a value until the end of its line: spaces around it, and a comment outside
// of quotes, do not belong to it.
func (t *configText) value() (string, error) {
	var value []byte
	keep, quoted := 0, false // keep is the length without spaces at the end
	for {
		c := t.next()
		switch {
		case c == '\n' && quoted:
			return "", errors.New("a value has no closing quote")
		case c == '\n':
			return string(value[:keep]), nil
		case isConfigSpace(c) && !quoted:
			if len(value) > 0 {
				value = append(value, c)
			}
			continue
		case (c == '#' || c == ';') && !quoted:
			t.skipLine()
			return string(value[:keep]), nil
		case c == '"':
			quoted = !quoted
		case c == '\\':
			escaped, err := t.escaped()
			if err != nil {
				return "", err
			}
			value = append(value, escaped...)
		default:
			value = append(value, c)
		}
		keep = len(value)
	}
}

// escaped returns what the characters after a backslash stand for; a newline continues
// the value.
func (t *configText) escaped() (string, error) {
	switch c := t.next(); c {
	case '\n':
		return "", nil
	case 't':
		return "\t", nil
	case 'b':
		return "\b", nil
	case 'n':
		return "\n", nil
	case '\\', '"':
		return string(c), nil
	default:
		return "", fmt.Errorf(`unknown escape sequence \%c in a value`, c)
	}
}

func isConfigSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isLetter(c byte) bool { return 'a' <= lower(c) && lower(c) <= 'z' }

func isKeyCharacter(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' || c == '-' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
