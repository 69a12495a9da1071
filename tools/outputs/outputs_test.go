package outputs

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
)

// encoded is the size of a text as JSON, by an encoder.
func encoded(t *testing.T, text string) int {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		t.Fatal(err)
	}
	return b.Len() - len("\"\"\n")
}

func TestBound(t *testing.T) {
	tests := []struct {
		name   string
		limits Limits
		text   string
		head   string // the start that remains
		tail   string // and what of the end, when that is asked for
	}{
		{"nothing", Limits{}, "", "", ""},
		{"a little", Limits{}, "one\ntwo", "one\ntwo", "one\ntwo"},
		{"exactly the lines", Limits{Lines: 2}, "1\n2\n", "1\n2\n", "1\n2\n"},
		{"exactly the lines, the last without its end", Limits{Lines: 2}, "1\n2", "1\n2", "1\n2"},
		{"a line above", Limits{Lines: 2}, "1\n2\n3\n", "1\n2\n", "2\n3\n"},
		{"a line above, without its end", Limits{Lines: 2}, "1\n2\n3", "1\n2\n", "2\n3"},
		{"empty lines", Limits{Lines: 2}, "\n\n\n", "\n\n", "\n\n"},
		{"the default lines", Limits{}, strings.Repeat("x\n", 2001), strings.Repeat("x\n", 2000), strings.Repeat("x\n", 2000)},
		{"exactly the bytes", Limits{Bytes: 10}, "0123456789", "0123456789", "0123456789"},
		{"a byte above", Limits{Bytes: 10}, "0123456789a", "0123456789", "123456789a"},
		{"one huge line", Limits{}, strings.Repeat("x", 100_000), strings.Repeat("x", 50<<10), strings.Repeat("x", 50<<10)},
		{"line ends count twice in JSON", Limits{Bytes: 9}, "a\nb\nc\nd\n", "a\nb\nc\n", "b\nc\nd\n"},
		{"a cut moves to a line end nearby", Limits{Bytes: 20}, "0123456789abcde\nxyz--end", "0123456789abcde\n", "56789abcde\nxyz--end"},
		{"control characters count six times", Limits{Bytes: 20}, strings.Repeat("\x1b", 10), strings.Repeat("\x1b", 3), strings.Repeat("\x1b", 3)},
		{"quotes and backslashes count twice", Limits{Bytes: 10}, strings.Repeat(`"\`, 5), `"\"\"`, `\"\"\`},
		{"a separator of lines counts as its escape", Limits{Bytes: 14}, strings.Repeat("\u2028", 5), "\u2028\u2028", "\u2028\u2028"},
		{"a character is not divided", Limits{Bytes: 10}, strings.Repeat("日", 5), "日日日", "日日日"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, tail := range []bool{false, true} {
				s := Store{Dir: outputsIn(t, t.TempDir()), Limits: tt.limits}
				b := s.Bound(tt.text, tt.text, tail)
				want, saved := tt.head, b.Text
				if tail {
					want = tt.tail
				}
				if cut := want != tt.text; b.Cut != cut || (b.Path != "") != cut {
					t.Fatalf("tail %v: cut is %v, all of it is in %q: %q", tail, b.Cut, b.Path, b.Text)
				}
				switch {
				case b.Cut && tail:
					_, saved, _ = strings.Cut(b.Text, ")\n\n")
				case b.Cut:
					saved = b.Text[:strings.LastIndex(b.Text, "\n\n(")]
				}
				if saved != want {
					t.Errorf("tail %v: kept %.100q, want %.100q", tail, saved, want)
				}
				if data, err := os.ReadFile(b.Path); b.Cut && (err != nil || string(data) != tt.text) {
					t.Errorf("tail %v: the file holds %d bytes, %v", tail, len(data), err)
				}
			}
		})
	}
}

func TestTheNoticeNamesTheFileWithTheFullOutput(t *testing.T) {
	s := Store{Dir: outputsIn(t, t.TempDir()), Limits: Limits{Bytes: 4}}
	b := s.Bound("0123456789", "0123456789", false)
	if want := "0123\n\n(output truncated: the last 6 bytes are omitted; full output saved to " + b.Path + ": use read with offset and limit, or grep)"; b.Text != want {
		t.Errorf("got  %s\nwant %s", b.Text, want)
	}
	b = s.Bound("0123456789", "0123456789", true)
	if want := "(output truncated: the first 6 bytes are omitted; full output saved to " + b.Path + ": use read with offset and limit, or grep)\n\n6789"; b.Text != want {
		t.Errorf("got  %s\nwant %s", b.Text, want)
	}
	b = Store{Dir: s.Dir, Limits: Limits{Bytes: 3000}}.Bound(strings.Repeat("x", 4000), strings.Repeat("y", 4000), true)
	if want := "(output truncated: the first 1000 bytes are omitted; full output saved to " + b.Path + ": it is one very long line, use cut: cut -c 1-2000 " + b.Path + ")\n\n"; !strings.HasPrefix(b.Text, want) {
		t.Errorf("got %.400s", b.Text)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "outputs"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, outputs := range []*files.Dir{nil, outputsIn(t, dir), outputsIn(t, dir).Sub("x")} {
		b := Store{Dir: outputs, Limits: s.Limits}.Bound("0123456789", "0123456789", false)
		if want := "0123\n\n(output truncated: the last 6 bytes are omitted; narrow the request)"; b.Text != want || !b.Cut {
			t.Errorf("outputs in %v: %q", outputs, b.Text)
		}
	}
}

// FuzzBound checks with an encoder that what a model gets is valid and not
// larger than promised, and that nothing is lost or invented.
func FuzzBound(f *testing.F) {
	f.Add("one\ntwo\nthree\n", 2, 10, false)
	f.Add("\x01\x02\"\\\u2028\u007f", 0, 8, true)
	f.Add("é日🙂\xff\xfe", 1, 3, true)
	f.Add(strings.Repeat("<&>\r\n", 50), 7, 90, false)
	f.Fuzz(func(t *testing.T, text string, lines, size int, tail bool) {
		s := Store{Limits: Limits{Lines: max(lines, 0), Bytes: max(size, 0)}}
		full := strings.ToValidUTF8(text, "\uFFFD")
		out := s.Bound(full, full, tail)
		if !utf8.ValidString(out.Text) {
			t.Fatalf("not valid: %q", out.Text)
		}
		saved := out.Text
		if out.Cut {
			at := strings.Index(saved, ")\n\n") + len(")\n\n")
			if saved = saved[at:]; !tail {
				saved = out.Text[:strings.LastIndex(out.Text, "\n\n(")]
			}
		}
		if got := encoded(t, saved); got > s.Bytes() {
			t.Errorf("%d bytes of %d: %q", got, s.Bytes(), saved)
		}
		if n := strings.Count(strings.TrimSuffix(saved, "\n"), "\n"); n >= s.Lines() {
			t.Errorf("%d lines of %d: %q", n+1, s.Lines(), saved)
		}
		if tail && !strings.HasSuffix(full, saved) || !tail && !strings.HasPrefix(full, saved) || !out.Cut && saved != full {
			t.Errorf("kept %q of %q", saved, full)
		}
	})
}

// A call outside of a plan has the limits that manifests give by default.
func TestTheDefaultLimitsAreThoseOfManifests(t *testing.T) {
	for path, want := range map[string]int{"tool_output.lines": DefaultLines, "tool_output.bytes": DefaultBytes} {
		i := slices.IndexFunc(manifest.EveryKey(), func(k form.Key) bool { return k.Path == path })
		if i < 0 || manifest.EveryKey()[i].Default != strconv.Itoa(want) {
			t.Errorf("manifests have another default of %s than %d", path, want)
		}
	}
}
