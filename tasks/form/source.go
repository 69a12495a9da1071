package form

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/problem"
)

// What a file may hold at most. The first bound holds before the parser sees
// anything; the others count what the aliases of a parsed file stand for.
const (
	MaxFile  = 1 << 20  // bytes
	maxDepth = 32       // mappings and lists in each other
	maxNodes = 100_000  // values, keys included
	maxText  = 16 << 20 // bytes of all texts
)

// Source is one YAML file and what is needed to make sense of its values.
type Source struct {
	problem.File
	Dir    string // absolute; where its relative paths start
	Home   string // what "~" in its patterns stands for; may be empty
	Inputs *Inputs

	Policies policy.Set // that bind the file

	openings []position // of variables, in order

	Entered []string     // entries of agents_from, absolute
	Passed  []PassedOver // by them
}

// lineBreak is what YAML counts as the end of a line.
var lineBreak = regexp.MustCompile(`\r\n|[\n\r\x{85}\x{2028}\x{2029}]`)

// Parse returns the mapping that a file holds. It records what is wrong with
// the file itself, and then returns false.
func (s *Source) Parse(data []byte) (Value, bool) {
	if !s.readable(data) {
		return Value{}, false
	}
	s.Lines = lineBreak.Split(strings.TrimPrefix(string(data), "\ufeff"), -1)
	s.openings = openings(s.Lines)
	in := &lineReader{rest: data}
	dec := yaml.NewDecoder(in)
	doc, err := decodeNext(dec)
	switch {
	case errors.Is(err, io.EOF):
		s.Report(1, 1, "the file is empty", "name another file")
		return Value{}, false
	case err != nil:
		s.syntax(err, in.lines)
		return Value{}, false
	}
	switch second, err := decodeNext(dec); {
	case err == nil:
		s.Report(second.Line, second.Column, "the file contains several YAML documents", "use one file for each document")
		return Value{}, false
	case !errors.Is(err, io.EOF):
		s.syntax(err, in.lines)
		return Value{}, false
	}
	root := Value{Origin{Src: s, Use: doc.Content[0], Label: "the file"}, doc.Content[0]}
	if root.Null() {
		s.Report(1, 1, "the file is empty", "name another file")
		return Value{}, false
	}
	if !(&measure{src: s}).node(root.Node, nil, 1) {
		return Value{}, false
	}
	return root.resolved(), true
}

// readable reports whether a file is small enough, and text.
func (s *Source) readable(data []byte) bool {
	if len(data) > MaxFile {
		s.Unreadable(userfile.ErrTooLarge)
		return false
	}
	if !utf8.Valid(data) {
		at := firstInvalid(data)
		s.Report(1+bytes.Count(data[:at], []byte("\n")), 1, "the file is not UTF-8 text", "save it as UTF-8")
		return false
	}
	return true
}

// firstInvalid returns where data stops being UTF-8.
func firstInvalid(data []byte) int {
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size <= 1 {
			return at
		}
		at += size
	}
	return len(data)
}

// decodeNext parses the next document. The parser panics on states that its
// authors hold to be impossible; for a file from outside that is one more
// syntax error.
func decodeNext(dec *yaml.Decoder) (doc *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the parser gave up: %v", r)
		}
	}()
	doc = new(yaml.Node)
	if err := dec.Decode(doc); err != nil {
		return nil, err
	}
	return doc, nil
}

// lineReader returns one line at a time and counts them: the parser reports many
// mistakes at the start of the surrounding value, not where it stopped, and it has
// hardly read further than that.
type lineReader struct {
	rest  []byte
	lines int
}

func (r *lineReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := bytes.IndexByte(r.rest, '\n') + 1
	if n == 0 {
		n = len(r.rest)
	}
	complete := n <= len(p)
	n = copy(p, r.rest[:n])
	r.rest = r.rest[n:]
	if complete {
		r.lines++
	}
	return n, nil
}

var (
	parserError   = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// syntax records an error of the parser, whose last line read is given.
func (s *Source) syntax(err error, last int) {
	message, line := err.Error(), 0
	if m := parserError.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = m[2]
	}
	if line == 0 || strings.HasPrefix(message, "did not find expected") {
		line = last
	}
	line = min(max(line, 1), len(s.Lines))
	if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		line = s.mentions("*"+m[1], line)
	}
	if strings.Contains(message, "tab character") || strings.Contains(message, "cannot start any token") {
		if at, column := s.tab(line); at > 0 {
			s.Report(at, column, "a tab is used to indent", "use spaces")
			return
		}
	}
	text := s.Lines[line-1]
	column := 1 + utf8.RuneCountInString(text) - utf8.RuneCountInString(strings.TrimLeft(text, " \t"))
	what, fix := plainWords(message)
	s.Report(line, column, what, fix)
}

// mentions returns the last line up to a given one that holds a text, or else
// the given one.
func (s *Source) mentions(text string, line int) int {
	for n := line; n > 0; n-- {
		if strings.Contains(s.Lines[n-1], text) {
			return n
		}
	}
	return line
}

// tab finds a tab in the indentation of a line or of the one after it, where
// the parser's count may be one short.
func (s *Source) tab(line int) (at, column int) {
	for n := line; n <= min(line+1, len(s.Lines)); n++ {
		text := s.Lines[n-1]
		indent := text[:len(text)-len(strings.TrimLeft(text, " \t"))]
		if i := strings.IndexByte(indent, '\t'); i >= 0 {
			return n, i + 1
		}
	}
	return 0, 0
}

// plainWords translates a message of the parser for authors of manifests.
func plainWords(message string) (what, fix string) {
	for _, t := range []struct{ contains, what, fix string }{
		{"did not find expected ',' or ", "a bracket is not closed, or a comma is missing", "check the last [ or { before this line"},
		{"did not find expected", "this line does not fit the lines above it", "check its indentation, and that quotes and brackets before it are closed"},
		{"could not find expected ':'", "a key without its colon", `write KEY: VALUE, with a space after the colon`},
		{"mapping values are not allowed", "unexpected colon, or wrong indentation", "put a string that contains a colon in quotes"},
		{"cannot start any token", "a string cannot start with this character", "put the string in quotes"},
		{"unexpected end of stream", "unclosed quote", "close it"},
		{"unknown anchor", strings.Replace(message, "unknown anchor", "an alias to the unknown anchor", 1), "define the anchor with & before its use"},
		{"control characters", "the file contains a control character", "remove it"},
	} {
		if strings.Contains(message, t.contains) {
			return strings.TrimSuffix(t.what, " referenced"), t.fix
		}
	}
	return "the file is not valid YAML: " + message, "compare it with the examples in the manual"
}

// measure walks through a file as its aliases spell it out, and stops where
// that goes beyond a bound. A value that holds an alias to itself is caught by
// its depth.
type measure struct {
	src   *Source
	nodes int
	bytes int
}

// node measures one value. Inside what an alias stands for, the outermost such
// alias is the position of problems. It returns false after a problem.
func (m *measure) node(n, alias *yaml.Node, depth int) bool {
	m.nodes++
	m.bytes += len(n.Value)
	at := cmp.Or(alias, n)
	switch {
	case depth > maxDepth:
		return m.fail(at, fmt.Sprintf("values are nested more than %d deep", maxDepth), "make it flatter")
	case m.nodes > maxNodes:
		return m.fail(at, fmt.Sprintf("the file expands to more than %d values", maxNodes), "use fewer aliases, or split the file")
	case m.bytes > maxText:
		return m.fail(at, "the file expands to more than 16 MiB of text", "use fewer aliases")
	case !usualTag(n):
		return m.fail(at, fmt.Sprintf("the tag %s is not supported", problem.Quote(n.Tag)), "remove it, or put a string that starts with ! in quotes")
	case n.Kind == yaml.AliasNode:
		return m.node(n.Alias, at, depth+1)
	}
	for _, child := range n.Content {
		if !m.node(child, alias, depth+1) {
			return false
		}
	}
	return true
}

func (m *measure) fail(n *yaml.Node, what, fix string) bool {
	m.src.Report(n.Line, n.Column, what, fix)
	return false
}

// usualTag reports whether a value has no written tag, or the one that makes
// any scalar a text.
func usualTag(n *yaml.Node) bool {
	return n.Style&yaml.TaggedStyle == 0 || n.Kind == yaml.ScalarNode && n.Tag == "!!str"
}
