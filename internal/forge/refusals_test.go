package forge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/testing/forgetest"
)

// TestRefusalsThatEnd repeats requests that GitHub refuses for a while.
func TestRefusalsThatEnd(t *testing.T) {
	p := open(t, forge.GitHub)
	p.Fail(2, forgetest.TooQuickly, "POST", "/pulls")
	pr, created, err := p.Create(t.Context(), web, forge.New{Head: forge.Head{Branch: "x"}, Base: "main", Title: "a", Body: "b"})
	if err != nil || !created || p.clock.total() < 3*time.Minute {
		t.Errorf("%+v, %v, %v after %s", pr, created, err, p.clock.total())
	}
	for failures, merged := range map[int]bool{3: true, 4: false} {
		p := open(t, forge.GitHub)
		p.AddPull(forgetest.Pull{Repo: "Acme/web", Head: "Acme/web", Number: 1, Branch: "x", Base: "main", State: "open"})
		p.Fail(failures, forgetest.Modified, "PUT", "/merge")
		pr, err := p.Get(t.Context(), web, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Merge(t.Context(), web, 1, pr.SHA, forge.Squash); (err == nil) != merged || !merged && !strings.Contains(err.Error(), "Base branch was modified") {
			t.Errorf("%d failures: %v", failures, err)
		}
	}
}

func TestRefusalsHaveTheirRemedy(t *testing.T) {
	p := open(t, forge.GitHub)
	p.Fail(1, forgetest.SSO, "GET", "")
	if _, err := p.Repo(t.Context(), web); err == nil || !strings.HasSuffix(err.Error(), "; authorize the token at https://github.com/orgs/acme/sso?authorization_request=A") {
		t.Error(err)
	}
}
