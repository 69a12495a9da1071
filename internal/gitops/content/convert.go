package content

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// lineEndings is the conversion of a file's line endings when it is stored. The
// rules are those of gitattributes(5), under "text", and of git's convert.c.
type lineEndings int

const (
	keepEndings  lineEndings = iota
	textEndings              // CR LF becomes LF
	guessEndings             // the same if it looks like text and was not stored with CR LF before
)

// endings returns the conversion by a path's attributes and core.autocrlf.
func endings(a gitdir.Attributes, autoCRLF string) lineEndings {
	action, decided := endingsOf(a["text"])
	if !decided {
		action, decided = endingsOf(a["crlf"]) // its name in old files
	}
	if decided && action == keepEndings {
		return keepEndings
	}
	if eol := a["eol"]; action != guessEndings && (eol == "lf" || eol == "crlf") {
		return textEndings
	}
	if !decided && autoCRLF != "false" {
		return guessEndings
	}
	return action
}

func endingsOf(value string) (action lineEndings, decided bool) {
	switch value {
	case "true", "input":
		return textEndings, true
	case "false":
		return keepEndings, true
	case "auto":
		return guessEndings, true
	}
	return keepEndings, false
}

// identKeyword matches the keyword that the ident attribute expands on checkout
// and git removes on commit.
var identKeyword = regexp.MustCompile(`\$Id:[^$\n]*\$`)

// conversion is the conversion of a file's content before it is stored.
type conversion struct {
	clean   func([]byte) ([]byte, error) // of the filter; nil for none
	endings lineEndings
	ident   bool
}

// None reports whether content is stored as it is.
func (c conversion) None() bool { return c.clean == nil && c.endings == keepEndings && !c.ident }

// Variable reports whether the stored content depends on more than the file and its line endings.
func (c conversion) Variable() bool { return c.clean != nil || c.ident }

// apply returns the content that git stores. In one case it depends on the
// content stored before, which prior returns; it may return nil.
func (c conversion) apply(data []byte, prior func() ([]byte, error)) ([]byte, error) {
	var err error
	if c.clean != nil {
		if data, err = c.clean(data); err != nil {
			return nil, err
		}
	}
	data, err = c.convertEndings(data, prior)
	if err == nil && c.ident {
		data = identKeyword.ReplaceAll(data, []byte("$$Id$$"))
	}
	return data, err
}

func (c conversion) convertEndings(data []byte, prior func() ([]byte, error)) ([]byte, error) {
	if c.endings == keepEndings || !bytes.Contains(data, []byte("\r\n")) {
		return data, nil
	}
	if c.endings == guessEndings {
		if looksBinary(data) {
			return data, nil
		}
		before, err := prior()
		if err != nil {
			return nil, err
		}
		if bytes.Contains(before, []byte("\r\n")) && !looksBinary(before) {
			return data, nil
		}
	}
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), nil
}

// looksBinary is git's heuristic for line endings, which differs from that for
// diffs: a NUL or a lone CR means binary, and so does more than one unprintable
// byte in 128.
func looksBinary(data []byte) bool {
	var printable, other int
	for i, c := range data {
		switch {
		case c == 0:
			return true
		case c == '\r':
			if i+1 >= len(data) || data[i+1] != '\n' {
				return true
			}
		case c == '\n':
		case c == 0x7f, c < ' ' && !strings.ContainsRune("\b\t\f\x1b", rune(c)):
			other++
		default:
			printable++
		}
	}
	if len(data) > 0 && data[len(data)-1] == 0x1a { // the end mark of old DOS files
		other--
	}
	return printable>>7 < other
}
