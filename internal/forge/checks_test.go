package forge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/testing/forgetest"
)

func TestChecksWithTheirLogs(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			p := open(t, kind)
			pr, _, err := p.Create(t.Context(), web, forge.New{Head: forge.Head{Branch: "fix"}, Base: "main", Title: "Fix"})
			must(t, err)
			long := strings.Repeat("x", 10<<20) + "the end"
			p.AddRun(web.String(), "fix", forgetest.Run{Name: "test", Status: "success", Log: "old"})
			p.AddRun(web.String(), "fix", forgetest.Run{Name: "test", Status: "failure", Log: long, Text: "1 failed"})
			p.AddRun(web.String(), "fix", forgetest.Run{Name: "lint", Status: "pending"})
			p.AddRun(web.String(), "fix", forgetest.Run{Name: "docs", Status: "success"})
			list, err := p.CheckList(t.Context(), web, pr.SHA)
			must(t, err)
			var got []string
			for _, c := range list {
				text, err := p.CheckLog(t.Context(), web, c, 20)
				must(t, err)
				got = append(got, fmt.Sprint(c.Name, " ", c.Status, " ", text))
			}
			want := "docs passed , lint pending , test failed xxxxxxxxxxxxxthe end"
			if kind == forge.Gitea { // has no logs
				want = "docs passed , lint pending , test failed "
			}
			if joined := strings.Join(got, ", "); joined != want {
				t.Errorf("%s, want %s", joined, want)
			}
			if kind != forge.GitLab && list[2].Text != "1 failed" {
				t.Errorf("text %q", list[2].Text)
			}
			none, err := p.CheckList(t.Context(), web, strings.Repeat("0", 40))
			if err != nil || len(none) != 0 {
				t.Errorf("of a commit without checks: %v, %v", none, err)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
