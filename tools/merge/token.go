package merge

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokens splits a text into words, runs of whitespace, and other single
// characters. With escapes, whitespace characters and escapes are tokens of their
// own. Bytes that are not UTF-8 are tokens, too.
func tokens(s string, escapes bool) []string {
	var out []string
	for s != "" {
		n := tokenSize(s, escapes)
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

func tokenSize(s string, escapes bool) int {
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case escapes && r == '\\' && len(s) > 1 && Unescape(s[:2]) != s[:2]:
		return 2
	case escapes && strings.HasPrefix(s, "\r\n"):
		return 2
	case strings.HasPrefix(s, "..."):
		return 3
	case unicode.IsSpace(r) && !escapes:
		return run(s, unicode.IsSpace)
	case word(r):
		return run(s, word)
	}
	return size
}

func word(r rune) bool {
	return r != utf8.RuneError && (r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// run returns the size of the characters at the start of s for which is is true.
func run(s string, is func(rune) bool) int {
	if i := strings.IndexFunc(s, func(r rune) bool { return !is(r) }); i >= 0 {
		return i
	}
	return len(s)
}

// tokenKeys returns tokens so that equivalent ones are equal.
func tokenKeys(list []string, escapes bool) []string {
	out := make([]string, len(list))
	for i, t := range list {
		switch {
		case escapes:
			out[i] = Unescape(strings.ReplaceAll(t, "\r\n", "\n"))
		case blank(t):
			out[i] = " "
		default:
			out[i] = plain.Replace(t)
		}
	}
	return out
}

// tokenMerge applies the change from old to new to found. It also returns the
// text that it inserted, before each LF in it became end.
func tokenMerge(found, old, new, end string, escapes bool) (out, inserted string) {
	switch {
	case found == old:
		return strings.ReplaceAll(new, "\n", end), ""
	case old == new:
		return found, ""
	}
	f, o, n := tokens(found, escapes), tokens(old, escapes), tokens(new, escapes)
	in := make([]int, len(o))
	for i := range in {
		in[i] = -1
	}
	for _, p := range common(tokenKeys(o, escapes), tokenKeys(f, escapes)) {
		in[p.a] = p.b
	}
	var merged, fresh strings.Builder
	at := 0
	for _, c := range changes(len(o), len(n), common(o, n)) {
		start, stop := bounds(in, len(f), c.a, c.b)
		for ; at < start; at++ {
			merged.WriteString(f[at])
		}
		for _, t := range n[c.c:c.d] {
			merged.WriteString(strings.ReplaceAll(t, "\n", end))
			fresh.WriteString(t)
		}
		at = max(at, stop)
	}
	for ; at < len(f); at++ {
		merged.WriteString(f[at])
	}
	return merged.String(), fresh.String()
}

// Unescape resolves escaped characters and newlines. Other backslashes stay.
func Unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'n':
			out.WriteByte('\n')
		case 't':
			out.WriteByte('\t')
		case 'r':
			out.WriteByte('\r')
		case '\'', '"', '`', '\\', '\n', '$':
			out.WriteByte(c)
		default:
			out.WriteByte('\\')
			out.WriteByte(c)
		}
	}
	return out.String()
}

// Fold trims a line and replaces typographic characters by ASCII ones.
func Fold(s string) string { return strings.TrimSpace(plain.Replace(s)) }

var plain = strings.NewReplacer(
	"\u2018", "'", "\u2019", "'", "\u201a", "'", "\u201b", "'",
	"\u201c", `"`, "\u201d", `"`, "\u201e", `"`, "\u201f", `"`,
	"\u2010", "-", "\u2011", "-", "\u2012", "-", "\u2013", "-", "\u2014", "-", "\u2015", "-", "\u2212", "-",
	"\u2026", "...",
	"\u00a0", " ", "\u2002", " ", "\u2003", " ", "\u2004", " ", "\u2005", " ", "\u2006", " ", "\u2007", " ",
	"\u2008", " ", "\u2009", " ", "\u200a", " ", "\u202f", " ", "\u205f", " ", "\u3000", " ",
)

// key is equal for lines that differ only in whitespace and typographic
// characters.
func key(line string) string { return strings.Join(strings.Fields(plain.Replace(line)), " ") }

func keys(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = key(l)
	}
	return out
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// minSimilarity is the similarity of lines that are versions of each other. A line of
// the file must have it to that of the old text, to be changed or removed.
const minSimilarity = 0.5

// similarity is the share of the longer of two lines that consists of tokens of
// both, from 0 to 1.
func similarity(a, b string) float64 {
	a, b = key(a), key(b)
	if a == b {
		return 1
	}
	counts := map[string]int{}
	for _, t := range tokens(a, false) {
		counts[t]++
	}
	same, all := 0, 0
	for _, t := range tokens(b, false) {
		if blank(t) {
			continue
		}
		all += len(t)
		if counts[t] > 0 {
			counts[t]--
			same += len(t)
		}
	}
	rest := same
	for t, n := range counts {
		if !blank(t) {
			rest += n * len(t)
		}
	}
	return float64(same) / float64(max(all, rest, 1))
}

// maxPairs is the maximum number of pairs of lines whose similarity is computed.
const maxPairs = 4096

// paired returns for each new line the old line of which it is a version, or -1.
func paired(old, new []string) []int {
	out := make([]int, len(new))
	for j := range out {
		out[j] = -1
		if len(old) == len(new) && len(old)*len(new) > maxPairs {
			out[j] = j
		}
	}
	if len(old)*len(new) > maxPairs {
		return out
	}
	w := len(new) + 1
	like := make([]float64, len(old)*w)
	table := make([]float64, (len(old)+1)*w)
	for i, was := range slices.Backward(old) {
		for j, is := range slices.Backward(new) {
			table[i*w+j] = max(table[(i+1)*w+j], table[i*w+j+1])
			if s := similarity(was, is); s >= minSimilarity {
				like[i*w+j] = s
				table[i*w+j] = max(table[i*w+j], s+table[(i+1)*w+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(old) && j < len(new); {
		switch best := table[i*w+j]; {
		case like[i*w+j] > 0 && best == like[i*w+j]+table[(i+1)*w+j+1]:
			out[j] = i
			i, j = i+1, j+1
		case best == table[(i+1)*w+j]:
			i++
		default:
			j++
		}
	}
	return out
}
