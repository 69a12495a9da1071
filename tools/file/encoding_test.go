package file_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/file"
)

// wide returns a text as UTF-16 with a byte-order mark.
func wide(text string, big bool) string {
	var out []byte
	for _, u := range utf16.Encode([]rune(file.ByteOrderMark + text)) {
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
		in           tooltest.Args
		status       tools.Status
		says, after  string // after is before if it is empty
	}{
		{"read of Latin-1", "caf\xe9\xe9 = \xe9\n", "read", tooltest.Args{}, tools.Completed, "(file is not UTF-8: 3 bytes shown as U+FFFD in these lines;", ""},
		{"read of other lines of it", "caf\xe9\nb\n", "read", tooltest.Args{"offset": 2}, tools.Completed, "2: b\n(end of file: 2 lines)\n</content>", ""},
		{"read of a U+FFFD in UTF-8", "\uFFFD\n", "read", tooltest.Args{}, tools.Completed, "(end of file: 1 line)\n</content>", ""},
		{"read of a long line of UTF-8", "é" + tooltest.Lines(3000) + "é\n", "read", tooltest.Args{"limit": 1}, tools.Completed, "use offset 2 to continue)\n</content>", ""},
		{"read of UTF-16LE", wide("a\r\né🙂\r\n", false), "read", tooltest.Args{}, tools.Completed, "1: a\n2: é🙂\n(end of file: 2 lines)\n(file is UTF-16LE; edit, apply_patch and write keep this encoding)", ""},
		{"read of UTF-16BE", wide("a\n", true), "read", tooltest.Args{}, tools.Completed, "1: a\n(end of file: 1 line)\n(file is UTF-16BE;", ""},
		{"read of half a character of UTF-16", "\xff\xfea", "read", tooltest.Args{}, tools.Failed, "can't be shown as text", ""},
		{"read of half a pair of UTF-16", "\xff\xfe\x00\xd8", "read", tooltest.Args{}, tools.Failed, "can't be shown as text", ""},
		{"read of UTF-32", "\xff\xfe\x00\x00a\x00\x00\x00", "read", tooltest.Args{}, tools.Failed, "can't be shown as text", ""},

		{"edit of UTF-16LE", wide("a\r\nb\r\n", false), "edit", tooltest.Args{"oldString": "b", "newString": "cé\n🙂"}, tools.Completed, "Edit applied", wide("a\r\ncé\r\n🙂\r\n", false)},
		{"edit of UTF-16BE", wide("a\nb\n", true), "edit", tooltest.Args{"oldString": "a\nb", "newString": "c"}, tools.Completed, "Edit applied", wide("c\n", true)},
		{"edit of UTF-16 without a mark", wide("abcd\n", false)[2:], "edit", tooltest.Args{"oldString": "b", "newString": "c"}, tools.Failed, "can't be decoded (binary, or UTF-16", ""},
		{"edit of UTF-32", "\xff\xfe\x00\x00a\x00\x00\x00", "edit", tooltest.Args{"oldString": "a", "newString": "c"}, tools.Failed, "can't be decoded", ""},
		{"edit of Latin-1 with ASCII", "caf\xe9 = 1\nb = 2\n", "edit", tooltest.Args{"oldString": "b = 2", "newString": "b = 3"}, tools.Completed, "Edit applied", "caf\xe9 = 1\nb = 3\n"},
		{"edit of Latin-1 with another character", "caf\xe9 = 1\nb = 2\n", "edit", tooltest.Args{"oldString": "b = 2", "newString": "b = \"é\""}, tools.Failed, "new text must be ASCII", ""},
		{"edit of Latin-1 by what is shown", "caf\xe9 = 1\n", "edit", tooltest.Args{"oldString": "caf\uFFFD = 1", "newString": "cafe = 1"}, tools.Failed, "the old text contains U+FFFD", ""},
		{"edit of a mixture with a character that stays", "é = \xe9\n", "edit", tooltest.Args{"oldString": "é =", "newString": "é +="}, tools.Completed, "Edit applied", "é += \xe9\n"},
		{"edit of Shift-JIS within a character", sjis, "edit", tooltest.Args{"oldString": `\`, "newString": "/"}, tools.Failed, "part of the same character", ""},
		{"edit of Shift-JIS by its characters", sjis, "edit", tooltest.Args{"oldString": "表 = 1", "newString": "表 = 2"}, tools.Failed, "oldString not found in file: the file is not UTF-8", ""},
		{"edit of Shift-JIS", sjis, "edit", tooltest.Args{"oldString": " = 1", "newString": " = 2"}, tools.Completed, "Edit applied", "\x95\x5c = 2\nb\n"},
		{"edit of GBK, whitespace", "\xd6\xd0 =  1\n  b  = 1\n", "edit", tooltest.Args{"oldString": "b = 1", "newString": "b = 2"}, tools.Completed, "different: indentation, whitespace", "\xd6\xd0 =  1\n  b  = 2\n"},

		{"write over UTF-16LE", wide("a\n", false), "write", tooltest.Args{"content": "é🙂\n"}, tools.Completed, "Replaced f.txt: 1 line, 10 bytes.", wide("é🙂\n", false)},
		{"write over Latin-1", "caf\xe9\n", "write", tooltest.Args{"content": "caf\uFFFD\n"}, tools.Failed, "f.txt is not UTF-8, and 1 byte (shown as U+FFFD) would be lost: use edit to change a part of it, or delete it first to replace it", ""},
		{"write over Latin-1 without its bytes", "caf\xe9\n", "write", tooltest.Args{"content": "cafe\n"}, tools.Failed, "would be lost", ""},
		{"write over UTF-16 without a mark", wide("abcd\n", false)[2:], "write", tooltest.Args{"content": "abcd\n"}, tools.Failed, "would lose its encoding", ""},
		{"write over a binary file", "\x00\x01\xff\x02\x03\x00", "write", tooltest.Args{"content": "text\n"}, tools.Completed, "Replaced", "text\n"},
		{"write over UTF-8 with U+FFFD", "a\uFFFD\n", "write", tooltest.Args{"content": "b\uFFFD\n"}, tools.Completed, "Replaced", "b\uFFFD\n"},

		{"patch of UTF-16LE", wide("a\r\nb\r\n", false), "apply_patch", tooltest.PatchOf("*** Update File: f.txt\n-b\n+cé\n+d"), tools.Completed, "M f.txt", wide("a\r\ncé\r\nd\r\n", false)},
		{"patch of Latin-1", "caf\xe9\nb\n", "apply_patch", tooltest.PatchOf("*** Update File: f.txt\n-b\n+c"), tools.Completed, "M f.txt", "caf\xe9\nc\n"},
		{"patch of Latin-1 with another character", "caf\xe9\nb\n", "apply_patch", tooltest.PatchOf("*** Update File: f.txt\n-b\n+é"), tools.Failed, "new text must be ASCII", ""},
		{"patch of Latin-1 by what is shown", "caf\xe9\nb\n", "apply_patch", tooltest.PatchOf("*** Update File: f.txt\n caf\uFFFD\n-b\n+c"), tools.Failed, "contains U+FFFD", ""},
		{"patch that replaces Latin-1", "caf\xe9\n", "apply_patch", tooltest.PatchOf("*** Add File: f.txt\n+cafe"), tools.Failed, "would be lost", ""},
		{"patch that deletes and adds", "caf\xe9\n", "apply_patch", tooltest.PatchOf("*** Delete File: f.txt\n*** Add File: f.txt\n+café"), tools.Completed, "M f.txt", "café\n"},
		{"patch that replaces UTF-16BE", wide("a\n", true), "apply_patch", tooltest.PatchOf("*** Add File: f.txt\n+é"), tools.Completed, "M f.txt", wide("é\n", true)},
		{"patch that replaces UTF-8 with a mark", file.ByteOrderMark + "a\n", "apply_patch", tooltest.PatchOf("*** Add File: f.txt\n+b"), tools.Completed, "M f.txt", file.ByteOrderMark + "b\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tooltest.SetUp(t, "edit", map[string]string{"f.txt": tt.before})
			in := tt.in
			if tt.tool != "apply_patch" {
				in = tooltest.Args{"filePath": "f.txt"}.With(tt.in)
			}
			s.Want(s.Call(tt.tool, in), tt.status, tt.says)
			want := tt.after
			if want == "" {
				want = tt.before
			}
			if got := s.Content("f.txt"); got != want {
				t.Errorf("the file holds %q, want %q", got, want)
			}
		})
	}
}

func TestPatchMovesKeepTheEncoding(t *testing.T) {
	s := tooltest.SetUp(t, "edit", map[string]string{"a": wide("x\ny\n", false), "b": "caf\xe9\nx\n"})
	s.Want(s.Call("apply_patch", tooltest.PatchOf("*** Update File: a\n*** Move to: c\n-x\n+é\n*** Update File: b\n*** Move to: d\n-x\n+z")), tools.Completed, "R a -> c", "R b -> d")
	if c, d := s.Content("c"), s.Content("d"); c != wide("é\ny\n", false) || d != "caf\xe9\nz\n" {
		t.Errorf("%q, %q", c, d)
	}
	s.Want(s.Call("apply_patch", tooltest.PatchOf("*** Update File: d\n*** Move to: e\n-z\n+zz\n*** Update File: e\n-zz\n+é")), tools.Failed, "new text must be ASCII")
}

// FuzzDecodeText checks that encoding reverses decoding for any bytes.
func FuzzDecodeText(f *testing.F) {
	f.Add([]byte(wide("a🙂\n", false)))
	f.Add([]byte(wide("a🙂\n", true)))
	f.Add([]byte("caf\xe9"))
	f.Add([]byte("\xff\xfe\x00\xd8"))
	f.Add([]byte("\xff\xfe\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, enc := file.DecodeText(data)
		if got := string(enc.Encode(text)); got != string(data) {
			t.Errorf("%q became %q", data, got)
		}
	})
}

// A file that is too large to be decoded is not overwritten either if it has bytes that are not UTF-8.
func TestWriteOverLargeFiles(t *testing.T) {
	for content, want := range map[string]struct {
		status tools.Status
		text   string
	}{
		"caf\xe9":          {tools.Failed, "large.txt is not UTF-8, and 1 byte (shown as U+FFFD) would be lost"},
		"café":             {tools.Completed, "Replaced large.txt"},
		"\xff\xfea\x00":    {tools.Failed, "large.txt would lose its encoding"},
		"\x00\x01\xff\x02": {tools.Completed, "Replaced large.txt"},
	} {
		filler := strings.Repeat("0123456\n", file.MaxEdit/8)
		s := tooltest.SetUp(t, "edit", map[string]string{"large.txt": content + filler, "end.txt": filler + content})
		s.Want(s.Call("write", tooltest.Args{"filePath": "large.txt", "content": "x\n"}), want.status, want.text)
		if strings.Contains(content, "caf") {
			s.Want(s.Call("write", tooltest.Args{"filePath": "end.txt", "content": "x\n"}), want.status, strings.ReplaceAll(want.text, "large", "end"))
		}
	}
}

func TestGrepReportsReplacedBytes(t *testing.T) {
	s := tooltest.SetUp(t, "edit", map[string]string{"l.txt": "caf\xe9 b\n\xe9 b\nb\n\xe9\n", "u.txt": "b \uFFFD\n"})
	s.Want(s.Call("grep", tooltest.Args{"pattern": "b"}), tools.Completed, "(not UTF-8: bytes of 2 lines shown as U+FFFD; edit keeps them)")
	if got := s.Call("grep", tooltest.Args{"pattern": "b", "path": "u.txt"}).Output; strings.Contains(got, "UTF-8") {
		t.Error(got)
	}
}
