package recorded

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/millhand/millhand/internal/app/policies"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission/suggest"
	"github.com/millhand/millhand/tools"
)

func TestPathsBelowTheWorkspaceBecomeRelative(t *testing.T) {
	for _, c := range []struct{ input, want string }{
		{`{"filePath":"/w/a/src/x.go"}`, `{"filePath":"src/x.go"}`},
		{`{"path":"/w/a"}`, `{"path":"."}`},
		{`{"path":"/w/a/"}`, `{"path":"./"}`},
		{`{"command":"cd /w/a && cat /w/a/x '/w/a/y' >/w/a/z; ls /w/a;"}`, `{"command":"cd . \u0026\u0026 cat x 'y' \u003ez; ls .;"}`},
		{`{"command":"ls /w/ab /x/w/a/b /w/a//etc /w"}`, `{"command":"ls /w/ab /x/w/a/b .//etc /w"}`},
		{`{"calls":[{"n":1.50,"path":"/w/a/b"}]}`, `{"calls":[{"n":1.50,"path":"b"}]}`},
		{`"/w/a/b"`, `"b"`},
		{`/w/a`, `/w/a`},
	} {
		if got := string(relative(json.RawMessage(c.input), "/w/a")); got != c.want {
			t.Errorf("%s: %s, want %s", c.input, got, c.want)
		}
	}
	if got := relative(json.RawMessage(`"/x"`), ""); string(got) != `"/x"` {
		t.Errorf("without a workspace: %s", got)
	}
}

func TestACallIsRecordedWithItsSubjectAndTheRuleThatDeniedIt(t *testing.T) {
	t.Parallel()
	w, _ := process(t)
	j, done, err := policies.NewJudge(w)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	registry, err := tools.For(&j.Env)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tool, input string
		status      event.CallStatus
		want        suggest.Call
		forbidden   bool
	}{
		"a command":          {"Bash", `{"command": "go vet ./... && ls"}`, event.CallCompleted, suggest.Call{Tool: "bash", Subject: "go vet ./... && ls"}, false},
		"a denied command":   {"bash", `{"command": "ls"}`, event.CallDenied, suggest.Call{Tool: "bash", Subject: "ls", Rule: "x", Source: "m.yaml:7"}, false},
		"a denied edit":      {"edit", `{"filePath": "a.txt", "oldString": "a", "newString": "b"}`, event.CallDenied, suggest.Call{Tool: "edit", Subject: "a.txt", Rule: "x", Source: "m.yaml:7"}, false},
		"a patch":            {"apply_patch", `{"patchText": "*** Begin Patch\n*** Add File: a\n+a\n*** End Patch"}`, event.CallCompleted, suggest.Call{Tool: "apply_patch"}, false},
		"a page":             {"webfetch", `{"url": "http://example.com/a"}`, event.CallCompleted, suggest.Call{Tool: "webfetch", Subject: "http://example.com/a", Host: "example.com"}, false},
		"another port":       {"webfetch", `{"url": "http://example.com:8080/a"}`, event.CallCompleted, suggest.Call{Tool: "webfetch", Subject: "http://example.com:8080/a", Host: "example.com:8080"}, false},
		"a denied page":      {"webfetch", `{"url": "http://example.com/a"}`, event.CallDenied, suggest.Call{Tool: "webfetch", Subject: "http://example.com/a", Rule: "x", Source: "m.yaml:7"}, false},
		"invalid arguments":  {"edit", `{"filePath": 7}`, event.CallDenied, suggest.Call{Tool: "edit", Subject: "*", Rule: "x", Source: "m.yaml:7"}, true},
		"a tool of a server": {"Srv_Look", `{"a": 1}`, event.CallCompleted, suggest.Call{Tool: "Srv_Look"}, false},
	} {
		got := callOf(j, registry, usedCall{Call: *call("a", "1", c.tool, "", c.status, "x").Call, input: json.RawMessage(c.input)})
		if len(got.Needs) == 0 || (got.Needs[0].Forbidden != "") != c.forbidden {
			t.Errorf("%s: needs %+v", name, got.Needs)
		}
		got.Needs, c.want.Count = nil, 1
		if name == "a tool of a server" {
			got.Subject = "" // whatever it needs
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
