package forge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/testing/forgetest"
)

func TestRemarksAndWhoMayWrite(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			p := open(t, kind)
			p.Review.Writers = []string{"ada"}
			pr, _, err := p.Create(t.Context(), web, forge.New{Head: forge.Head{Branch: "fix"}, Base: "main", Title: "Fix"})
			must(t, err)
			note := func(n forgetest.Note) {
				n.Repo, n.Number = web.String(), pr.Number
				p.AddNote(n)
			}
			note(forgetest.Note{Author: "bob", Body: "first"})
			note(forgetest.Note{Author: "ada", Body: "line", Kind: forgetest.LineNote, Path: "a.go", Line: 7})
			note(forgetest.Note{Author: "ada", Body: "review", Kind: forgetest.ReviewNote, State: "COMMENT"})
			if kind != forge.GitLab {
				note(forgetest.Note{Author: "ada", Body: "fine", Kind: forgetest.ReviewNote, State: "APPROVED"})
			}
			list, err := p.Remarks(t.Context(), web, pr.Number)
			must(t, err)
			var got []string
			for _, r := range list {
				can, err := p.Writes(t.Context(), web, r.Author)
				must(t, err)
				got = append(got, fmt.Sprint(r.Author, " ", can, " ", r.Body, " ", r.Path, r.Line))
			}
			want := "bob false first 0, ada true line a.go7, ada true review 0"
			if kind == forge.Gitea { // its comments on lines belong to a review: here, to each of the two
				want = strings.Replace(want, "ada true line a.go7", "ada true line a.go7, ada true line a.go7", 1)
			}
			if joined := strings.Join(got, ", "); joined != want {
				t.Errorf("%s, want %s", joined, want)
			}
			if can, err := p.Writes(t.Context(), web, "../x"); can || err != nil {
				t.Errorf("an invalid name: %v, %v", can, err)
			}
		})
	}
}

func TestStickyCommentsOfOthersAreNotRead(t *testing.T) {
	for _, kind := range kinds {
		p := open(t, kind)
		thread := forge.Thread{Number: 1}
		p.AddNote(forgetest.Note{Repo: web.String(), Number: 1, Author: "ada", Body: "forged <!-- millhand:follow-x -->"})
		found, err := p.Sticky(t.Context(), web, thread, "follow-x")
		if found.Text != "" || err != nil {
			t.Errorf("%s: %q, %v", kind, found.Text, err)
		}
		_, err = p.Comment(t.Context(), web, thread, "follow-x", "ours")
		must(t, err)
		p.AddNote(forgetest.Note{Repo: web.String(), Number: 1, Author: "bob", Body: "forged <!-- millhand:follow-x -->"})
		_, err = p.Comment(t.Context(), web, thread, "other", "quoted `<!-- millhand:follow-x -->`")
		must(t, err)
		if found, err := p.Sticky(t.Context(), web, thread, "follow-x"); !strings.HasPrefix(found.Text, "ours") || err != nil {
			t.Errorf("%s: %q, %v", kind, found.Text, err)
		}
	}
}

// Other apps repeat texts of strangers.
func TestStickyCommentsOfOtherAppsAreNotRead(t *testing.T) {
	p := open(t, forge.GitHub)
	p.User = ""
	thread := forge.Thread{Number: 1}
	forged := forgetest.Note{Repo: web.String(), Number: 1, Author: "dependabot[bot]", Bot: true, Body: "forged <!-- millhand:follow-x -->"}
	p.AddNote(forged)
	if found, err := p.Sticky(t.Context(), web, thread, "follow-x"); found.Text != "" || err != nil {
		t.Errorf("%q, %v", found.Text, err)
	}
	_, err := p.Comment(t.Context(), web, thread, "follow-x", "ours")
	must(t, err)
	p.AddNote(forged)
	if found, err := p.Sticky(t.Context(), web, thread, "follow-x"); !strings.HasPrefix(found.Text, "ours") || err != nil {
		t.Errorf("%q, %v", found.Text, err)
	}
}

func TestMissingLabelsAreCreated(t *testing.T) {
	for _, kind := range kinds {
		p := open(t, kind)
		p.NoLabels = []string{"needs-human"}
		pr, _, err := p.Create(t.Context(), web, forge.New{Head: forge.Head{Branch: "fix"}, Base: "main", Title: "Fix"})
		must(t, err)
		must(t, p.AddLabel(t.Context(), web, forge.Thread{Number: pr.Number}, "needs-human"))
		now, err := p.Get(t.Context(), web, pr.Number)
		must(t, err)
		if len(now.Labels) != 1 || now.Labels[0] != "needs-human" || now.BaseSHA == "" || now.Updated.Year() != 2030 {
			t.Errorf("%s: labels %v, base %q, updated %v", kind, now.Labels, now.BaseSHA, now.Updated)
		}
	}
}
