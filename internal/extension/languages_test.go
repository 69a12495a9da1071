package extension

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/lsp"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/tasks"
)

// workspace is a directory with language servers, which are not confined.
type workspace struct {
	*testing.T
	record
	*Languages

	dir string
}

// patience is a wait for diagnostics that no test should exceed.
const patience = time.Minute

// serverFor returns a server for files with extensions, separated by spaces.
func serverFor(name, extensions string, args ...string) tasks.LanguageServer {
	return tasks.LanguageServer{Name: name, Process: tasks.Process{Command: append([]string{"language-server"}, args...)}, Extensions: strings.Fields(extensions)}
}

// open returns a workspace. Servers whose program is "missing" are not on PATH.
func open(t *testing.T, wait time.Duration, servers ...tasks.LanguageServer) *workspace {
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
	w := &workspace{T: t, dir: dir, record: record{last: map[string]event.Extension{}}}
	w.Languages = NewLanguages(t.Context(), LanguageConfig{
		LSP: tasks.LSP{Servers: servers, Wait: wait}, Root: root, Version: "1", Sandbox: "A", Now: time.Now,
		Launch: func(_ context.Context, s tasks.LanguageServer) (proc.Command, error) {
			if s.Process.Command[0] == "missing" {
				return proc.Command{}, errors.New(`exec: "missing": executable file not found in $PATH`)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.launched = append(w.launched, s.Name)
			return proc.Command{Args: append([]string{self}, s.Process.Command...), Dir: dir, Grace: 100 * time.Millisecond}, nil
		},
		Emit: func(e event.Extension) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.last[e.Name] = e
		},
		Warn: func(text string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.warnings = append(w.warnings, text)
		},
	})
	t.Cleanup(func() {
		w.Close()
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// write writes files, each NAME followed by its text, as one edit.
func (w *workspace) write(files ...string) lsp.Found {
	w.Helper()
	var paths []string
	for i := 0; i < len(files); i += 2 {
		paths = append(paths, filepath.Join(w.dir, files[i]))
	}
	edits := w.Tools().Before(w.Context(), paths)
	for i, path := range paths {
		if err := os.WriteFile(path, []byte(files[2*i+1]), 0o600); err != nil {
			w.Fatal(err)
		}
	}
	return edits.After(w.Context())
}

// messages returns the errors of an edit, each as FILE: TEXT.
func messages(found lsp.Found) (all []string) {
	for _, f := range found.Files {
		for _, e := range f.Errors {
			all = append(all, filepath.Base(f.Path)+": "+e.Message)
		}
	}
	return all
}

// status closes the servers and returns their states by name.
func (w *workspace) status() map[string]event.ExtensionStatus {
	w.Helper()
	w.Close()
	all := map[string]event.ExtensionStatus{}
	for name, e := range w.last {
		all[name] = e.Status
	}
	return all
}

// Each server gets the files with its extensions, and starts with the first of them.
func TestServersStartForTheirFiles(t *testing.T) {
	found := serverFor("found", ".none")
	found.IfFound = true
	w := open(t, patience, serverFor("text", ".txt .d.text"), serverFor("notes", ".md .txt"), serverFor("idle", ".idle"), found)
	got := w.write("a.TXT", "ERROR one\n", "b.d.text", "ERROR two\n", "c.md", "ERROR three\n", "d.text", "ERROR none\n")
	if want := []string{"a.TXT: one", "b.d.text: two", "a.TXT: one", "c.md: three"}; !slices.Equal(messages(got), want) || got.Notes != nil {
		t.Errorf("got %q, %q; want %q", messages(got), got.Notes, want)
	}
	_, server, err := w.Tools().Query(t.Context(), lsp.Query{Operation: "hover", Path: filepath.Join(w.dir, "a.TXT"), Line: 1, Column: 1})
	if server != "text" || err != nil {
		t.Errorf("asked %q: %v", server, err)
	}
	_, _, err = w.Tools().Query(t.Context(), lsp.Query{Operation: "hover", Path: filepath.Join(w.dir, "x.idle.text"), Line: 1, Column: 1})
	if err == nil || err.Error() != "no language server for .text files is configured" {
		t.Errorf("a file of no server: %v", err)
	}
	want := map[string]event.ExtensionStatus{"text": event.ExtensionReady, "notes": event.ExtensionReady, "idle": event.ExtensionNotNeeded}
	if got := w.status(); !maps.Equal(got, want) {
		t.Errorf("status %v, want %v", got, want)
	}
	if slices.Sort(w.launched); !slices.Equal(w.launched, []string{"notes", "text"}) {
		t.Errorf("launched %q", w.launched)
	}
}

// The errors in the edited files come before those in others, of whichever server.
func TestEditedFilesComeFirst(t *testing.T) {
	w := open(t, patience, serverFor("text", ".txt"), serverFor("notes", ".md"))
	w.write("other.txt", "fine\n")
	got := w.write("a.txt", "ELSEWHERE other.txt broken\n", "b.md", "ERROR one\n")
	if want := []string{"b.md: one", "other.txt: broken"}; !slices.Equal(messages(got), want) || !got.Files[0].Edited || got.Files[1].Edited {
		t.Errorf("got %+v, want %q", got.Files, want)
	}
}

func TestReadingStartsAServer(t *testing.T) {
	w := open(t, patience, serverFor("text", ".txt"), serverFor("notes", ".md"))
	path := filepath.Join(w.dir, "a.txt")
	if err := os.WriteFile(path, []byte("ERROR old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Tools().Opened(path)
	if _, err := w.servers[0].live.Query(t.Context(), lsp.Query{Operation: "hover", Path: path, Line: 1, Column: 1}); err != nil {
		t.Fatal(err)
	}
	want := map[string]event.ExtensionStatus{"text": event.ExtensionReady, "notes": event.ExtensionNotNeeded}
	if got := w.status(); !maps.Equal(got, want) {
		t.Errorf("status %v, want %v", got, want)
	}
	if e := w.last["text"]; e.Kind != "lsp" || e.Server == nil || *e.Server != (event.ServerInfo{Name: "lsptest", Version: "1.2.3"}) || e.Transport != "stdio" || e.Sandbox != "A" || e.Calls != 1 || e.Errors != 0 {
		t.Errorf("report %+v", e)
	}
}

// A server that the manifest names and whose program is not on PATH fails, and the job continues.
func TestANamedServerFailsIfItsProgramIsMissing(t *testing.T) {
	named := serverFor("named", ".txt")
	named.Process.Command[0] = "missing"
	w := open(t, patience, named)
	if got := w.write("a.txt", "ERROR one\n"); len(got.Files)+len(got.Notes) > 0 {
		t.Errorf("got %+v", got)
	}
	if got, want := w.status(), map[string]event.ExtensionStatus{"named": event.ExtensionFailed}; !maps.Equal(got, want) {
		t.Errorf("status %v, want %v", got, want)
	}
	if e := w.last["named"]; !strings.Contains(e.Error, "executable file not found") {
		t.Errorf("report %+v", e)
	}
	w.warned(t, `language server named: start: exec: "missing": executable file not found in $PATH; the job continues without it`)
	if len(w.warnings) != 1 {
		t.Errorf("warnings %q", w.warnings)
	}
}

// The end of a job does not wait for a sandbox that is still being opened, and none is opened after it.
func TestServersThatAreClosedDuringTheirLaunch(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	launched := make(chan struct{}) // a second launch panics
	all := NewLanguages(t.Context(), LanguageConfig{
		LSP: tasks.LSP{Servers: []tasks.LanguageServer{serverFor("slow", ".a"), serverFor("late", ".b")}, Wait: patience}, Root: root, Now: time.Now,
		Launch: func(ctx context.Context, _ tasks.LanguageServer) (proc.Command, error) {
			close(launched)
			<-ctx.Done()
			return proc.Command{}, ctx.Err()
		},
		Emit: func(event.Extension) {}, Warn: func(string) {},
	})
	all.Tools().Opened(filepath.Join(root.Name(), "x.a"))
	<-launched
	all.Close()
	for _, name := range []string{"x.a", "x.b"} {
		if _, _, err := all.Tools().Query(t.Context(), lsp.Query{Operation: "hover", Path: filepath.Join(root.Name(), name)}); err == nil {
			t.Errorf("%s: no error after the end", name)
		}
	}
}

func TestNoLanguageServersHaveNoTools(t *testing.T) {
	var none *Languages
	none.Close()
	if none.Tools() != nil {
		t.Error("no servers have tools")
	}
}

// After several edits without diagnostics in time, edits don't wait for the server.
func TestTimeoutsInARow(t *testing.T) {
	t.Parallel() // the first wait is ten seconds
	w := open(t, 50*time.Millisecond, serverFor("mute", ".txt", "-fault", "mute"))
	late := "no diagnostics from the language server mute within 50ms"
	for _, want := range []string{late, late, late, late, late, "", ""} {
		got := w.write("a.txt", "ERROR "+want)
		if strings.Join(got.Notes, "\n") != want || got.Files != nil {
			t.Errorf("got %+v, want the note %q", got, want)
		}
	}
	w.Close()
	w.warned(t, "language server mute had no diagnostics within 50ms after several edits in a row; edits don't wait for it any more")
	if len(w.warnings) != 1 {
		t.Errorf("warnings %q", w.warnings)
	}
}

// Without diagnostics, servers still learn of edits.
func TestDiagnosticsThatAreOff(t *testing.T) {
	w := open(t, 0, serverFor("text", ".txt"))
	if got := w.write("a.txt", "AT b.txt\n"); got.Files != nil || got.Notes != nil {
		t.Errorf("got %+v", got)
	}
	results, _, err := w.Tools().Query(t.Context(), lsp.Query{Operation: "goToDefinition", Path: filepath.Join(w.dir, "a.txt"), Line: 1, Column: 1})
	if err != nil || len(results) != 1 {
		t.Errorf("results %s (%v)", results, err)
	}
}

// Faults of servers are warnings, each once, and are in the report.
func TestFaultsOfLanguageServers(t *testing.T) {
	w := open(t, patience, serverFor("asks", ".txt", "-fault", "asks,noise"), serverFor("exits", ".md", "-fault", "exit"))
	if got := messages(w.write("a.txt", "ERROR one\n", "b.md", "ERROR two\n")); !slices.Equal(got, []string{"a.txt: one"}) {
		t.Errorf("got %q", got)
	}
	if got := messages(w.write("a.txt", "ERROR one\nERROR two\n", "b.md", "")); !slices.Equal(got, []string{"a.txt: two"}) {
		t.Errorf("got %q", got)
	}
	if got, want := w.status(), (map[string]event.ExtensionStatus{"asks": event.ExtensionReady, "exits": event.ExtensionFailed}); !maps.Equal(got, want) {
		t.Errorf("status %v, want %v", got, want)
	}
	if e := w.last["asks"]; !maps.Equal(e.RefusedRequests, map[string]int{"workspace/applyEdit": 1, "window/showMessageRequest": 1, "strange/thing": 1}) {
		t.Errorf("report %+v", e)
	}
	if e := w.last["exits"]; !strings.Contains(e.Error, "it exited with code 4") || e.StderrTail != "cannot find the toolchain\n" {
		t.Errorf("report %+v", e)
	}
	w.warned(t, "language server exits: start: it exited with code 4; standard error: cannot find the toolchain; the job continues without it")
	w.warned(t, "language server asks sent the request workspace/applyEdit, which was refused")
	w.warned(t, "language server asks wrote text to its standard output that is not a message")
	if len(w.warnings) != 3 {
		t.Errorf("warnings %q", w.warnings)
	}
}
