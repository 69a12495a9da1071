package tools

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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
			s := setUp(t, "edit", map[string]string{"old.txt": "old\n", "sub/x": ""})
			s.symlink("old.txt", "link")
			s.symlink("sub/made.txt", "dangling")
			out := s.call("write", args{"filePath": strings.Replace(tt.path, "$DIR", s.dir, 1), "content": tt.content})
			s.want(out, Completed)
			if out.Output != tt.want {
				t.Errorf("the model reads %q, want %q", out.Output, tt.want)
			}
			if strings.Contains(tt.want, "already") {
				return
			}
			_, name, _ := strings.Cut(strings.TrimRight(tt.want, "."), " ")
			name, _, _ = strings.Cut(name, ": ")
			if got := s.content(name); got != tt.content || out.Title != brief(name) {
				t.Errorf("%s (%s) holds %q", name, out.Title, got)
			}
			want := []string{"dangling", "link", "old.txt", "sub/x"}
			if strings.HasPrefix(tt.want, "Created") {
				want = append(want, name)
			}
			if diff := cmp.Diff(sorted(want), s.names()); diff != "" {
				t.Errorf("left behind: %s", diff)
			}
		})
	}
}

func TestWriteKeepsTheMode(t *testing.T) {
	s := setUp(t, "edit", map[string]string{"run.sh": "old"})
	path := filepath.Join(s.dir, "run.sh")
	if err := os.Chmod(path, 0o751); err != nil {
		t.Fatal(err)
	}
	s.want(s.call("write", args{"filePath": "run.sh", "content": "new"}), Completed)
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o751 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

func TestWriteErrors(t *testing.T) {
	s := setUp(t, "edit", map[string]string{"a.txt": "one\n", "sub/x": ""})
	if err := syscall.Mkfifo(filepath.Join(s.dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.symlink("loop", "loop")
	before := s.tree()
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
		s.want(s.call("write", args{"filePath": path, "content": "x"}), Failed, want)
	}
	s.unchanged(before)
}

func TestAnUnwritableDirectoryIsReported(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write anywhere")
	}
	s := setUp(t, "edit", map[string]string{"locked/a.txt": "one\n"})
	locked := filepath.Join(s.dir, "locked")
	if err := os.Chmod(locked, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(locked, 0o755) })
	s.want(s.call("write", args{"filePath": "locked/new", "content": "x"}), Failed, "write locked/new: permission denied")
	s.want(s.call("edit", args{"filePath": "locked/a.txt", "oldString": "one", "newString": "two"}), Failed, "write locked/a.txt: permission denied")
}

func TestChangesByOthersAreNotOverwritten(t *testing.T) {
	const says = "a.txt was modified on disk since you last read or wrote it; read it again first"
	s := setUp(t, "edit", map[string]string{"a.txt": "one\n", "unseen.txt": "one\n"})
	edit := args{"filePath": "a.txt", "oldString": "one", "newString": "two"}
	s.want(s.call("read", args{"filePath": "a.txt"}), Completed)
	s.put("a.txt", "somebody else's one\n")
	s.want(s.call("write", args{"filePath": "a.txt", "content": "mine\n"}), Failed, says)
	s.want(s.call("edit", edit), Failed, says)
	if got := s.content("a.txt"); got != "somebody else's one\n" {
		t.Errorf("it holds %q", got)
	}
	s.want(s.call("read", args{"filePath": "a.txt"}), Completed)
	s.want(s.call("edit", edit), Completed)
	s.want(s.call("edit", edit.with(args{"oldString": "two", "newString": "three"})), Completed) // its own writing does not count
	s.want(s.call("write", args{"filePath": "a.txt", "content": "mine\n"}), Completed)
	s.want(s.call("write", args{"filePath": "unseen.txt", "content": "mine\n"}), Completed)
	if err := os.Remove(filepath.Join(s.dir, "a.txt")); err != nil {
		t.Fatal(err)
	}
	s.want(s.call("write", args{"filePath": "a.txt", "content": "again\n"}), Completed, "Created a.txt")
}

func TestWriteKeepsAByteOrderMarkAndReportsChangedLineEndings(t *testing.T) {
	s := setUp(t, "edit", map[string]string{"bom.txt": "\uFEFFone\r\ntwo\r\n", "lf.txt": "one\n"})
	s.want(s.call("write", args{"filePath": "bom.txt", "content": "a\nb\n"}), Completed, "Replaced bom.txt: 2 lines, 7 bytes. Its line endings changed from CRLF to LF.")
	if got := s.content("bom.txt"); got != "\uFEFFa\nb\n" {
		t.Errorf("it holds %q", got)
	}
	s.want(s.call("write", args{"filePath": "bom.txt", "content": "a\nb\n"}), Completed, "already has this content")
	s.want(s.call("write", args{"filePath": "bom.txt", "content": "\uFEFFa\r\n"}), Completed, "1 line, 6 bytes.")
	if got := s.content("bom.txt"); got != "\uFEFFa\r\n" {
		t.Errorf("it holds %q", got)
	}
	if out := s.call("write", args{"filePath": "lf.txt", "content": "x\n"}); strings.Contains(out.Output, "CRLF") {
		t.Error(out.Output)
	}
}
