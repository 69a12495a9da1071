package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/file"
	"github.com/millhand/millhand/tools/tool"

	"github.com/google/go-cmp/cmp"
)

func TestEdit(t *testing.T) {
	tests := []struct {
		name, text string
		in         tooltest.Args
		want, says string
	}{
		{"the only place", "a b c\n", tooltest.Args{"oldString": "b", "newString": "x"}, "a x c\n", "Edit applied successfully to f.txt (1 replacement)."},
		{"by nothing", "a b c\n", tooltest.Args{"oldString": " b", "newString": ""}, "a c\n", "(1 replacement)"},
		{"every place", "a b a\n", tooltest.Args{"oldString": "a", "newString": "x", "replaceAll": true}, "x b x\n", "(2 replacements)"},
		{"literally", "p p\n", tooltest.Args{"oldString": "p", "newString": `$&\1\n%s`, "replaceAll": true}, `$&\1\n%s $&\1\n%s` + "\n", "(2 replacements)"},
		{"CRLF stays", "a\r\nb\r\n", tooltest.Args{"oldString": "a\nb", "newString": "x\ny\nz"}, "x\r\ny\r\nz\r\n", "(1 replacement)"},
		{"any script", "日本🙂\n", tooltest.Args{"oldString": "本", "newString": "é"}, "日é🙂\n", "(1 replacement)"},
		{"behind a byte order mark", "\xef\xbb\xbfa\n", tooltest.Args{"oldString": "a", "newString": "b"}, "\xef\xbb\xbfb\n", "(1 replacement)"},
		{"beside bytes that are no text", "\xff\x00a\n", tooltest.Args{"oldString": "a", "newString": "b"}, "\xff\x00b\n", "(1 replacement)"},
		{"no final newline comes", "a", tooltest.Args{"oldString": "a", "newString": "b"}, "b", "(1 replacement)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tooltest.SetUp(t, "edit", map[string]string{"f.txt": tt.text})
			if err := os.Chmod(filepath.Join(s.Dir, "f.txt"), 0o640); err != nil {
				t.Fatal(err)
			}
			out := s.Call("edit", tooltest.Args{"filePath": "f.txt"}.With(tt.in))
			s.Want(out, tools.Completed, tt.says)
			if got := s.Content("f.txt"); got != tt.want {
				t.Errorf("the file holds %q, want %q", got, tt.want)
			}
			if st, err := os.Stat(filepath.Join(s.Dir, "f.txt")); err != nil || st.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v", st.Mode(), err)
			}
			if diff := cmp.Diff([]string{"f.txt"}, s.Names()); diff != "" {
				t.Errorf("left behind: %s", diff)
			}
		})
	}
}

func TestEditWithoutOldStringCreatesAFile(t *testing.T) {
	s := tooltest.SetUp(t, "edit", map[string]string{"a.txt": "one\n"})
	s.Want(s.Call("edit", tooltest.Args{"filePath": "sub/new.txt", "oldString": "", "newString": "x\n"}), tools.Completed, "Created sub/new.txt: 1 line, 2 bytes.")
	if got := s.Content("sub/new.txt"); got != "x\n" {
		t.Errorf("it holds %q", got)
	}
}

func TestEditErrors(t *testing.T) {
	const fix = ": read the file again and copy the text exactly, including whitespace and without line numbers"
	s := tooltest.SetUp(t, "edit", map[string]string{"a.txt": "one\ntwo\none\n", "cart.go": "x", "sub/x": "", "empty": ""})
	before := s.Tree()
	tests := []struct {
		in   tooltest.Args
		want string
	}{
		{tooltest.Args{"oldString": "three", "newString": "x"}, "edit a.txt: oldString not found in file" + fix},
		{tooltest.Args{"oldString": "One", "newString": "x"}, "edit a.txt: oldString not found in file" + fix},
		{tooltest.Args{"oldString": "1: one", "newString": "x"}, "edit a.txt: oldString not found in file" + fix},
		{tooltest.Args{"oldString": "three", "newString": "x", "replaceAll": true}, "edit a.txt: oldString not found in file" + fix},
		{tooltest.Args{"oldString": "one", "newString": "x"}, "edit a.txt: oldString matches multiple locations in the file (2 matches): include more surrounding lines to make it unique, or set replaceAll"},
		{tooltest.Args{"oldString": "one", "newString": "one"}, "oldString and newString are the same: nothing to change"},
		{tooltest.Args{"oldString": "", "newString": ""}, "oldString and newString are the same: nothing to change"},
		{tooltest.Args{"oldString": "", "newString": "x"}, "a.txt already exists, and an empty oldString only creates new files: set oldString to the text to replace, or use write to overwrite the file"},
		{tooltest.Args{"filePath": "empty", "oldString": "", "newString": "x"}, "empty already exists, and an empty oldString only creates new files"},
		{tooltest.Args{"filePath": "sub", "oldString": "", "newString": "x"}, "sub already exists, and an empty oldString only creates new files"},
		{tooltest.Args{"filePath": "sub", "oldString": "a", "newString": "x"}, "sub is a directory; specify a file in it"},
		{tooltest.Args{"filePath": "cart", "oldString": "a", "newString": "x"}, "file not found: cart; did you mean cart.go?"},
		{tooltest.Args{"filePath": "no/such", "oldString": "a", "newString": "x"}, "file not found: no/such; use glob or list to find it"},
		{tooltest.Args{"filePath": "a.txt/x", "oldString": "a", "newString": "x"}, "file not found: a.txt/x; use glob or list to find it"},
		{tooltest.Args{"filePath": "a.txt/x", "oldString": "", "newString": "x"}, "write a.txt/x: not a directory"},
		{tooltest.Args{"filePath": "", "oldString": "a", "newString": "x"}, "path is empty"},
	}
	for _, tt := range tests {
		s.Want(s.Call("edit", tooltest.Args{"filePath": "a.txt"}.With(tt.in)), tools.Failed, tt.want)
	}
	s.Unchanged(before)
}

func TestEditRejectsHugeFiles(t *testing.T) {
	s := tooltest.SetUp(t, "edit", nil)
	f, err := os.Create(filepath.Join(s.Dir, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(file.MaxEdit + 1); err != nil { // a hole: it costs no disk
		t.Fatal(err)
	}
	s.Want(s.Call("edit", tooltest.Args{"filePath": "huge", "oldString": "a", "newString": "b"}), tools.Failed, "file too large")
}

func TestEditCountsLines(t *testing.T) {
	tests := []struct {
		name, text     string
		in             tooltest.Args
		added, removed int
	}{
		{"in the middle", tooltest.Lines(30), tooltest.Args{"oldString": "line 15\n", "newString": "fifteen\nand a half\n"}, 2, 1},
		{"at both ends", "a\n" + tooltest.Lines(30) + "a\n", tooltest.Args{"oldString": "a\n", "newString": "", "replaceAll": true}, 0, 2},
		{"without a final newline", "one\ntwo", tooltest.Args{"oldString": "two", "newString": "three"}, 1, 1},
		{"a final newline that is added", "one\ntwo", tooltest.Args{"oldString": "two", "newString": "two\n"}, 1, 1},
		{"a final newline that is removed", "one\ntwo\n", tooltest.Args{"oldString": "two\n", "newString": "two"}, 1, 1},
		{"CRLF", "one\r\ntwo\r\nthree\r\n", tooltest.Args{"oldString": "two\n", "newString": "2\n2\n"}, 2, 1},
		{"all of it", "one\n", tooltest.Args{"oldString": "one\n", "newString": ""}, 0, 1},
		{"lines that look like a diff", "-- a\n++ b\n", tooltest.Args{"oldString": "++ b", "newString": "-- c\n++ d"}, 2, 1},
		{"a large file", strings.Repeat("x\n", tool.MaxDiff) + "a\nb\n", tooltest.Args{"oldString": "a\n", "newString": ""}, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tooltest.SetUp(t, "edit", map[string]string{"f": tt.text})
			out := s.Call("edit", tooltest.Args{"filePath": "f"}.With(tt.in))
			s.Want(out, tools.Completed)
			if diff := cmp.Diff(tools.Metadata{Added: &tt.added, Removed: &tt.removed, Matcher: "exact"}, out.Metadata); diff != "" {
				t.Error(diff)
			}
		})
	}
	s := tooltest.SetUp(t, "edit", map[string]string{"f": "\tif x {\n"})
	if out := s.Call("edit", tooltest.Args{"filePath": "f", "oldString": "  if x {", "newString": "if y {"}); out.Metadata.Matcher != "line-trimmed" {
		t.Errorf("%+v", out)
	}
}
