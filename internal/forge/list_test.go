package forge_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/testing/forgetest"
)

func TestRepositoriesAreFiltered(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			p := open(t, kind)
			p.Add(
				forgetest.Repo{Owner: "Acme", Name: "api", Language: "Go", Topics: []string{"service"}, Description: "The API"},
				forgetest.Repo{Owner: "Acme", Name: "old", Language: "Go", Archived: true},
				forgetest.Repo{Owner: "Acme", Name: "copy", Language: "Go", Parent: "Acme/api"},
				forgetest.Repo{Owner: "Acme", Name: "site", Language: "CSS", Topics: []string{"service"}},
				forgetest.Repo{Owner: "Acme", Name: "new", Empty: true},
				forgetest.Repo{Owner: "user-ada", Name: "dotfiles"},
			)
			for _, c := range []struct {
				filter forge.Filter
				want   string
				left   [3]int // archived, forks, empty
			}{
				{forge.Filter{Owner: "Acme"}, "Acme/api Acme/site Acme/web", [3]int{1, 1, 1}},
				{forge.Filter{Owner: "Acme", Archived: true, Forks: true}, "Acme/api Acme/copy Acme/old Acme/site Acme/web", [3]int{0, 0, 1}},
				{forge.Filter{Owner: "Acme", Language: "go"}, "Acme/api", [3]int{1, 1, 0}},
				{forge.Filter{Owner: "Acme", Topic: "service"}, "Acme/api Acme/site", [3]int{}},
				{forge.Filter{Owner: "Acme", Search: "THE api"}, "Acme/api", [3]int{}},
				{forge.Filter{Owner: "user-ada"}, "user-ada/dotfiles", [3]int{}},
			} {
				all, err := p.ListRepos(t.Context(), c.filter)
				var got []string
				for _, r := range all.Repos {
					got = append(got, r.Path.String())
					if !strings.HasPrefix(r.CloneURL, p.url) {
						t.Errorf("clone URL %s", r.CloneURL)
					}
				}
				if left := [3]int{all.Archived, all.Forks, all.Empty}; left != c.left {
					t.Errorf("%+v: left out %v, want %v", c.filter, left, c.left)
				}
				if err != nil || strings.Join(got, " ") != c.want {
					t.Errorf("%+v: got %v, want %s (%v)", c.filter, got, c.want, err)
				}
			}
			if _, err := p.ListRepos(t.Context(), forge.Filter{Owner: "nobody"}); !errors.Is(err, forge.ErrNotFound) {
				t.Error(err)
			}
		})
	}
}

func TestPrivateRepositoriesOfTheTokensUser(t *testing.T) {
	p := open(t, forge.GitHub)
	p.User = "user-mill"
	p.Add(forgetest.Repo{Owner: "user-mill", Name: "notes", Private: true}, forgetest.Repo{Owner: "user-ada", Name: "secret", Private: true}, forgetest.Repo{Owner: "user-ada", Name: "dotfiles"})
	for owner, want := range map[string]string{"user-mill": "user-mill/notes", "User-Mill": "user-mill/notes", "user-ada": "user-ada/dotfiles"} {
		all, err := p.ListRepos(t.Context(), forge.Filter{Owner: owner})
		if err != nil || len(all.Repos) != 1 || all.Repos[0].Path.String() != want {
			t.Errorf("%s: %v (%v)", owner, all, err)
		}
	}
}

// TestListsAreComplete has faults on the second page of a list: it is repeated, or the list
// fails.
func TestListsAreComplete(t *testing.T) {
	for _, kind := range kinds {
		path := "/repos"
		if kind == forge.GitLab {
			path = "/projects"
		}
		for _, c := range []struct {
			fault forgetest.Fault
			times int
			fails error // nil: the list is complete
		}{
			{forgetest.Cut, 2, nil},
			{forgetest.CutAfter, 2, nil},
			{forgetest.Unavailable, 2, nil},
			{forgetest.Limited, 1, nil},
			{forgetest.Secondary, 1, nil},
			{forgetest.Abuse, 1, nil},
			{forgetest.Unavailable, 9, forge.ErrUnreachable},
			{forgetest.Abuse, 9, forge.ErrLimited},
			{forgetest.GarbledAfter, 1, forge.ErrUnreachable},
		} {
			t.Run(string(kind)+" "+string(c.fault), func(t *testing.T) {
				p := open(t, kind)
				p.Add(forgetest.Repo{Owner: "Acme", Name: "a"}, forgetest.Repo{Owner: "Acme", Name: "b"}, forgetest.Repo{Owner: "Acme", Name: "c"})
				p.Fail(1, forgetest.Unavailable, "GET", path) // the first page, once
				if _, err := p.ListRepos(t.Context(), forge.Filter{Owner: "Acme"}); err != nil {
					t.Fatal(err)
				}
				p.FailPage("2", c.times, c.fault, "GET", path)
				all, err := p.ListRepos(t.Context(), forge.Filter{Owner: "Acme"})
				switch {
				case c.fails != nil && (!errors.Is(err, c.fails) || len(all.Repos) > 0):
					t.Errorf("%v (%v)", all, err)
				case c.fails == nil && (err != nil || len(all.Repos) != 4):
					t.Errorf("%v (%v)", all, err)
				}
			})
		}
	}
}

func TestAnnouncedTotalIsChecked(t *testing.T) {
	p := open(t, forge.GitLab)
	p.Hidden.Entries = 1
	p.Add(forgetest.Repo{Owner: "Acme", Name: "a"})
	if all, err := p.ListRepos(t.Context(), forge.Filter{Owner: "Acme"}); err == nil || !strings.Contains(err.Error(), "incomplete list: received 2 of 3 repositories") || len(all.Repos) > 0 {
		t.Error(all, err)
	}
	// Gitea counts what it hides from the token.
	p = open(t, forge.Gitea)
	p.Hidden.Entries = 1
	if all, err := p.ListRepos(t.Context(), forge.Filter{Owner: "Acme"}); err != nil || len(all.Repos) != 1 {
		t.Error(all, err)
	}
	p = open(t, forge.GitHub)
	p.Hidden.BySSO = true
	if _, err := p.ListRepos(t.Context(), forge.Filter{Owner: "Acme"}); err == nil || !strings.Contains(err.Error(), "single sign-on") {
		t.Error(err)
	}
}

func TestListsWithoutAToken(t *testing.T) {
	for _, kind := range kinds {
		p := open(t, kind, func(o *forge.Options) { o.Token = func(context.Context, string) (string, error) { return "", nil } })
		if _, err := p.ListRepos(t.Context(), forge.Filter{Owner: "Acme"}); !errors.Is(err, forge.ErrDenied) || !strings.Contains(err.Error(), "(no token was sent)") {
			t.Error(err)
		}
		p.SetToken("")
		if all, err := p.ListRepos(t.Context(), forge.Filter{Owner: "Acme"}); err != nil || len(all.Repos) != 1 {
			t.Error(all, err)
		}
	}
}
