package search

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"
	"testing/iotest"
	"unicode/utf16"
)

func TestUTF16IsReadAsUTF8(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"", ""},
		{"a\x00", "a"},
		{"a\x00\n\x00", "a\n"},
		{"\xe9\x00\xe5\x65", "é日"},
		{"\x3d\xd8\x00\xde", "\U0001f600"},
		{"a", "\ufffd"},              // half of a character at the end
		{"a\x00b", "a\ufffd"},        //
		{"\x3d\xd8", "\ufffd"},       // a surrogate at the end
		{"\x3d\xd8a\x00", "\ufffda"}, // a surrogate before something else
		{"\x00\xdea\x00", "\ufffda"}, // the second one first
		{"\x3d\xd8\x3d\xd8\x00\xde", "\ufffd\U0001f600"},
		{"\x3d\xd8a", "\ufffd\ufffd"},
	} {
		for name, from := range map[string]io.Reader{
			"at once":      bytes.NewReader([]byte(c.raw)),
			"by bytes":     iotest.OneByteReader(bytes.NewReader([]byte(c.raw))),
			"with its end": iotest.DataErrReader(bytes.NewReader([]byte(c.raw))),
		} {
			got, err := io.ReadAll(iotest.OneByteReader(newUTF16Reader(nil, from, binary.LittleEndian)))
			if err != nil || string(got) != c.want {
				t.Errorf("%q %s: got %q, %v, want %q", c.raw, name, got, err, c.want)
			}
		}
	}
}

func FuzzUTF16(f *testing.F) {
	f.Add([]byte("a\x00\x3d\xd8\x00\xde"), 1)
	f.Add([]byte("\x00\xdc\x00\xd8"), 3)
	f.Fuzz(func(t *testing.T, raw []byte, began int) {
		began = max(0, min(began, len(raw)))
		got, err := io.ReadAll(newUTF16Reader(raw[:began], iotest.HalfReader(bytes.NewReader(raw[began:])), binary.BigEndian))
		if err != nil {
			t.Fatal(err)
		}
		var units []uint16
		for i := 0; i+1 < len(raw); i += 2 {
			units = append(units, binary.BigEndian.Uint16(raw[i:]))
		}
		want := string(utf16.Decode(units))
		if len(raw)%2 == 1 {
			want += "\ufffd"
		}
		if string(got) != want {
			t.Errorf("%x: got %q, want %q", raw, got, want)
		}
	})
}
