package ignore

import (
	"regexp"
	"strings"
	"testing"
)

func FuzzIgnored(f *testing.F) {
	for _, c := range lineCases {
		f.Add([]byte(c.file), c.path)
	}
	f.Fuzz(func(t *testing.T, file []byte, path string) {
		m := New(Parse(file)).Descend("a/b", file)
		got := m.Ignored(path, false)
		if got != m.Ignored(path, false) {
			t.Error("the same question got two answers")
		}
		if got && !m.Ignored(path, true) && !strings.Contains(string(file), "!") {
			t.Error("a file is ignored but a directory of the same name is not")
		}
		if strings.HasPrefix(path, "a/b/") && len(file) > 0 && New().Descend("a/b", file).Ignored(path, true) && !m.Ignored(path, true) {
			t.Error("rules above a directory overrule its own")
		}
	})
}

// The matcher against the same steps as a regular expression.
func FuzzMatchEqualsRegexp(f *testing.F) {
	for _, c := range lineCases {
		f.Add(c.file, c.path)
	}
	f.Add("*a*[b-c]?/**/x**", "zazb9/k/l/xx")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		steps, ok := parseWild(pattern)
		if !ok || len(steps) > 200 {
			return
		}
		re, err := regexp.Compile(asRegexp(steps))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := newWild(steps).match(path), re.MatchString(runes([]byte(path))); got != want {
			t.Errorf("%q matches %q: %v, want %v", pattern, path, got, want)
		}
	})
}

// asRegexp writes steps as a regular expression over runes that stand for the
// bytes of a text.
func asRegexp(steps []step) string {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for _, s := range steps {
		switch s.kind {
		case literal:
			b.WriteString(regexp.QuoteMeta(runes([]byte{s.lit})))
		case any1:
			b.WriteString(`[^/]`)
		case class:
			b.WriteString(classRegexp(s))
		case star:
			b.WriteString(`[^/]*`)
		case directories:
			b.WriteString(`(|.*/)`)
		case deeper:
			b.WriteString(`.*/`)
		case all:
			b.WriteString(`.*`)
		}
	}
	b.WriteString(`\z`)
	return b.String()
}

func classRegexp(s step) string {
	var in []byte
	for b := range 256 {
		if s.matches(byte(b)) {
			in = append(in, byte(b))
		}
	}
	if len(in) == 0 {
		return `[^\x00-\x{10ffff}]`
	}
	var b strings.Builder
	for i, r := range runes(in) {
		if i > 0 {
			b.WriteByte('|')
		}
		b.WriteString(regexp.QuoteMeta(string(r)))
	}
	return "(" + b.String() + ")"
}

// runes maps each byte to a rune of the same number.
func runes(text []byte) string {
	out := make([]rune, len(text))
	for i, b := range text {
		out[i] = rune(b)
	}
	return string(out)
}
