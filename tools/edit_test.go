package tools

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

func TestEdit(t *testing.T) {
	tests := []struct {
		name, text string
		in         args
		want, says string
	}{
		{"the only place", "a b c\n", args{"oldString": "b", "newString": "x"}, "a x c\n", "Edit applied successfully to f.txt (1 replacement)."},
		{"by nothing", "a b c\n", args{"oldString": " b", "newString": ""}, "a c\n", "(1 replacement)"},
		{"every place", "a b a\n", args{"oldString": "a", "newString": "x", "replaceAll": true}, "x b x\n", "(2 replacements)"},
		{"literally", "p p\n", args{"oldString": "p", "newString": `$&\1\n%s`, "replaceAll": true}, `$&\1\n%s $&\1\n%s` + "\n", "(2 replacements)"},
		{"CRLF stays", "a\r\nb\r\n", args{"oldString": "a\nb", "newString": "x\ny\nz"}, "x\r\ny\r\nz\r\n", "(1 replacement)"},
		{"any script", "日本🙂\n", args{"oldString": "本", "newString": "é"}, "日é🙂\n", "(1 replacement)"},
		{"behind a byte order mark", "\xef\xbb\xbfa\n", args{"oldString": "a", "newString": "b"}, "\xef\xbb\xbfb\n", "(1 replacement)"},
		{"beside bytes that are no text", "\xff\x00a\n", args{"oldString": "a", "newString": "b"}, "\xff\x00b\n", "(1 replacement)"},
		{"no final newline comes", "a", args{"oldString": "a", "newString": "b"}, "b", "(1 replacement)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := setUp(t, "edit", map[string]string{"f.txt": tt.text})
			if err := os.Chmod(filepath.Join(s.dir, "f.txt"), 0o640); err != nil {
				t.Fatal(err)
			}
			out := s.call("edit", args{"filePath": "f.txt"}.with(tt.in))
			s.want(out, Completed, tt.says)
			if got := s.content("f.txt"); got != tt.want {
				t.Errorf("the file holds %q, want %q", got, tt.want)
			}
			if st, err := os.Stat(filepath.Join(s.dir, "f.txt")); err != nil || st.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v", st.Mode(), err)
			}
			if diff := cmp.Diff([]string{"f.txt"}, s.names()); diff != "" {
				t.Errorf("left behind: %s", diff)
			}
		})
	}
}

func TestEditWithoutOldStringCreatesAFile(t *testing.T) {
	s := setUp(t, "edit", map[string]string{"a.txt": "one\n"})
	s.want(s.call("edit", args{"filePath": "sub/new.txt", "oldString": "", "newString": "x\n"}), Completed, "Created sub/new.txt: 1 line, 2 bytes.")
	if got := s.content("sub/new.txt"); got != "x\n" {
		t.Errorf("it holds %q", got)
	}
}

func TestEditErrors(t *testing.T) {
	const fix = ": read the file again and copy the text exactly, including whitespace and without line numbers"
	s := setUp(t, "edit", map[string]string{"a.txt": "one\ntwo\none\n", "cart.go": "x", "sub/x": "", "empty": ""})
	before := s.tree()
	tests := []struct {
		in   args
		want string
	}{
		{args{"oldString": "three", "newString": "x"}, "edit a.txt: oldString not found in file" + fix},
		{args{"oldString": "One", "newString": "x"}, "edit a.txt: oldString not found in file" + fix},
		{args{"oldString": "1: one", "newString": "x"}, "edit a.txt: oldString not found in file" + fix},
		{args{"oldString": "three", "newString": "x", "replaceAll": true}, "edit a.txt: oldString not found in file" + fix},
		{args{"oldString": "one", "newString": "x"}, "edit a.txt: oldString matches multiple locations in the file (2 matches): include more surrounding lines to make it unique, or set replaceAll"},
		{args{"oldString": "one", "newString": "one"}, "oldString and newString are the same: nothing to change"},
		{args{"oldString": "", "newString": ""}, "oldString and newString are the same: nothing to change"},
		{args{"oldString": "", "newString": "x"}, "a.txt already exists, and an empty oldString only creates new files: set oldString to the text to replace, or use write to overwrite the file"},
		{args{"filePath": "empty", "oldString": "", "newString": "x"}, "empty already exists, and an empty oldString only creates new files"},
		{args{"filePath": "sub", "oldString": "", "newString": "x"}, "sub already exists, and an empty oldString only creates new files"},
		{args{"filePath": "sub", "oldString": "a", "newString": "x"}, "sub is a directory; specify a file in it"},
		{args{"filePath": "cart", "oldString": "a", "newString": "x"}, "file not found: cart; did you mean cart.go?"},
		{args{"filePath": "no/such", "oldString": "a", "newString": "x"}, "file not found: no/such; use glob or list to find it"},
		{args{"filePath": "a.txt/x", "oldString": "a", "newString": "x"}, "file not found: a.txt/x; use glob or list to find it"},
		{args{"filePath": "a.txt/x", "oldString": "", "newString": "x"}, "write a.txt/x: not a directory"},
		{args{"filePath": "", "oldString": "a", "newString": "x"}, "path is empty"},
	}
	for _, tt := range tests {
		s.want(s.call("edit", args{"filePath": "a.txt"}.with(tt.in)), Failed, tt.want)
	}
	s.unchanged(before)
}

func TestEditRejectsHugeFiles(t *testing.T) {
	s := setUp(t, "edit", nil)
	f, err := os.Create(filepath.Join(s.dir, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(maxEdit + 1); err != nil { // a hole: it costs no disk
		t.Fatal(err)
	}
	s.want(s.call("edit", args{"filePath": "huge", "oldString": "a", "newString": "b"}), Failed, "file too large")
}

func TestEditCountsLines(t *testing.T) {
	tests := []struct {
		name, text     string
		in             args
		added, removed int
	}{
		{"in the middle", lines(30), args{"oldString": "line 15\n", "newString": "fifteen\nand a half\n"}, 2, 1},
		{"at both ends", "a\n" + lines(30) + "a\n", args{"oldString": "a\n", "newString": "", "replaceAll": true}, 0, 2},
		{"without a final newline", "one\ntwo", args{"oldString": "two", "newString": "three"}, 1, 1},
		{"a final newline that is added", "one\ntwo", args{"oldString": "two", "newString": "two\n"}, 1, 1},
		{"a final newline that is removed", "one\ntwo\n", args{"oldString": "two\n", "newString": "two"}, 1, 1},
		{"CRLF", "one\r\ntwo\r\nthree\r\n", args{"oldString": "two\n", "newString": "2\n2\n"}, 2, 1},
		{"all of it", "one\n", args{"oldString": "one\n", "newString": ""}, 0, 1},
		{"lines that look like a diff", "-- a\n++ b\n", args{"oldString": "++ b", "newString": "-- c\n++ d"}, 2, 1},
		{"a large file", strings.Repeat("x\n", maxDiff) + "a\nb\n", args{"oldString": "a\n", "newString": ""}, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := setUp(t, "edit", map[string]string{"f": tt.text})
			out := s.call("edit", args{"filePath": "f"}.with(tt.in))
			s.want(out, Completed)
			if diff := cmp.Diff(Metadata{Added: &tt.added, Removed: &tt.removed, Matcher: "exact"}, out.Metadata); diff != "" {
				t.Error(diff)
			}
		})
	}
	s := setUp(t, "edit", map[string]string{"f": "\tif x {\n"})
	if out := s.call("edit", args{"filePath": "f", "oldString": "  if x {", "newString": "if y {"}); out.Metadata.Matcher != "line-trimmed" {
		t.Errorf("%+v", out)
	}
}
