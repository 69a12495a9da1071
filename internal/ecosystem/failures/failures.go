// Package failures finds what failed in the output of a command, for readers who get only an excerpt: the name and
// the message of the first failed test, further names, and the tail. The forms in which programs report failures
// are a table. An output without any has the lines that have words such as error. Whether a command failed is not
// decided here, but by its exit code.
package failures

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/text/textcut"
)

// Limits of what a Scanner stores.
const (
	maxLine     = 1400     // bytes of a line: its start and its end
	maxPartial  = 32 << 10 // bytes of a line without its end
	maxFull     = 6        // failures of a rank with more than their first line and their message
	maxFound    = 300      // failures of a rank
	maxLogged   = 8        // failures of a rank that logs can have, too: the first and the last ones
	maxRepeated = 20       // how often programs report the same failure
	maxShapes   = 1000     // first lines that are counted
	maxShape    = 200      // bytes of one in a log
	maxStored   = 60       // lines of a failure
	firstLines  = 25       // lines after the first one of a failure
	lastLines   = 6        // before the end of a failure
	context     = 8        // lines after a line of a message
	maxTail     = 80       // lines
	maxTests    = 200      // tests whose result comes after their output
)

// line is a line of the output.
type line struct {
	n    int // from 0
	text string
}

// failure is a failure in the output, or output that may turn out to belong to one.
type failure struct {
	as      *compiled
	first   line
	earlier *failure // output of the test before the first line; nil for none
	before  []line   // lines before the first one, in which there may be a context
	message []line
	around  []line // lines after those of the message
	body    []line // the lines after the first one
	last    []line
	follow  int  // lines that still belong to the message
	full    bool // more than the message is stored
}

// complains reports whether the first line is the message, too.
func (f *failure) complains() bool { return f.as.rank >= buildError && f.as.message == nil }

// found reports whether there is a message.
func (f *failure) found() bool {
	return f.complains() || len(f.message) > 0 || f.earlier != nil && f.earlier.found()
}

// Scanner finds failures in an output that is written to it as a terminal shows it, in bounded
// memory.
type Scanner struct {
	limit    int
	all      []byte // the output, while it fits into the limit
	partial  []byte // a line without its end
	n        int    // complete lines
	tail     []line
	summary  []line
	failures []*failure
	ranks    [possibleError + 1]struct{ found, full int }
	open     *failure
	after    map[string]bool // programs of whose failures a heading was found
	test     string          // that the next lines are of
	output   map[string]*failure
	times    map[string]int // by the first lines of failures
}

// NewScanner returns a Scanner for excerpts of at most limit bytes, which should be some
// hundreds or more.
func NewScanner(limit int) *Scanner {
	return &Scanner{limit: limit, after: map[string]bool{}, output: map[string]*failure{}, times: map[string]int{}}
}

// Write never fails.
func (s *Scanner) Write(p []byte) (int, error) {
	if len(s.all) <= s.limit {
		s.all = append(s.all, p[:min(len(p), s.limit+1-len(s.all))]...)
	}
	n := len(p)
	for {
		text, rest, complete := bytes.Cut(p, []byte("\n"))
		s.partial = append(s.partial, text...)
		if len(s.partial) > maxPartial {
			s.partial = append(s.partial[:maxPartial/4], s.partial[len(s.partial)-maxPartial/4:]...)
		}
		if !complete {
			return n, nil
		}
		s.line(s.partial)
		s.partial, p = s.partial[:0], rest
	}
}

// end examines the last line, if it is incomplete.
func (s *Scanner) end() {
	if len(s.partial) > 0 {
		s.line(s.partial)
		s.partial = s.partial[:0]
	}
}

// line examines the next line, which can be an event of go test -json with the actual one.
func (s *Scanner) line(raw []byte) {
	var e struct{ Test, Output string }
	if bytes.HasPrefix(raw, []byte(`{"`)) && bytes.Contains(raw, []byte(`"Output":"`)) && json.Unmarshal(raw, &e) == nil {
		raw = []byte(strings.TrimSuffix(e.Output, "\n"))
		s.test = e.Test
	}
	s.take(plain(raw))
}

// plain returns a line as text, shortened.
func plain(text []byte) string {
	return textcut.Ends(strings.ToValidUTF8(string(text), "\uFFFD"), maxLine*3/4, maxLine/4, "…")
}

// take examines the next line.
func (s *Scanner) take(text string) {
	l := line{s.n, text}
	s.n++
	s.tail = pushed(s.tail, l, maxTail)
	suspect := suspicious(text)
	if suspect && summary().MatchString(text) {
		s.summary = pushed(s.summary, l, 3)
	}
	k, f := s.starts(text, suspect), s.open
	switch {
	case f != nil && (k == nil || k.start != f.as.start) && matches(f.as.message, text):
		s.said(f, l)
	case k != nil && (f == nil || k.rank <= f.as.rank):
		s.begin(k, l)
	case f != nil && (matches(f.as.end, text) || f.as.rank >= otherError && l.n > f.first.n+context):
		s.open = nil
	case f != nil && f.as.message == nil && strings.TrimSpace(text) != "" && (len(f.message) == 0 || likely().MatchString(text)):
		s.said(f, l)
	case f != nil:
		f.add(l)
	}
	s.attribute(l)
}

// suspicious reports whether a line has a word of those that report errors. Few lines have, and
// most expressions are for these.
func suspicious(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

// starts returns the kind of the failure that a line starts; nil if it starts none.
func (s *Scanner) starts(text string, suspect bool) *compiled {
	all := kinds()
	for i := range all {
		k := &all[i]
		if k.after != nil && !s.after[k.program] {
			s.after[k.program] = (suspect || strings.HasPrefix(text, "There ")) && k.after.MatchString(text)
			continue
		}
		if k.rank >= otherError && !suspect || !strings.Contains(text, k.has) {
			continue
		}
		if k.start.MatchString(text) && !matches(k.not, text) {
			return k
		}
	}
	return nil
}

// begin stores a failure.
func (s *Scanner) begin(k *compiled, l line) {
	s.open = nil
	rank := &s.ranks[k.rank]
	if s.repeats(k, l.text) {
		return
	}
	if rank.found++; rank.found > maxFound && k.rank < otherError {
		return
	}
	f := &failure{as: k, first: l, full: rank.full < maxFull}
	above := k.above
	if above == 0 && k.rank >= buildError {
		above = 2
	}
	f.before = slices.Clone(s.tail[max(0, len(s.tail)-1-above) : len(s.tail)-1])
	if k.rank >= otherError && rank.found > maxLogged {
		s.forget(k.rank)
	}
	s.failures = append(s.failures, f)
	if !k.alone {
		s.open = f
	}
}

// repeats counts a first line, and reports whether it was found so often that it is noise: once if
// only words with digits differ in a log, and a few times in the form of a failed test.
func (s *Scanner) repeats(k *compiled, text string) bool {
	key, most := text, maxRepeated
	if k.rank >= otherError {
		key, most = withDigits().ReplaceAllString(textcut.Head(text, maxShape, ""), "0"), 1
	}
	if _, known := s.times[key]; !known && len(s.times) >= maxShapes {
		return false
	}
	s.times[key]++
	return s.times[key] > most
}

// forget makes room for the last failures of a rank: it keeps the first ones, and drops the one
// after them.
func (s *Scanner) forget(rank int) {
	n := 0
	for i, f := range s.failures {
		if f.as.rank != rank {
			continue
		}
		if n++; n > maxLogged/2 {
			s.failures = slices.Delete(s.failures, i, i+1)
			return
		}
	}
}

// said adds a line of the message.
func (s *Scanner) said(f *failure, l line) {
	if len(f.message) == 0 && f.full {
		s.ranks[f.as.rank].full++
		if before := s.tail[max(0, len(s.tail)-3) : len(s.tail)-1]; l.n > f.first.n+len(before) {
			f.around = append(f.around, before...)
		}
	}
	if f.full || len(f.message) == 0 {
		f.say(l)
	}
}

func (f *failure) say(l line) {
	if len(f.message) < maxStored {
		f.message, f.follow = append(f.message, l), context
	}
}

// add adds a line that is not known to be of the message.
func (f *failure) add(l line) {
	switch {
	case !f.full:
	case f.follow > 0:
		f.follow--
		f.around = append(f.around, l)
	case len(f.body) < firstLines:
		f.body = append(f.body, l)
	default:
		f.last = pushed(f.last, l, lastLines)
	}
}

// attribute remembers output of a test whose result comes later: of go test -v and ctest -V.
func (s *Scanner) attribute(l line) {
	if strings.HasPrefix(l.text, "=== ") {
		if found := goTest().FindStringSubmatch(l.text); found != nil {
			s.test = found[1]
		}
		return
	}
	if strings.Contains(l.text, "--- ") {
		if found := goResult().FindStringSubmatch(l.text); found != nil {
			s.belongs(found[1])
			s.test = ""
			return
		}
	}
	if s.test != "" {
		o := s.outputOf(s.test)
		if goMessage().MatchString(l.text) {
			o.say(l)
		} else if o.follow > 0 {
			o.add(l)
		}
	}
	if l.text == "" || l.text[0] != ' ' && (l.text[0] < '0' || l.text[0] > '9') {
		return
	}
	if found := ctestResult().FindStringSubmatch(l.text); found != nil {
		s.belongs("#" + found[1])
	} else if found := ctestOutput().FindStringSubmatch(l.text); found != nil && !ctestStart().MatchString(l.text) {
		o := s.outputOf("#" + found[1])
		if len(o.message) < firstLines || likely().MatchString(l.text) {
			o.say(l)
		} else {
			o.last = pushed(o.last, l, lastLines)
		}
	}
}

// belongs gives the failure that was just found the output of a test, whose result is known.
func (s *Scanner) belongs(test string) {
	if s.open != nil && s.open.first.n == s.n-1 {
		s.open.earlier = s.output[test]
	}
	delete(s.output, test)
}

// outputOf returns what stores the output of a test.
func (s *Scanner) outputOf(test string) *failure {
	o := s.output[test]
	if o == nil {
		if len(s.output) >= maxTests {
			clear(s.output)
		}
		o = &failure{as: &compiled{}, full: true}
		s.output[test] = o
	}
	return o
}

// pushed appends a line to the last n ones.
func pushed(lines []line, l line, n int) []line {
	if len(lines) >= 2*n {
		lines = append(lines[:0], lines[len(lines)-n+1:]...)
	}
	return append(lines, l)
}
