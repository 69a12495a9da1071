package find_test

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission"
)

func TestList(t *testing.T) {
	s := tooltest.Project(t)
	s.Put("node_modules/x/y.js", "")
	s.Put("sub/vendor/v.go", "")
	tests := []struct {
		name string
		in   tooltest.Args
		want string
	}{
		{"the workspace", tooltest.Args{}, "./\n  .hidden/\n    h.go\n  sub/\n    deep/\n      x_test.go\n    vendor/\n      v.go\n    cart.go\n  .env.example\n  .gitignore\n  README.md\n  bin.dat\n  main.go\n\n(3 ignored files were skipped)"},
		{"a directory", tooltest.Args{"path": "sub"}, "sub/\n  deep/\n    x_test.go\n  cart.go\n\n(1 ignored file was skipped)"},
		{"a directory by its absolute name", tooltest.Args{"path": s.Dir + "/sub/deep"}, "sub/deep/\n  x_test.go\n"},
		{"less", tooltest.Args{"path": ".", "ignore": []string{"*.go", ".*", "*.md"}}, "./\n  bin.dat\n\n(2 ignored files were skipped)"},
		{"what the read rules deny", tooltest.Args{"path": "secret"}, "secret/\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := s.Call("list", tt.in)
			s.Want(out, tools.Completed)
			if diff := cmp.Diff(tt.want, out.Output); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestListRefusesFilesAndDeniedPaths(t *testing.T) {
	s := tooltest.Project(t)
	s.Want(s.Call("list", tooltest.Args{"path": "main.go"}), tools.Failed, "main.go: not a directory")
	s.Want(s.Call("list", tooltest.Args{"path": "nope"}), tools.Failed, "file not found: nope; use glob or list to find it")
	s.Want(s.Call("list", tooltest.Args{"ignore": []string{"["}}), tools.Failed, "invalid glob")
	s.Want(s.Call("list", tooltest.Args{"path": "/"}), tools.Denied, `external_directory "/"`)
	s.Want(s.Call("list", tooltest.Args{"path": "away"}), tools.Denied, "external_directory")
	s.Deny("list", "sub")
	s.Want(s.Call("list", tooltest.Args{"path": "sub"}), tools.Denied, `list: {"sub": deny} (m.yaml:4)`)
	s.Want(s.Call("list", tooltest.Args{"path": s.Dir + "/sub/."}), tools.Denied)
}

// What the read rules deny is not told of by the search tools, not even whether it
// exists.
func TestSearchesDoNotRevealHiddenFiles(t *testing.T) {
	s := tooltest.SetUp(t, "full", map[string]string{"secret/k": "s3\n", "free/.env": "K=1\n", "docs/a.md": "s3\n", "docs/b.txt": "s3\n", "free/x": "s3\n"})
	s.Env.Profile.Rules = append(s.Env.Profile.Rules, permission.Rule{Permission: "read", Pattern: "secret/**", Source: "m.yaml:1"},
		permission.Rule{Permission: "read", Pattern: "docs/**", Source: "m.yaml:2"}, permission.Rule{Permission: "read", Pattern: "docs/*.md", Effect: permission.Allow, Source: "m.yaml:3"})
	for _, pair := range [][2]string{{"secret/k", "secret/nope"}, {"secret/k", "secret/no/pe"}, {"free/.env", "free/no/.env"}, {"docs/b.txt", "docs/c.txt"}} {
		for tool, in := range map[string]tooltest.Args{"grep": {"pattern": "s3"}, "glob": {"pattern": "*"}, "list": {}} {
			var said []string
			for _, name := range pair {
				in["path"] = name
				out := s.Call(tool, in)
				said = append(said, string(out.Status)+" "+strings.ReplaceAll(out.Error+out.Output, `"`+name+`"`, "NAME"))
			}
			if said[0] != said[1] || !strings.HasPrefix(said[0], "denied") {
				t.Errorf("%s of %s and of %s, which isn't there, differ or are not denied:\n%s\n%s", tool, pair[0], pair[1], said[0], said[1])
			}
		}
	}
	if out := s.Call("grep", tooltest.Args{"pattern": "s3", "path": "docs"}); out.Status != tools.Completed || !strings.Contains(out.Output, "a.md") || strings.Contains(out.Output, "b.txt") {
		t.Errorf("a directory of which something may be seen: %+v", out)
	}
	if out := s.Call("list", tooltest.Args{"path": "free/nope"}); out.Status != tools.Failed {
		t.Errorf("a directory that isn't there and may be seen: %+v", out)
	}
}
