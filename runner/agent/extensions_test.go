package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/testing/lsptest"
	"github.com/millhand/millhand/internal/testing/mcptest"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/command"
	"github.com/millhand/millhand/tools/skill"
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

// serves returns a plan with an MCP server.
func serves(t *testing.T, optional bool, args ...string) *tasks.Plan {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &tasks.Plan{MCP: []tasks.MCPServer{{Name: "m", Process: tasks.Process{Command: slices.Concat([]string{program, "mcp-server"}, args)}, Timeout: time.Minute, CallTimeout: time.Minute, Optional: optional}}}
}

// follows returns a plan whose server may change its tools.
func follows(p *tasks.Plan) *tasks.Plan {
	p.MCP[0].Follow = true
	return p
}

// allowing returns a profile that also allows a tool.
func allowing(p permission.Profile, tool string) permission.Profile {
	p = p.Clone()
	p.Rules = append(p.Rules, permission.Rule{Permission: tool, Pattern: "*", Effect: permission.Allow})
	return p
}

// states lists the states of extensions, each once.
func (s *stage) states() string {
	var all []string
	for _, e := range s.of(event.ExtensionChanged) {
		all = append(all, e.Extension.Name+" "+string(e.Extension.Status))
	}
	return strings.Join(slices.Compact(all), ", ")
}

// The tools of an MCP server are those of a job's sessions. One that does not start ends the job before a request, unless it is
// optional.
func TestTheServersOfAJob(t *testing.T) {
	for name, c := range map[string]struct {
		plan   *tasks.Plan
		turns  string
		states string
		code   event.Code
	}{
		"used":     {serves(t, false), "  - calls: [{tool: m_echo, args: {text: hello}}]\n  - {expect: [hello], text: done}\n", "m ready", ""},
		"followed": {follows(serves(t, false)), "  - calls: [{tool: m_echo, args: {text: hello}}]\n  - {expect: [hello], text: done}\n", "m ready", ""},
		"required": {serves(t, false, "-fault", "exit"), "  - text: never\n", "m failed", event.CodeExtension},
		"optional": {serves(t, true, "-fault", "exit"), "  - text: done\n", "m absent", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.job("a")
			spec.Profile = allowing(spec.Profile, "m_*")
			_, r, end := s.works(c.plan, spec, c.turns)
			if (end != nil) != (c.code != "") || end != nil && (end.Code != c.code || r.Totals.Turns != 0) {
				t.Errorf("%+v, %+v", end, r)
			}
			if got := s.states(); got != c.states {
				t.Errorf("states %q, want %q", got, c.states)
			}
		})
	}
}

// What servers return is untrusted, and so are tools that they describe in another way during the job. A job that loses its servers
// then has none of their calls.
func TestServersOfAJobThatLosesRights(t *testing.T) {
	program := func(args ...string) *tasks.Plan { return follows(serves(t, false, args...)) }
	for name, c := range map[string]struct {
		plan   *tasks.Plan
		turns  string
		marked string
	}{
		"a result":      {program(), "  - calls: [{tool: m_echo, args: {text: hello}}]\n  - calls: [{tool: m_echo, args: {text: again}}]\n  - {expect: ['m.yaml:3'], text: done}\n", "result of MCP server m"},
		"changed tools": {program("-fault", "changing"), "  - calls: [{tool: m_echo, args: {text: hello}}]\n  - {expect: ['m.yaml:3'], text: done}\n", "tools that an MCP server describes in another way since the job started"},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.job("a")
			spec.Profile = allowing(spec.Profile, "m_*")
			spec.AfterUntrusted = &tasks.AfterUntrusted{MCP: true, Source: "m.yaml:3"}
			_, _, end := s.works(c.plan, spec, c.turns)
			var marked []string
			for _, e := range s.of(event.UntrustedRead) {
				marked = append(marked, e.Untrusted.What)
			}
			if end != nil || len(marked) == 0 || !strings.Contains(marked[0], c.marked) {
				t.Errorf("%+v, marked by %q", end, marked)
			}
		})
	}
}

// Tool files and plugins that can't be compiled end the job before a request, and the run compiles those beside the manifest once.
func TestToolFilesThatCantBeCompiled(t *testing.T) {
	s := setUp(t)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.ts"), "export default {")
	plan := &tasks.Plan{Scripts: tasks.Scripts{ToolFiles: []tasks.ScriptFile{{Name: "a.ts", Path: filepath.Join(dir, "a.ts")}}, Runtime: "node"}}
	_, r, end := s.works(plan, s.job("a"), "  - text: never\n")
	if end == nil || end.Code != event.CodeExtension || !strings.HasPrefix(end.Detail, "tool files and plugins: ") || !strings.Contains(end.Detail, "a.ts") || r.Totals.Turns != 0 {
		t.Errorf("%+v, %+v", end, r)
	}
	if got := s.of(event.ExtensionChanged); len(got) != 1 || got[0].Extension.Status != event.ExtensionFailed {
		t.Errorf("%+v", got)
	}
}

// The program of a run is compiled early unless something could install what it imports before the first agent starts.
func TestTheProgramIsCompiledEarly(t *testing.T) {
	file := tasks.ScriptFile{Name: "a.js", Path: "gone/a.js"}
	for name, c := range map[string]struct {
		plan tasks.Plan
		want bool
	}{
		"early":             {tasks.Plan{Scripts: tasks.Scripts{ToolFiles: []tasks.ScriptFile{file}}}, true},
		"none":              {tasks.Plan{}, false},
		"of the repository": {tasks.Plan{Scripts: tasks.Scripts{ToolFiles: []tasks.ScriptFile{{Name: "a.js", Workspace: true}}}}, false},
		"after a hook":      {tasks.Plan{Scripts: tasks.Scripts{ToolFiles: []tasks.ScriptFile{file}}, Hooks: []tasks.Hook{{On: tasks.JobStart}}}, false},
		"after setup":       {tasks.Plan{Scripts: tasks.Scripts{ToolFiles: []tasks.ScriptFile{file}}, Jobs: []tasks.Job{{Setup: []string{"npm ci"}}}}, false},
	} {
		r := setUp(t).run(&c.plan)
		r.CompileEarly()()
		early := r.program.err
		if got := early != nil; got != c.want {
			t.Errorf("%s: %v", name, early)
		}
		if !c.want {
			continue
		}
		if _, err := r.compiled(); err != early { //nolint:errorlint // the same value
			t.Errorf("%s: compiled again: %v", name, err)
		}
	}
}

// A tool file of the repository is that of the base commit, with the tools that it exports.
func TestToolFilesOfTheRepository(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed")
	}
	s := setUp(t)
	s.commit(map[string]string{"tools/greet.js": "export default {description: 'greets', args: {}, async execute() { return 'hello' }}\n"})
	writeFile(t, filepath.Join(s.repo, "tools", "greet.js"), "broken {")
	plan := &tasks.Plan{Scripts: tasks.Scripts{ToolFiles: []tasks.ScriptFile{{Name: "workspace:tools/greet.js", Path: "tools/greet.js", Workspace: true}}, Runtime: "node", CallTimeout: time.Minute, HookTimeout: time.Minute}}
	spec := s.job("a")
	spec.Profile = allowing(spec.Profile, "greet")
	_, r, end := s.works(plan, spec, "  - calls: [{tool: greet, args: {}}]\n  - {expect: [hello], text: done}\n")
	if end != nil || r.Final != "done" {
		t.Errorf("%+v, %+v, %s", end, r, s.states())
	}
}

// A plugin changes the prompts of all attempts before they are sent; a resumed run compares those that it was told of.
func TestAPluginChangesPrompts(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed")
	}
	s := setUp(t)
	file := filepath.Join(t.TempDir(), "p.js")
	writeFile(t, file, "export const Polite = async () => ({ 'chat.message': async (input, output) => { output.parts.find((p) => p.type === 'text').text += ' Please.' } })\n")
	plan := &tasks.Plan{Scripts: tasks.Scripts{Plugins: []tasks.ScriptFile{{Name: "p.js", Path: file}}, Runtime: "node", CallTimeout: time.Minute, HookTimeout: time.Minute}}
	spec := s.job("a")
	spec.Attempts, spec.Verify = 2, []tasks.Verify{checks("v", "test -e one")}
	_, r, end := s.works(plan, spec, "  - {expect: ['Go[.] Please[.]$'], text: first}\n"+asked("Please[.]$", writesOne))
	prompts := s.of(event.AttemptStarted)
	if end != nil || r.Attempts != 2 || prompts[0].Attempt.Prompt != "Go." || !strings.HasSuffix(prompts[1].Attempt.Prompt, " Please.") {
		t.Errorf("%+v, %+v, %s", end, r, s.promptsOf())
	}
}

// What a language server finds in an edited file is in the result of the edit.
func TestALanguageServerOfAJob(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := setUp(t)
	plan := &tasks.Plan{LSP: &tasks.LSP{Wait: time.Minute, Servers: []tasks.LanguageServer{{Name: "l", Process: tasks.Process{Command: []string{program, "language-server"}}, Extensions: []string{".x"}}}}}
	_, _, end := s.works(plan, s.job("a"), "  - calls: [{tool: write, args: {filePath: a.x, content: 'ERROR this is wrong'}}]\n  - {expect: ['this is wrong'], text: done}\n")
	if end != nil || s.states() != "l ready" {
		t.Errorf("%+v, %s", end, s.states())
	}
}

// A custom tool of the manifest runs with the arguments of the model, also where the job's own commands may change nothing.
func TestACustomToolThatMayWrite(t *testing.T) {
	c := command.Custom{Name: "deploy", Description: "deploys", Command: []string{"bash", "-c", "cat > made"}, Schema: []byte(`{"type": "object", "properties": {"to": {"type": "string"}}}`), Writes: true}
	deploy, err := tools.NewCustom(c)
	if err != nil {
		t.Fatal(err)
	}
	s := setUp(t)
	s.uses.Custom = []tools.Tool{deploy}
	spec := s.job("a")
	readonly, _ := permission.Preset("readonly")
	spec.Profile = allowing(readonly, "deploy")
	p, _, end := s.works(&tasks.Plan{Tools: []tasks.CustomTool{{Name: "deploy", Workspace: true}}}, spec, "  - calls: [{tool: deploy, args: {to: here}}]\n  - text: done\n")
	if got := filesIn(p.Dir, "made"); end != nil || got != `made: {"to":"here"}` {
		t.Errorf("%+v, %s", end, got)
	}
}

// The skills in a workspace are files that a model reads; others are not.
func TestFilesOfSkills(t *testing.T) {
	got := filesOf([]skill.Skill{{Dir: "/w/.agents/skills/a"}, {Dir: "relative"}}, "/w")
	if !slices.Equal(got, []string{".agents/skills/a/SKILL.md"}) {
		t.Error(got)
	}
}
