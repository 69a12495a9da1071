package tools_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/dev/nightly"
)

func TestNeedsBySubject(t *testing.T) {
	s := tooltest.SetUp(t, "build", map[string]string{"a.txt": "", "sub/x": ""})
	s.Symlink(s.Outside, "out")
	home := s.Base + "/home"
	tests := []struct {
		tool, subject string
		want          []string // permission and subjects of each need
	}{
		{"read", "a.txt", []string{"read a.txt $D/a.txt"}},
		{"read", "./sub/../a.txt", []string{"read a.txt $D/a.txt"}},
		{"read", "$D/a.txt", []string{"read a.txt $D/a.txt"}},
		{"read", "out/secret", []string{"external_directory $O/secret $O/secret/* $O/*", "read $O/secret"}},
		{"read", ".git/config", []string{"read .git/config $D/.git/config"}},
		{"list", "sub", []string{"list sub $D/sub"}},
		{"lsp", "a.txt", []string{"lsp a.txt $D/a.txt", "read a.txt $D/a.txt"}},
		{"edit", "new.txt", []string{"edit new.txt $D/new.txt"}},
		{"write", "new.txt", []string{"edit new.txt $D/new.txt"}},
		{"apply_patch", "new.txt", []string{"edit new.txt $D/new.txt"}},
		{"write", "/x", []string{"external_directory /x /x/* //*", "edit /x"}},
		{"write", ".git/config", []string{"git .git/config", "edit .git/config $D/.git/config"}},
		{"write", "$O/.git/config", []string{"external_directory $O/.git/config $O/.git/config/* $O/.git/*", "git $O/.git/config", "edit $O/.git/config"}},
		{"glob", "**/*.go", []string{"glob **/*.go"}},
		{"grep", "TODO", []string{"grep TODO"}},
		{"webfetch", "https://example.com", []string{"webfetch https://example.com (forbidden)"}}, // build reaches no network
		{"skill", "deploy", []string{"skill deploy"}},
		{"task", "explore", []string{"task explore"}},
		{"todowrite", "*", []string{"todowrite *"}},
		{"mcp_x", "anything", []string{"mcp_x anything"}},
		{"external_directory", "$O/*", []string{"external_directory $O $O/* $B/*"}},
		{"external_read", "/etc/hosts", []string{"external_read /etc/hosts /etc/hosts/* /etc/*"}},
		{"bash", "git status", []string{"bash git status git status"}},
		{"bash", "ls && 'rm' x", []string{"bash ls ls", "bash rm x 'rm' x", "edit x $D/x x/ $D/x/"}},
		{"bash", "cat a.txt > sub/y", []string{"bash cat a.txt cat a.txt > sub/y", "edit sub/y $D/sub/y sub/y/ $D/sub/y/", "read a.txt $D/a.txt a.txt/ $D/a.txt/"}},
		{"bash", "cat /etc/hosts ~/x", []string{"bash cat /etc/hosts ~/x cat /etc/hosts ~/x", "external_read /etc/hosts /etc/hosts/* /etc/*", "external_read " + home + "/x " + home + "/x/* " + home + "/*"}},
		{"bash", "cat ~root/x", []string{"bash cat ~root/x cat ~root/x", "external_read ~root/x"}},
		{"bash", "echo > ~root/x", []string{"bash echo echo > ~root/x", "external_directory ~root/x", "edit ~root/x"}},
		{"bash", "> .git/x", []string{"bash > .git/x", "git .git/x", "edit .git/x $D/.git/x .git/x/ $D/.git/x/"}},
		{"bash", "X=1", []string{"bash X=1"}},
		{"bash", "$X", []string{"bash $X $X", "bash $X (unknown)"}},
	}
	for _, tt := range tests {
		short := strings.NewReplacer("$D", s.Dir, "$O", s.Outside, "$B", s.Base)
		needs, err := tools.Needs(s.Env, tt.tool, short.Replace(tt.subject))
		if err != nil {
			t.Errorf("%s %s: %v", tt.tool, tt.subject, err)
			continue
		}
		var got, want []string
		for _, n := range needs {
			line := n.Permission + " " + strings.Join(n.Subjects, " ")
			if n.Unknown != "" {
				line += " (unknown)"
			}
			if n.Forbidden != "" {
				line += " (forbidden)"
			}
			got = append(got, line)
		}
		for _, line := range tt.want {
			want = append(want, short.Replace(line))
		}
		if diff := cmp.Diff(tooltest.Sorted(want), tooltest.Sorted(got)); diff != "" {
			t.Errorf("%s %s: %s", tt.tool, tt.subject, diff)
		}
	}
}

func TestNeedsOfInvalidPaths(t *testing.T) {
	s := tooltest.SetUp(t, "build", nil)
	s.Symlink("loop", "loop")
	for _, tool := range []string{"read", "write", "external_directory"} {
		for _, subject := range []string{"a\x00b", "loop/x"} {
			if needs, err := tools.Needs(s.Env, tool, subject); err == nil {
				t.Errorf("%s %q: %+v", tool, subject, needs)
			}
			if d, err := tools.Decide(s.Env, tool, subject); err == nil {
				t.Errorf("%s %q: %+v", tool, subject, d)
			}
		}
	}
	if _, err := tools.Needs(s.Env, "bash", "if"); err == nil {
		t.Error("an invalid command is one")
	}
	if _, err := tools.Needs(s.Env, "read", ""); err == nil {
		t.Error("an empty path is one")
	}
}

// callOfTool is a call with the subject by which a user would ask about it.
type callOfTool struct {
	tool, subject string
	in            tooltest.Args
}

var callsOfTools = []callOfTool{
	{"read", "a.txt", tooltest.Args{"filePath": "a.txt"}},
	{"read", ".env", tooltest.Args{"filePath": ".env"}},
	{"read", "/etc/passwd", tooltest.Args{"filePath": "/etc/passwd"}},
	{"write", "b.txt", tooltest.Args{"filePath": "b.txt", "content": ""}},
	{"write", ".git/x", tooltest.Args{"filePath": ".git/x", "content": ""}},
	{"edit", "../x", tooltest.Args{"filePath": "../x", "oldString": "a", "newString": "b"}},
	{"bash", "ls | head", tooltest.Args{"command": "ls | head"}},
	{"bash", "git status; touch x", tooltest.Args{"command": "git status; touch x"}},
	{"bash", "cat .env", tooltest.Args{"command": "cat .env"}},
	{"glob", "*", tooltest.Args{"pattern": "*"}},
	{"grep", "x", tooltest.Args{"pattern": "x"}},
	{"list", ".", tooltest.Args{"path": "."}},
	{"list", "/etc", tooltest.Args{"path": "/etc"}},
	{"todoread", "*", tooltest.Args{}},
	{"todowrite", "*", tooltest.Args{"todos": []any{}}},
	{"apply_patch", "b.txt", tooltest.PatchOf("*** Add File: b.txt", "+x")},
	{"apply_patch", ".git/x", tooltest.PatchOf("*** Add File: .git/x", "+x")},
	{"webfetch", "http://127.0.0.1:1/", tooltest.Args{"url": "http://127.0.0.1:1/"}},
	{"webfetch", "file:///etc/passwd", tooltest.Args{"url": "file:///etc/passwd"}},
	{"websearch", "x", tooltest.Args{"query": "x"}},
	{"codesearch", "x", tooltest.Args{"query": "x"}},
	{"skill", "deploy", tooltest.Args{"name": "deploy"}},
	{"task", "explore", tooltest.Args{"subagent_type": "explore", "description": "x", "prompt": "x"}},
	{"lsp", "a.txt", tooltest.Args{"operation": "hover", "filePath": "a.txt", "line": 1, "character": 1}},
	{"lsp", "/etc/passwd", tooltest.Args{"operation": "hover", "filePath": "/etc/passwd", "line": 1, "character": 1}},
	{"batch", "*", tooltest.Args{"tool_calls": []any{map[string]any{"tool": "todoread", "parameters": map[string]any{}}}}},
}

// TestNeedsOfASubjectAreThoseOfItsCall compares what a rule is asked about a subject with what the call itself needs,
// for each tool. One without a row is called with the subject as each required argument.
func TestNeedsOfASubjectAreThoseOfItsCall(t *testing.T) {
	s := tooltest.SetUp(t, "full", map[string]string{"a.txt": "a\n", ".env": "K=1\n"})
	s.WithLanguages()
	s.Equip(func(env *tools.Env) {
		all := tooltest.Equipped("")
		env.Spawn, env.Search, env.Agents, env.Skills, env.Batch = all.Spawn, all.Search, all.Agents, all.Skills, true
	})
	calls := slices.Clone(callsOfTools)
	for _, tool := range s.Tools.All() {
		spec := tool.Spec()
		if slices.ContainsFunc(calls, func(c callOfTool) bool { return c.tool == spec.Name }) {
			continue
		}
		for _, subject := range []string{"a.txt", "/etc/passwd"} {
			in := tooltest.Args{}
			for _, name := range spec.Schema["required"].([]any) {
				in[fmt.Sprint(name)] = subject
			}
			calls = append(calls, callOfTool{spec.Name, subject, in})
		}
	}
	for _, c := range calls {
		bySubject, err := tools.Needs(s.Env, c.tool, c.subject)
		if err != nil {
			t.Fatal(err)
		}
		input, err := json.Marshal(c.in)
		if err != nil {
			t.Fatal(err)
		}
		byCall, err := s.Tools.NeedsOf(s.Env, tools.Call{Name: c.tool, Input: string(input)})
		if err != nil {
			t.Errorf("%s: %v: add a call to callsOfTools", c.tool, err)
			continue
		}
		if diff := cmp.Diff(byCall, bySubject); diff != "" {
			t.Errorf("%s %s: the call needs -, the subject +: add a case to Needs\n%s", c.tool, c.subject, diff)
		}
	}
}

// Explaining a rule must say what the call itself meets.
func TestDecideAgreesWithTheCall(t *testing.T) {
	for i, preset := range []string{"readonly", "review", "edit", "build", "full"} {
		for _, c := range nightly.Sample(callsOfTools, 3, i%3) {
			s := tooltest.SetUp(t, preset, map[string]string{"a.txt": "a\n", ".env": "K=1\n"})
			s.WithLanguages()
			decisions, err := tools.Decide(s.Env, c.tool, c.subject)
			if err != nil {
				t.Fatal(err)
			}
			allowed := true
			for _, d := range decisions {
				allowed = allowed && d.Allowed()
			}
			if out := s.Call(c.tool, c.in); allowed == (out.Status == tools.Denied) || len(decisions) == 0 {
				t.Errorf("%s: %s %s is explained as %v and ends %s", preset, c.tool, c.subject, allowed, fmt.Sprint(out.Status, out.Error))
			}
		}
	}
}
