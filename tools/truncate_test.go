package tools

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
		limits OutputLimits
		text   string
		head   string // what is kept of the beginning
		tail   string // and what of the end, when that is asked for
	}{
		{"nothing", OutputLimits{}, "", "", ""},
		{"a little", OutputLimits{}, "one\ntwo", "one\ntwo", "one\ntwo"},
		{"exactly the lines", OutputLimits{Lines: 2}, "1\n2\n", "1\n2\n", "1\n2\n"},
		{"exactly the lines, the last without its end", OutputLimits{Lines: 2}, "1\n2", "1\n2", "1\n2"},
		{"a line above", OutputLimits{Lines: 2}, "1\n2\n3\n", "1\n2\n", "2\n3\n"},
		{"a line above, without its end", OutputLimits{Lines: 2}, "1\n2\n3", "1\n2\n", "2\n3"},
		{"empty lines", OutputLimits{Lines: 2}, "\n\n\n", "\n\n", "\n\n"},
		{"the default lines", OutputLimits{}, strings.Repeat("x\n", 2001), strings.Repeat("x\n", 2000), strings.Repeat("x\n", 2000)},
		{"exactly the bytes", OutputLimits{Bytes: 10}, "0123456789", "0123456789", "0123456789"},
		{"a byte above", OutputLimits{Bytes: 10}, "0123456789a", "0123456789", "123456789a"},
		{"one huge line", OutputLimits{}, strings.Repeat("x", 100_000), strings.Repeat("x", 50<<10), strings.Repeat("x", 50<<10)},
		{"line ends count twice in JSON", OutputLimits{Bytes: 9}, "a\nb\nc\nd\n", "a\nb\nc\n", "b\nc\nd\n"},
		{"a cut moves to a line end nearby", OutputLimits{Bytes: 20}, "0123456789abcde\nxyz--end", "0123456789abcde\n", "56789abcde\nxyz--end"},
		{"control characters count six times", OutputLimits{Bytes: 20}, strings.Repeat("\x1b", 10), strings.Repeat("\x1b", 3), strings.Repeat("\x1b", 3)},
		{"quotes and backslashes count twice", OutputLimits{Bytes: 10}, strings.Repeat(`"\`, 5), `"\"\"`, `\"\"\`},
		{"a separator of lines counts as its escape", OutputLimits{Bytes: 14}, strings.Repeat("\u2028", 5), "\u2028\u2028", "\u2028\u2028"},
		{"a character is not divided", OutputLimits{Bytes: 10}, strings.Repeat("日", 5), "日日日", "日日日"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, tail := range []bool{false, true} {
				env := &Env{Outputs: outputsIn(t, t.TempDir()), Limits: tt.limits}
				b := bound(env, tt.text, tt.text, tail)
				want, saved := tt.head, b.text
				if tail {
					want = tt.tail
				}
				if cut := want != tt.text; b.cut != cut || (b.path != "") != cut {
					t.Fatalf("tail %v: cut is %v, the whole is in %q: %q", tail, b.cut, b.path, b.text)
				}
				switch {
				case b.cut && tail:
					_, saved, _ = strings.Cut(b.text, ")\n\n")
				case b.cut:
					saved = b.text[:strings.LastIndex(b.text, "\n\n(")]
				}
				if saved != want {
					t.Errorf("tail %v: kept %.100q, want %.100q", tail, saved, want)
				}
				if data, err := os.ReadFile(b.path); b.cut && (err != nil || string(data) != tt.text) {
					t.Errorf("tail %v: the file holds %d bytes, %v", tail, len(data), err)
				}
			}
		})
	}
}

func TestTruncationNotice(t *testing.T) {
	env := &Env{Outputs: outputsIn(t, t.TempDir()), Limits: OutputLimits{Bytes: 4}}
	b := bound(env, "0123456789", "0123456789", false)
	if want := "0123\n\n(output truncated: the last 6 bytes are omitted; full output saved to " + b.path + ": use read with offset and limit, or grep)"; b.text != want {
		t.Errorf("got  %s\nwant %s", b.text, want)
	}
	b = bound(env, "0123456789", "0123456789", true)
	if want := "(output truncated: the first 6 bytes are omitted; full output saved to " + b.path + ": use read with offset and limit, or grep)\n\n6789"; b.text != want {
		t.Errorf("got  %s\nwant %s", b.text, want)
	}
	b = bound(&Env{Outputs: env.Outputs, Limits: OutputLimits{Bytes: 3000}}, strings.Repeat("x", 4000), strings.Repeat("y", 4000), true)
	if want := "(output truncated: the first 1000 bytes are omitted; full output saved to " + b.path + ": it is one very long line, use cut: cut -c 1-2000 " + b.path + ")\n\n"; !strings.HasPrefix(b.text, want) {
		t.Errorf("got %.400s", b.text)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "outputs"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, outputs := range []*files.Dir{nil, outputsIn(t, dir), outputsIn(t, dir).Sub("x")} {
		b := bound(&Env{Outputs: outputs, Limits: env.Limits}, "0123456789", "0123456789", false)
		if want := "0123\n\n(output truncated: the last 6 bytes are omitted; narrow the request)"; b.text != want || !b.cut {
			t.Errorf("outputs in %v: %q", outputs, b.text)
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
		env := &Env{Limits: OutputLimits{Lines: max(lines, 0), Bytes: max(size, 0)}}
		out := finish(env, Outcome{}, Result{Output: text, Tail: tail})
		if !utf8.ValidString(out.Output) {
			t.Fatalf("not valid: %q", out.Output)
		}
		saved := out.Output
		if out.Truncated {
			at := strings.Index(saved, ")\n\n") + len(")\n\n")
			if saved = saved[at:]; !tail {
				saved = out.Output[:strings.LastIndex(out.Output, "\n\n(")]
			}
		}
		if got := encoded(t, saved); got > env.sizeLimit() {
			t.Errorf("%d bytes of %d: %q", got, env.sizeLimit(), saved)
		}
		if n := strings.Count(strings.TrimSuffix(saved, "\n"), "\n"); n >= env.lineLimit() {
			t.Errorf("%d lines of %d: %q", n+1, env.lineLimit(), saved)
		}
		full := strings.ToValidUTF8(text, "\uFFFD")
		if tail && !strings.HasSuffix(full, saved) || !tail && !strings.HasPrefix(full, saved) || !out.Truncated && saved != full {
			t.Errorf("kept %q of %q", saved, full)
		}
	})
}

// A call outside of a plan has the limits that manifests give by default.
func TestTheDefaultLimitsAreThoseOfManifests(t *testing.T) {
	for path, want := range map[string]int{"tool_output.lines": defaultLines, "tool_output.bytes": defaultBytes} {
		i := slices.IndexFunc(manifest.EveryKey(), func(k form.Key) bool { return k.Path == path })
		if i < 0 || manifest.EveryKey()[i].Default != strconv.Itoa(want) {
			t.Errorf("manifests have another default of %s than %d", path, want)
		}
	}
}
