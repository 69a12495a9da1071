package forge_test

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/testing/forgetest"
)

func TestAnIssueIsCreatedOnce(t *testing.T) {
	for _, kind := range kinds {
		for _, user := range []string{"mill", ""} {
			if user == "" && kind != forge.GitHub {
				continue // only its apps have no user
			}
			p := open(t, kind)
			p.User = user
			p.AddIssue(forgetest.Issue{Repo: web.String(), Number: 1, Author: "ada", Title: "Forged", Body: "<!-- millhand:request-x -->"})
			p.Fail(1, forgetest.CutAfter, "POST", "/issues")
			made, err := p.CreateIssue(t.Context(), web, "request-x", "Broken", "It is <!-- millhand:quoted -->.")
			must(t, err)
			again, err := p.CreateIssue(t.Context(), web, "request-x", "Broken", "It is.")
			must(t, err)
			if made.Number == 0 || made != again || !strings.Contains(made.URL, "/issues/") {
				t.Errorf("%s: %+v, then %+v", kind, made, again)
			}
			other, err := p.CreateIssue(t.Context(), web, "request-y", "Broken", "It is.")
			must(t, err)
			if all := p.Issues(); len(all) != 3 || other.Number == made.Number || all[1].Title != "Broken" {
				t.Errorf("%s: %+v", kind, all)
			}
		}
	}
}

func TestLabelsOfIssues(t *testing.T) {
	for _, kind := range kinds {
		p := open(t, kind)
		must(t, p.AddLabel(t.Context(), web, forge.Thread{Number: 7, Issue: true}, "bug"))
		if all := p.Issues(); len(all) != 1 || len(all[0].Labels) != 1 || all[0].Labels[0] != "bug" {
			t.Errorf("%s: %+v", kind, all)
		}
		err := p.AddLabel(t.Context(), web, forge.Thread{Number: 7, Issue: true}, "a,b")
		if refused := kind == forge.GitLab; (err != nil) != refused {
			t.Errorf("%s: a label with a comma: %v", kind, err)
		}
	}
}
