package search

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A dfa answers as package regexp does, also from what it remembers.
func TestDFAMatchesWhatRegexpMatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	atoms := []string{"a", "b", "é", ".", `\s`, `\w`, `\W`, `\d`, "[^a]", "[^é]", "[a-é]", "(?i:k)", "(?i:É)", `\b`, `\B`, "^", "$", `\A`, `\z`, "(?m:^)", `\r`, "\ufffd", "日", " ", `\x{10ffff}`, "(?s:.)", `[\r-\x{d900}]`, "[^\\x00-\\x{10FFFF}]"}
	chunks := []string{"a", "b", "é", "日", " ", "\r", "\xff", "\xe9", "k", "K", "\u212a", "É", "_", "1", "\xe6\x97", "\ufffd"}
	for range 2000 {
		m, err := newMatcher(randomExpression(rng, atoms, 4))
		if err != nil {
			t.Fatal(err)
		}
		d := newDFA(m.prog)
		for range 20 {
			var line strings.Builder
			for range rng.IntN(8) {
				line.WriteString(chunks[rng.IntN(len(chunks))])
			}
			for range 2 {
				got, ok := d.match(t.Context(), []byte(line.String()))
				if want := m.re.MatchString(line.String()); got != want || !ok {
					t.Fatalf("%q on %q: match %v, ok %v, want %v", m.re, line.String(), got, ok, want)
				}
			}
		}
	}
}

func randomExpression(rng *rand.Rand, atoms []string, depth int) string {
	if depth == 0 || rng.IntN(4) == 0 {
		return atoms[rng.IntN(len(atoms))]
	}
	a, b := randomExpression(rng, atoms, depth-1), randomExpression(rng, atoms, depth-1)
	switch rng.IntN(7) {
	case 0:
		return "(?:" + a + "|" + b + ")"
	case 1:
		return "(?:" + a + ")" + []string{"*", "+", "?", "{2}", "{1,2}", "{2,}", "*?"}[rng.IntN(7)]
	default:
		return a + b
	}
}

// An expression whose dfa has 2^20 states costs the memory of maxStates, and
// finds its lines by package regexp.
func TestDFAOfTooManyStates(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	line := make([]byte, 20_000)
	for i := range line {
		line[i] = "ab"[rng.IntN(2)]
	}
	line[len(line)-21] = 'a'
	const pattern = "a[ab]{20}c"
	m, err := newMatcher(pattern)
	if err != nil {
		t.Fatal(err)
	}
	d := newDFA(m.prog)
	if _, ok := d.match(t.Context(), line); ok || len(d.states) != maxStates {
		t.Errorf("ok %v with %d states", ok, len(d.states))
	}
	text := string(line) + "c\nc\n" + string(line) + "\nb" + string(line) + "c\n"
	root := openTree(t, map[string]string{"f": text})
	r, err := Grep(t.Context(), Scope{Root: root}, Query{Pattern: pattern})
	if err != nil || r.Total != 2 {
		t.Errorf("%d lines, %v", r.Total, err)
	}
}
