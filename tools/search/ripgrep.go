package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The engines that a grep can have.
const (
	EngineRipgrep = "ripgrep"
	EngineBuiltIn = "built-in"
)

// Ripgrep runs ripgrep with arguments in a folder, which is given by its path,
// until it ends or the context does, and writes what it prints to out, which
// never fails. It returns its exit code.
//
// ripgrep saves package regexp the work on the files that do not match, and no
// more: which files are searched, and which of their lines are shown, is
// decided here. So the results are those without it. While ripgrep counts the
// lines that match in each file, the folder is walked as without it; counts of
// files that the walk does not know do not count; and the lines to show are
// read from the files again. The numbers of the files that are not shown are
// ripgrep's where its expression means exactly the same, else those files are
// searched again as well. If anything about ripgrep is not as it should be, an
// ignore file holds what it reads in another way than git, or it can't read a
// file, everything is done without it.
type Ripgrep func(ctx context.Context, dir string, args []string, out io.Writer) (exitCode int, err error)

var (
	errOneFile = errors.New("the base is a file")
	errRules   = errors.New("an ignore file has rules that ripgrep reads in another way")
)

// maxCounts is how much of what ripgrep prints is kept, in bytes.
const maxCounts = 64 << 20

// hunt is a grep with the help of ripgrep.
type hunt struct {
	walk
	query Query
	stop  context.CancelCauseFunc // ends ripgrep and the walk

	mu     sync.Mutex
	files  map[string]fileInfo // all that may be searched, by their paths below the base
	single bool                // a rule has a "?", which is a byte to git and a character to ripgrep
	odd    bool                // a file's path is not ASCII
}

// grepWith finds the lines with the help of ripgrep. Any error but the
// context's means that it has to be done without.
func grepWith(ctx context.Context, scope Scope, q Query, m *matcher, include filter) (GrepResult, error) {
	pattern, exact, err := forRipgrep(m.tree)
	if err != nil {
		return GrepResult{}, err
	}
	h := hunt{walk: walk{scope: scope, wants: include.wants}, query: q, files: map[string]fileInfo{}}
	found, err := h.count(ctx, pattern)
	if err != nil {
		return GrepResult{}, err
	}
	s := newSearcher(m, q)
	if exact {
		found = s.newest(found)
	}
	h.search(ctx, s, found)
	if ctx.Err() != nil {
		return GrepResult{}, fmt.Errorf("search for %s: %w", q.Pattern, ctx.Err())
	}
	r := s.result(h.skipped())
	r.Engine = EngineRipgrep
	return r, nil
}

// count walks the folder while ripgrep counts, and returns those of the files
// that have matches.
func (h *hunt) count(ctx context.Context, pattern string) ([]counted, error) {
	top, file, err := h.open()
	if err != nil {
		return nil, err
	}
	if file != "" {
		top.release()
		return nil, errOneFile
	}
	ctx, h.stop = context.WithCancelCause(ctx)
	out := limitedBuffer{room: maxCounts}
	var asked sync.WaitGroup
	defer asked.Wait() // also when the walk panics
	defer h.stop(nil)
	asked.Go(func() {
		if err := h.ask(ctx, top.path, pattern, &out); err != nil {
			h.stop(err)
		}
	})
	h.visit, h.rules = h.meet, h.check
	if err := h.run(ctx, top); err == nil && h.skipped().Unreadable > 0 {
		h.stop(errors.New("some files can't be read"))
	}
	asked.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case h.single && h.odd:
		return nil, errRules
	}
	return h.counts(out.kept)
}

// meet takes down a file to search.
func (h *hunt) meet(_ context.Context, f *folder, name string) {
	info, err := statAt(f.root, f.dir, name)
	if err != nil {
		h.note(err)
		return
	}
	if info.size > maxFile {
		h.tooLarge.Add(1)
		return
	}
	rel := strings.TrimPrefix(f.path+name, h.base)
	odd := !isASCII(rel)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.files[rel] = info
	h.odd = h.odd || odd
}

// check looks at an ignore file. It stops everything if ripgrep might leave out
// more by it than git does; more files do no harm.
func (h *hunt) check(rules []byte, err error) {
	if errors.Is(err, errSpecial) { // a link, which git does not follow, or ripgrep's own, which no option turns off
		h.stop(errRules)
		return
	}
	for line := range bytes.Lines(rules) {
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if len(line) > 0 && line[0] != '#' && !plainRule(string(line)) {
			h.stop(errRules)
		}
		if bytes.IndexByte(line, '?') >= 0 {
			h.mu.Lock()
			h.single = true
			h.mu.Unlock()
		}
	}
}

// ask lets ripgrep count the lines that match, for each file that has some. It
// heeds the ignore files from the base down, and no others.
func (h *hunt) ask(ctx context.Context, base, pattern string, out *limitedBuffer) error {
	args := []string{
		"--no-config", "--no-ignore-dot", "--no-ignore-exclude", "--no-ignore-global", "--no-ignore-parent", "--no-require-git", "--hidden", "--no-follow",
		"--no-messages", "--color=never", "--no-mmap", "--max-filesize=" + strconv.Itoa(maxFile), "--count", "--with-filename", "--null", "--regexp=" + pattern,
	}
	for _, glob := range plainGlobs(h.query.Include) {
		args = append(args, "--glob="+glob)
	}
	args = append(args, "--glob=!.git") // the last glob that matches decides
	if base == "" {
		args = append(args, "--glob=!/.millhand")
	}
	args = append(args, "--", "./")
	code, err := h.query.Ripgrep(ctx, path.Join(h.scope.Root.Name(), base), args, out)
	switch {
	case err != nil:
		return fmt.Errorf("run ripgrep: %w", err)
	case code != 0 && code != 1: // 1: nothing was found
		return fmt.Errorf("ripgrep ended with code %d", code)
	case out.over:
		return errors.New("ripgrep printed too much")
	}
	return nil
}

// limitedBuffer keeps so much and no more. It takes everything, so that who
// writes to it does not wait.
type limitedBuffer struct {
	kept []byte
	room int
	over bool
}

// Write never fails.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.over = b.over || len(p) > b.room; b.over {
		return len(p), nil
	}
	b.room -= len(p)
	b.kept = append(b.kept, p...)
	return len(p), nil
}

// counted is a file in which ripgrep found so many lines.
type counted struct {
	File
	count int
}

// counts reads what ripgrep printed: a path, NUL, and a number in each line.
func (h *hunt) counts(text []byte) ([]counted, error) {
	var found []counted
	for len(text) > 0 {
		name, rest, ok := bytes.Cut(text, []byte{0})
		digits, rest, ended := bytes.Cut(rest, []byte("\n"))
		n, err := strconv.Atoi(string(digits))
		if !ok || !ended || err != nil || n < 0 {
			return nil, fmt.Errorf("ripgrep printed %.100q", text)
		}
		rel := strings.TrimPrefix(string(name), "./")
		if info, wanted := h.files[rel]; wanted {
			delete(h.files, rel) // a file counts once
			found = append(found, counted{File{Path: h.base + rel, ModTime: info.mod, Size: info.size}, n})
		}
		text = rest
	}
	return found, nil
}

// newest chooses the newest files that have enough matches together, and takes
// over the counts of the others.
func (s *searcher) newest(found []counted) []counted {
	f := first[counted]{
		limit:  s.limit,
		order:  func(a, b counted) int { return newestFirst(a.File, b.File) },
		weight: func(c counted) int { return c.count },
	}
	for _, c := range found {
		f.add(c)
	}
	kept := f.all()
	s.files, s.total = len(found)-len(kept), f.total-f.heavy
	return kept
}

// search searches files, those of one folder together.
func (h *hunt) search(ctx context.Context, s *searcher, files []counted) {
	folders := map[string][]string{}
	for _, f := range files {
		dir, name := path.Split(f.Path)
		folders[dir] = append(folders[dir], name)
	}
	var p pool
	for dir, names := range folders {
		for some := range slices.Chunk(names, batch) {
			p.add(func() { h.searchIn(ctx, s, dir, some) })
		}
	}
	p.run()
}

func (h *hunt) searchIn(ctx context.Context, s *searcher, dir string, names []string) {
	f, err := h.reach(dir)
	if err != nil {
		h.note(err)
		return
	}
	defer f.release()
	for _, name := range names {
		if ctx.Err() != nil {
			return
		}
		s.visit(ctx, &h.walk, f, name)
	}
}
