package failures

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/text/textcut"
)

// Excerpt returns what failed in the output so far, with its context, and the tail. Omitted
// lines are counted between. An output that fits into the limit is returned completely.
func (s *Scanner) Excerpt() string {
	s.end()
	if s.Complete() {
		return strings.ToValidUTF8(string(s.all), "\uFFFD")
	}
	p := s.picker()
	main, others := s.ranked()
	if main != nil {
		p.share(s.limit*11/20, func() { p.failure(main, mainLine) })
	}
	if compiler := s.firstOf(buildError); compiler != nil && main != compiler {
		p.share(s.limit*3/20, func() { p.failure(compiler, mainLine) })
	}
	p.share(s.limit*3/20, func() { p.lastLines(s.tail, 300) })
	p.share(s.limit/10, func() { p.addAll(s.summary, 300) })
	p.share(s.limit/4, func() {
		for _, f := range others {
			p.add(f.first, 200)
		}
	})
	for _, f := range others {
		p.failure(f, 300)
	}
	tail := s.tail
	if main != nil && main.as.rank < otherError { // nobody reads all of the output after what failed
		tail = tail[max(0, len(tail)-shortTail):]
	}
	p.lastLines(tail, 400)
	return p.text(s.n)
}

// mainLine is the maximum size of a line of the failure that is shown completely, so that two long
// values, an expected and an actual one, fit.
const mainLine = 600

// shortTail is the maximum number of lines at the end if a failed test or a compiler's error is
// known.
const shortTail = 15

// Tail returns the end of the output so far.
func (s *Scanner) Tail() string {
	s.end()
	if s.Complete() {
		return strings.ToValidUTF8(string(s.all), "\uFFFD")
	}
	p := s.picker()
	p.lastLines(s.tail, maxLine)
	return p.text(s.n)
}

// Complete reports whether the excerpt is the complete output.
func (s *Scanner) Complete() bool { return len(s.all) <= s.limit }

// Line returns what failed in one line: the name and the message of the first failure, or
// the last line of an output without failures.
func (s *Scanner) Line(limit int) string {
	s.end()
	main, _ := s.ranked()
	if main == nil {
		for _, l := range slices.Backward(s.tail) {
			if text := textcut.OneLine(l.text); text != "" {
				return textcut.Head(text, limit, "…")
			}
		}
		return ""
	}
	name, _ := group(main.as.start, main.first.text)
	text := name
	if message := main.messageLine(); message != "" && !main.complains() {
		text = strings.TrimSuffix(name, ":") + ": " + message
	}
	return textcut.Head(textcut.OneLine(text), limit, "…")
}

// messageLine returns the message of a failure as one line: up to the first line that introduces no
// other.
func (f *failure) messageLine() string {
	from, k := f, f.as.message
	if len(f.message) == 0 && f.earlier != nil {
		from = f.earlier
	}
	if len(from.message) == 0 {
		return ""
	}
	all := slices.Concat(from.message, from.around, from.body)
	slices.SortFunc(all, func(a, b line) int { return a.n - b.n })
	var groups []string
	for _, l := range all {
		text, ok := group(k, l.text)
		if !ok {
			text = strings.TrimSpace(l.text)
		}
		if l.n < from.message[0].n || text == "" || text == "error: |-" || text == "|-" {
			continue
		}
		if groups = append(groups, text); !strings.HasSuffix(text, ":") || len(groups) == 4 {
			break
		}
	}
	return strings.Join(groups, " ")
}

// ranked returns the failure that is shown completely, nil without any, and the others.
func (s *Scanner) ranked() (main *failure, others []*failure) {
	rank := func(f *failure) int {
		if s.times[f.first.text] > maxRepeated { // noise in the form of a failure
			return max(f.as.rank, otherError)
		}
		return f.as.rank
	}
	sorted := slices.Clone(s.failures)
	slices.SortStableFunc(sorted, func(a, b *failure) int { return rank(a) - rank(b) })
	for _, f := range sorted {
		if main == nil || rank(f) == rank(main) && f.found() && !main.found() {
			main = f
		}
	}
	if main == nil {
		return nil, nil
	}
	others = slices.DeleteFunc(sorted, func(f *failure) bool { return f == main || rank(f) >= otherError && rank(main) < otherError })
	if main.as.rank >= otherError { // the last errors of a log are nearest to what ended the command
		slices.Reverse(others)
	}
	slices.SortStableFunc(others, func(a, b *failure) int { return a.order() - b.order() })
	return main, others
}

// order sorts failures: those whose message is in their first line need the least space.
func (f *failure) order() int {
	if f.as.alone {
		return 2 * f.as.rank
	}
	return 2*f.as.rank + 1
}

// firstOf returns the first failure of a rank; nil without any.
func (s *Scanner) firstOf(rank int) *failure {
	for _, f := range s.failures {
		if f.as.rank == rank {
			return f
		}
	}
	return nil
}

// picker selects lines until they are as long as the limit.
type picker struct {
	left  int // bytes
	lines map[int]string
}

// gap is the maximum length of the mark for omitted lines.
const gap = len("... (1000000000 lines omitted)\n")

func (s *Scanner) picker() *picker {
	return &picker{left: s.limit - 2*gap, lines: map[int]string{}}
}

// share selects lines with at most some bytes of those that are left.
func (p *picker) share(bytes int, pick func()) {
	rest := max(0, p.left-bytes)
	p.left -= rest
	pick()
	p.left += rest
}

// add selects a line, shortened to a width; false if it does not fit.
func (p *picker) add(l line, width int) bool {
	if _, ok := p.lines[l.n]; ok {
		return true
	}
	text := textcut.Ends(l.text, width*3/4, width/4, "…")
	cost := len(text) + 1
	_, above := p.lines[l.n-1]
	_, below := p.lines[l.n+1]
	if !above && !below {
		cost += gap
	}
	if cost > p.left {
		return false
	}
	p.left -= cost
	p.lines[l.n] = text
	return true
}

func (p *picker) addAll(lines []line, width int) {
	for _, l := range lines {
		if !p.add(l, width) {
			return
		}
	}
}

// failure selects a failure: its name, its message, and then what is around them.
func (p *picker) failure(f *failure, width int) {
	if !p.add(f.first, width) {
		return
	}
	groups := [][]line{f.message, f.around, f.body, f.before}
	if f.as.above > 0 {
		groups = [][]line{f.before, f.message, f.around, f.body}
	}
	if f.earlier != nil {
		groups = slices.Insert(groups, 1, f.earlier.message, f.earlier.around, f.earlier.last)
	}
	if f.as.message == nil || !f.found() {
		groups = append(groups, f.last)
	}
	for _, lines := range groups {
		p.addAll(lines, width)
	}
}

// lastLines selects lines from the last one on.
func (p *picker) lastLines(lines []line, width int) {
	for _, l := range slices.Backward(lines) {
		if !p.add(l, width) {
			return
		}
	}
}

// text returns the selected ones of n lines.
func (p *picker) text(n int) string {
	var b strings.Builder
	next := 0
	omitted := func(until int) {
		switch count := until - next; {
		case count == 1:
			b.WriteString("... (1 line omitted)\n")
		case count > 1:
			fmt.Fprintf(&b, "... (%d lines omitted)\n", count)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(p.lines)) {
		omitted(at)
		b.WriteString(p.lines[at] + "\n")
		next = at + 1
	}
	omitted(n)
	return b.String()
}
