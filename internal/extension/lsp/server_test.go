package lsp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/testing/lsptest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "language-server" {
		os.Exit(lsptest.Main(os.Args[2:], os.Environ, os.Exit))
	}
	os.Exit(m.Run())
}

// stage is a workspace with a server.
type stage struct {
	*testing.T
	dir string
	*Server

	mu      sync.Mutex
	notices []Notice
}

// setUp returns a server with faults. The wait for diagnostics is long, except for tests of
// timeouts.
func setUp(t *testing.T, wait time.Duration, faults string) *stage {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{T: t, dir: dir}
	launched := make(chan Launched, 1)
	launched <- Launched{Command: proc.Command{Args: []string{self, "language-server", "-fault", faults}, Dir: dir, Grace: 100 * time.Millisecond}}
	s.Server = New(t.Context(), Config{
		Name: "test", Version: "1", Root: root, Wait: wait, Now: time.Now, Launched: launched,
		Notify: func(n Notice) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.notices = append(s.notices, n)
		},
	})
	s.first = wait
	t.Cleanup(s.Close)
	return s
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

func (s *stage) write(name, text string) {
	s.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o644); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) has(n Notice) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.notices, n)
}

// edit edits a file, and returns the errors as texts, such as "a.txt! 1:7 text" (! if edited, ? if
// unsure).
func (s *stage) edit(name, text string) (found []string, late bool) {
	s.Helper()
	e := s.Before(s.Context(), []string{s.path(name)})
	s.write(name, text)
	files, late := e.After(s.Context())
	for _, f := range files {
		mark := ""
		if f.Edited {
			mark = "!"
		}
		if f.Unsure {
			mark += "?"
		}
		for _, e := range f.Errors {
			found = append(found, fmt.Sprintf("%s%s %d:%d %s", filepath.Base(f.Path), mark, e.Line, e.Column, e.Message))
		}
	}
	return found, late
}

func (s *stage) expect(name, text string, want ...string) {
	s.Helper()
	if got, late := s.edit(name, text); late || !slices.Equal(got, want) {
		s.Errorf("after writing %q: got %q, late %v; want %q", text, got, late, want)
	}
}

func TestNewErrorsAfterEdits(t *testing.T) {
	for _, faults := range []string{"", "pull", "unversioned", "noise"} {
		t.Run(faults, func(t *testing.T) {
			s := setUp(t, time.Minute, faults)
			s.write("a.txt", "fine\nERROR old\n")
			s.expect("a.txt", "moved\nfine\nERROR old\n")
			s.expect("a.txt", "WARNING no error\nERROR new\nERROR old\n", "a.txt! 2:7 new")
			s.expect("a.txt", "ERROR new\nERROR new\n", "a.txt! 2:7 new")
			s.expect("b.txt", "ERROR b\n", "b.txt! 1:7 b")
			s.expect("a.txt", "fine\n")
			i := s.Info()
			if i.Name != "lsptest" || i.Version != "1.2.3" || i.Restarts != 0 {
				t.Errorf("info is %+v", i)
			}
		})
	}
}

func TestErrorsInOtherFiles(t *testing.T) {
	s := setUp(t, time.Minute, "")
	s.write("a.txt", "ELSEWHERE b.txt old\n")
	s.Open(s.path("a.txt"))
	s.expect("a.txt", "ELSEWHERE b.txt old\nELSEWHERE c.txt broken by a\nERROR own\n", "a.txt! 3:7 own", "c.txt 1:7 broken by a")
	s.expect("a.txt", "ELSEWHERE b.txt new\n", "b.txt 1:7 new")
	s.expect("a.txt", "fine\n")
}

func TestDiagnosticsForEarlierContentAreIgnored(t *testing.T) {
	s := setUp(t, time.Minute, "stale")
	s.write("a.txt", "fine\n")
	s.expect("a.txt", "ERROR own\n", "a.txt! 1:7 own")
}

func TestChangesByOthersAreSeen(t *testing.T) {
	s := setUp(t, time.Minute, "")
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	watch := newWatch(root)
	s.write("a.txt", "fine\n")
	s.write("b.txt", "fine\n")
	s.expect("a.txt", "fine too\n")
	if got := watch.Changes(); len(got) != 0 {
		t.Errorf("first look: %v", got)
	}
	s.write("a.txt", "longer than before, by a command\n")
	s.write("c.txt", "new\n")
	if err := errors.Join(os.Remove(s.path("b.txt")), os.Mkdir(s.path(".git"), 0o755)); err != nil {
		t.Fatal(err)
	}
	s.write(".git/x", "")
	got := watch.Changes()
	if len(got) != 3 || got[s.path("a.txt")] != Changed || got[s.path("b.txt")] != Deleted || got[s.path("c.txt")] != Created {
		t.Errorf("changes are %v", got)
	}
	s.Changed(got)
	s.expect("a.txt", "ERROR own\n", "a.txt! 1:7 own")
	for !strings.Contains(s.Info().Stderr, "changed 2 a.txt\nchanged 3 b.txt\nchanged 1 c.txt\n") {
		time.Sleep(10 * time.Millisecond)
	}
	if err := os.Remove(s.path("a.txt")); err != nil {
		t.Fatal(err)
	}
	e := s.Before(t.Context(), []string{s.path("a.txt")})
	if files, late := e.After(t.Context()); len(files) != 0 || late {
		t.Errorf("got %v, late %v", files, late)
	}
}

func TestSlowServersAreNotWaitedFor(t *testing.T) {
	for _, faults := range []string{"mute", "silent", "deaf"} {
		t.Run(faults, func(t *testing.T) {
			t.Parallel()
			s := setUp(t, 200*time.Millisecond, faults)
			for n := range maxSilent + 2 {
				found, late := s.edit("a.txt", fmt.Sprintf("ERROR %d\n", n))
				if len(found) > 0 || late != (n < maxSilent) {
					t.Errorf("edit %d: got %q, late %v", n, found, late)
				}
			}
			s.Close()
			if !s.has(Notice{Kind: Slow}) {
				t.Errorf("notices are %v", s.notices)
			}
		})
	}
}

// A server that loads a project first is waited for once, and does not count as late before that.
func TestSlowFirstStart(t *testing.T) {
	s := setUp(t, 200*time.Millisecond, "late")
	for n := range 4 {
		if found, late := s.edit("a.txt", fmt.Sprintf("ERROR %d\n", n)); len(found) > 0 || !late {
			t.Errorf("edit %d: got %q, late %v", n, found, late)
		}
	}
	s.config.Wait = time.Minute
	s.expect("a.txt", "ERROR found\nLOADED\n", "a.txt!? 1:7 found")
	if s.has(Notice{Kind: Slow}) {
		t.Errorf("notices are %v", s.notices)
	}
	s = setUp(t, time.Millisecond, "")
	s.first = time.Minute
	s.write("a.txt", "ERROR found\n")
	if e := s.Before(t.Context(), []string{s.path("a.txt")}); e.before == nil {
		t.Error("the first diagnostics were not waited for")
	}
}

// An error that a server logs instead of diagnostics does not count as a clean file.
func TestAnErrorThatAServerLogsIsReported(t *testing.T) {
	s := setUp(t, time.Minute, "logs")
	e := s.Before(t.Context(), []string{s.path("a.txt")})
	s.write("a.txt", "ERROR lost\n")
	if files, late := e.After(t.Context()); len(files) > 0 || late || e.Logged() != "cannot read settings" {
		t.Errorf("got %v, late %v, logged %q", files, late, e.Logged())
	}
	s = setUp(t, time.Minute, "")
	e = s.Before(t.Context(), []string{s.path("a.txt")})
	s.write("a.txt", "fine\n")
	if e.After(t.Context()); e.Logged() != "" {
		t.Errorf("logged %q", e.Logged())
	}
}

func TestServersGetTheSettingsOfTheirSections(t *testing.T) {
	for _, tt := range []struct{ initialization, sections, want string }{
		{``, `{"items":[{"section":"css"},{}]}`, `[{},{}]`},
		{`null`, `{"items":[{"section":"a.b"}]}`, `[{}]`},
		{`{"css":{"validate":false},"a":{"b":{"c":[1]}},"x.y":{"z":2}}`, `{"items":[{"section":"css"},{"section":"a.b.c"},{"section":"x.y"},{"section":"x.y.z"},{"section":"a.c"},{"section":"css.validate"},{"section":"css.validate.x"}]}`, `[{"validate":false},[1],{"z":2},2,{},false,{}]`},
		{`{"a":1}`, `{"items":[{"scopeUri":"file:///x"}]}`, `[{"a":1}]`},
		{`[1]`, `{"items":[{"section":"a"}]}`, `[{}]`},
		{`{}`, `4711`, `[]`},
	} {
		params := json.RawMessage(tt.sections)
		if got, err := json.Marshal(settings(json.RawMessage(tt.initialization), &params)); err != nil || string(got) != tt.want {
			t.Errorf("%s of %s: %s, %v, want %s", tt.sections, tt.initialization, got, err, tt.want)
		}
	}
}

func TestServersThatDoNotStart(t *testing.T) {
	s := setUp(t, time.Minute, "exit")
	s.write("a.txt", "fine\n")
	const want = "language server test: start: it exited with code 4"
	if _, err := s.Query(t.Context(), Query{Operation: "hover", Path: s.path("a.txt"), Line: 1, Column: 1}); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error is %v", err)
	}
	s.expect("a.txt", "ERROR x\n")
	if got := s.Info().Stderr; got != "cannot find the toolchain\n" {
		t.Errorf("standard error is %q", got)
	}
	s.Close()
	if !s.has(Notice{Failed, want}) {
		t.Errorf("notices are %v", s.notices)
	}
}

func TestServersAreStartedAgain(t *testing.T) {
	s := setUp(t, time.Minute, "")
	s.write("a.txt", "fine\n")
	for range maxRestarts + 1 {
		s.expect("a.txt", "fine\n")
		s.write("a.txt", "CRASH\n")
		if _, err := s.Query(t.Context(), Query{Operation: "hover", Path: s.path("a.txt"), Line: 1, Column: 1}); err == nil || err.Error() != "language server test: hover: it exited with code 7" {
			t.Fatalf("error is %v", err)
		}
		s.write("a.txt", "fine\n")
	}
	if _, err := s.Query(t.Context(), Query{Operation: "hover", Path: s.path("a.txt"), Line: 1, Column: 1}); err == nil || !strings.Contains(err.Error(), "has ended 4 times in this job and is not started again") {
		t.Errorf("error is %v", err)
	}
	if i := s.Info(); i.Restarts != maxRestarts || i.Calls != maxRestarts+2 || i.Errors != maxRestarts+2 || i.Stderr != "out of luck\n" {
		t.Errorf("info is %+v", i)
	}
}

func TestRequestsOfServersAreRefused(t *testing.T) {
	s := setUp(t, time.Minute, "asks")
	s.expect("a.txt", "fine\n")
	for _, want := range []string{
		`response 1 {"applied":false,"failureReason":"not supported: this is an unattended run"}`, "response 2 [{},{}]", "response 3 null",
		`response 4 {"code":-32601,"message":"window/showMessageRequest is not supported: this is an unattended run"}`, "response 5 {",
	} {
		for !strings.Contains(s.Info().Stderr, want) {
			time.Sleep(10 * time.Millisecond)
		}
	}
	for _, method := range []string{"workspace/applyEdit", "window/showMessageRequest", "strange/thing"} {
		if !s.has(Notice{Refused, method}) {
			t.Errorf("notices are %v", s.notices)
		}
	}
}

func TestAServerThatSendsHugeMessagesIsNotStartedAgain(t *testing.T) {
	s := setUp(t, time.Minute, "flood")
	s.write("a.txt", "fine\n")
	s.expect("a.txt", "ERROR own\n", "a.txt! 1:7 own")
	s = setUp(t, time.Minute, "huge")
	s.write("a.txt", "fine\n")
	for range 2 * maxRestarts {
		s.Query(t.Context(), Query{Operation: "hover", Path: s.path("a.txt"), Line: 1, Column: 1})
	}
	if _, err := s.Query(t.Context(), Query{Operation: "hover", Path: s.path("a.txt"), Line: 1, Column: 1}); err == nil || !strings.Contains(err.Error(), "is not started again") {
		t.Errorf("error is %v", err)
	}
}

func TestStubbornServersAreKilled(t *testing.T) {
	s := setUp(t, time.Minute, "stubborn")
	s.expect("a.txt", "ERROR x\n", "a.txt! 1:7 x")
	s.Close()
	if _, err := s.Query(t.Context(), Query{Operation: "hover", Path: s.path("a.txt")}); err == nil || !strings.Contains(err.Error(), "has ended with the job") {
		t.Errorf("error is %v", err)
	}
}

func TestQueriesReturnLocationsAndEndWithTheirContext(t *testing.T) {
	s := setUp(t, time.Minute, "")
	s.write("a.txt", "AT b.txt\nplain\n")
	b := uriOf(s.path("b.txt"))
	for q, want := range map[Query]string{
		{Operation: "goToDefinition", Line: 1}:                             b,
		{Operation: "goToDefinition", Line: 2}:                             "",
		{Operation: "findReferences", Line: 1}:                             b,
		{Operation: "hover", Line: 1}:                                      `"AT `,
		{Operation: "documentSymbol", Line: 1}:                             `"b.txt"`,
		{Operation: "workspaceSymbol", Line: 1, Symbol: "b.txt"}:           b,
		{Operation: "prepareCallHierarchy", Line: 1}:                       "a.txt",
		{Operation: "incomingCalls", Line: 1}:                              "caller",
		{Operation: "outgoingCalls", Line: 1}:                              "callee",
		{Operation: "goToImplementation", Line: 1, Symbol: "not provided"}: "!language server test: goToImplementation: not supported by the server for .txt files",
	} {
		q.Path, q.Column = s.path("a.txt"), 1
		list, err := s.Query(t.Context(), q)
		text := fmt.Sprintf("%s", list)
		if wrong, bad := strings.CutPrefix(want, "!"); bad {
			if err == nil || err.Error() != wrong {
				t.Errorf("%s: error is %v", q.Operation, err)
			}
		} else if err != nil || want == "" && len(list) > 0 || !strings.Contains(text, want) {
			t.Errorf("%s: got %s, %v; want %s", q.Operation, text, err, want)
		}
	}
	interrupted := errors.New("interrupted")
	hang := setUp(t, time.Minute, "hang")
	hang.write("a.txt", "x\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(interrupted) })
	if _, err := hang.Query(ctx, Query{Operation: "hover", Path: hang.path("a.txt"), Line: 1, Column: 1}); !errors.Is(err, interrupted) {
		t.Errorf("error is %v", err)
	}
}

func TestFilesOfResults(t *testing.T) {
	got, ok := Files(json.RawMessage(`{"uri": "file:///a%20b", "x": [{"targetUri": "file:///c"}, {"from": {"uri": "file://localhost/d"}}], "data": {"text": "file:///e"}}`))
	slices.Sort(got)
	if !ok || !slices.Equal(got, []string{"/a b", "/c", "/d"}) {
		t.Errorf("got %q, %v", got, ok)
	}
	for _, text := range []string{`{"uri": "http://x/y"}`, `{"uri": "file://host/share"}`, `{"uri": "jdt://x"}`, `not JSON`} {
		if got, ok := Files(json.RawMessage(text)); ok {
			t.Errorf("%s: got %q", text, got)
		}
	}
}

// FuzzFrames reads arbitrary output of a server, with a message after it.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{"", "noise\r\n", "Content-Length: 2\r\n\r\n{}", "Content-Length: 99999999999\r\n\r\n", "content-length:\t3\n\n[1]", "x\r\n\r\n", "Content-Length: -1\r\n\r\n", "İContent-Length: 0\r\n\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		frames := frames{bufio.NewReader(bytes.NewReader(data)), func(text string) {
			if len(text) > maxHeader {
				t.Errorf("noise of %d bytes", len(text))
			}
		}}
		read := 0
		for {
			text, err := frames.next()
			if err != nil {
				break
			}
			read += len(text)
		}
		if read > len(data) {
			t.Errorf("%d bytes of messages in %d bytes", read, len(data))
		}
		if bytes.Contains(bytes.ToLower(data), []byte("content-length")) {
			return
		}
		in := bufio.NewReader(bytes.NewReader(append(slices.Clone(data), "\r\nContent-Length: 2\r\n\r\n{}"...)))
		frames.in = in
		if text, err := frames.next(); err != nil || string(text) != "{}" {
			t.Errorf("got %q, %v", text, err)
		}
	})
}

// TestAServerThatReadsNoMoreExits reports how a server ended to which a message could not be
// written: its exit is known later than that.
func TestAServerThatReadsNoMoreExits(t *testing.T) {
	s := setUp(t, time.Minute, "")
	s.expect("a.txt", "fine\n")
	s.write("b.txt", "DEAF\n")
	s.Open(s.path("b.txt"))
	time.Sleep(300 * time.Millisecond) // if it still reads after this, the test shows less
	if _, err := s.Query(t.Context(), Query{Operation: "hover", Path: s.path("a.txt"), Line: 1, Column: 1}); err == nil || err.Error() != "language server test: hover: it exited with code 7" {
		t.Errorf("error is %v", err)
	}
}

// Servers get text of regular files in the workspace.
func TestFilesThatServersGet(t *testing.T) {
	s := setUp(t, time.Minute, "")
	outside := filepath.Join(t.TempDir(), "out.txt")
	inside := func(name string) string { return s.path(name) }
	err := errors.Join(
		os.WriteFile(outside, []byte("x"), 0o600), os.WriteFile(inside("a.txt"), []byte("a\xff"), 0o600), os.WriteFile(inside("large.txt"), make([]byte, maxSource+1), 0o600),
		os.Symlink(outside, inside("symlink.txt")), os.Mkdir(inside("dir.txt"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{inside("a.txt"): "a\uFFFD", outside: "", inside("large.txt"): "", inside("symlink.txt"): "", inside("dir.txt"): "", inside("none.txt"): ""} {
		if got, ok := s.read(path); got != want || ok != (want != "") {
			t.Errorf("%s: %.20q, %v", path, got, ok)
		}
	}
}
