package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// Query is the input of Grep.
type Query struct {
	Pattern string // regular expression in RE2's syntax, compared with one line at a time
	Include string // globs of the files to search, as for Glob; "" means all
	Limit   int    // maximum number of matches; 0 means 1,000, which is also the maximum

	fileTime time.Duration // set by tests; 0 is the constant
}

// fileTime is the time limit for one file.
const fileTime = 10 * time.Second

// Match is a line that matches.
type Match struct {
	Path string // relative to Scope.Root
	Line int    // from 1
	Text string // the line without its ending, valid UTF-8; for longer lines 2,000 characters around the match
	Left int    // bytes of the line before Text
	More bool   // the line continues after Text

	Replaced bool // Text has U+FFFD instead of bytes that are not UTF-8
}

// GrepResult is the result of Grep.
type GrepResult struct {
	Matches   []Match // newest file first, then by path; within a file by line
	Total     int     // number of matches, including those beyond the limit
	Files     int     // files with at least one match, including those above the limit
	Truncated bool    // the limit was exceeded
	NoFile    bool    // no file that was searched matches Include
	Skipped   Skipped
}

// Grep finds the lines of the files below a directory, or of one file, that match
// a regular expression. A file given as the base is searched regardless of
// ignore rules and Include.
//
// Lines end with LF or CRLF, without which they are searched, to their end. Files that start with a UTF-16 byte order mark are
// searched as UTF-8, and a UTF-8 byte order mark is not part of its line. Files
// with a NUL character are considered binary and skipped, files above 64 MiB
// are skipped and counted.
//
// It fails if the expression or the glob is malformed, the base can't be
// opened, or the context is done.
func Grep(ctx context.Context, scope Scope, q Query) (GrepResult, error) {
	q.Limit = clampLimit(q.Limit)
	return grep(ctx, scope, q)
}

func grep(ctx context.Context, scope Scope, q Query) (GrepResult, error) {
	m, err := newMatcher(q.Pattern)
	if err != nil {
		return GrepResult{}, err
	}
	var include filter // all files
	if q.Include != "" {
		if include, err = parseFilter(q.Include); err != nil {
			return GrepResult{}, err
		}
	}
	s := newSearcher(m, q)
	w := walk{scope: scope, accepts: include.accepts}
	var accepted atomic.Bool
	w.visit = func(ctx context.Context, f *directory, path string) {
		if !accepted.Load() {
			accepted.Store(true)
		}
		s.visit(ctx, &w, f, path)
	}
	if err := s.run(ctx, &w); err != nil {
		return GrepResult{}, err
	}
	r := s.result(w.skipped())
	r.NoFile = include != nil && !accepted.Load() && r.Files == 0
	return r, nil
}

// searcher searches files and collects matches. It reuses its buffers.
type searcher struct {
	matcher  *matcher
	grams    []gramTest // which texts may match; nil: all
	limit    int
	fileTime time.Duration
	found    first[fileMatches]
	buffers  sync.Pool

	mu           sync.Mutex
	files, total int
}

// fileMatches are the first matches of one file.
type fileMatches struct {
	file    File
	matches []Match
}

func newSearcher(m *matcher, q Query) *searcher {
	s := &searcher{matcher: m, grams: m.plain.gramTests(), limit: q.Limit, fileTime: cmp.Or(q.fileTime, fileTime)}
	s.found = first[fileMatches]{
		limit:  q.Limit,
		order:  func(a, b fileMatches) int { return newestFirst(a.file, b.file) },
		weight: func(f fileMatches) int { return len(f.matches) },
	}
	s.buffers.New = func() any { return &buffer{} }
	return s
}

// run searches the base, a directory or a file.
func (s *searcher) run(ctx context.Context, w *walk) error {
	top, file, err := w.open()
	if err != nil {
		return err
	}
	if file == "" {
		err = w.run(ctx, top)
	} else {
		if p := top.path + file; w.scope.Visible == nil || w.scope.Visible(p) {
			w.visit(ctx, top, p)
		}
		top.release()
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("search for %s: %w", s.matcher.re, err)
	}
	return nil
}

// visit searches one file.
func (s *searcher) visit(ctx context.Context, w *walk, f *directory, path string) {
	name := f.name(path)
	if s.grams != nil && w.memory.warm && w.lacks(f, name, s.grams) {
		return
	}
	file, info, err := f.open(name)
	if err != nil {
		w.note(err)
		return
	}
	defer file.Close()
	if info.size > maxFile {
		w.tooLarge.Add(1)
		return
	}
	b := s.buffers.Get().(*buffer)
	defer func() {
		b.shrink()
		s.buffers.Put(b)
	}()
	b.fit(info.size)
	scan := fileScan{matcher: s.matcher, buffer: b, limit: s.limit, path: path}
	key := w.memory.key(f, info.version, false)
	remembered := w.memory.accepts(key, info.version)
	if remembered {
		scan.remember(info.size)
	}
	if err := s.scan(ctx, &scan, file, info.size); errors.Is(err, errSlow) {
		w.tooSlow.Add(1) // its matches so far count
		remembered = false
	} else if err != nil {
		w.note(err)
		return
	}
	if remembered {
		if known := scan.fact(); known != nil {
			known.unmapped = f.trust == unmapped
			w.memory.put(key, known)
		}
	}
	if scan.total == 0 || scan.binary {
		return
	}
	s.found.add(fileMatches{File{Path: scan.path, ModTime: info.mod, Size: info.size}, scan.matches})
	s.mu.Lock()
	s.files++
	s.total += scan.total
	s.mu.Unlock()
}

// lacks reports whether a file is known not to match.
func (w *walk) lacks(f *directory, name string, tests []gramTest) bool {
	info, err := f.lstat(name)
	if err != nil || !info.kind.IsRegular() || info.size > maxFile {
		return false
	}
	known := w.memory.get(w.memory.key(f, info.version, false))
	return known != nil && !known.grams.mayPass(tests)
}

// errSlow is the error for a file that was searched partially.
var errSlow = errors.New("timed out")

// scan searches one file within the time limit. Small files need no timer.
func (s *searcher) scan(ctx context.Context, scan *fileScan, file io.Reader, size int64) error {
	if size > 0 && size*int64(s.matcher.size) < patience {
		return scan.run(ctx, file, size)
	}
	within, cancel := context.WithTimeoutCause(ctx, s.fileTime, errSlow)
	defer cancel()
	err := scan.run(within, file, size)
	if err == nil || within.Err() != nil {
		err = context.Cause(within)
	}
	return err
}

func (s *searcher) result(skipped Skipped) GrepResult {
	r := GrepResult{Total: s.total, Files: s.files, Skipped: skipped}
	for _, f := range s.found.all() {
		r.Matches = append(r.Matches, f.matches[:min(len(f.matches), s.limit-len(r.Matches))]...)
	}
	r.Truncated = r.Total > len(r.Matches)
	return r
}

// maxText is the maximum length of a returned line in characters; lead the number of
// characters before a match that is further to the right.
const (
	maxText = 2000
	lead    = 200
)

// match returns the Match of a matching line.
func (m *matcher) match(ctx context.Context, path string, number int, line []byte) Match {
	left := 0
	if len(line) > maxText {
		left = window(line, m.re.FindReaderIndex(&runes{ctx.Err, line}))
	}
	text, more := lineText(line[left:])
	replaced := strings.ContainsRune(text, utf8.RuneError) && !utf8.Valid(line[left:])
	return Match{Path: path, Line: number, Text: text, Left: left, More: more, Replaced: replaced}
}

// window returns the start of the returned section of a line: 0
// unless the match would then be truncated.
func window(line []byte, at []int) int {
	if at == nil || utf8.RuneCount(line[:at[1]]) <= maxText {
		return 0
	}
	start := at[0]
	for range lead {
		_, n := utf8.DecodeLastRune(line[:start])
		start -= n
	}
	return start
}

// lineText returns the text of a match, and reports whether the line is
// truncated.
func lineText(line []byte) (text string, more bool) {
	text = strings.ToValidUTF8(string(line[:min(len(line), 4*maxText)]), "\ufffd")
	n := 0
	for i := range text {
		if n == maxText {
			return text[:i], true
		}
		n++
	}
	return text, len(line) > 4*maxText
}
