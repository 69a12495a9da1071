package forge_test

import (
	"testing"
	"time"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/testing/forgetest"
)

// TestPullsAndTimesOfChecksAreCounted reads what the limits of a rollout count.
func TestPullsAndTimesOfChecksAreCounted(t *testing.T) {
	for _, kind := range []forge.Kind{forge.GitHub, forge.GitLab, forge.Gitea} {
		t.Run(string(kind), func(t *testing.T) {
			f := open(t, kind)
			f.Message = func(_, sha string) (message, parent string) {
				return "deps: lodash 5\n\nMillhand-Job: a\n", "p" + sha[1:]
			}
			pr, _, err := f.Create(t.Context(), web, forge.New{Head: forge.Head{Branch: "work"}, Base: "main", Title: "t"})
			if err != nil {
				t.Fatal(err)
			}
			f.Set(web.String(), pr.Number, func(p *forgetest.Pull) {
				p.Created, p.Minutes, p.Checks = "2030-05-06T07:08:09Z", 12, "success"
			})
			created, err := f.Created(t.Context(), web, pr.Number)
			if want := time.Date(2030, 5, 6, 7, 8, 9, 0, time.UTC); err != nil || !created.Equal(want) {
				t.Errorf("created %v, %v", created, err)
			}
			if took, err := f.CheckTime(t.Context(), web, pr.SHA); err != nil || took != 12*time.Minute {
				t.Errorf("checks ran %v, %v", took, err)
			}
			c, err := f.CommitOf(t.Context(), web, pr.SHA)
			if err != nil || c.Message != "deps: lodash 5\n\nMillhand-Job: a\n" || c.Parent != "p"+pr.SHA[1:] {
				t.Errorf("commit %+v, %v", c, err)
			}
		})
	}
}
