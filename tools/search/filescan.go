package search

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
)

const (
	maxFile   = 64 << 20  // maximum size of searched files, and so of lines
	maxReused = 4 << 20   // maximum size of a buffer that is reused; lines are rarely so long
	firstRead = 128 << 10 // maximum number of bytes read per call, unless a line is longer
	leastRead = 16 << 10  // its minimum
	// maxRemembered is the maximum size of text files of which something is remembered.
	// Collecting needs four times as long as reading and searching the text, and
	// saves opening the file later.
	maxRemembered = 32 << 10
)

// buffer is memory that is reused for all files.
type buffer struct {
	text  []byte     // read bytes; its length is the capacity for reading
	lower []byte     // text with ASCII letters in lower case, created when needed
	at    []int      // see lineScan
	grams *gramTable // nil until it is needed
	dfa   *dfa       // nil until it is needed
}

// shrink releases the memory that a long line needed.
func (b *buffer) shrink() {
	if len(b.text) > maxReused {
		b.text, b.lower = nil, nil
	}
}

// fit makes space to read a file of some size.
func (b *buffer) fit(size int64) {
	if want := min(max(size, leastRead), firstRead); int64(len(b.text)) < want {
		b.text = make([]byte, max(want, min(2*int64(len(b.text)), firstRead)))
	}
}

// fileScan searches one file in blocks of complete lines.
type fileScan struct {
	matcher *matcher
	buffer  *buffer
	limit   int // of matches
	path    string
	grams   *gramTable // collects the text; nil if it is not to be remembered
	odd     bool       // the text has one of the oddLetters, of those collected

	matches []Match
	total   int  // matching lines, including those above the limit
	binary  bool // it contains a NUL byte: the matches are discarded
	line    int  // lines before the block
}

// run reads a file to its end, but at most size bytes if size is not 0 (files can
// grow, and some system files have no size). Whether it is binary
// is decided by the decoded text.
func (s *fileScan) run(ctx context.Context, file io.Reader, size int64) error {
	if size <= 0 {
		size = maxFile
	}
	file = io.LimitReader(file, size)
	filled := 0 // bytes of the buffer in use
	for left, first, eof := size, true, false; !eof; first = false {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := file.Read(s.buffer.text[filled:])
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		left -= int64(n)
		if order := utf16Order(s.buffer.text[:n]); first && order != nil {
			file = newUTF16Reader(s.buffer.text[len(markUTF16LE):n], file, order)
			left = math.MaxInt64 // decoded text is longer, and the reader detects the end
			continue
		}
		if first && bytes.HasPrefix(s.buffer.text[:n], markUTF8) {
			n = copy(s.buffer.text, s.buffer.text[len(markUTF8):n])
		}
		if s.binary = bytes.IndexByte(s.buffer.text[filled:filled+n], 0) >= 0; s.binary {
			return nil
		}
		before := filled
		filled += n
		eof = err != nil || left == 0
		done := s.take(ctx, s.buffer.text[:filled], before, eof)
		if done > 0 { // not for each section of a long line
			filled = copy(s.buffer.text, s.buffer.text[done:filled])
		}
		if filled == len(s.buffer.text) {
			s.buffer.text = append(s.buffer.text, make([]byte, filled)...)
		}
	}
	return nil
}

// take searches the complete lines at the start of a text and returns their
// length. At the end of the file this is the entire text. No line ends before the text
// that is new.
func (s *fileScan) take(ctx context.Context, text []byte, isNew int, eof bool) int {
	end := len(text)
	if !eof {
		n := bytes.LastIndexByte(text[isNew:], '\n')
		if n < 0 {
			return 0
		}
		end = isNew + n + 1
	}
	s.block(ctx, text[:end], eof)
	return end
}

// block searches complete lines, the last ones of the file or not.
func (s *fileScan) block(ctx context.Context, text []byte, last bool) {
	if s.grams != nil {
		s.grams.add(text)
		s.odd = s.odd || hasOddLetters(text)
	}
	scan := s.matcher.scan(text, s.buffer)
	counted := 0 // line numbers are counted up to here
	for {
		start, end, ok := scan.next(ctx)
		if !ok {
			break
		}
		s.total++
		if len(s.matches) < s.limit {
			s.line += bytes.Count(text[counted:start], []byte("\n"))
			counted = start
			s.matches = append(s.matches, s.matcher.match(ctx, s.path, s.line+1, text[start:end]))
		}
	}
	if last {
		return
	}
	s.line += bytes.Count(text[counted:], []byte("\n"))
}

// remember makes the scan collect what is remembered of the file of some size.
func (s *fileScan) remember(size int64) {
	if size > maxRemembered {
		return
	}
	if s.buffer.grams == nil {
		s.buffer.grams = new(gramTable)
	}
	s.grams = s.buffer.grams
	s.grams.reset(size)
}

// fact returns what is remembered of the file after the scan, nil for nothing.
func (s *fileScan) fact() *fact {
	switch {
	case s.binary:
		return &fact{} // no line matches
	case s.grams == nil || s.odd: // see matcher.plain
		return nil
	}
	return &fact{grams: s.grams.fold()}
}
