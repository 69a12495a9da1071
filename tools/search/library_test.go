package search

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestLibraryIsSlow fails when package regexp searches a text without a match nearly as fast as the literals of a
// pattern and the table of its states: then these are not needed.
func TestLibraryIsSlow(t *testing.T) {
	text := []byte(strings.Repeat("func (s *Server) Serve(ctx context.Context, l net.Listener) error {\n", 1<<13))
	for _, pattern := range []string{"(?i)deprecated", `\bcontext\s+ctx\b`, `[0-9]+\.[0-9]+\.[0-9]+`} {
		m, err := newMatcher(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all := regexp.MustCompile("(?m)" + pattern)
		var b buffer
		ours := fastest(func() {
			if s := m.scan(text, &b); s.matchesAny(t) {
				t.Errorf("%s matches", pattern)
			}
		})
		b = buffer{}
		library := fastest(func() {
			if all.Match(text) {
				t.Errorf("%s matches", pattern)
			}
		})
		if library < 3*ours {
			t.Errorf("%s: %v by package regexp, and %v", pattern, library, ours)
		}
	}
}

func (s *lineScan) matchesAny(t *testing.T) bool {
	t.Helper()
	_, _, ok := s.next(t.Context())
	return ok
}

// fastest returns the time of the fastest of five calls.
func fastest(do func()) time.Duration {
	best := time.Hour
	for range 5 {
		began := time.Now()
		do()
		best = min(best, time.Since(began))
	}
	return best
}
