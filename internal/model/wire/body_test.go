package wire

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

func TestNULIsNotSent(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                     `"plain"`,
		"a\x00b\x00":                `"a\ufffdb\ufffd"`,
		`a\u0000`:                   `"a\\u0000"`,
		`\` + "\x00":                `"\\\ufffd"`,
		`\\u0000` + "\x00\n\xff u":  `"\\\\u0000\ufffd\n\ufffd u"`,
		"\x01":                      `"\u0001"`,
		strings.Repeat("\x00", 100): `"` + strings.Repeat(`\ufffd`, 100) + `"`,
	} {
		if got, err := AppendElement(nil, in); err != nil || string(got) != ","+want {
			t.Errorf("%q: %s, %v, want %s", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		``:                 `{}`,
		`{"a":"\u0000b"}`:  `{"a":"\ufffdb"}`,
		`{"a":"\\u0000b"}`: `{"a":"\\u0000b"}`,
		`not JSON \u0000`:  `not JSON \ufffd`,
		`ends in \`:        `ends in \`,
	} {
		if got := Arguments(in); got != want {
			t.Errorf("Arguments(%s) = %s, want %s", in, got, want)
		}
		var value any
		if err := json.Unmarshal(Object(in), &value); err != nil {
			t.Errorf("Object(%s): %v", in, err)
		}
	}
}

// A body that is copied to a connection needs no memory besides the buffer of the connection.
func TestBodyIsReadInChunksOfAnySize(t *testing.T) {
	r := http.Request{}
	Body{[]byte(`{"a":[`), nil, []byte("1,2"), []byte("]}")}.load(&r)
	if r.ContentLength != 11 {
		t.Errorf("length %d, want 11", r.ContentLength)
	}
	for range 2 { // it is sent again after a redirect
		body, err := r.GetBody()
		if err != nil {
			t.Fatal(err)
		}
		if err := iotest.TestReader(body, []byte(`{"a":[1,2]}`)); err != nil {
			t.Error(err)
		}
		if _, copies := body.(io.WriterTo); copies {
			t.Error("the body has WriteTo, for which net/http allocates a buffer")
		}
	}
}
