package tools

import (
	"strings"
	"testing"
	"unicode/utf16"
)

// wide returns a text as UTF-16 with a byte-order mark.
func wide(text string, big bool) string {
	var out []byte
	for _, u := range utf16.Encode([]rune(byteOrderMark + text)) {
		if big {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return string(out)
}

func TestToolsKeepTheEncodingOfAFileOrRefuse(t *testing.T) {
	const sjis = "\x95\x5c = 1\nb\n" // a character whose second byte is a backslash
	tests := []struct {
		name, before string
		tool         string
		in           args
		status       Status
		says, after  string // after is before if it is empty
	}{
		{"read of Latin-1", "caf\xe9\xe9 = \xe9\n", "read", args{}, Completed, "(file is not UTF-8: 3 bytes shown as U+FFFD in these lines;", ""},
		{"read of other lines of it", "caf\xe9\nb\n", "read", args{"offset": 2}, Completed, "2: b\n(end of file: 2 lines)\n</content>", ""},
		{"read of a U+FFFD in UTF-8", "\uFFFD\n", "read", args{}, Completed, "(end of file: 1 line)\n</content>", ""},
		{"read of a long line of UTF-8", "é" + lines(3000) + "é\n", "read", args{"limit": 1}, Completed, "use offset 2 to continue)\n</content>", ""},
		{"read of UTF-16LE", wide("a\r\né🙂\r\n", false), "read", args{}, Completed, "1: a\n2: é🙂\n(end of file: 2 lines)\n(file is UTF-16LE; edit, apply_patch and write keep this encoding)", ""},
		{"read of UTF-16BE", wide("a\n", true), "read", args{}, Completed, "1: a\n(end of file: 1 line)\n(file is UTF-16BE;", ""},
		{"read of half a character of UTF-16", "\xff\xfea", "read", args{}, Failed, "can't be shown as text", ""},
		{"read of half a pair of UTF-16", "\xff\xfe\x00\xd8", "read", args{}, Failed, "can't be shown as text", ""},
		{"read of UTF-32", "\xff\xfe\x00\x00a\x00\x00\x00", "read", args{}, Failed, "can't be shown as text", ""},

		{"edit of UTF-16LE", wide("a\r\nb\r\n", false), "edit", args{"oldString": "b", "newString": "cé\n🙂"}, Completed, "Edit applied", wide("a\r\ncé\r\n🙂\r\n", false)},
		{"edit of UTF-16BE", wide("a\nb\n", true), "edit", args{"oldString": "a\nb", "newString": "c"}, Completed, "Edit applied", wide("c\n", true)},
		{"edit of UTF-16 without a mark", wide("abcd\n", false)[2:], "edit", args{"oldString": "b", "newString": "c"}, Failed, "can't be decoded (binary, or UTF-16", ""},
		{"edit of UTF-32", "\xff\xfe\x00\x00a\x00\x00\x00", "edit", args{"oldString": "a", "newString": "c"}, Failed, "can't be decoded", ""},
		{"edit of Latin-1 with ASCII", "caf\xe9 = 1\nb = 2\n", "edit", args{"oldString": "b = 2", "newString": "b = 3"}, Completed, "Edit applied", "caf\xe9 = 1\nb = 3\n"},
		{"edit of Latin-1 with another character", "caf\xe9 = 1\nb = 2\n", "edit", args{"oldString": "b = 2", "newString": "b = \"é\""}, Failed, "new text must be ASCII", ""},
		{"edit of Latin-1 by what is shown", "caf\xe9 = 1\n", "edit", args{"oldString": "caf\uFFFD = 1", "newString": "cafe = 1"}, Failed, "the old text contains U+FFFD", ""},
		{"edit of a mixture with a character that stays", "é = \xe9\n", "edit", args{"oldString": "é =", "newString": "é +="}, Completed, "Edit applied", "é += \xe9\n"},
		{"edit of Shift-JIS within a character", sjis, "edit", args{"oldString": `\`, "newString": "/"}, Failed, "part of the same character", ""},
		{"edit of Shift-JIS by its characters", sjis, "edit", args{"oldString": "表 = 1", "newString": "表 = 2"}, Failed, "oldString not found in file: the file is not UTF-8", ""},
		{"edit of Shift-JIS", sjis, "edit", args{"oldString": " = 1", "newString": " = 2"}, Completed, "Edit applied", "\x95\x5c = 2\nb\n"},
		{"edit of GBK, whitespace", "\xd6\xd0 =  1\n  b  = 1\n", "edit", args{"oldString": "b = 1", "newString": "b = 2"}, Completed, "different: indentation, whitespace", "\xd6\xd0 =  1\n  b  = 2\n"},

		{"write over UTF-16LE", wide("a\n", false), "write", args{"content": "é🙂\n"}, Completed, "Replaced f.txt: 1 line, 10 bytes.", wide("é🙂\n", false)},
		{"write over Latin-1", "caf\xe9\n", "write", args{"content": "caf\uFFFD\n"}, Failed, "f.txt is not UTF-8, and 1 byte (shown as U+FFFD) would be lost: use edit to change a part of it, or delete it first to replace it", ""},
		{"write over Latin-1 without its bytes", "caf\xe9\n", "write", args{"content": "cafe\n"}, Failed, "would be lost", ""},
		{"write over UTF-16 without a mark", wide("abcd\n", false)[2:], "write", args{"content": "abcd\n"}, Failed, "would lose its encoding", ""},
		{"write over a binary file", "\x00\x01\xff\x02\x03\x00", "write", args{"content": "text\n"}, Completed, "Replaced", "text\n"},
		{"write over UTF-8 with U+FFFD", "a\uFFFD\n", "write", args{"content": "b\uFFFD\n"}, Completed, "Replaced", "b\uFFFD\n"},

		{"patch of UTF-16LE", wide("a\r\nb\r\n", false), "apply_patch", patchOf("*** Update File: f.txt\n-b\n+cé\n+d"), Completed, "M f.txt", wide("a\r\ncé\r\nd\r\n", false)},
		{"patch of Latin-1", "caf\xe9\nb\n", "apply_patch", patchOf("*** Update File: f.txt\n-b\n+c"), Completed, "M f.txt", "caf\xe9\nc\n"},
		{"patch of Latin-1 with another character", "caf\xe9\nb\n", "apply_patch", patchOf("*** Update File: f.txt\n-b\n+é"), Failed, "new text must be ASCII", ""},
		{"patch of Latin-1 by what is shown", "caf\xe9\nb\n", "apply_patch", patchOf("*** Update File: f.txt\n caf\uFFFD\n-b\n+c"), Failed, "contains U+FFFD", ""},
		{"patch that replaces Latin-1", "caf\xe9\n", "apply_patch", patchOf("*** Add File: f.txt\n+cafe"), Failed, "would be lost", ""},
		{"patch that deletes and adds", "caf\xe9\n", "apply_patch", patchOf("*** Delete File: f.txt\n*** Add File: f.txt\n+café"), Completed, "M f.txt", "café\n"},
		{"patch that replaces UTF-16BE", wide("a\n", true), "apply_patch", patchOf("*** Add File: f.txt\n+é"), Completed, "M f.txt", wide("é\n", true)},
		{"patch that replaces UTF-8 with a mark", byteOrderMark + "a\n", "apply_patch", patchOf("*** Add File: f.txt\n+b"), Completed, "M f.txt", byteOrderMark + "b\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := setUp(t, "edit", map[string]string{"f.txt": tt.before})
			in := tt.in
			if tt.tool != "apply_patch" {
				in = args{"filePath": "f.txt"}.with(tt.in)
			}
			s.want(s.call(tt.tool, in), tt.status, tt.says)
			want := tt.after
			if want == "" {
				want = tt.before
			}
			if got := s.content("f.txt"); got != want {
				t.Errorf("the file holds %q, want %q", got, want)
			}
		})
	}
}

func TestPatchMovesKeepTheEncoding(t *testing.T) {
	s := setUp(t, "edit", map[string]string{"a": wide("x\ny\n", false), "b": "caf\xe9\nx\n"})
	s.want(s.call("apply_patch", patchOf("*** Update File: a\n*** Move to: c\n-x\n+é\n*** Update File: b\n*** Move to: d\n-x\n+z")), Completed, "R a -> c", "R b -> d")
	if c, d := s.content("c"), s.content("d"); c != wide("é\ny\n", false) || d != "caf\xe9\nz\n" {
		t.Errorf("%q, %q", c, d)
	}
	s.want(s.call("apply_patch", patchOf("*** Update File: d\n*** Move to: e\n-z\n+zz\n*** Update File: e\n-zz\n+é")), Failed, "new text must be ASCII")
}

// FuzzDecodeText checks that encoding reverses decoding for any bytes.
func FuzzDecodeText(f *testing.F) {
	f.Add([]byte(wide("a🙂\n", false)))
	f.Add([]byte(wide("a🙂\n", true)))
	f.Add([]byte("caf\xe9"))
	f.Add([]byte("\xff\xfe\x00\xd8"))
	f.Add([]byte("\xff\xfe\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, enc := decodeText(data)
		if got := string(enc.encode(text)); got != string(data) {
			t.Errorf("%q became %q", data, got)
		}
	})
}

// A file that is too large to be decoded is not overwritten either if it has bytes that are not UTF-8.
func TestWriteOverLargeFiles(t *testing.T) {
	for content, want := range map[string]struct {
		status Status
		text   string
	}{
		"caf\xe9":          {Failed, "large.txt is not UTF-8, and 1 byte (shown as U+FFFD) would be lost"},
		"café":             {Completed, "Replaced large.txt"},
		"\xff\xfea\x00":    {Failed, "large.txt would lose its encoding"},
		"\x00\x01\xff\x02": {Completed, "Replaced large.txt"},
	} {
		filler := strings.Repeat("0123456\n", maxEdit/8)
		s := setUp(t, "edit", map[string]string{"large.txt": content + filler, "end.txt": filler + content})
		s.want(s.call("write", args{"filePath": "large.txt", "content": "x\n"}), want.status, want.text)
		if strings.Contains(content, "caf") {
			s.want(s.call("write", args{"filePath": "end.txt", "content": "x\n"}), want.status, strings.ReplaceAll(want.text, "large", "end"))
		}
	}
}

func TestGrepReportsReplacedBytes(t *testing.T) {
	s := setUp(t, "edit", map[string]string{"l.txt": "caf\xe9 b\n\xe9 b\nb\n\xe9\n", "u.txt": "b \uFFFD\n"})
	s.want(s.call("grep", args{"pattern": "b"}), Completed, "(not UTF-8: bytes of 2 lines shown as U+FFFD; edit keeps them)")
	if got := s.call("grep", args{"pattern": "b", "path": "u.txt"}).Output; strings.Contains(got, "UTF-8") {
		t.Error(got)
	}
}
