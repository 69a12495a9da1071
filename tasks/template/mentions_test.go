package template

import (
	"testing"
	"unicode/utf8"
)

func FuzzMentions(f *testing.F) {
	f.Add("see @docs/a.md#L1-2 and !`ls`", "@x !`y`", 4)
	f.Add("!`a` @(b) @c.", "`", 1)
	f.Fuzz(func(t *testing.T, text, value string, at int) {
		if at < 0 || at > len(text) {
			return
		}
		filled := Span{at, at + len(value)}
		all := text[:at] + value + text[at:]
		end := 0
		for _, m := range Mentions(all, []Span{filled}) {
			if m.Start < end || m.End > len(all) || m.End <= m.Start {
				t.Fatalf("%+v overlaps, or is outside of the text", m)
			}
			end = m.End
			if m.Start >= filled.start && m.Start < filled.end {
				t.Fatalf("a value begins %+v", m)
			}
			if m.Command != "" && m.Start < filled.end && filled.start < m.End && filled.start < filled.end {
				t.Fatalf("a value is in the command %+v", m)
			}
			if utf8.ValidString(all) && !utf8.ValidString(m.Name) {
				t.Fatalf("%+v is cut within a character", m)
			}
		}
	})
}
