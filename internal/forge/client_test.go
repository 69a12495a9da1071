package forge_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/forge/connect"
	"github.com/millhand/millhand/internal/testing/forgetest"
)

// clock is a clock that waiting advances.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	waits []time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits = append(c.waits, d)
	c.now = c.now.Add(d)
	return context.Cause(ctx)
}

// total returns how long was waited.
func (c *clock) total() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	var sum time.Duration
	for _, d := range c.waits {
		sum += d
	}
	return sum
}

// testForge is a forge with its client.
type testForge struct {
	*forgetest.Server
	*forge.Client
	clock *clock
	url   string
	notes *[]string
}

var web = forge.Path{Owner: "Acme", Name: "web"}

// open starts a forge with the repository Acme/web.
func open(t *testing.T, kind forge.Kind, change ...func(*forge.Options)) testForge {
	t.Helper()
	s := &forgetest.Server{Kind: string(kind), Token: "good-token", User: "mill", Users: []string{"ada", "bob"}, Page: 2}
	s.Add(forgetest.Repo{Owner: web.Owner, Name: web.Name})
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Cleanup(func() { checkCalls(t, s) })
	c := &clock{now: time.Unix(2000000000, 0)}
	o := forge.Options{
		Kind: kind, Server: server.URL, UserAgent: "millhand/test", Now: c.Now, Sleep: c.Sleep,
		Token: func(context.Context, string) (string, error) { return "good-token", nil },
	}
	p := testForge{Server: s, clock: c, url: server.URL, notes: new([]string)}
	o.Notify = func(text string) { *p.notes = append(*p.notes, text) }
	for _, f := range change {
		f(&o)
	}
	client, err := connect.Client(o)
	if err != nil {
		t.Fatal(err)
	}
	p.Client = client
	return p
}

var kinds = []forge.Kind{forge.GitHub, forge.GitLab, forge.Gitea}

func example() forge.New {
	return forge.New{
		Head: forge.Head{Branch: "fix/a"}, Base: "main", Title: "Fix a", Body: "It was broken.",
		Labels: []string{"bot"}, Reviewers: []string{"ada"}, Assignees: []string{"bob"},
	}
}

func TestPullRequestFromCreationToMerge(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			p := open(t, kind)
			if _, err := p.Find(t.Context(), web, example().Head); !errors.Is(err, forge.ErrNotFound) {
				t.Fatalf("found one before it was created: %v", err)
			}
			made, created, err := p.Create(t.Context(), web, example())
			if err != nil || !created {
				t.Fatal(created, err)
			}
			want := forgetest.Pull{
				Repo: "Acme/web", Head: "Acme/web", Number: 1, Branch: "fix/a", Base: "main", SHA: made.SHA, Title: "Fix a", Body: "It was broken.",
				State: "open", Labels: []string{"bot"}, Reviewers: []string{"ada"}, Assignees: []string{"bob"},
			}
			if diff := cmp.Diff([]forgetest.Pull{want}, p.Pulls()); diff != "" {
				t.Fatal(diff)
			}
			found, err := p.Find(t.Context(), web, example().Head)
			if err != nil || found.Number != made.Number || found.URL != made.URL || found.State != forge.Open || found.Head != example().Head {
				t.Fatal(found, err)
			}
			title := "Fix a completely"
			changed, err := p.Update(t.Context(), web, 1, forge.Change{Title: &title, Labels: []string{"big"}, Assignees: []string{"ada"}})
			if err != nil || changed.Title != title || changed.Body != "It was broken." {
				t.Fatal(changed, err)
			}
			if got := p.Pulls()[0]; !slices.Equal(got.Labels, []string{"bot", "big"}) || !slices.Equal(got.Assignees, []string{"bob", "ada"}) {
				t.Fatal(got)
			}
			got, err := p.Get(t.Context(), web, 1)
			if err != nil || got.Checks != forge.NoChecks || got.Mergeable != forge.CanMerge {
				t.Fatal(got, err)
			}
			if err := p.Merge(t.Context(), web, 1, strings.Repeat("1", 40), forge.Squash); !errors.Is(err, forge.ErrConflict) {
				t.Fatalf("merged another commit: %v", err)
			}
			for range 2 { // the second time it is merged already
				if err := p.Merge(t.Context(), web, 1, got.SHA, forge.Squash); err != nil {
					t.Fatal(err)
				}
			}
			if found, err = p.Find(t.Context(), web, example().Head); err != nil || found.State != forge.Merged {
				t.Fatal(found, err)
			}
		})
	}
}

func TestCreateIsIdempotent(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			p := open(t, kind)
			first, _, err := p.Create(t.Context(), web, example())
			if err != nil {
				t.Fatal(err)
			}
			again, created, err := p.Create(t.Context(), web, example())
			if err != nil || created || again.Number != first.Number {
				t.Fatal(again, created, err)
			}
			if err := p.Close(t.Context(), web, 1); err != nil {
				t.Fatal(err)
			}
			if found, err := p.Find(t.Context(), web, example().Head); err != nil || found.State != forge.Closed {
				t.Fatal(found, err)
			}
			again, created, err = p.Create(t.Context(), web, example())
			if err != nil || !created || again.Number != 2 {
				t.Fatal(again, created, err)
			}
			if found, err := p.Find(t.Context(), web, example().Head); err != nil || found.Number != 2 {
				t.Fatal(found, err)
			}
		})
	}
}

// TestNoFaultDuplicatesAWrite runs each write with each fault.
func TestNoFaultDuplicatesAWrite(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			for _, fault := range forgetest.Faults() {
				t.Run(string(fault), func(t *testing.T) {
					p := open(t, kind, func(o *forge.Options) { o.Reject = func(context.Context, string, string) {} })
					final := fault == forgetest.Elsewhere || fault == forgetest.Expired // no other token exists
					p.Fail(1, fault, "POST", "")
					_, created, err := p.Create(t.Context(), web, example())
					if final {
						if err == nil || len(p.Pulls()) != 0 {
							t.Fatal(err, p.Pulls())
						}
						return
					}
					if err != nil || !created || len(p.Pulls()) != 1 {
						t.Fatal(created, err, p.Pulls())
					}
					if got := p.Pulls()[0]; !slices.Equal(got.Labels, []string{"bot"}) {
						t.Fatalf("labels %q after a retry", got.Labels)
					}
					p.Fail(1, fault, "POST", "")
					thread := forge.Thread{Number: 1}
					if _, err := p.Comment(t.Context(), web, thread, "report", "all green"); err != nil || len(p.Notes()) != 1 {
						t.Fatal(err, p.Notes())
					}
					p.Fail(1, fault, "", "/merge")
					if err := p.Merge(t.Context(), web, 1, p.Pulls()[0].SHA, forge.MergeCommit); err != nil || p.Pulls()[0].State != "merged" {
						t.Fatal(err, p.Pulls())
					}
					p.Fail(1, fault, "POST", "")
					if _, err := p.Fork(t.Context(), web, ""); err != nil {
						t.Fatal(err)
					}
				})
			}
		})
	}
}

// TestReadsAreRepeated runs a read with each fault.
func TestReadsAreRepeated(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			for _, fault := range []forgetest.Fault{forgetest.Limited, forgetest.Secondary, forgetest.Abuse, forgetest.Unavailable, forgetest.BrokenAfter, forgetest.Cut, forgetest.CutAfter} {
				p := open(t, kind)
				p.Fail(1, fault, "GET", "")
				repo, err := p.Repo(t.Context(), web)
				if err != nil || repo.DefaultBranch != "main" || !repo.Push || repo.Path != web || len(*p.notes) != 1 {
					t.Fatal(fault, repo, err, *p.notes)
				}
				waits := map[forgetest.Fault]time.Duration{forgetest.Limited: 31 * time.Second, forgetest.Secondary: 7 * time.Second, forgetest.Abuse: time.Minute}
				if want := waits[fault]; want != 0 && p.clock.total() != want {
					t.Errorf("%s: waited %s, want %s", fault, p.clock.total(), want)
				}
			}
		})
	}
}

func TestPatienceIsBounded(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			p := open(t, kind)
			p.clock.now = time.Unix(2000000030-3600, 0)
			p.Fail(1, forgetest.Limited, "GET", "")
			_, err := p.Repo(t.Context(), web)
			if !errors.Is(err, forge.ErrLimited) || !strings.Contains(err.Error(), "retry after 2033-05-18 03:33:51 UTC") || len(p.clock.waits) != 0 {
				t.Fatal(err, p.clock.waits)
			}
			// Another request to the host must not be sent before that time, either.
			if _, err = p.Repo(t.Context(), web); !errors.Is(err, forge.ErrLimited) || len(p.Calls()) != 1 {
				t.Fatal(err, len(p.Calls()))
			}
			down := open(t, kind)
			down.Fail(100, forgetest.Cut, "", "")
			if _, err = down.Repo(t.Context(), web); !errors.Is(err, forge.ErrUnreachable) || len(down.Calls()) != 5 {
				t.Fatal(err, len(down.Calls()))
			}
		})
	}
}

func TestWritesArePaced(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			p := open(t, kind)
			var all sync.WaitGroup
			for _, branch := range []string{"a", "b", "c", "d"} {
				all.Go(func() {
					if _, _, err := p.Create(t.Context(), web, forge.New{Head: forge.Head{Branch: branch}, Base: "main", Title: branch}); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if want := []time.Duration{time.Second, time.Second, time.Second}; !slices.Equal(p.clock.waits, want) {
				t.Fatalf("waits %v between 4 writes", p.clock.waits)
			}
		})
	}
}

func TestExpiredTokenIsReplacedOnce(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			token, rejected := "old", 0
			p := open(t, kind, func(o *forge.Options) {
				o.Token = func(context.Context, string) (string, error) { return token + "-token", nil }
				o.Reject = func(_ context.Context, owner, refused string) {
					if rejected++; owner != "Acme" || refused != "old-token" {
						t.Errorf("rejected %s of %s", refused, owner)
					}
					token = "good"
				}
			})
			if _, created, err := p.Create(t.Context(), web, example()); err != nil || !created || rejected != 1 {
				t.Fatal(created, err, rejected)
			}
			p.SetToken("another")
			token = "old"
			_, err := p.Repo(t.Context(), web)
			if !errors.Is(err, forge.ErrDenied) || rejected != 2 {
				t.Fatal(err, rejected)
			}
		})
	}
}

func TestTokenStaysOnItsServer(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			other := &forgetest.Server{Kind: string(kind)}
			elsewhere := httptest.NewServer(other)
			defer elsewhere.Close()
			p := open(t, kind)
			p.Fail(1, forgetest.Elsewhere, "", "")
			if _, err := p.Repo(t.Context(), web); err == nil || !strings.Contains(err.Error(), "leads to another server, localhost:9") {
				t.Fatal(err)
			}
			if len(other.Calls()) != 0 || len(p.Calls()) != 1 {
				t.Fatal("the redirect was followed or retried")
			}
		})
	}
}

func TestCommentsAreUpdated(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			for _, user := range []string{"mill", ""} {
				if user == "" && kind != forge.GitHub {
					continue // tokens without a user are of GitHub
				}
				p := open(t, kind)
				p.User = user
				for _, thread := range []forge.Thread{{Number: 7, Issue: true}, {Number: 1}} {
					// The comment of somebody else with the marker is left alone.
					p.AddNote(forgetest.Note{Repo: "Acme/web", Number: thread.Number, Issue: thread.Issue, Author: "ada", Body: "mine\n<!-- millhand:report -->"})
					for range 3 {
						p.AddNote(forgetest.Note{Repo: "Acme/web", Number: thread.Number, Issue: thread.Issue, Author: "bob", Body: "talk"})
					}
					before := len(p.Notes())
					if err := p.CheckThread(t.Context(), web, thread); err != nil {
						t.Fatal(err)
					}
					if err := p.CheckThread(t.Context(), web, forge.Thread{Number: forgetest.NoThread, Issue: thread.Issue}); !errors.Is(err, forge.ErrNotFound) {
						t.Fatal(err)
					}
					first, err := p.Comment(t.Context(), web, thread, "report", "red")
					if err != nil || !first.Created || first.URL == "" {
						t.Fatal(first, err)
					}
					again, err := p.Comment(t.Context(), web, thread, "report", "green")
					if err != nil || again.Created || again.URL != first.URL {
						t.Fatal(again, err)
					}
					calls := len(p.Calls())
					if _, err := p.Comment(t.Context(), web, thread, "report", "green"); err != nil {
						t.Fatal(err)
					}
					for _, c := range p.Calls()[calls:] {
						if c.Method != "GET" && !strings.HasSuffix(c.Path, "/graphql") { // which is asked for the user of an app
							t.Errorf("the same text was written again: %s %s", c.Method, c.Path)
						}
					}
					if notes := p.Notes(); len(notes) != before+1 || !strings.HasPrefix(notes[before].Body, "green\n") {
						t.Fatal(notes[before:])
					}
				}
			}
		})
	}
}

func TestSubgroupsAreListed(t *testing.T) {
	p := open(t, forge.GitLab)
	p.Add(forgetest.Repo{Owner: "Acme/tools", Name: "cli"})
	all, err := p.ListRepos(t.Context(), forge.Filter{Owner: "Acme"})
	if err != nil || len(all.Repos) != 2 || all.Repos[0].Path != (forge.Path{Owner: "Acme/tools", Name: "cli"}) {
		t.Fatal(all, err)
	}
	deep := forge.Path{Owner: "Acme/tools", Name: "cli"}
	if _, created, err := p.Create(t.Context(), deep, forge.New{Head: forge.Head{Branch: "fix"}, Base: "main", Title: "Fix"}); err != nil || !created {
		t.Fatal(err)
	}
}

func TestPullRequestsOfForks(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			p := open(t, kind)
			fork, err := p.Fork(t.Context(), web, "")
			if err != nil || fork.Path != (forge.Path{Owner: "mill", Name: "web"}) || fork.Parent != web {
				t.Fatal(fork, err)
			}
			if again, err := p.Fork(t.Context(), web, ""); err != nil || again.Path != fork.Path {
				t.Fatal(again, err)
			}
			inside, outside := example(), example()
			outside.Head.Repo = fork.Path
			first, _, err := p.Create(t.Context(), web, inside)
			if err != nil {
				t.Fatal(err)
			}
			second, created, err := p.Create(t.Context(), web, outside)
			if err != nil || !created || second.Number == first.Number {
				t.Fatal(second, created, err)
			}
			for _, want := range []forge.PullRequest{first, second} {
				head := inside.Head
				if want.Number == second.Number {
					head = outside.Head
				}
				if found, err := p.Find(t.Context(), web, head); err != nil || found.Number != want.Number {
					t.Errorf("head %v: found %d, want %d (%v)", head, found.Number, want.Number, err)
				}
			}
			// The branch of a fork is not one of the repository, also if it has the same name, and if the fork was deleted.
			numbers := []int64{second.Number}
			if kind != forge.GitHub { // whose document lacks that the repository of a head can be null: see TestHeadsOfDeletedForks
				numbers = append(numbers, 9)
				p.AddPull(forgetest.Pull{Repo: web.String(), Head: "gone/web", Number: 9, Branch: inside.Head.Branch, Base: "main", Title: "Fix", State: "open"})
			}
			for _, number := range numbers {
				if got, err := p.Pull(t.Context(), web, number); err != nil || got.Head.Repo == (forge.Path{}) {
					t.Errorf("pull request %d of a fork: %+v (%v)", number, got.Head, err)
				}
			}
			if found, err := p.Find(t.Context(), web, inside.Head); err != nil || found.Number != first.Number {
				t.Errorf("found %d, want %d, which is newer, but of a fork (%v)", found.Number, first.Number, err)
			}
			p.Add(forgetest.Repo{Owner: "other", Name: "web"})
			if _, err := p.Fork(t.Context(), web, "other"); !errors.Is(err, forge.ErrConflict) {
				t.Errorf("a repository that is no fork was returned: %v", err)
			}
		})
	}
}

func TestADraftIsCreatedUnlessTheForgeHasNone(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			p := open(t, kind)
			n := example()
			n.Draft = true
			made, _, err := p.Create(t.Context(), web, n)
			if err != nil || !made.Draft || made.Title != "Fix a" || !p.Pulls()[0].Draft {
				t.Fatal(made, err)
			}
			title, ready := "Fix b", false
			if made, err = p.Update(t.Context(), web, 1, forge.Change{Title: &title}); err != nil || !made.Draft || made.Title != "Fix b" {
				t.Fatal(made, err)
			}
			made, err = p.Update(t.Context(), web, 1, forge.Change{Draft: &ready})
			if kind == forge.GitHub {
				if !errors.Is(err, errors.ErrUnsupported) {
					t.Fatal(err)
				}
				return
			}
			if err != nil || made.Draft || made.Title != "Fix b" {
				t.Fatal(made, err)
			}
		})
	}
}

func TestChecksAreSummarized(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			for state, want := range map[string]forge.Checks{"": forge.NoChecks, "pending": forge.ChecksPending, "success": forge.ChecksPassed, "failure": forge.ChecksFailed} {
				p := open(t, kind)
				p.AddPull(forgetest.Pull{Repo: "Acme/web", Head: "Acme/web", Number: 1, Branch: "x", Base: "main", State: "open", Checks: state, Conflict: true})
				got, err := p.Get(t.Context(), web, 1)
				mergeable := forge.CannotMerge
				if kind == forge.Gitea {
					mergeable = forge.MergeUnknown
				}
				if err != nil || got.Checks != want || got.Mergeable != mergeable || !got.Conflict {
					t.Errorf("%q: %q %q %t %v", state, got.Checks, got.Mergeable, got.Conflict, err)
				}
				p.Set("Acme/web", 1, func(pull *forgetest.Pull) { pull.Conflict, pull.Draft = false, true })
				if got, err = p.Get(t.Context(), web, 1); err != nil || got.Conflict {
					t.Errorf("a draft has conflicts: %v %v", got, err)
				}
			}
		})
	}
}

// TestMergeWaitsForGiteasCheck merges while the server is checking for conflicts, which ends,
// and with conflicts, for which its response is the same.
func TestMergeWaitsForGiteasCheck(t *testing.T) {
	for _, c := range []struct {
		pull  forgetest.Pull
		calls int
		want  error
	}{
		{forgetest.Pull{Checking: 3}, 4, nil},
		{forgetest.Pull{Conflict: true}, 6, forge.ErrConflict},
	} {
		p := open(t, forge.Gitea)
		c.pull.Repo, c.pull.Head, c.pull.Number, c.pull.Branch, c.pull.Base, c.pull.State = "Acme/web", "Acme/web", 1, "x", "main", "open"
		p.AddPull(c.pull)
		got, err := p.Get(t.Context(), web, 1)
		if err != nil || got.Mergeable != forge.MergeUnknown {
			t.Errorf("mergeable %q (%v)", got.Mergeable, err)
		}
		if err := p.Merge(t.Context(), web, 1, got.SHA, forge.Squash); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c.pull, err)
		}
		if sent := len(slices.DeleteFunc(p.Calls(), func(c forgetest.Call) bool { return c.Method == "GET" })); sent != c.calls {
			t.Errorf("%+v: %d requests to merge, want %d", c.pull, sent, c.calls)
		}
	}
}

// TestGiteaReportsWhatItIgnores tests what a Gitea server ignores or fails at.
func TestGiteaReportsWhatItIgnores(t *testing.T) {
	p := open(t, forge.Gitea)
	p.NoLabels = []string{"none"}
	n := example()
	n.Labels = []string{"none", "bot"}
	pr, created, err := p.Create(t.Context(), web, n)
	if !errors.Is(err, forge.ErrNotFound) || !strings.Contains(err.Error(), "labels not found: none; create them") || !created || pr.Number != 1 {
		t.Error(pr, created, err)
	}
	if got := p.Pulls()[0]; !slices.Equal(got.Labels, []string{"bot"}) || !slices.Equal(got.Reviewers, []string{"ada"}) {
		t.Errorf("%+v", got)
	}
	if _, err := p.Comment(t.Context(), web, forge.Thread{Number: 4711, Issue: true}, "report", "x"); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("comment on a missing issue: %v", err)
	}
}

func TestErrorsAreReadable(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			p := open(t, kind)
			p.Add(forgetest.Repo{Owner: "Acme", Name: "closed", NoPulls: true, NoPush: true})
			closed := forge.Path{Owner: "Acme", Name: "closed"}
			_, _, err := p.Create(t.Context(), closed, example())
			if !errors.Is(err, forge.ErrDenied) || !strings.HasPrefix(err.Error(), "create pull request for fix/a in Acme/closed: 127.0.0.1:") || !strings.HasSuffix(err.Error(), "responded with status 403: Resource not accessible by integration") {
				t.Error(err)
			}
			if r, err := p.Repo(t.Context(), closed); err != nil || r.Push || r.PushUnknown {
				t.Error(r, err)
			}
			for _, bad := range []forge.Path{{Owner: "..", Name: "x"}, {Owner: "a", Name: ""}, {Owner: "a/../b", Name: "x"}} {
				if _, err := p.Repo(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "invalid name") {
					t.Errorf("%v: %v", bad, err)
				}
			}
			p.Fail(1, forgetest.GarbledAfter, "GET", "")
			if _, err := p.Repo(t.Context(), web); err == nil || !strings.Contains(err.Error(), "invalid JSON in the response") {
				t.Error(err)
			}
		})
	}
}

func TestCancelledRequestEnds(t *testing.T) {
	p := open(t, forge.GitHub, func(o *forge.Options) { o.Sleep = nil })
	p.Fail(100, forgetest.Secondary, "", "")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopped")
	cancel(stop)
	if _, err := p.Repo(ctx, web); !errors.Is(err, stop) {
		t.Fatal(err)
	}
}
