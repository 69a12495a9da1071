package untrusted

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tools/tool"
)

func TestUntrustedFilesAreMatchedByTheirNames(t *testing.T) {
	j := &Job{Files: []string{"vendor/**", "./docs/*.md", "third_party/", "**/LICENSE", "{a,b}/x"}}
	for name, want := range map[string]bool{
		"vendor/x/y.go": true, "vendor": true, "vendored/x": false, "src/vendor/x": false, "VENDOR/x": true,
		"docs/a.md": true, "docs/a/b.md": false, "docs": false, "third_party": true, "third_party/x": true,
		"LICENSE": true, "x/y/LICENSE": true, "LICENSES": false, ".": false, "b/x": true, "c/x": false, "vendor/": true,
	} {
		if got := j.Matches(name); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
	var none *Job
	if none.Matches("vendor/x") || none.Armed() || none.Is() || none.Conceals() != nil || (&Job{}).Matches("x") {
		t.Error("without globs something is untrusted")
	}
}

func TestWhatACallReadsMarksTheJob(t *testing.T) {
	need := permission.Need
	open := func(text string) permission.Request {
		return permission.Request{Permission: "read", Subjects: []string{text}, Open: text}
	}
	for name, c := range map[string]struct {
		tool    string
		p       tool.Pending
		present bool
		hidden  bool
		want    string // "" for no mark
	}{
		"a trusted file":                       {"read", tool.Pending{Needs: []permission.Request{need("read", "README.md", "/w/README.md")}}, true, true, ""},
		"an untrusted file":                    {"read", tool.Pending{Needs: []permission.Request{need("read", "vendor/x", "/w/vendor/x")}}, false, false, "untrusted file vendor/x"},
		"a listed directory":                   {"list", tool.Pending{Needs: []permission.Request{need("list", "vendor", "/w/vendor")}}, true, true, "untrusted file vendor"},
		"a file to edit":                       {"edit", tool.Pending{Needs: []permission.Request{need("edit", "vendor/x")}}, true, true, "untrusted file vendor/x"},
		"a search below it":                    {"grep", tool.Pending{Names: []string{"vendor"}}, true, true, "untrusted files of vendor"},
		"a search of everything":               {"grep", tool.Pending{Names: []string{"."}}, true, true, ""},
		"a command that names it":              {"bash", tool.Pending{Needs: []permission.Request{need("bash", "cat vendor/x"), need("read", "vendor/x", "vendor/x/")}}, true, true, "untrusted file vendor/x"},
		"a command with a variable in it":      {"bash", tool.Pending{Needs: []permission.Request{need("bash", "cat vendor/$f"), open("vendor/\x00")}}, true, true, "untrusted file"},
		"a command that does not":              {"bash", tool.Pending{Needs: []permission.Request{need("bash", "go test ./...")}}, true, true, ""},
		"one that could read it":               {"bash", tool.Pending{Needs: []permission.Request{need("bash", "go test ./...")}}, true, false, "commands can read untrusted files"},
		"one without such files":               {"bash", tool.Pending{Needs: []permission.Request{need("bash", "go test ./...")}}, false, false, ""},
		"git":                                  {"bash", tool.Pending{Needs: []permission.Request{need("bash", "git log -p")}}, true, true, "git shows untrusted files"},
		"git by its path":                      {"bash", tool.Pending{Needs: []permission.Request{need("bash", "/usr/bin/git log")}}, true, true, "git shows untrusted files"},
		"git, whose history can have them":     {"bash", tool.Pending{Needs: []permission.Request{need("bash", "git log")}}, false, true, "git shows untrusted files"},
		"a command known only at run time":     {"bash", tool.Pending{Needs: []permission.Request{{Permission: "bash", Subjects: []string{"$x"}, Unknown: "unknown"}}}, true, true, ""},
		"a custom tool without the sandbox":    {"deploy", tool.Pending{Needs: []permission.Request{need("deploy", "*")}}, true, false, "commands can read untrusted files"},
		"a custom tool that can't read it":     {"deploy", tool.Pending{Needs: []permission.Request{need("deploy", "*")}}, true, true, ""},
		"another tool of millhand":             {"todowrite", tool.Pending{Needs: []permission.Request{need("todowrite", "*")}}, true, false, ""},
		"the language server":                  {"lsp", tool.Pending{Needs: []permission.Request{need("lsp", "a.go")}}, true, true, "the language server reads untrusted files"},
		"the language server without a reason": {"lsp", tool.Pending{Needs: []permission.Request{need("lsp", "a.go")}}, false, true, ""},
	} {
		j := &Job{Files: []string{"vendor/**"}}
		j.Found(c.present, c.hidden)
		if got := j.Before(tool.Spec{Name: c.tool}, c.p); (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		j.Mark(Mark{})
		if got := j.Before(tool.Spec{Name: c.tool}, c.p); got != "" {
			t.Errorf("%s marks a job twice: %q", name, got)
		}
	}
}

// A tool of an MCP server runs with the rights that the job has, and its result marks the job.
func TestACallOfAnMCPServerDoesNotMarkTheJobBeforeItRuns(t *testing.T) {
	j := &Job{Files: []string{"vendor/**"}}
	j.Found(true, false)
	spec := tool.Spec{Name: "files_get", Foreign: "result of MCP server files"}
	if before, after := j.Before(spec, tool.Pending{}), j.After(spec, tool.Metadata{}, false); before != "" || after != spec.Foreign {
		t.Errorf("before %q, after %q", before, after)
	}
}

func TestResultsFromElsewhereMarkTheJob(t *testing.T) {
	for name, c := range map[string]struct {
		spec    tool.Spec
		m       tool.Metadata
		present bool
		reached string
		want    string
	}{
		"a page":                             {tool.Spec{Name: "webfetch", Foreign: "web page"}, tool.Metadata{}, false, "", "web page"},
		"a file":                             {tool.Spec{Name: "read"}, tool.Metadata{}, true, "", ""},
		"a command with a connection":        {tool.Spec{Name: "bash"}, tool.Metadata{}, false, "h.example", "connection to h.example"},
		"instructions of a directory":        {tool.Spec{Name: "read"}, tool.Metadata{Loaded: []string{"AGENTS.md", "vendor/AGENTS.md"}}, true, "", "untrusted instructions AGENTS.md, vendor/AGENTS.md"},
		"a plugin that can read the files":   {tool.Spec{Name: "x", Extension: "plugins"}, tool.Metadata{}, true, "", "tool of plugins, which can read untrusted files"},
		"a plugin without untrusted content": {tool.Spec{Name: "x", Extension: "plugins"}, tool.Metadata{}, false, "", ""},
		"errors of the language server":      {tool.Spec{Name: "edit"}, tool.Metadata{}, true, "", "errors of the language server, which reads untrusted files"},
		"errors without untrusted files":     {tool.Spec{Name: "edit"}, tool.Metadata{}, false, "", ""},
	} {
		j := &Job{Files: []string{"vendor/**"}}
		j.Found(c.present, true)
		if c.reached != "" {
			j.Reached(c.reached)
		}
		if got := j.After(c.spec, c.m, strings.HasPrefix(name, "errors")); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if got := j.After(tool.Spec{Name: "bash"}, tool.Metadata{}, false); got != "" {
			t.Errorf("%s: the connection counts twice: %q", name, got)
		}
	}
}

func TestOnlyTheFirstMarkCounts(t *testing.T) {
	var marks []Mark
	j := &Job{Marked: func(m Mark) { marks = append(marks, m) }}
	r := Reader{Job: j, Session: "run/job", Turn: 3}
	r.Read("c0", "read", "")
	if len(marks) > 0 || !j.Armed() {
		t.Fatal("nothing was read")
	}
	r.Read("c1", "webfetch", "web page")
	r.Read("c2", "webfetch", "web page")
	if want := (Mark{Session: "run/job", Call: "c1", Tool: "webfetch", Turn: 3, Why: "web page"}); len(marks) != 1 || marks[0] != want {
		t.Errorf("marks %+v, want %+v", marks, want)
	}
	if j.Armed() || !j.Is() {
		t.Error("the job is not marked")
	}
	restored := &Job{Marked: func(Mark) { t.Error("a restored mark is reported by its owner") }}
	restored.Restore(Mark{Why: "x"})
	restored.Mark(Mark{Why: "y"})
	if !restored.Is() {
		t.Error("the restored mark is missing")
	}
}

func TestLimitedProfilesDenyWhatIsGone(t *testing.T) {
	full, _ := permission.Preset("full")
	full.Rules = append(full.Rules, permission.Rule{Permission: "docs_*", Pattern: "*", Effect: permission.Allow}, permission.Rule{Permission: "web_*", Pattern: "*", Effect: permission.Allow})
	for name, c := range map[string]struct {
		limits Limits
		gone   string
	}{
		"nothing":  {Limits{}, ""},
		"network":  {Limits{Network: true}, "webfetch websearch codesearch web_get"},
		"MCP":      {Limits{MCP: true}, "docs_get web_get"},
		"commands": {Limits{Bash: true}, "bash"},
		"all":      {Limits{Network: true, MCP: true, Bash: true}, "webfetch websearch codesearch docs_get web_get bash"},
	} {
		c.limits.Servers, c.limits.Remote, c.limits.Source = []string{"docs", "web"}, []string{"web"}, "m.yaml:7"
		j := &Job{Limits: c.limits}
		if j.Limited(full).Max != nil {
			t.Errorf("%s: a job without a mark is limited", name)
		}
		j.Mark(Mark{})
		p := j.Limited(full)
		for _, tool := range []string{"webfetch", "websearch", "codesearch", "docs_get", "web_get", "bash", "edit", "read", "todowrite"} {
			d, gone := p.Decide(permission.Need(tool, "x")), strings.Contains(" "+c.gone+" ", " "+tool+" ")
			if d.Allowed() == gone || gone && !strings.HasPrefix(d.Source, "m.yaml:7, which limits") {
				t.Errorf("%s: %s is allowed: %t (%s)", name, tool, d.Allowed(), d.By())
			}
		}
		closed := false
		for most := p.Max; most != nil; most = most.Max {
			closed = closed || !most.Narrows && !most.HasNetwork()
		}
		if closed != c.limits.Network {
			t.Errorf("%s: the network is closed: %t", name, closed)
		}
	}
}

func TestOutputOfProgramsOfTheManifest(t *testing.T) {
	var none *Job
	j := &Job{}
	if why := none.OfOutput("hook", true) + j.OfOutput("command", true); why != "" {
		t.Error(why)
	}
	j.Reached("h.example")
	if why := j.OfOutput("command", true); why != "output of a command that has connected to h.example" {
		t.Error(why)
	}
	j.Reached("h.example")
	if why := j.OfOutput("command", false) + j.OfOutput("command", true); why != "" {
		t.Errorf("a connection whose output no session is shown counts: %s", why)
	}
	j.Found(true, true)
	if why := j.OfOutput("hook", true); why != "output of a hook that can read untrusted files" {
		t.Error(why)
	}
	if why := j.OfOutput("hook", false); why != "" {
		t.Error(why)
	}
}

func TestFilesAreFoundAgainBeforeACommand(t *testing.T) {
	j := &Job{Files: []string{"vendor/**"}}
	finds := 0
	j.Find = func() {
		finds++
		j.Found(finds > 1, false)
	}
	line := tool.Pending{Needs: []permission.Request{permission.Need("bash", "make")}}
	if why := j.Before(tool.Spec{Name: "bash"}, line); why != "" {
		t.Errorf("without untrusted files: %s", why)
	}
	if why := j.Before(tool.Spec{Name: "read"}, tool.Pending{}); why != "" || finds != 1 {
		t.Errorf("a tool that runs no command: %s, found %d times", why, finds)
	}
	if why := j.Before(tool.Spec{Name: "bash"}, line); why != "commands can read untrusted files" {
		t.Errorf("of what a command has made: %q", why)
	}
}
