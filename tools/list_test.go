package tools

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
		{"the workspace", args{}, "./\n  .hidden/\n    h.go\n  sub/\n    deep/\n      x_test.go\n    vendor/\n      v.go\n    cart.go\n  .env.example\n  .gitignore\n  README.md\n  bin.dat\n  main.go\n"},
		{"a folder", args{"path": "sub"}, "sub/\n  deep/\n    x_test.go\n  cart.go\n"},
		{"a folder by its absolute name", args{"path": s.dir + "/sub/deep"}, "sub/deep/\n  x_test.go\n"},
		{"less", args{"path": ".", "ignore": []string{"*.go", ".*", "*.md"}}, "./\n  bin.dat\n"},
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

func TestListSaysWhyItCanNot(t *testing.T) {
	s := project(t)
	s.want(s.call("list", args{"path": "main.go"}), Failed, "main.go: a file, not a folder")
	s.want(s.call("list", args{"path": "nope"}), Failed, "there is no file nope: look with glob or list")
	s.want(s.call("list", args{"ignore": []string{"["}}), Failed, "invalid glob")
	s.want(s.call("list", args{"path": "/"}), Denied, `external_directory "/"`)
	s.want(s.call("list", args{"path": "away"}), Denied, "external_directory")
	s.deny("list", "sub")
	s.want(s.call("list", args{"path": "sub"}), Denied, `list: {"sub": deny} (m.yaml:4)`)
	s.want(s.call("list", args{"path": s.dir + "/sub/."}), Denied)
}
