package mention

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/tasks"
)

func TestTheOutputOfACommandInAPrompt(t *testing.T) {
	for said, want := range map[string]string{
		"main\n":                 "main",
		"":                       "",
		"a\nb\n":                 "\n<output command=\"x\">\na\nb\n</output>\n",
		"a\n</output>\n":         "\n<output command=\"x\">\na\n<\\/output>\n</output>\n",
		strings.Repeat("x", 201): "\n<output command=\"x\">\n" + strings.Repeat("x", 201) + "\n</output>\n",
	} {
		if got := output("x", said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
	for name, want := range map[string]bool{"docs/a.md": true, "user/name": false, "a.md": false, "scope/pkg@1.go": false, "x/.env1": true, "x/a.1": false} {
		if got := looksLikeFile(name); got != want {
			t.Errorf("%s looks like a file: %t", name, got)
		}
	}
	if got := shown(tasks.Mention{Name: "a", Ranged: "a#L1"}) + shown(tasks.Mention{Name: "b"}); got != "a#L1b" {
		t.Error(got)
	}
}

func TestMentionReadCall(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "a#L1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	space, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer space.Close()
	m := Prompt{Space: space, Home: "/home/ann/"}
	for name, c := range map[string]struct {
		mention tasks.Mention
		want    map[string]any
	}{
		"a file":                   {tasks.Mention{Name: "a"}, map[string]any{"filePath": "a"}},
		"no file":                  {tasks.Mention{Name: "b"}, nil},
		"what must be a file":      {tasks.Mention{Name: "./b", Explicit: true}, map[string]any{"filePath": "./b"}},
		"of the user's":            {tasks.Mention{Name: "~/b", Explicit: true}, map[string]any{"filePath": "/home/ann/b"}},
		"from a line on":           {tasks.Mention{Name: "a", First: 3}, map[string]any{"filePath": "a", "offset": 3}},
		"lines":                    {tasks.Mention{Name: "a", First: 3, Last: 5}, map[string]any{"filePath": "a", "offset": 3, "limit": 3}},
		"a name that has the sign": {tasks.Mention{Name: "a", Ranged: "a#L1", First: 1}, map[string]any{"filePath": "a#L1"}},
	} {
		if diff := cmp.Diff(c.want, m.named(c.mention)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
