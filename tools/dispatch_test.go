package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/cut"
	"github.com/millhand/millhand/tools/outputs"

	"github.com/millhand/millhand/internal/permission"
)

func TestToolNamesIgnoreCaseAndUnknownOnesListTheTools(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{"a.txt": "one\n"})
	for _, name := range []string{"read", "Read", "READ", " read\n"} {
		out := s.Call(name, tooltest.Args{"filePath": "a.txt"})
		s.Want(out, tools.Completed, "1: one")
		if out.Tool != "read" {
			t.Errorf("%q ran the tool %q", name, out.Tool)
		}
	}
	for _, name := range []string{"", "readd", "rea", "files.read", "../read", "mcp_x", strings.Repeat("x", 1<<20), "\xff"} {
		out := s.Call(name, tooltest.Args{"filePath": "a.txt"})
		s.Want(out, tools.Failed, "not found", "available tools: "+strings.Join(s.Tools.Offered(s.Env.Profile), ", "))
		if out.Tool != "invalid" || out.Decision != nil {
			t.Errorf("%.20q: %+v", name, out)
		}
	}
}

func TestToolsThatAskTheUserAreNotAvailable(t *testing.T) {
	s := tooltest.SetUp(t, "full", nil)
	for _, name := range []string{"question", "plan_exit", "plan_enter", "Question", "ask_user", "ExitPlanMode"} {
		s.Want(s.Call(name, tooltest.Args{}), tools.Failed, fmt.Sprintf("tool %q is not available: this is a non-interactive run", name), "state your assumptions in the final message")
	}
}

// A denial would make the model and the user look for a rule that allows it.
func TestUnsupportedToolsAreNotDenied(t *testing.T) {
	for _, preset := range []string{"readonly", "build", "full"} {
		s := tooltest.SetUp(t, preset, nil)
		for _, name := range []string{"lsp", "LSP"} {
			s.Want(s.Call(name, tooltest.Args{}), tools.Failed, fmt.Sprintf("tool %q is not supported", name))
		}
	}
}

func TestAHiddenToolIsDeniedWhateverItsArguments(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", nil)
	before := s.Tree()
	for tool, perm := range map[string]string{"bash": "bash", "edit": "edit", "write": "edit"} {
		for _, input := range []string{`{}`, `no JSON`, `{"command": "touch x", "filePath": "x", "content": "x"}`} {
			s.Want(s.Raw(tool, input), tools.Denied, `denied: `+perm+` "*"`, "(profile readonly)")
		}
	}
	s.Unchanged(before)
	for _, tool := range []string{"websearch", "WebFetch"} { // whether or not the session has it
		s.Want(s.Raw(tool, `{}`), tools.Denied, "(profile readonly)")
	}
	s.Deny("read", "*")
	s.Want(s.Call("read", tooltest.Args{"filePath": "a.txt"}), tools.Denied, `read: {"*": deny} (m.yaml:4)`)
}

// Every tool that writes, asked for what a rule denies.
func TestADeniedCallChangesNothing(t *testing.T) {
	files := map[string]string{
		"a.txt": "one\n", "keep/locked.txt": "one\n", ".git/config": "[core]\n", "sub/.git/HEAD": "ref\n", "tree/.git": "gitdir: ../../x\n",
	}
	targets := []string{
		"keep/locked.txt", "keep/new.txt", "keep/new/deep.txt", "in/locked.txt", "./keep/../keep/locked.txt",
		".git/config", ".git/hooks/pre-commit", ".GIT/config", "sub/.git/HEAD", "sub/.git/hooks/x", "tree/.git", "g/config", "g/new", ".git",
		"../work-beside/secret", "../work-beside/new", "../new/deep", "out/secret", "out/new", "leaf", "dangling", "/etc/passwd/x", "/proc/self/comm",
	}
	s := tooltest.SetUp(t, "build", files)
	s.Deny("edit", "keep/**")
	s.Symlink(".git", "g")
	s.Symlink("keep", "in")
	s.Symlink(s.Outside, "out")
	s.Symlink(filepath.Join(s.Outside, "secret"), "leaf")
	s.Symlink("../work-beside/made", "dangling")
	before := s.Tree()
	for _, target := range targets {
		calls := map[string]tooltest.Args{
			"write":        {"filePath": target, "content": "pwned\n"},
			"edit":         {"filePath": target, "oldString": "one", "newString": "pwned"},
			"edit, create": {"filePath": target, "oldString": "", "newString": "pwned\n"},
			"bash":         {"command": "echo pwned > " + target},
			"bash, cp":     {"command": "cp a.txt " + target},
			"bash, chain":  {"command": "true && tee " + target + " < a.txt"},
		}
		for name, in := range calls {
			tool, _, _ := strings.Cut(name, ",")
			if out := s.Call(tool, in); out.Status != tools.Denied {
				t.Errorf("%s of %s ended %s: %s", name, target, out.Status, out.Text())
			}
		}
	}
	s.Unchanged(before)
}

func TestGitsFilesAreWrittenOnlyUnderARuleForGit(t *testing.T) {
	s := tooltest.SetUp(t, "build", map[string]string{".git/config": "[core]\n"})
	s.Allow("*", "*")
	s.Want(s.Call("write", tooltest.Args{"filePath": ".git/config", "content": "x"}), tools.Denied, `denied: git ".git/config"`)
	s.Allow("git", "*")
	s.Want(s.Call("write", tooltest.Args{"filePath": ".git/config", "content": "one\n"}), tools.Completed)
	s.Want(s.Call("edit", tooltest.Args{"filePath": ".GIT/new", "oldString": "", "newString": "two\n"}), tools.Completed)
	s.Want(s.Call("bash", tooltest.Args{"command": "echo three >> .git/config"}), tools.Completed)
	if got := s.Content(".git/config"); got != "one\nthree\n" {
		t.Errorf("got %q", got)
	}
	s.Deny("edit", ".git/*")
	s.Want(s.Call("write", tooltest.Args{"filePath": ".git/config", "content": "x"}), tools.Denied, `edit: {".git/*": deny} (m.yaml:4)`)
}

func TestPathsOutsideNeedAnExplicitRule(t *testing.T) {
	s := tooltest.SetUp(t, "edit", nil)
	s.Allow("*", "*")
	s.Want(s.Call("write", tooltest.Args{"filePath": s.Outside + "/new", "content": "x"}), tools.Denied, `denied: external_directory "`+s.Outside+`/new"`)
	s.Allow("external_directory", s.Outside+"/*")
	s.Want(s.Call("write", tooltest.Args{"filePath": s.Outside + "/new", "content": "x"}), tools.Completed)
	s.Want(s.Call("read", tooltest.Args{"filePath": s.Outside + "/new"}), tools.Completed, "1: x")
	s.Want(s.Call("write", tooltest.Args{"filePath": s.Base + "/new", "content": "x"}), tools.Denied)
}

// spare is a tool of a test's own making.
type spare struct {
	deadline time.Duration
	prepare  func() (tools.Pending, error)
}

func (f spare) Spec() tools.Spec { return tools.Spec{Name: "spare", Deadline: f.deadline} }

func (f spare) Prepare(*tools.Env, json.RawMessage) (tools.Pending, error) { return f.prepare() }

// dispatch makes a call of a tool that needs nothing.
func (f spare) dispatch(t *testing.T, ctx context.Context) tools.Outcome {
	t.Helper()
	s := tooltest.SetUp(t, "readonly", nil)
	s.Allow("spare", "*")
	s.Equip(nil, f)
	out := s.Tools.Dispatch(ctx, s.Env, tools.Call{Name: "spare"}, nil)
	if problem := tooltest.Incoherent(out); problem != "" {
		t.Errorf("%s: %+v", problem, out)
	}
	return out
}

// acts makes a spare tool that does this once it is allowed.
func acts(do func(context.Context) (tools.Result, error)) spare {
	return spare{prepare: func() (tools.Pending, error) { return tools.Pending{Do: do}, nil }}
}

func TestAPanicFailsOnlyTheCall(t *testing.T) {
	for name, tool := range map[string]spare{
		"preparing": {prepare: func() (tools.Pending, error) { panic("oops") }},
		"acting":    acts(func(context.Context) (tools.Result, error) { panic("oops") }),
	} {
		out := tool.dispatch(t, t.Context())
		if out.Status != tools.Failed || out.Error != "tool spare failed: internal error in millhand (oops); this is a bug, try another tool" {
			t.Errorf("%s: %+v", name, out)
		}
		if !strings.Contains(out.Stack, "dispatch_test.go") {
			t.Errorf("%s: the stack is %s", name, out.Stack)
		}
	}
}

func TestTheReasonACallEndedIsReported(t *testing.T) {
	waits := acts(func(ctx context.Context) (tools.Result, error) {
		<-ctx.Done()
		return tools.Result{Output: "so far"}, errors.New("pipe closed")
	})
	waits.deadline = time.Millisecond
	out := waits.dispatch(t, t.Context())
	if out.Text() != "Error: tool call timed out after 1ms; narrow the request\n\nso far" {
		t.Errorf("its deadline: %q", out.Text())
	}
	waits.deadline = 0
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if out := waits.dispatch(t, ctx); out.Error != "tool call interrupted" {
		t.Errorf("the session's end: %q", out.Error)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errors.New("the run is over"))
	if out := waits.dispatch(t, ctx); out.Error != "the run is over" {
		t.Errorf("the session's end with a cause: %q", out.Error)
	}
	silent := acts(func(context.Context) (tools.Result, error) { return tools.Result{}, errors.New("") })
	if out := silent.dispatch(t, t.Context()); out.Error != "tool failed without an error message" {
		t.Errorf("an error without words: %q", out.Error)
	}
}

func TestErrorsAndTitlesAreTruncated(t *testing.T) {
	long := strings.Repeat("long\x01\xff ", 100_000)
	spares := map[string]spare{
		"error": acts(func(context.Context) (tools.Result, error) { return tools.Result{}, errors.New(long) }),
		"title": acts(func(context.Context) (tools.Result, error) { return tools.Result{Title: long}, nil }),
		"denial": {prepare: func() (tools.Pending, error) {
			return tools.Pending{Title: long, Needs: []permission.Request{permission.Need("bash", long)}}, nil
		}},
		"cause": {prepare: func() (tools.Pending, error) { return tools.Pending{}, errors.New(long) }},
	}
	for name, tool := range spares {
		out := tool.dispatch(t, t.Context())
		if len(out.Title) > 300 || strings.Contains(out.Title, "\n") || cut.Size(out.Text()) > cut.MaxMessage+100 || !utf8.ValidString(out.Title+out.Text()) {
			t.Errorf("%s: a title of %d bytes, a text of %d: %.50q", name, len(out.Title), len(out.Text()), out.Title)
		}
	}
}

func TestRunningIsCalledOnceBeforeTheCallRuns(t *testing.T) {
	s := tooltest.SetUp(t, "edit", nil)
	var told []string
	running := func(title string) {
		told = append(told, fmt.Sprint(title, len(s.Names())))
	}
	s.Tools.Dispatch(t.Context(), s.Env, tools.Call{Name: "write", Input: `{"filePath": "a.txt", "content": "x"}`}, running)
	s.Tools.Dispatch(t.Context(), s.Env, tools.Call{Name: "write", Input: `{"filePath": "../a.txt", "content": "x"}`}, running)
	s.Tools.Dispatch(t.Context(), s.Env, tools.Call{Name: "write", Input: `{}`}, running)
	if strings.Join(told, " ") != "a.txt0" {
		t.Errorf("told %q", told)
	}
}

// FuzzDispatch throws anything at the gate: it always answers, in bounds, and
// nothing outside of the workspace is touched.
func FuzzDispatch(f *testing.F) {
	seeds := map[string][]string{
		"read":  {`{"filePath": "a.txt", "offset": 2}`, `{"filePath": "../beside/secret"}`, `{"filePath": "."}`, `{"filePath": "pipe"}`, `{"filePath": "/proc/self/environ"}`},
		"write": {`{"filePath": "x/y", "content": "z"}`, `{"filePath": "out/x", "content": "z"}`, `{"filePath": ".git/x", "content": ""}`},
		"edit":  {`{"filePath": "a.txt", "oldString": "one", "newString": "two", "replaceAll": "true"}`, `{"filePath": "new", "oldString": "", "newString": "x"}`},
		"glob":  {`{"pattern": "**/*.{txt,go}", "path": "sub"}`, `{"pattern": "[a-"}`},
		"grep":  {`{"pattern": "(o)+", "include": "*.txt"}`, `{"pattern": "s3cret", "path": "out"}`},
		"list":  {`{"path": ".", "ignore": ["*.txt"]}`, `{}`},
		"bash":  {`{"command": "touch ../x"}`},
		"apply_patch": {
			`{"patchText": "*** Begin Patch\n*** Add File: x\n+y\n*** Update File: a.txt\n*** Move to: b\n@@\n-one\n+1\n*** End Patch"}`,
			`{"patchText": "*** Begin Patch\n*** Delete File: out/secret\n*** End Patch"}`, `{"patchText": "*** Begin Patch\n*** Update File: .git/config\n@@\n-[core]\n*** End Patch"}`,
		},
		"batch":     {`{"tool_calls": [{"tool": "read", "parameters": {"filePath": ".env"}}, {"tool": "write", "parameters": {"filePath": "../x", "content": ""}}]}`, `{"tool_calls": [{"tool": "batch"}]}`},
		"skill":     {`{"name": "helper"}`, `{"name": "../../etc"}`},
		"webfetch":  {`{"url": "http://127.0.0.1/", "format": "text", "timeout": 1e300}`, `{"url": "file:///etc/passwd"}`},
		"task":      {`{"description": "x", "prompt": "y", "subagent_type": "z"}`},
		"todowrite": {`{"todos": [{"content": "x", "status": "pending"}]}`},
		"TodoRead":  {``, `null`, `[[[[`},
		"nope":      {`{"a": 1e400}`},
	}
	for tool, inputs := range seeds {
		for _, input := range inputs {
			f.Add(tool, input)
		}
	}
	f.Fuzz(func(t *testing.T, tool, input string) {
		s := tooltest.SetUp(t, "edit", map[string]string{"a.txt": "one\ntwo\n", "sub/b.txt": "s3cret not\n", ".git/config": "[core]\n", ".env": "KEY=s3cret-key\n"})
		s.Symlink(s.Outside, "out")
		s.Put(".claude/skills/helper/SKILL.md", tooltest.SkillFile("helper", "helps", "text"))
		s.WithSkills()
		s.Equip(tooltest.WithCache)
		beside := func() map[string]string {
			tree := s.Tree()
			maps.DeleteFunc(tree, func(path, _ string) bool {
				return !strings.HasPrefix(path, s.Outside) && !strings.HasPrefix(path, filepath.Join(s.Dir, ".git"))
			})
			return tree
		}
		before := beside()
		out := s.Raw(tool, input)
		after := beside()
		if !maps.Equal(before, after) {
			t.Errorf("changed outside: %v, was %v", after, before)
		}
		if !utf8.ValidString(out.Text()) || cut.Size(out.Text()) > outputs.DefaultBytes+cut.MaxMessage+1000 {
			t.Errorf("a text of %d bytes: %.100q", len(out.Text()), out.Text())
		}
		if strings.Contains(out.Text(), "s3cret-key") || strings.Contains(out.Output, "s3cret\n") {
			t.Errorf("the model reads a secret: %q", out.Text())
		}
	})
}
