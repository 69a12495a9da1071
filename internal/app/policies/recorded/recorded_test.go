package recorded

import (
	"encoding/json"
	"testing"
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
