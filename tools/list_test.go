package tools

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission"
)

func TestList(t *testing.T) {
	s := project(t)
	s.put("node_modules/x/y.js", "")
	s.put("sub/vendor/v.go", "")
	tests := []struct {
		name string
		in   args
		want string
	}{
		{"the workspace", args{}, "./\n  .hidden/\n    h.go\n  sub/\n    deep/\n      x_test.go\n    vendor/\n      v.go\n    cart.go\n  .env.example\n  .gitignore\n  README.md\n  bin.dat\n  main.go\n\n(3 ignored files were skipped)"},
		{"a directory", args{"path": "sub"}, "sub/\n  deep/\n    x_test.go\n  cart.go\n\n(1 ignored file was skipped)"},
		{"a directory by its absolute name", args{"path": s.dir + "/sub/deep"}, "sub/deep/\n  x_test.go\n"},
		{"less", args{"path": ".", "ignore": []string{"*.go", ".*", "*.md"}}, "./\n  bin.dat\n\n(2 ignored files were skipped)"},
		{"what the read rules deny", args{"path": "secret"}, "secret/\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := s.call("list", tt.in)
			s.want(out, Completed)
			if diff := cmp.Diff(tt.want, out.Output); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestListErrors(t *testing.T) {
	s := project(t)
	s.want(s.call("list", args{"path": "main.go"}), Failed, "main.go: not a directory")
	s.want(s.call("list", args{"path": "nope"}), Failed, "file not found: nope; use glob or list to find it")
	s.want(s.call("list", args{"ignore": []string{"["}}), Failed, "invalid glob")
	s.want(s.call("list", args{"path": "/"}), Denied, `external_directory "/"`)
	s.want(s.call("list", args{"path": "away"}), Denied, "external_directory")
	s.deny("list", "sub")
	s.want(s.call("list", args{"path": "sub"}), Denied, `list: {"sub": deny} (m.yaml:4)`)
	s.want(s.call("list", args{"path": s.dir + "/sub/."}), Denied)
}

// What the read rules deny is not told of by the search tools, not even whether it
// exists.
func TestSearchesDoNotRevealHiddenFiles(t *testing.T) {
	s := setUp(t, "full", map[string]string{"secret/k": "s3\n", "free/.env": "K=1\n", "docs/a.md": "s3\n", "docs/b.txt": "s3\n", "free/x": "s3\n"})
	s.env.Profile.Rules = append(s.env.Profile.Rules, permission.Rule{Permission: "read", Pattern: "secret/**", Source: "m.yaml:1"},
		permission.Rule{Permission: "read", Pattern: "docs/**", Source: "m.yaml:2"}, permission.Rule{Permission: "read", Pattern: "docs/*.md", Effect: permission.Allow, Source: "m.yaml:3"})
	for _, pair := range [][2]string{{"secret/k", "secret/nope"}, {"secret/k", "secret/no/pe"}, {"free/.env", "free/no/.env"}, {"docs/b.txt", "docs/c.txt"}} {
		for tool, in := range map[string]args{"grep": {"pattern": "s3"}, "glob": {"pattern": "*"}, "list": {}} {
			var said []string
			for _, name := range pair {
				in["path"] = name
				out := s.call(tool, in)
				said = append(said, string(out.Status)+" "+strings.ReplaceAll(out.Error+out.Output, `"`+name+`"`, "NAME"))
			}
			if said[0] != said[1] || !strings.HasPrefix(said[0], "denied") {
				t.Errorf("%s of %s and of %s, which isn't there, differ or are not denied:\n%s\n%s", tool, pair[0], pair[1], said[0], said[1])
			}
		}
	}
	if out := s.call("grep", args{"pattern": "s3", "path": "docs"}); out.Status != Completed || !strings.Contains(out.Output, "a.md") || strings.Contains(out.Output, "b.txt") {
		t.Errorf("a directory of which something may be seen: %+v", out)
	}
	if out := s.call("list", args{"path": "free/nope"}); out.Status != Failed {
		t.Errorf("a directory that isn't there and may be seen: %+v", out)
	}
}
