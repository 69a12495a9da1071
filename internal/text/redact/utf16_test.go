package redact

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
)

func TestTextsInUTF16AreRecognized(t *testing.T) {
	const text = "é token = abc-123\r\n\u4e16 next"
	encode := func(order binary.ByteOrder, mark bool) string {
		units := utf16.Encode([]rune(text))
		if mark {
			units = append([]uint16{0xfeff}, units...)
		}
		b := make([]byte, 2*len(units))
		for i, u := range units {
			order.PutUint16(b[2*i:], u)
		}
		return string(b)
	}
	wider := make([]byte, 0, 4*len(text))
	for _, r := range text {
		wider = binary.LittleEndian.AppendUint32(wider, uint32(r))
	}
	for name, encoded := range map[string]string{
		"little endian":            encode(binary.LittleEndian, false),
		"with a mark":              encode(binary.LittleEndian, true),
		"big endian":               encode(binary.BigEndian, false),
		"with a mark, big endian":  encode(binary.BigEndian, true),
		"at an odd offset":         "\x01\x02\x03" + encode(binary.LittleEndian, false),
		"UTF-32":                   string(wider),
		"UTF-32, in other data":    "\xff\xfe\xfd" + string(wider) + "\xff",
		"the end of a big endian ": strings.TrimSuffix(encode(binary.BigEndian, false), "\x00 \x00n\x00e\x00x\x00t"),
	} {
		if got := Wide(encoded); !strings.Contains(got, " token = abc-123\r\n") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := Wide(text) + Wide(""); got != "" {
		t.Errorf("UTF-8: %q", got)
	}
}
