package terminal

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTextIsWhatATerminalShows(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "a\tb\n\nc", "a\tb\n\nc"},
		{"CRLF", "a\r\nb\r\n", "a\nb\n"},
		{"CR CR LF", "a\r\r\nb", "a\nb"},
		{"progress", "\r 1%\r 50%\r100%\ndone\n", "100%\ndone\n"},
		{"progress at the end", "10%\r20%\r", "20%"},
		{"shorter text leaves the rest", "Receiving objects: 100%\rDone\n", "Doneiving objects: 100%\n"},
		{"shorter text after erase", "Receiving objects: 100%\r\x1b[KDone\n", "Done\n"},
		{"erase behind the text", "Receiving objects: 100%\rDone\x1b[K\n", "Done\n"},
		{"erase the row", "abc\x1b[2K\rd\n", "d\n"},
		{"erase the row, not the column", "abc\x1b[2Kd\n", "   d\n"},
		{"erase before", "abc\x1b[2D\x1b[1Kd\n", " dc\n"},
		{"colors", "\x1b[1;31mred\x1b[0m \x1b[38:2::1:2:3mx\x1b[m\n", "red x\n"},
		{"character set", "\x1b(B\x1b[mx\x0f\n", "x\n"},
		{"backspace", "-\b\\\b|\b/\bdone\n", "done\n"},
		{"backspace at the start", "\b\bab\n", "ab\n"},
		{"bold of man", "N\bNA\bAM\bME\bE\n", "NAME\n"},
		{"underline of man", "_\bf_\bo\n", "fo\n"},
		{"bell", "a\ab\n", "ab\n"},
		{"title by BEL", "\x1b]0;title\abc\n", "bc\n"},
		{"title by ST", "\x1b]2;title\x1b\\bc\n", "bc\n"},
		{"hyperlink", "\x1b]8;;https://example.com\x1b\\text\x1b]8;;\x1b\\\n", "text\n"},
		{"device control", "\x1bPq#0;2\x1b\\x\n", "x\n"},
		{"title without end", "\x1b]0;title\nnext\n", "0;title\nnext\n"},
		{"title without end at the end", "a\x1b]0;title", "a0;title"},
		{"incomplete sequence", "a\x1b[3", "a"},
		{"sequence ended by a newline", "a\x1b[3\nb", "a\nb"},
		{"hidden cursor", "\x1b[?25la\x1b[?25h", "a"},
		{"cursor left", "abc\x1b[2Dx\n", "axc\n"},
		{"cursor right", "a\x1b[3Cb\n", "a   b\n"},
		{"column", "abc\x1b[1Gx\x1b[5Gy\n", "xbc y\n"},
		{"far right", "a\x1b[999Gb", "a" + strings.Repeat(" ", 79) + "b"},
		{"rows above", "one 1%\ntwo 1%\n\x1b[2A\x1b[2Kone 9%\n\x1b[2Ktwo 9%\nend\n", "one 9%\ntwo 9%\nend\n"},
		{"previous and next line", "one\ntwo\x1b[Fx\x1b[Ey\n", "xne\nywo\n"},
		{"nested bars", "a 1\n\rb 1\x1b[A\ra 2\n\rb 2\x1b[A\n\n", "a 2\nb 2\n"},
		{"erase below", "one\ntwo\nthree\x1b[2A\r\x1b[Jx\n", "x\n"},
		{"clear keeps what was there", "important\n\x1b[H\x1b[2Jx\n", "important\nx\n"},
		{"unknown row", "abc\x1b[5;1Hdef\rg\n", "abc\ngef\n"},
		{"tab is not replaced", "\ta\tb\r\n", "\ta\tb\n"},
		{"tab below progress", "a\tb\rXY", "XY      b"},
		{"tab over text", "abcdefghij\r\tX\n", "abcdefghXj\n"},
		{"characters", "ü✓\rä\n", "ä✓\n"},
		{"not UTF-8", "a\xffb\r\xfe\n", "\xfe\xffb\n"},
		{"incomplete character", "\rab\xe2\x9c", "ab\xe2\x9c"},
	} {
		if got := Text(c.in); got != c.want {
			t.Errorf("%s: Text(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

func TestRowsAboveTheScreenAreFinal(t *testing.T) {
	var out, want strings.Builder
	w := NewWriter(&out)
	for i := range 100 {
		fmt.Fprintf(w, "%d\r\n", i)
		if i >= 100-height+1 {
			fmt.Fprintf(&want, "%d\n", i)
		}
	}
	io.WriteString(w, "\x1b[99Atop")
	w.Flush()
	if got := out.String(); !strings.HasPrefix(got, "0\n1\n2\n") || !strings.Contains(got, "\n76\ntop\n78\n") {
		t.Errorf("got %q", got)
	}
}

func TestMemoryOfAWriterIsBounded(t *testing.T) {
	for name, chunk := range map[string]string{
		"no newline": "0123456789", "progress": "\r12345", "sequence": "\x1b[;;;;;", "title": "\x1b]0;xxxxx",
		"right": "x\x1b[999C", "up": "\x1b[9Ax\n\n", "spaces": "\x1b[80Gx\x1b[1A\n\n",
	} {
		var out counter
		w := NewWriter(&out)
		for range 200_000 {
			io.WriteString(w, chunk)
		}
		held := cap(w.seq) + len(w.partial)
		for _, row := range w.rows {
			held += 4 * len(row)
		}
		if most := 4*height*maxRow + 2*maxSequence; held > most || len(w.rows) > height {
			t.Errorf("%s: %d bytes and %d rows are held, more than %d and %d", name, held, len(w.rows), most, height)
		}
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// shown is a simple model of rows with "\r", "\b" and erase to the end.
func shown(s string) string {
	var all []string
	for line := range strings.SplitSeq(s, "\n") {
		var row []rune
		x := 0
		for line != "" {
			r, size := utf8.DecodeRuneInString(line)
			switch {
			case r == '\r':
				x = 0
			case r == '\b':
				x = max(0, x-1)
			case strings.HasPrefix(line, "\x1b[K"):
				row, size = row[:x], 3
			default:
				row = append(row[:x], append([]rune{r}, row[min(x+1, len(row)):]...)...)
				x++
			}
			line = line[size:]
		}
		all = append(all, string(row))
	}
	return strings.Join(all, "\n")
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"a\rb\x1b[K\n", "\x1b]0;x\ay\tz\b\x1b[3Aq", "ü\r\xff\xe2\x9c\x1b[2Jx", strings.Repeat("x\n", 60) + "\x1b[5Ay"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, size int) {
		all := Text(s)
		var out bytes.Buffer
		w := NewWriter(&out)
		size = 1 + (size%7+7)%7
		for i := 0; i < len(s); i += size {
			io.WriteString(w, s[i:min(i+size, len(s))])
		}
		w.Flush()
		if out.String() != all {
			t.Errorf("%q in chunks of %d: %q, as one: %q", s, size, &out, all)
		}
		if strings.ContainsAny(all, special) {
			t.Errorf("Text(%q) = %q, which has control characters", s, all)
		}
		if utf8.ValidString(s) && !utf8.ValidString(all) {
			t.Errorf("Text(%q) = %q, which is not UTF-8", s, all)
		}
		if again := Text(all); again != all {
			t.Errorf("Text(%q) = %q, and again %q", s, all, again)
		}
		simple := strings.ReplaceAll(s, "\x1b[K", "")
		if len(s) < maxRow && utf8.ValidString(s) && !strings.ContainsAny(simple, "\x1b\t\a\x0e\x0f") {
			if want := shown(s); all != want {
				t.Errorf("Text(%q) = %q, want %q", s, all, want)
			}
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	plain := bytes.Repeat([]byte("a line of output that has no special characters at all\n"), 600)
	styled := bytes.Repeat([]byte("\x1b[32mok\x1b[0m a line of output that has some\r\n"), 600)
	for name, chunk := range map[string][]byte{"plain": plain, "styled": styled} {
		b.Run(name, func(b *testing.B) {
			w := NewWriter(io.Discard)
			b.SetBytes(int64(len(chunk)))
			for b.Loop() {
				w.Write(chunk)
			}
		})
	}
}
