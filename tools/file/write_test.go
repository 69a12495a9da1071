package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/cut"

	"github.com/google/go-cmp/cmp"
)

func TestWrite(t *testing.T) {
	tests := []struct {
		name, path, content, want string
	}{
		{"a new file", "new.txt", "one\ntwo\n", "Created new.txt: 2 lines, 8 bytes."},
		{"a new file in new directories", "a/b/c.txt", "one", "Created a/b/c.txt: 1 line, 3 bytes."},
		{"over an old one", "old.txt", "new\n", "Replaced old.txt: 1 line, 4 bytes."},
		{"what is there already", "old.txt", "old\n", "old.txt already has this content; nothing changed."},
		{"nothing", "old.txt", "", "Replaced old.txt: 0 lines, 0 bytes."},
		{"CRLF", "old.txt", "a\r\nb\r\n", "Replaced old.txt: 2 lines, 6 bytes."},
		{"any script", "日本 語.txt", "naïve 🙂\x00\n", "Created 日本 語.txt: 1 line, 13 bytes."},
		{"an absolute path", "$DIR/new.txt", "x", "Created new.txt: 1 line, 1 byte."},
		{"a path that goes around", "sub/../new.txt", "x", "Created new.txt: 1 line, 1 byte."},
		{"where a link leads", "link", "x", "Replaced old.txt: 1 line, 1 byte."},
		{"where a dangling link leads", "dangling", "x", "Created sub/made.txt: 1 line, 1 byte."},
		{"a name of 255 bytes", strings.Repeat("n", 255), "x", "Created " + strings.Repeat("n", 255) + ": 1 line, 1 byte."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tooltest.SetUp(t, "edit", map[string]string{"old.txt": "old\n", "sub/x": ""})
			s.Symlink("old.txt", "link")
			s.Symlink("sub/made.txt", "dangling")
			out := s.Call("write", tooltest.Args{"filePath": strings.Replace(tt.path, "$DIR", s.Dir, 1), "content": tt.content})
			s.Want(out, tools.Completed)
			if out.Output != tt.want {
				t.Errorf("the model reads %q, want %q", out.Output, tt.want)
			}
			if strings.Contains(tt.want, "already") {
				return
			}
			_, name, _ := strings.Cut(strings.TrimRight(tt.want, "."), " ")
			name, _, _ = strings.Cut(name, ": ")
			if got := s.Content(name); got != tt.content || out.Title != cut.Title(name) {
				t.Errorf("%s (%s) holds %q", name, out.Title, got)
			}
			want := []string{"dangling", "link", "old.txt", "sub/x"}
			if strings.HasPrefix(tt.want, "Created") {
				want = append(want, name)
			}
			if diff := cmp.Diff(tooltest.Sorted(want), s.Names()); diff != "" {
				t.Errorf("left behind: %s", diff)
			}
		})
	}
}

func TestWriteKeepsTheMode(t *testing.T) {
	s := tooltest.SetUp(t, "edit", map[string]string{"run.sh": "old"})
	path := filepath.Join(s.Dir, "run.sh")
	if err := os.Chmod(path, 0o751); err != nil {
		t.Fatal(err)
	}
	s.Want(s.Call("write", tooltest.Args{"filePath": "run.sh", "content": "new"}), tools.Completed)
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o751 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

func TestWriteErrors(t *testing.T) {
	s := tooltest.SetUp(t, "edit", map[string]string{"a.txt": "one\n", "sub/x": ""})
	if err := syscall.Mkfifo(filepath.Join(s.Dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.Symlink("loop", "loop")
	before := s.Tree()
	for path, want := range map[string]string{
		"":                                       "path is empty; specify an absolute path or one relative to the workspace",
		"sub":                                    "write sub: not a regular file",
		".":                                      "write .: not a regular file",
		"sub/":                                   "path sub/ ends in a slash: specify a file name",
		"new/":                                   "path new/ ends in a slash: specify a file name",
		strings.Repeat("d/", 2100) + "x":         " bytes, maximum 4095",
		"new/" + strings.Repeat("n", 256) + "/x": "has 256 bytes, maximum 255",
		"pipe":                                   "write pipe: not a regular file",
		"a.txt/b":                                "write a.txt/b: not a directory",
		"a.txt/b/c":                              "not a directory",
		"a\x00b":                                 `path "a\x00b" contains a NUL character`,
		"loop":                                   "too many levels of symbolic links",
		strings.Repeat("n", 256):                 "file name too long",
	} {
		s.Want(s.Call("write", tooltest.Args{"filePath": path, "content": "x"}), tools.Failed, want)
	}
	s.Unchanged(before)
}

func TestAnUnwritableDirectoryIsReported(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write anywhere")
	}
	s := tooltest.SetUp(t, "edit", map[string]string{"locked/a.txt": "one\n"})
	locked := filepath.Join(s.Dir, "locked")
	if err := os.Chmod(locked, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(locked, 0o755) })
	s.Want(s.Call("write", tooltest.Args{"filePath": "locked/new", "content": "x"}), tools.Failed, "write locked/new: permission denied")
	s.Want(s.Call("edit", tooltest.Args{"filePath": "locked/a.txt", "oldString": "one", "newString": "two"}), tools.Failed, "write locked/a.txt: permission denied")
}

func TestChangesByOthersAreNotOverwritten(t *testing.T) {
	const says = "a.txt was modified on disk since you last read or wrote it; read it again first"
	s := tooltest.SetUp(t, "edit", map[string]string{"a.txt": "one\n", "unseen.txt": "one\n"})
	edit := tooltest.Args{"filePath": "a.txt", "oldString": "one", "newString": "two"}
	s.Want(s.Call("read", tooltest.Args{"filePath": "a.txt"}), tools.Completed)
	s.Put("a.txt", "somebody else's one\n")
	s.Want(s.Call("write", tooltest.Args{"filePath": "a.txt", "content": "mine\n"}), tools.Failed, says)
	s.Want(s.Call("edit", edit), tools.Failed, says)
	if got := s.Content("a.txt"); got != "somebody else's one\n" {
		t.Errorf("it holds %q", got)
	}
	s.Want(s.Call("read", tooltest.Args{"filePath": "a.txt"}), tools.Completed)
	s.Want(s.Call("edit", edit), tools.Completed)
	s.Want(s.Call("edit", edit.With(tooltest.Args{"oldString": "two", "newString": "three"})), tools.Completed) // its own writing does not count
	s.Want(s.Call("write", tooltest.Args{"filePath": "a.txt", "content": "mine\n"}), tools.Completed)
	s.Want(s.Call("write", tooltest.Args{"filePath": "unseen.txt", "content": "mine\n"}), tools.Completed)
	if err := os.Remove(filepath.Join(s.Dir, "a.txt")); err != nil {
		t.Fatal(err)
	}
	s.Want(s.Call("write", tooltest.Args{"filePath": "a.txt", "content": "again\n"}), tools.Completed, "Created a.txt")
}

func TestWriteKeepsAByteOrderMarkAndReportsChangedLineEndings(t *testing.T) {
	s := tooltest.SetUp(t, "edit", map[string]string{"bom.txt": "\uFEFFone\r\ntwo\r\n", "lf.txt": "one\n"})
	s.Want(s.Call("write", tooltest.Args{"filePath": "bom.txt", "content": "a\nb\n"}), tools.Completed, "Replaced bom.txt: 2 lines, 7 bytes. Its line endings changed from CRLF to LF.")
	if got := s.Content("bom.txt"); got != "\uFEFFa\nb\n" {
		t.Errorf("it holds %q", got)
	}
	s.Want(s.Call("write", tooltest.Args{"filePath": "bom.txt", "content": "a\nb\n"}), tools.Completed, "already has this content")
	s.Want(s.Call("write", tooltest.Args{"filePath": "bom.txt", "content": "\uFEFFa\r\n"}), tools.Completed, "1 line, 6 bytes.")
	if got := s.Content("bom.txt"); got != "\uFEFFa\r\n" {
		t.Errorf("it holds %q", got)
	}
	if out := s.Call("write", tooltest.Args{"filePath": "lf.txt", "content": "x\n"}); strings.Contains(out.Output, "CRLF") {
		t.Error(out.Output)
	}
}
