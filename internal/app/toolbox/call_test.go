package toolbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/testing/gittest"
	"github.com/millhand/millhand/internal/testing/lsptest"
	"github.com/millhand/millhand/internal/testing/mcptest"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// TestMain lets the program of the tests also be an MCP server or a language server.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "mcp-server" {
		os.Exit(mcptest.Main(os.Args[2:], os.Environ, os.Exit))
	}
	if len(os.Args) > 1 && os.Args[1] == "language-server" {
		os.Exit(lsptest.Main(os.Args[2:], os.Environ, os.Exit))
	}
	os.Exit(m.Run())
}

// bench is a directory with files, and a world whose current directory is another one.
type bench struct {
	*testing.T
	dir   string
	world world.World
	log   bytes.Buffer
	env   map[string]string
}

func newBench(t *testing.T, files map[string]string) *bench {
	t.Helper()
	b := &bench{T: t, dir: t.TempDir()}
	for name, text := range files {
		path := filepath.Join(b.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // some are programs
			t.Fatal(err)
		}
	}
	b.env = map[string]string{"HOME": t.TempDir(), "PATH": os.Getenv("PATH"), "OPENAI_API_KEY": "sk-0123456789abcdef0123456789abcdef"}
	b.world = world.World{Dir: t.TempDir(), Err: &b.log, Now: time.Now, Getenv: func(name string) string { return b.env[name] }, System: []string{t.TempDir()}}
	return b
}

// options are those of a call by a profile, with the manifest m.yaml if there is one.
func (b *bench) options(name, profile string) Options {
	o := Options{Name: name, Dir: b.dir, Sandbox: "off", ProfileOptions: load.ProfileOptions{Profile: profile}}
	if _, err := os.Stat(filepath.Join(b.dir, "m.yaml")); err == nil {
		o.Manifest = filepath.Join(b.dir, "m.yaml")
	}
	return o
}

// call calls a tool, and returns its exit code, its result, which may be missing, and the error's text.
func (b *bench) call(ctx context.Context, o Options, input string) (event.Exit, callDocument, string) {
	b.Helper()
	var out bytes.Buffer
	b.world.In, b.world.Out = strings.NewReader(input), &out
	err := Call(ctx, b.world, o)
	var doc callDocument
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			b.Fatalf("%v: %s", err, &out)
		}
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	return fault.ExitOf(err), doc, text
}

func TestACallThatIsInterruptedEndsWithTheSignal(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	started := filepath.Join(b.dir, "started")
	go func() {
		for {
			if _, err := os.Stat(started); err == nil || ctx.Err() != nil {
				stop(event.Interrupt{Signal: "SIGTERM", Exit: event.ExitTerminate})
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	exit, doc, text := b.call(ctx, b.options("bash", "full"), `{"command": "echo x >started; sleep 600", "description": "Waits."}`)
	if exit != event.ExitTerminate || doc.Status == tools.Completed {
		t.Errorf("exit code %d: %q, %+v", exit, text, doc)
	}
}

// filler is an endless input.
type filler struct{}

func (filler) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestArgumentsThatAreTooLargeAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a.txt": "one\n"})
	b.world.In, b.world.Out = io.MultiReader(strings.NewReader(`{"filePath": "a.txt"}`), filler{}), io.Discard
	if err := Call(t.Context(), b.world, b.options("read", "readonly")); fault.ExitOf(err) != event.ExitUsage || err.Error() != "the arguments on stdin exceed 16 MiB" {
		t.Errorf("%v", err)
	}
}

// head is the start of a manifest of one task, with a profile p.
const head = "version: 1\nmodel: openai/gpt-5-mini\nprofiles: {p: {extends: full, permission: {'*': allow}}}\ntasks: [{id: t, prompt: Look., repos: [{path: .}]}]\n"

// An image is given to a model beside the output.
func TestTheResultListsAttachments(t *testing.T) {
	t.Parallel()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, map[string]string{"a.png": picture.String()})
	exit, doc, text := b.call(t.Context(), b.options("read", "readonly"), `{"filePath": "a.png"}`)
	var meta metadataDocument
	if err := json.Unmarshal(doc.Metadata, &meta); err != nil || exit != event.ExitOK || len(meta.Attachments) != 1 || meta.Attachments[0] != (attachmentDocument{"a.png", "image/png", picture.Len()}) {
		t.Errorf("exit code %d: %s, %s", exit, text, doc.Metadata)
	}
}

func TestACallThatCannotBeMadeIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"two.yaml": "version: 1\nmodel: openai/gpt-5-mini\ntasks: [{id: t, prompt: Look., needs: [none], repos: [{path: .}]}, {id: u, prompt: Look., needs: [none], repos: [{path: .}]}]\n", "policy.yaml": "version: 1\nsandbox: require\n"})
	for _, c := range []struct {
		change func(o *Options)
		exit   event.Exit
		want   string
	}{
		{func(o *Options) { o.Profile = "none" }, event.ExitUsage, "none"},
		{func(o *Options) { o.Manifest = filepath.Join(b.dir, "missing.yaml") }, event.ExitUsage, "missing.yaml"},
		{func(o *Options) { o.Manifest = filepath.Join(b.dir, "two.yaml") }, event.ExitUsage, `two.yaml has 2 problems; the first is: `},
		{func(o *Options) { o.Dir = filepath.Join(b.dir, "missing") }, event.ExitUsage, "missing"},
		{func(o *Options) { o.Policies = []string{filepath.Join(b.dir, "policy.yaml")} }, event.ExitUsage, "--sandbox off not allowed by sandbox ("},
	} {
		o := b.options("bash", "full")
		c.change(&o)
		if exit, doc, text := b.call(t.Context(), o, `{"command": "touch ran", "description": "Runs."}`); exit != c.exit || doc.Tool != "" || !strings.Contains(text, c.want) {
			t.Errorf("exit code %d: %s, want %s; %+v", exit, text, c.want, doc)
		}
	}
	b.world.In = iotest.ErrReader(io.ErrUnexpectedEOF)
	if err := Call(t.Context(), b.world, b.options("bash", "full")); fault.ExitOf(err) != event.ExitUsage || err.Error() != "read the arguments from stdin: unexpected EOF" {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "ran")); err == nil {
		t.Error("the command has run")
	}
}

func TestHooksDecideAboutACall(t *testing.T) {
	t.Parallel()
	input := filepath.Join(t.TempDir(), "seen")
	b := newBench(t, map[string]string{"m.yaml": head + "hooks:\n  before_tool: [{run: 'tee " + input + " | grep -q forbidden && { echo not this >&2; exit 2; }; exit 0', tools: [bash]}]\n  after_tool: [{run: 'exit 4', tools: [read]}]\n"})
	exit, doc, text := b.call(t.Context(), b.options("bash", "p"), `{"command": "echo forbidden >ran", "description": "x"}`)
	if exit != event.ExitPolicy || doc.Status != tools.Denied || doc.Decision == nil || doc.Decision.Rule != "hook before_tool" || !strings.Contains(doc.Error, "not this") {
		t.Errorf("exit code %d, %s: %+v", exit, text, doc)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "ran")); err == nil {
		t.Error("the command has run")
	}
	if exit, doc, text = b.call(t.Context(), b.options("bash", "p"), `{"command": "echo fine", "description": "x"}`); exit != event.ExitOK || !strings.Contains(doc.Output, "fine") {
		t.Errorf("exit code %d, %s: %+v", exit, text, doc)
	}
	seen, err := os.ReadFile(input)
	if err != nil || !strings.Contains(string(seen), `"tool_name":"bash"`) || !strings.Contains(string(seen), "echo fine") {
		t.Errorf("its input: %s, %v", seen, err)
	}
	if strings.Contains(b.log.String(), "hook") {
		t.Errorf("log %s", &b.log)
	}
	// A call that was made is reported, though a hook fails after it.
	if exit, doc, _ = b.call(t.Context(), b.options("read", "p"), `{"filePath": "m.yaml"}`); exit != event.ExitOK || doc.Status != tools.Completed || !strings.Contains(b.log.String(), "millhand: hook after_tool: exit code 4") {
		t.Errorf("exit code %d, %+v, log %s", exit, doc, &b.log)
	}
}

// serving is a manifest with an MCP server and a language server, each of which creates a file with its TMPDIR when it starts.
func serving(b *bench, more string) string {
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	start := func(name, args string) string {
		return fmt.Sprintf(`[sh, -c, 'echo "$TMPDIR" >"$OUT/%s"; exec "$PROGRAM" %s']`, name, args)
	}
	b.env["OUT"], b.env["PROGRAM"] = b.TempDir(), program
	const env = "environment: {OUT: \"{env:OUT}\", PROGRAM: \"{env:PROGRAM}\"}"
	return head + "mcp: {own: {command: " + start("mcp", "mcp-server "+more) + ", " + env + "}}\nlsp: {own: {command: " + start("lsp", "language-server") + ", extensions: [.txt], env: {OUT: \"${{ env.OUT }}\", PROGRAM: \"${{ env.PROGRAM }}\"}}}\n"
}

// ran returns which servers have been started since the last question.
func (b *bench) ran() string {
	b.Helper()
	var names []string
	for _, name := range []string{"lsp", "mcp"} {
		if os.Remove(filepath.Join(b.env["OUT"], name)) == nil {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

func TestACallStartsOnlyTheServersThatItNeeds(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a.txt": "one\n"})
	if err := os.WriteFile(filepath.Join(b.dir, "m.yaml"), []byte(serving(b, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, profile, input string
		exit                 event.Exit
		output, ran          string
	}{
		{"read", "p", `{"filePath": "a.txt"}`, event.ExitOK, "one", ""},
		{"own_echo", "p", `{"text": "hello"}`, event.ExitOK, "hello", "mcp"},
		{"Own_Echo", "p", `{"text": "hello"}`, event.ExitOK, "hello", "mcp"},
		{"own_echo", "readonly", `{"text": "hello"}`, event.ExitPolicy, "", ""},
		{"lsp", "p", `{"operation": "hover", "filePath": "a.txt", "line": 1, "character": 1}`, event.ExitOK, "", "lsp"},
		{"write", "p", `{"filePath": "a.txt", "content": "ERROR here\n"}`, event.ExitOK, "here", "lsp"},
		{"task", "p", `{"description": "x", "prompt": "Look.", "subagent_type": "general"}`, event.ExitFailed, "subagents are not supported in a single call: run a manifest", ""},
	} {
		b.log.Reset()
		exit, doc, text := b.call(t.Context(), b.options(c.name, c.profile), c.input)
		if ran := b.ran(); exit != c.exit || !strings.Contains(doc.Output+doc.Error, c.output) || ran != c.ran {
			t.Errorf("%s with %s: exit code %d, %s, %+v, ran %q; log %s", c.name, c.profile, exit, text, doc, ran, &b.log)
		}
	}
}

func TestTheListHasTheToolsOfServersAndTheAgents(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	manifest := serving(b, "") + "agents: {helper: {description: Knows sk-0123456789abcdef0123456789abcdef., prompt: Help.}}\n"
	if err := os.WriteFile(filepath.Join(b.dir, "m.yaml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		b.world.Out = &out
		o := b.options("list", "p")
		o.Dir, o.JSON = "", asJSON
		if err := List(t.Context(), b.world, o); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		for _, want := range []string{"own_echo", "lsp"} {
			if !strings.Contains(text, want) {
				t.Errorf("JSON %t: no %s", asJSON, want)
			}
		}
		if strings.Contains(text, "sk-0123") || strings.Contains(text, "helper: Knows ") != asJSON || b.ran() != "mcp" {
			t.Errorf("JSON %t: %.3000s", asJSON, text)
		}
	}
}

func TestAServerThatDoesNotStartFailsTheCall(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	if err := os.WriteFile(filepath.Join(b.dir, "m.yaml"), []byte(serving(b, "-fault exit")), 0o600); err != nil {
		t.Fatal(err)
	}
	if exit, doc, text := b.call(t.Context(), b.options("own_echo", "p"), `{"text": "hello"}`); exit != event.ExitFailed || doc.Tool != "" || !strings.Contains(text, "cannot open the database") {
		t.Errorf("exit code %d, %s, %+v", exit, text, doc)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(event.Interrupt{Signal: "SIGINT", Exit: event.ExitInterrupt})
	b.world.Out = io.Discard
	o := b.options("list", "p")
	if err := List(ctx, b.world, o); fault.ExitOf(err) != event.ExitInterrupt {
		t.Errorf("a list that is interrupted: exit code %d, %v", fault.ExitOf(err), err)
	}
}

func TestASearchSendsTheKeyOfTheManifest(t *testing.T) {
	t.Parallel()
	var key string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key = r.Header.Get("Authorization")
		fmt.Fprint(w, `{"results": [{"title": "Found", "url": "https://example.org/", "text": "k3y-of-the-search"}]}`)
	}))
	defer server.Close()
	b := newBench(t, map[string]string{"m.yaml": head + "search: {backend: json, url: '" + server.URL + "', key_env: SEARCH_KEY}\n"})
	b.env["SEARCH_KEY"] = " k3y-of-the-search\n"
	exit, doc, text := b.call(t.Context(), b.options("websearch", "p"), `{"query": "x"}`)
	if exit != event.ExitOK || key != "Bearer k3y-of-the-search" || !strings.Contains(doc.Output, "Found") || strings.Contains(doc.Output, "k3y") {
		t.Errorf("exit code %d, %s, %+v, key %q", exit, text, doc, key)
	}
}

// A later call can read them, for a while.
func TestLongOutputIsSavedForLaterCalls(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	b := newBench(t, nil)
	exit, doc, text := b.call(t.Context(), b.options("bash", "full"), `{"command": "seq 1 5000", "description": "x"}`)
	var meta struct {
		Path string `json:"output_path"`
	}
	if err := json.Unmarshal(doc.Metadata, &meta); err != nil || exit != event.ExitOK || meta.Path == "" || strings.Contains(doc.Output, "\n1234\n") {
		t.Fatalf("exit code %d, %s, %s", exit, text, doc.Metadata)
	}
	o := b.options("bash", "full")
	o.Sandbox = "auto" // its commands can read what the result names
	if exit, doc, text = b.call(t.Context(), o, fmt.Sprintf(`{"command": "sed -n 1234p %s", "description": "x"}`, meta.Path)); exit != event.ExitOK || doc.Output != "1234\n" {
		t.Errorf("exit code %d, %s, %+v, log %s", exit, text, doc, &b.log)
	}
	read := fmt.Sprintf(`{"filePath": %q, "offset": 1234, "limit": 1}`, meta.Path)
	if exit, doc, _ = b.call(t.Context(), b.options("read", "readonly"), read); exit != event.ExitOK || !strings.Contains(doc.Output, "1234") {
		t.Errorf("exit code %d, %+v", exit, doc)
	}
	b.world.Now = func() time.Time { return time.Now().Add(2 * rundir.OutputRetention) }
	b.call(t.Context(), b.options("read", "readonly"), read)
	if _, err := os.Stat(meta.Path); err == nil {
		t.Error("it is not removed after its retention")
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "millhand-tool-*")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// Package managers write-protect directories of their caches.
func TestWriteProtectedDirectoriesOfACallAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	b := newBench(t, nil)
	if exit, doc, text := b.call(t.Context(), b.options("bash", "full"), `{"command": "mkdir -p $TMPDIR/a/b && chmod 500 $TMPDIR/a", "description": "x"}`); exit != event.ExitOK || strings.Contains(b.log.String(), "permission denied") {
		t.Errorf("exit code %d, %s, %+v, log %s", exit, text, doc, &b.log)
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "millhand-tool-*")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// It has a private temporary directory and, in a sandbox, a home of its own, and never the keys of the user.
func TestACustomToolRunsAsInAJob(t *testing.T) {
	t.Parallel()
	const custom = "tools: {mine: {description: Mine., command: [./mine.sh], parameters: {type: object, properties: {}}}}\n"
	b := newBench(t, map[string]string{"a.txt": "one\n"})
	own := newBench(t, map[string]string{"m.yaml": head + custom, "mine.sh": "#!/bin/sh\necho x >\"$TMPDIR/x\" && cat a.txt && echo \"in $TMPDIR, home $HOME, key $OPENAI_API_KEY.\"\n"})
	for _, mode := range []string{"auto", "off"} {
		o := b.options("mine", "p")
		o.Sandbox, o.Manifest = mode, filepath.Join(own.dir, "m.yaml")
		exit, doc, text := b.call(t.Context(), o, `{}`)
		if exit != event.ExitOK || !strings.HasPrefix(doc.Output, "one\nin ") || !strings.Contains(doc.Output, "/millhand-tool-") || !strings.Contains(doc.Output, "/tmp, home ") || !strings.Contains(doc.Output, ", key .") || strings.Contains(doc.Output, b.env["HOME"]) == (mode == "auto") {
			t.Errorf("%s: exit code %d, %s, %+v, log %s", mode, exit, text, doc, &b.log)
		}
	}
}

// What confines the programs of a call is decided once, whatever it starts.
func TestProgramsOfACallShareItsSandboxLevelAndDirectory(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a.txt": "one\n"})
	manifest := serving(b, "") + "batch: true\nhooks: {before_tool: [{run: 'echo \"$TMPDIR\" >" + b.env["OUT"] + "/hook'}]}\n"
	if err := os.WriteFile(filepath.Join(b.dir, "m.yaml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	const calls = `{"tool_calls": [{"tool": "bash", "parameters": {"command": "echo $TMPDIR >own", "description": "x"}}, {"tool": "write", "parameters": {"filePath": "a.txt", "content": "two\n"}}]}`
	if exit, doc, text := b.call(t.Context(), b.options("batch", "p"), calls); exit != event.ExitOK {
		t.Fatalf("exit code %d, %s, %+v, log %s", exit, text, doc, &b.log)
	}
	if n := strings.Count(b.log.String(), "commands run without a sandbox"); n != 1 {
		t.Errorf("%d warnings: %s", n, &b.log)
	}
	ofCall, own := map[string]bool{}, map[string]bool{}
	for _, file := range []string{filepath.Join(b.dir, "own"), filepath.Join(b.env["OUT"], "hook"), filepath.Join(b.env["OUT"], "lsp"), filepath.Join(b.env["OUT"], "mcp")} {
		tmp, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, below, _ := strings.Cut(string(tmp), "/millhand-tool-")
		of, _, _ := strings.Cut(below, "/")
		ofCall[of], own[below] = true, true
	}
	if len(ofCall) != 1 || len(own) != 4 {
		t.Errorf("directories of the call %v, of its programs %v", ofCall, own)
	}
}

// A policy that requires a sandbox holds for everything that a call starts.
func TestNothingIsStartedWithoutTheSandboxOfAPolicy(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a.txt": "one\n", "policy.yaml": "version: 1\nsandbox: require\n"})
	for name, manifest := range map[string]string{"own_echo": serving(b, ""), "lsp": serving(b, ""), "read": head + "hooks: {before_tool: [{run: 'echo x >ran'}]}\n"} {
		if err := os.WriteFile(filepath.Join(b.dir, "m.yaml"), []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
		o := b.options(name, "p")
		o.Policies = []string{filepath.Join(b.dir, "policy.yaml")}
		exit, doc, text := b.call(t.Context(), o, `{"filePath": "a.txt", "operation": "hover", "line": 1, "character": 1}`)
		if exit != event.ExitUsage || doc.Tool != "" || !strings.Contains(text, "--sandbox off not allowed by sandbox (") || b.ran() != "" {
			t.Errorf("%s: exit code %d, %s, %+v", name, exit, text, doc)
		}
	}
	if _, err := os.Stat(filepath.Join(b.dir, "ran")); err == nil {
		t.Error("the hook has run")
	}
}

func TestSkillsThatCannotBeReadAreReported(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{".opencode/skills/broken/SKILL.md": "no front matter\n", "a.txt": "one\n"})
	if exit, _, text := b.call(t.Context(), b.options("read", "readonly"), `{"filePath": "a.txt"}`); exit != event.ExitOK || !strings.Contains(b.log.String(), "broken") {
		t.Errorf("exit code %d, %s, log %s", exit, text, &b.log)
	}
}

func TestTheExitCodeOfACallThatWasEndedIsThatOfTheCause(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.world.Out = io.Discard
	env := tools.Env{}
	env.Redact = b.world.Redactor(nil)
	violation := &permission.Error{}
	for _, c := range []struct {
		status tools.Status
		cause  error
		want   event.Exit
	}{
		{tools.Completed, nil, event.ExitOK},
		{tools.Completed, io.EOF, event.ExitOK},
		{tools.Failed, nil, event.ExitFailed},
		{tools.Failed, io.EOF, event.ExitFailed},
		{tools.Denied, nil, event.ExitPolicy},
		{tools.Failed, violation, event.ExitPolicy},
		{tools.Failed, event.Interrupt{Exit: event.ExitInterrupt}, event.ExitInterrupt},
	} {
		if err := printCall(b.world, &env, tools.Outcome{Status: c.status}, c.cause); fault.ExitOf(err) != c.want {
			t.Errorf("%s because of %v: exit code %d, want %d", c.status, c.cause, fault.ExitOf(err), c.want)
		}
	}
	b.world.Out = broken{}
	if err := printCall(b.world, &env, tools.Outcome{Status: tools.Completed}, nil); fault.ExitOf(err) != event.ExitInternal || !strings.HasPrefix(err.Error(), "print the result: ") {
		t.Errorf("a result that can't be printed: %v", err)
	}
}

func TestAListThatCannotBePrintedIsAnError(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.world.Out = broken{}
	for _, asJSON := range []bool{false, true} {
		if err := List(t.Context(), b.world, Options{JSON: asJSON}); fault.ExitOf(err) != event.ExitInternal || err.Error() != "print the tools: short write" {
			t.Errorf("JSON %t: %v", asJSON, err)
		}
	}
}

// broken is an output without space.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// What an agent has changed is not run, as in a job.
func TestToolFilesOfARepositoryAreThoseOfItsHead(t *testing.T) {
	t.Parallel()
	const script = "export const go = {description: \"%s\", args: {}, execute: async () => \"x\"}\n"
	s := gittest.NewSandbox(t)
	compiled := func(file tasks.ScriptFile) string {
		t.Helper()
		base := t.TempDir()
		getenv := func(string) string { return "" } // no program to run them is found
		at := site{dir: base, ground: confinement.Env{Getenv: getenv, Dirs: confinement.Dirs{Workspace: s.Root}}}
		at.repo = func() (*gitops.Repo, error) { return repository(world.World{Getenv: getenv}, s.Root) }
		defer at.processes.Close()
		scripts, err := at.compile(t.Context(), tasks.Scripts{ToolFiles: []tasks.ScriptFile{file}})
		if err != nil || scripts == nil {
			return fmt.Sprint("error: ", err)
		}
		var all strings.Builder
		if err := filepath.WalkDir(base, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return all.String()
	}
	written, workspace := tasks.ScriptFile{Name: "t.js", Path: filepath.Join(s.Root, "t.js")}, tasks.ScriptFile{Name: "workspace:t.js", Path: "t.js", Workspace: true}
	s.Write("t.js", fmt.Sprintf(script, "of-the-head"))
	if text := compiled(written); !strings.Contains(text, "of-the-head") { // the repository has no commit
		t.Errorf("without a commit: %s", text)
	}
	if text := compiled(workspace); !strings.HasPrefix(text, "error: ") {
		t.Error("a file that is not committed is run")
	}
	s.Commit()
	s.Write("t.js", fmt.Sprintf(script, "of-an-agent"))
	for _, file := range []tasks.ScriptFile{written, workspace} {
		if text := compiled(file); !strings.Contains(text, "of-the-head") || strings.Contains(text, "of-an-agent") {
			t.Errorf("%s: %.300s", file.Name, text)
		}
	}
}
