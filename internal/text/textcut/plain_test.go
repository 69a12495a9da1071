package textcut

import "testing"

func TestPlainTextHasNoControlCharacters(t *testing.T) {
	for text, want := range map[string]string{
		"fix: a\n\n\tb é 日 👩‍💻":                           "fix: a\n\n\tb é 日 👩‍💻",
		"x\x1b]0;evil\x07\x1b[2J y":                       "x y",
		"x\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\":       "xlink",
		"a\u202eb\u2066c\u200ed\x7f\x00\u0085e\u2028f":    "abcdef",
		"bad \xff\r\nline\r":                              "bad \ufffd\nline",
		"\x1b[31mred\x1b[0m \x1bcreset \x1bP1;2|x\x1b\\.": "red reset .",
	} {
		if got := Plain(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
