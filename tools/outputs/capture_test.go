package outputs

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/files"
)

// captured writes pieces into a capture, and returns what the model is given
// and the files that are saved.
func captured(t *testing.T, s Store, chunks ...string) (Text, []string) {
	t.Helper()
	c := s.Capture("bash")
	for _, p := range chunks {
		if n, err := c.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	b := c.Text()
	c.Close()
	if s.Dir == nil {
		return b, nil
	}
	saved, err := filepath.Glob(filepath.Join(s.Dir.Path(), "*"))
	if err != nil {
		t.Fatal(err)
	}
	return b, saved
}

func TestCaptureSavesOnlyTruncatedOutput(t *testing.T) {
	limit := DefaultBytes
	small := Limits{Lines: 3, Bytes: 100}
	tests := []struct {
		name   string
		limits Limits
		chunks []string
		shown  string // the end that the model is given
		cut    bool
	}{
		{"nothing", Limits{}, nil, "", false},
		{"a little", Limits{}, []string{"one\n"}, "one\n", false},
		{"above half of the limit", Limits{}, []string{strings.Repeat("x", limit/2+1)}, strings.Repeat("x", limit/2+1), false},
		{"exactly the limit", Limits{}, []string{strings.Repeat("x", limit)}, strings.Repeat("x", limit), false},
		{"one above", Limits{}, []string{strings.Repeat("x", limit), "y"}, strings.Repeat("x", limit-1) + "y", true},
		{"many times the limit", Limits{}, []string{strings.Repeat("x", 10*limit), "y", strings.Repeat("z", limit)}, strings.Repeat("z", limit), true},
		{"byte by byte", small, strings.Split(strings.Repeat("x", 150)+"y", ""), strings.Repeat("x", 99) + "y", true},
		{"exactly the lines", small, []string{"1\n2\n3\n"}, "1\n2\n3\n", false},
		{"exactly the lines, the last without its end", small, []string{"1\n2\n3"}, "1\n2\n3", false},
		{"a line above", small, []string{"1\n2\n3\n", "4\n"}, "2\n3\n4\n", true},
		{"what grows in JSON", small, []string{strings.Repeat("\x01", 50)}, strings.Repeat("\x01", 16), true},
		{"bytes that are no text", small, []string{"a\xff", "\xfeb"}, "a\uFFFDb", false},
		{"a character in two pieces", small, []string{"a\xc3", "\xa9b"}, "aéb", false},
		{"progress lines", small, []string{strings.Repeat("\rReceiving objects: 1/3", 50), "\rReceiving objects: 3/3\nend\n"}, "Receiving objects: 3/3\nend\n", false},
		{"progress lines in small chunks", small, strings.Split(strings.Repeat("\rReceiving objects: 1/3", 50)+"\r", ""), "Receiving objects: 1/3", false},
		{"more than progress lines", small, []string{strings.Repeat("\r1%", 50), "\n\x1b[31mone\x1b[0m\r\ntwo\n", "thr", "ee\n"}, "one\ntwo\nthree\n", true},
		{"a character at the cut", small, []string{strings.Repeat("é", 80)}, strings.Repeat("é", 50), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Store{Dir: outputsIn(t, t.TempDir()), Limits: tt.limits}
			b, saved := captured(t, s, tt.chunks...)
			note, shown := "", b.Text
			if tt.cut {
				note, shown, _ = strings.Cut(b.Text, "\n\n")
			}
			if shown != tt.shown || b.Cut != tt.cut || (b.Path != "") != tt.cut || strings.Contains(note, "full output saved to") != tt.cut {
				t.Errorf("cut %v, %q, note %q, shown %.200q", b.Cut, b.Path, note, shown)
			}
			if !tt.cut {
				if len(saved) > 0 {
					t.Errorf("left behind: %q", saved)
				}
				return
			}
			if data, err := os.ReadFile(b.Path); err != nil || string(data) != strings.Join(tt.chunks, "") || len(saved) != 1 {
				t.Errorf("kept %d files: %d bytes, %v", len(saved), len(data), err)
			}
		})
	}
}

func TestCaptureWithoutAFile(t *testing.T) {
	flood := strings.Repeat("line\n", 100_000)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "outputs"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, outputs := range map[string]*files.Dir{"none is wanted": nil, "none can be made": outputsIn(t, dir)} {
		s := Store{Dir: outputs}
		b, _ := captured(t, s, flood[:100], flood[100:])
		if !b.Cut || b.Path != "" || !strings.HasPrefix(b.Text, "(output truncated: only the tail of 500000 bytes is shown; narrow the command to produce less output)\n\n") || !strings.HasSuffix(b.Text, "line\n") {
			t.Errorf("%s: %v %q %.200q", name, b.Cut, b.Path, b.Text)
		}
	}
}

func TestSavedOutputIsLimited(t *testing.T) {
	s := Store{Dir: outputsIn(t, t.TempDir())}
	c := s.Capture("bash")
	block := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
	for range MaxSpill/len(block) + 2 {
		c.Write(block)
	}
	b := c.Text()
	c.Close()
	if st, err := os.Stat(b.Path); err != nil || st.Size() != MaxSpill {
		t.Errorf("kept %v, %v", st, err)
	}
	if !strings.Contains(b.Text, "shown; the first 64 MiB of the output saved to "+b.Path+": use read") {
		t.Errorf("the model reads %.300q", b.Text)
	}
}
