package file_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/cut"
	"github.com/millhand/millhand/tools/file"
	"github.com/millhand/millhand/tools/media"
	"github.com/millhand/millhand/tools/outputs"

	"github.com/google/go-cmp/cmp"
)

// shownPage is what read returns for a file.
func shownPage(name, content string) string {
	return fmt.Sprintf("<path>%s</path>\n<type>file</type>\n<content>\n%s\n</content>", name, content)
}

func TestReadShowsNumberedLines(t *testing.T) {
	tests := []struct {
		name, text string
		in         tooltest.Args
		want       string
	}{
		{"a file", "one\ntwo\n", nil, "1: one\n2: two\n(end of file: 2 lines)"},
		{"no final newline", "one\ntwo", nil, "1: one\n2: two\n(end of file: 2 lines)"},
		{"empty lines", "\n\nthree\n\n", nil, "1: \n2: \n3: three\n4: \n(end of file: 4 lines)"},
		{"an empty file", "", nil, "(end of file: 0 lines)"},
		{"an empty file from line 1", "", tooltest.Args{"offset": 1}, "(end of file: 0 lines)"},
		{"CRLF", "one\r\ntwo\r\n", nil, "1: one\n2: two\n(end of file: 2 lines)"},
		{"a lone CR is a letter", "one\rtwo\n", nil, "1: one\rtwo\n(end of file: 1 line)"},
		{"a byte order mark", "\xef\xbb\xbfone\n\xef\xbb\xbftwo\n", nil, "1: one\n2: \ufefftwo\n(end of file: 2 lines)"},
		{"bytes that are no text", "a\xff\xfeb\n", nil, "1: a\uFFFDb\n(end of file: 1 line)\n(file is not UTF-8: 2 bytes shown as U+FFFD in these lines; edit and apply_patch keep them, and accept only ASCII as new text)"},
		{"any script", "日本\t🙂\n", nil, "1: 日本\t🙂\n(end of file: 1 line)"},
		{"from an offset", tooltest.Lines(5), tooltest.Args{"offset": 4}, "4: line 4\n5: line 5\n(end of file: 5 lines)"},
		{"a limit", tooltest.Lines(5), tooltest.Args{"limit": 2}, "1: line 1\n2: line 2\n(lines 1-2 of 5 shown; use offset 3 to continue)"},
		{"a limit at an offset", tooltest.Lines(5), tooltest.Args{"offset": 2, "limit": 2}, "2: line 2\n3: line 3\n(lines 2-3 of 5 shown; use offset 4 to continue)"},
		{"a limit that is just enough", tooltest.Lines(5), tooltest.Args{"offset": 4, "limit": 2}, "4: line 4\n5: line 5\n(end of file: 5 lines)"},
		{"the offset of the last line", tooltest.Lines(5), tooltest.Args{"offset": 5}, "5: line 5\n(end of file: 5 lines)"},
		{"2000 lines", tooltest.Lines(2000), nil, strings.TrimSuffix(numbered(1, 2000), "\n") + "\n(end of file: 2000 lines)"},
		{"a long line", strings.Repeat("é", 2001) + "\nnext\n", nil, "1: " + strings.Repeat("é", 2000) + "... (line truncated)\n2: next\n(end of file: 2 lines)"},
		{"a line of 2000 characters", strings.Repeat("é", 2000), nil, "1: " + strings.Repeat("é", 2000) + "\n(end of file: 1 line)"},
		{"a line of a megabyte", strings.Repeat("x", 1<<20) + "\nnext", nil, "1: " + strings.Repeat("x", 2000) + "... (line truncated)\n2: next\n(end of file: 2 lines)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tooltest.SetUp(t, "readonly", map[string]string{"f.txt": tt.text})
			out := s.Call("read", tooltest.Args{"filePath": "f.txt"}.With(tt.in))
			s.Want(out, tools.Completed)
			if diff := cmp.Diff(shownPage("f.txt", tt.want), out.Output); diff != "" {
				t.Error(diff)
			}
			if want := strings.Contains(tt.want, "to continue"); out.Truncated != want {
				t.Errorf("truncated: %v", out.Truncated)
			}
		})
	}
}

// numbered is what read shows of lines.
func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "%d: line %d\n", i, i)
	}
	return b.String()
}

func TestReadContinuesAtTheOffset(t *testing.T) {
	tests := map[string]string{
		"many lines":         tooltest.Lines(4321),
		"much text":          strings.Repeat(strings.Repeat("x", 500)+"\n", 500),
		"control characters": strings.Repeat(strings.Repeat("text \x01\x02", 40)+"\n", 500),
		"quotes":             strings.Repeat(strings.Repeat(`\"`, 500)+"\n", 300),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			s := tooltest.SetUp(t, "readonly", map[string]string{"f.txt": text})
			var got strings.Builder
			for offset, pages := 1, 0; ; pages++ {
				out := s.Call("read", tooltest.Args{"filePath": "f.txt", "offset": offset})
				s.Want(out, tools.Completed)
				if size := cut.Size(out.Output); size > outputs.DefaultBytes {
					t.Fatalf("a page of %d bytes", size)
				}
				_, page, _ := strings.Cut(out.Output, "<content>\n")
				for line := range strings.Lines(page) {
					text, ok := strings.CutPrefix(line, fmt.Sprintf("%d: ", offset))
					if !ok {
						break // the text for the model after the page
					}
					got.WriteString(text)
					offset++
				}
				if !out.Truncated {
					break
				}
				if !strings.Contains(out.Output, fmt.Sprintf("use offset %d to continue)", offset)) || pages > 100 {
					t.Fatalf("no way to go on from %d: %q", offset, out.Output[len(out.Output)-200:])
				}
			}
			if got.String() != text {
				t.Errorf("the pages hold another text than the file")
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{
		"cart.go": "x", "cart_test.go": "x", ".env": "x", "sub/": "", "nul": "text\x00text", "control": strings.Repeat("a\x01\x02", 100), "prog.SO": "text", "logs/a.txt": "one\ntwo\n",
	})
	tests := []struct {
		in   tooltest.Args
		want string
	}{
		{tooltest.Args{"filePath": "cart"}, "file not found: cart; did you mean cart.go, cart_test.go?"},
		{tooltest.Args{"filePath": "CART.GO"}, "file not found: CART.GO; did you mean cart.go?"},
		{tooltest.Args{"filePath": "cat.go"}, "file not found: cat.go; did you mean cart.go?"},
		{tooltest.Args{"filePath": "crat_test.go"}, "file not found: crat_test.go; did you mean cart_test.go?"},
		{tooltest.Args{"filePath": "env"}, "file not found: env; use glob or list to find it"}, // .env may not be read
		{tooltest.Args{"filePath": "sub/x"}, "file not found: sub/x; use glob or list to find it"},
		{tooltest.Args{"filePath": "no/such/x"}, "file not found: no/such/x; use glob or list to find it"},
		{tooltest.Args{"filePath": "cart.go/x"}, "file not found: cart.go/x; use glob or list to find it"},
		{tooltest.Args{"filePath": ""}, "path is empty; specify an absolute path or one relative to the workspace"},
		{tooltest.Args{"filePath": " \n"}, "path is empty; specify an absolute path or one relative to the workspace"},
		{tooltest.Args{"filePath": "a\x00b"}, `path "a\x00b" contains a NUL character`},
		{tooltest.Args{"filePath": strings.Repeat("x", 300)}, "file name too long"},
		{tooltest.Args{"filePath": "logs/a.txt", "offset": 3}, "offset 3 is past the end of logs/a.txt, which has 2 lines"},
		{tooltest.Args{"filePath": "logs/a.txt", "offset": 1 << 62}, "is past the end of"},
		{tooltest.Args{"filePath": "logs/a.txt", "offset": -1}, "invalid offset -1: lines are numbered from 1"},
		{tooltest.Args{"filePath": "logs/a.txt", "offset": 0}, "invalid offset 0: lines are numbered from 1"},
		{tooltest.Args{"filePath": "logs/a.txt", "limit": 0}, "invalid limit 0: must be positive"},
		{tooltest.Args{"filePath": "logs/a.txt", "limit": -1}, "invalid limit -1: must be positive"},
		{tooltest.Args{"filePath": "logs", "offset": 2}, "offset 2 is past the end of directory logs, which has 1 entry"},
		{tooltest.Args{"filePath": "nul"}, "nul is a binary file (9 bytes) and can't be shown as text"},
		{tooltest.Args{"filePath": "control"}, "control is a binary file (300 bytes) and can't be shown as text"},
		{tooltest.Args{"filePath": "prog.SO"}, "prog.SO is a binary file (4 bytes) and can't be shown as text"},
	}
	for _, tt := range tests {
		s.Want(s.Call("read", tt.in), tools.Failed, tt.want)
	}
}

func TestReadAttachesSupportedMedia(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{
		"logo.png": tooltest.Pixel, "logo": tooltest.Pixel, "pic.gif": "GIF89a...", "pic.webp": "RIFF\x00\x00\x00\x00WEBPVP8 ", "doc.pdf": "%PDF-1.7\n", "pic.svg": "<svg/>\n",
		"fake.png": "just text\n", "huge.png": tooltest.Pixel + strings.Repeat("x", 20<<20),
	})
	for name, kind := range map[string]string{"logo.png": "image/png", "logo": "image/png", "pic.gif": "image/gif", "pic.webp": "image/webp", "doc.pdf": "application/pdf"} {
		s.Env.Accepts = media.Accepted{}
		s.Want(s.Call("read", tooltest.Args{"filePath": name}), tools.Failed, name+" is a", "("+kind+", ", "which this model does not support")
		s.Env.Accepts = media.Accepted{Images: kind != media.PDF, PDFs: kind == media.PDF}
		out := s.Call("read", tooltest.Args{"filePath": name})
		s.Want(out, tools.Completed, "read successfully: "+name+" ("+kind+", ", "is attached.")
		if diff := cmp.Diff([]tools.Attachment{{Name: name, MIME: kind, Data: []byte(s.Content(name))}}, out.Attachments); diff != "" {
			t.Error(diff)
		}
	}
	s.Env.Accepts.Images = true
	s.Want(s.Call("read", tooltest.Args{"filePath": "pic.svg"}), tools.Completed, "1: <svg/>")
	s.Want(s.Call("read", tooltest.Args{"filePath": "fake.png"}), tools.Completed, "1: just text")
	s.Want(s.Call("read", tooltest.Args{"filePath": "huge.png"}), tools.Failed, "huge.png is too large: an image of 20971547 bytes, maximum 20 MiB")
}

// None of these may block: none has another end.
func TestReadRejectsSpecialFiles(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", nil)
	if err := syscall.Mkfifo(filepath.Join(s.Dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(s.Dir) // a socket's path must be short
	socket, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	t.Chdir(wd)
	s.Symlink("pipe", "link")
	for _, name := range []string{"pipe", "link", "socket"} {
		s.Want(s.Call("read", tooltest.Args{"filePath": name}), tools.Failed, "only regular files can be read")
	}
	s.Want(s.Call("read", tooltest.Args{"filePath": "/dev/tty"}), tools.Denied)
	for _, name := range []string{"/dev/zero", "/dev/null"} { // never outside, but no file either
		s.Want(s.Call("read", tooltest.Args{"filePath": name}), tools.Failed, "not a regular file: only regular files can be read")
	}
}

func TestReadListsADirectory(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{"b.txt": "", "A.txt": "", "sub/x": "", ".hidden": "", "empty/": ""})
	s.Symlink("sub", "linked")
	s.Symlink("b.txt", "alias")
	s.Symlink(s.Outside, "out")
	tests := []struct {
		in   tooltest.Args
		want string
	}{
		{tooltest.Args{"filePath": "."}, "<path>.</path>\n<type>directory</type>\n<entries>\n.hidden\nA.txt\nalias\nb.txt\nempty/\nlinked/\nout\nsub/\n(8 entries)\n</entries>"},
		{tooltest.Args{"filePath": s.Dir}, "<path>.</path>\n<type>directory</type>\n<entries>\n.hidden\nA.txt\nalias\nb.txt\nempty/\nlinked/\nout\nsub/\n(8 entries)\n</entries>"},
		{tooltest.Args{"filePath": "linked"}, "<path>sub</path>\n<type>directory</type>\n<entries>\nx\n(1 entry)\n</entries>"},
		{tooltest.Args{"filePath": "empty"}, "<path>empty</path>\n<type>directory</type>\n<entries>\n\n(0 entries)\n</entries>"},
		{tooltest.Args{"filePath": ".", "offset": 2, "limit": 2}, "<path>.</path>\n<type>directory</type>\n<entries>\nA.txt\nalias\n(2 of 8 entries shown; use offset 4 to continue)\n</entries>"},
	}
	for _, tt := range tests {
		out := s.Call("read", tt.in)
		s.Want(out, tools.Completed)
		if diff := cmp.Diff(tt.want, out.Output); diff != "" {
			t.Errorf("%v: %s", tt.in, diff)
		}
	}
}

func TestReadUnderThePresets(t *testing.T) {
	for _, preset := range []string{"readonly", "review", "edit", "build", "full"} {
		s := tooltest.SetUp(t, preset, map[string]string{"a.txt": "a", ".env": "K=1", "deploy/.env.production": "K=1", ".env.example": "K=", ".git/config": "[core]"})
		s.Symlink(s.Outside, "out")
		s.Symlink(filepath.Join(s.Outside, "secret"), "leaf")
		s.Symlink(".env", "plain.txt")
		for _, name := range []string{"a.txt", s.Dir + "/a.txt", "deploy/../a.txt", ".env.example", ".git/config"} {
			s.Want(s.Call("read", tooltest.Args{"filePath": name}), tools.Completed)
		}
		for _, name := range []string{
			".env", "./.env", s.Dir + "/.env", "deploy/.env.production", "plain.txt",
			"..", "../work-beside/secret", "deploy/../../work-beside/secret", s.Outside + "/secret", "out/secret", "leaf", "out",
			"/etc/passwd", "/", "/proc/self/environ", "/proc/self/root/etc/passwd", "/proc/self/cwd", "/sys/kernel/notes",
		} {
			if out := s.Call("read", tooltest.Args{"filePath": name}); out.Status != tools.Denied {
				t.Errorf("%s: %s ended %s: %s", preset, name, out.Status, out.Text())
			}
		}
	}
}

func TestProcIsNeverRead(t *testing.T) {
	s := tooltest.SetUp(t, "full", nil)
	s.Allow("external_directory", "*")
	s.Want(s.Call("read", tooltest.Args{"filePath": "/etc/passwd"}), tools.Completed)
	for tool, in := range map[string]tooltest.Args{
		"read": {"filePath": "/proc/self/environ"}, "list": {"path": "/proc/self"}, "glob": {"pattern": "*", "path": "/proc"},
		"grep": {"pattern": "PATH", "path": "/proc/self/environ"}, "write": {"filePath": "/proc/self/comm", "content": "x"},
	} {
		s.Want(s.Call(tool, in), tools.Denied, "file tools can't access /proc")
	}
}

// A denial must not tell what is there: before the rules have decided, nothing
// outside is asked for.
func TestADenialDoesNotRevealWhetherAFileExists(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", nil)
	for _, tool := range []string{"read", "list", "glob", "grep"} {
		response := func(name string) string {
			path := filepath.Join(s.Outside, name)
			out := s.Call(tool, tooltest.Args{"filePath": path, "path": path, "pattern": "x"}.Only(tool))
			s.Want(out, tools.Denied)
			return strings.ReplaceAll(out.Text(), name, "NAME")
		}
		if there, missing := response("secret"), response("nothing"); there != missing {
			t.Errorf("%s: of what is there the model reads %q, else %q", tool, there, missing)
		}
	}
}

func TestReadIsLimited(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{"f.txt": strings.Repeat("text \x01\n", 5000)})
	for _, size := range []int{1000, 5000, 20_000} {
		s.Env.Limits.Bytes = size
		out := s.Call("read", tooltest.Args{"filePath": "f.txt"})
		if got := cut.Size(out.Output); got > size || got < size*3/4-600 || !utf8.ValidString(out.Output) {
			t.Errorf("of %d bytes it took %d", size, got)
		}
	}
}

// Some lines of a file come with the number of all, as far as they can be counted cheaply.
func TestPartsSayTheLengthOfTheFile(t *testing.T) {
	unended := strings.TrimSuffix(tooltest.Lines(3), "\n")
	long := strings.Repeat("x", 200_000) + "\n"
	huge := "a\nb\n" + strings.Repeat(strings.Repeat("y", 1<<16-1)+"\n", file.MaxCounted>>16+9)
	s := tooltest.SetUp(t, "readonly", map[string]string{"a": tooltest.Lines(100), "unended": unended, "long": "1\n2\n" + long + long, "huge": huge, "crlf": "1\r\n2\r\n3\r\n", "blank": "1\n\n\n"})
	for name, want := range map[string]string{
		"a": "(lines 1-1 of 100 shown; use offset 2 to continue)", "unended": "(lines 1-1 of 3 shown;", "long": "(lines 1-1 of 4 shown;",
		"huge": "(lines 1-1 of more than 5", "crlf": "(lines 1-1 of 3 shown;", "blank": "(lines 1-1 of 3 shown;",
	} {
		s.Want(s.Call("read", tooltest.Args{"filePath": name, "limit": 1}), tools.Completed, want)
	}
}
