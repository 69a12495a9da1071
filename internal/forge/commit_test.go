package forge_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/testing/forgetest"
)

func newCommit(parent string) forge.NewCommit {
	return forge.NewCommit{
		Branch: "fix/a", Parent: parent, Message: "Fix a\n\nIt was broken.\n\nMillhand-Job: a\n",
		Files: []forge.File{{Path: "a.go", Content: []byte("a\x00\n")}, {Path: "empty"}, {Path: "old", Deleted: true}},
	}
}

func TestCommitOfTheForge(t *testing.T) {
	parent := strings.Repeat("1", 40)
	var mu sync.Mutex // without their responses, requests are not known to have ended
	tip := parent
	var all []forgetest.Commit
	at := func() string {
		mu.Lock()
		defer mu.Unlock()
		return tip
	}
	made := func() []forgetest.Commit {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
	p := open(t, forge.GitHub)
	p.Resolve = func(string, string) string { return at() }
	p.Server.Commit = func(c forgetest.Commit) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		all, tip = append(all, c), strings.Repeat("2", 40)
		return tip, nil
	}
	c := newCommit(parent)
	hash, err := p.Client.Commit(t.Context(), web, c)
	if err != nil || hash != at() {
		t.Fatal(hash, err)
	}
	want := forgetest.Commit{
		Repo: "Acme/web", Branch: "fix/a", Parent: parent, Message: "Fix a\n\nIt was broken.\n\nMillhand-Job: a",
		Files: map[string]string{"a.go": "a\x00\n", "empty": ""}, Deleted: []string{"old"},
	}
	if diff := cmp.Diff([]forgetest.Commit{want}, made()); diff != "" {
		t.Error(diff)
	}
	// The branch has moved.
	if _, err := p.Client.Commit(t.Context(), web, newCommit(parent)); !errors.Is(err, forge.ErrConflict) || !strings.Contains(err.Error(), "Expected branch to point to") {
		t.Errorf("error %v", err)
	}
	// A response that is lost is found by the branch.
	for _, fault := range []forgetest.Fault{forgetest.CutAfter, forgetest.BrokenAfter, forgetest.GarbledAfter} {
		mu.Lock()
		tip, all = parent, nil
		mu.Unlock()
		p.Fail(1, fault, "POST", "/graphql")
		if hash, err := p.Client.Commit(t.Context(), web, c); err != nil || hash != at() || len(made()) != 1 {
			t.Errorf("%s: hash %q, error %v, %d commits", fault, hash, err, len(made()))
		}
	}
}

func TestCommitOfTheForgeIsRefused(t *testing.T) {
	for _, kind := range []forge.Kind{forge.GitLab, forge.Gitea} {
		p := open(t, kind)
		if p.Signs() {
			t.Errorf("%s signs", kind)
		}
		if _, err := p.Client.Commit(t.Context(), web, newCommit("")); !errors.Is(err, forge.ErrInvalid) || len(p.Calls()) != 0 {
			t.Errorf("%s: error %v", kind, err)
		}
	}
	p := open(t, forge.GitHub)
	p.Add(forgetest.Repo{Owner: "Acme", Name: "closed", NoPush: true})
	for name, want := range map[string]error{"closed": forge.ErrDenied, "none": forge.ErrNotFound} {
		if _, err := p.Client.Commit(t.Context(), forge.Path{Owner: "Acme", Name: name}, newCommit("")); !errors.Is(err, want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
