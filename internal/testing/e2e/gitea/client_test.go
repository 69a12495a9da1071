package gitea

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/forge"
)

var web = forge.Path{Owner: "acme", Name: "web"}

// scopes are those of a token for millhand.
var scopes = []string{"write:repository", "write:issue", "read:user", "read:organization"}

// populate creates the organization acme with the repository web, which mill can write,
// and returns the token of mill. Each test of a client uses a branch of its own.
func (s *server) populate() string {
	s.t.Helper()
	mill := s.user("mill", scopes...)
	s.user("ada", "all")
	s.user("bob", "all")
	s.api(s.root, "POST", "/orgs", object{"username": "acme"}, nil)
	s.repo("acme", "web")
	for _, name := range []string{"mill", "ada", "bob"} {
		s.api(s.root, "PUT", "/repos/acme/web/collaborators/"+name, object{"permission": "write"}, nil)
	}
	s.api(s.root, "POST", "/repos/acme/web/labels", object{"name": "bot", "color": "#00aabb"}, nil)
	s.api(s.root, "POST", "/repos/acme/web/labels", object{"name": "big", "color": "#00aabb"}, nil)
	return mill
}

// repo creates a repository with one commit.
func (s *server) repo(owner, name string) {
	s.t.Helper()
	s.api(s.root, "POST", "/orgs/"+owner+"/repos", object{"name": name, "auto_init": true, "default_branch": "main"}, nil)
}

// pullDoc has the fields of a pull request that the tests look at.
type pullDoc struct {
	Number       int64
	Title, Body  string
	State        string
	Draft        bool
	Merged       bool
	Labels       []struct{ Name string }
	Assignees    []struct{ Login string }
	Reviewers    []struct{ Login string } `json:"requested_reviewers"`
	Head         struct{ Ref, SHA string }
	Base         struct{ Ref string }
	HTMLURL      string `json:"html_url"`
	ChangedFiles int    `json:"changed_files"`
}

func (p pullDoc) names() string {
	var labels, assignees, reviewers []string
	for _, l := range p.Labels {
		labels = append(labels, l.Name)
	}
	for _, u := range p.Assignees {
		assignees = append(assignees, u.Login)
	}
	for _, u := range p.Reviewers {
		reviewers = append(reviewers, u.Login)
	}
	for _, list := range [][]string{labels, assignees, reviewers} {
		slices.Sort(list)
	}
	return fmt.Sprintf("labels %v assignees %v reviewers %v", labels, assignees, reviewers)
}

func (s *server) pull(path forge.Path, number int64) pullDoc {
	s.t.Helper()
	var p pullDoc
	s.api(s.root, "GET", fmt.Sprintf("/repos/%s/pulls/%d", path, number), nil, &p)
	return p
}

// TestClient tests the client with a Gitea server.
func TestClient(t *testing.T) {
	s := start(t)
	mill := s.populate()
	c := s.client(mill)
	for name, test := range map[string]func(*testing.T, *server, *forge.Client){
		"pull request": testPullRequest, "drafts": testDrafts, "checks": testChecks, "comments": testComments, "pages": testPages, "rules": testRules, "lines": testLines, "issues": testIssues,
		"repositories": testRepositories, "forks": testForks, "rights": testRights,
	} {
		t.Run(name, func(t *testing.T) {
			mine := *s
			mine.t = t
			test(t, &mine, c)
		})
	}
}

func testPullRequest(t *testing.T, s *server, c *forge.Client) {
	t.Helper()
	s.push("acme/web", "fix/a", map[string]string{"a.txt": "1\n"})
	head := forge.Head{Branch: "fix/a"}
	if _, err := c.Find(t.Context(), web, head); !errors.Is(err, forge.ErrNotFound) {
		t.Fatalf("found one before it was created: %v", err)
	}
	n := forge.New{Head: head, Base: "main", Title: "Fix a", Body: "It was broken.", Labels: []string{"bot"}, Reviewers: []string{"ada"}, Assignees: []string{"bob"}}
	made, created, err := c.Create(t.Context(), web, n)
	if err != nil || !created {
		t.Fatal(made, created, err)
	}
	got := s.pull(web, made.Number)
	if got.Title != "Fix a" || got.Body != "It was broken." || got.HTMLURL != made.URL || got.Head.SHA != made.SHA || got.Base.Ref != "main" {
		t.Errorf("created %+v, want %+v", got, made)
	}
	if names := got.names(); names != "labels [bot] assignees [bob] reviewers [ada]" {
		t.Error(names)
	}
	again, created, err := c.Create(t.Context(), web, n)
	if err != nil || created || again.Number != made.Number {
		t.Fatal(again, created, err)
	}
	found, err := c.Find(t.Context(), web, head)
	if err != nil || found.Number != made.Number || found.State != forge.Open || found.Head != head {
		t.Fatal(found, err)
	}
	title, body := "Fix a completely", "All of it."
	changed, err := c.Update(t.Context(), web, made.Number, forge.Change{Title: &title, Body: &body, Labels: []string{"big"}, Reviewers: []string{"bob"}, Assignees: []string{"ada"}})
	if err != nil || changed.Title != title || changed.Body != body {
		t.Fatal(changed, err)
	}
	if names := s.pull(web, made.Number).names(); names != "labels [big bot] assignees [ada bob] reviewers [ada bob]" {
		t.Error(names)
	}

	// What Gitea doesn't know is an error, and changes nothing that exists.
	for what, change := range map[string]forge.Change{"label": {Labels: []string{"unknown"}}, "reviewer": {Reviewers: []string{"unknown"}}, "assignee": {Assignees: []string{"unknown"}}} {
		_, err := c.Update(t.Context(), web, made.Number, change)
		t.Logf("unknown %s: %v", what, err)
		if err == nil {
			t.Errorf("unknown %s: no error", what)
		}
	}
	if names := s.pull(web, made.Number).names(); names != "labels [big bot] assignees [ada bob] reviewers [ada bob]" {
		t.Error(names)
	}

	if err := c.Close(t.Context(), web, made.Number); err != nil {
		t.Fatal(err)
	}
	if found, err = c.Find(t.Context(), web, head); err != nil || found.State != forge.Closed || found.Number != made.Number {
		t.Fatal(found, err)
	}
	second, created, err := c.Create(t.Context(), web, forge.New{Head: head, Base: "main", Title: "Fix a"})
	if err != nil || !created || second.Number == made.Number {
		t.Fatal(second, created, err)
	}
	if found, err = c.Find(t.Context(), web, head); err != nil || found.Number != second.Number {
		t.Fatal(found, err)
	}

	// A branch without a difference, or none at all.
	s.api(s.root, "POST", "/repos/acme/web/branches", object{"new_branch_name": "same"}, nil)
	for _, branch := range []string{"same", "missing"} {
		pr, created, err := c.Create(t.Context(), web, forge.New{Head: forge.Head{Branch: branch}, Base: "main", Title: "x"})
		t.Logf("create for the branch %s: %v %t %v", branch, pr.Number, created, err)
		if branch == "missing" && err == nil {
			t.Error("a pull request for a missing branch was created")
		}
	}
}

func testDrafts(t *testing.T, s *server, c *forge.Client) {
	t.Helper()
	s.push("acme/web", "draft", map[string]string{"d.txt": "1\n"})
	made, _, err := c.Create(t.Context(), web, forge.New{Head: forge.Head{Branch: "draft"}, Base: "main", Title: "Fix d", Draft: true})
	if err != nil || !made.Draft || made.Title != "Fix d" {
		t.Fatal(made, err)
	}
	if got := s.pull(web, made.Number); !got.Draft || got.Title != "WIP: Fix d" {
		t.Errorf("%+v", got)
	}
	found, err := c.Find(t.Context(), web, forge.Head{Branch: "draft"})
	if err != nil || !found.Draft || found.Title != "Fix d" {
		t.Fatal(found, err)
	}
	got, err := c.Get(t.Context(), web, made.Number)
	if err != nil || got.Mergeable == forge.CanMerge {
		t.Error("a draft can be merged", got, err)
	}
	if err := c.Merge(t.Context(), web, made.Number, got.SHA, forge.MergeCommit); !errors.Is(err, forge.ErrConflict) {
		t.Errorf("a draft was merged: %v", err)
	}
	title, ready := "Fix e", false
	if made, err = c.Update(t.Context(), web, made.Number, forge.Change{Title: &title}); err != nil || !made.Draft || made.Title != title {
		t.Fatal(made, err)
	}
	if made, err = c.Update(t.Context(), web, made.Number, forge.Change{Draft: &ready}); err != nil || made.Draft || made.Title != title {
		t.Fatal(made, err)
	}
}

// testChecks merges by the API: only if the head is as expected and required checks passed. The states of checks are
// those of the first method, on which they don't depend.
func testChecks(t *testing.T, s *server, c *forge.Client) {
	t.Helper()
	s.api(s.root, "POST", "/repos/acme/web/branches", object{"new_branch_name": "release"}, nil)
	s.api(s.root, "POST", "/repos/acme/web/branch_protections", object{"rule_name": "release", "enable_status_check": true, "status_check_contexts": []string{"ci"}}, nil)
	for _, method := range []forge.MergeMethod{forge.MergeCommit, forge.Squash, forge.Rebase} {
		branch := "checked-" + string(method)
		s.push("acme/web", branch, map[string]string{branch: "1\n"})
		made, _, err := c.Create(t.Context(), web, forge.New{Head: forge.Head{Branch: branch}, Base: "release", Title: "Fix by " + string(method)})
		if err != nil {
			t.Fatal(err)
		}
		get := func(want forge.Checks) forge.PullRequest {
			t.Helper()
			got, err := c.Get(t.Context(), web, made.Number)
			if err != nil || got.Checks != want {
				t.Errorf("checks are %q, want %q (%v)", got.Checks, want, err)
			}
			return got
		}
		get(forge.NoChecks)
		type step struct {
			state string
			want  forge.Checks
		}
		steps := []step{{"failure", forge.ChecksFailed}, {"success", forge.ChecksPassed}}
		if method == forge.MergeCommit {
			steps = slices.Insert(steps, 1, step{"error", forge.ChecksFailed}, step{"pending", forge.ChecksPending})
		}
		for _, step := range steps {
			s.api(s.root, "POST", "/repos/acme/web/statuses/"+made.SHA, object{"state": step.state, "context": "ci"}, nil)
			get(step.want)
			if step.state == "failure" {
				err := c.Merge(t.Context(), web, made.Number, made.SHA, method)
				t.Logf("merge with a failed check: %v", err)
				if !errors.Is(err, forge.ErrConflict) {
					t.Errorf("%v", err)
				}
			}
		}
		if err := c.Merge(t.Context(), web, made.Number, strings.Repeat("1", 40), method); !errors.Is(err, forge.ErrConflict) {
			t.Errorf("merged another commit: %v", err)
		}
		for range 2 {
			if err := c.Merge(t.Context(), web, made.Number, made.SHA, method); err != nil {
				t.Fatalf("%s: %v", method, err)
			}
		}
		if found, err := c.Find(t.Context(), web, forge.Head{Branch: branch}); err != nil || found.State != forge.Merged {
			t.Error(found, err)
		}
		if got := s.pull(web, made.Number); !got.Merged {
			t.Errorf("%+v", got)
		}
	}
}

// testRules merges into branches whose rules require more than checks. A code owner is asked for a
// review, which blocks the merge by the rule of the second branch.
func testRules(t *testing.T, s *server, c *forge.Client) {
	t.Helper()
	s.push("acme/web", "main", map[string]string{"CODEOWNERS": "owned @ada\n"})
	for branch, rule := range map[string]object{
		"guarded": {"required_approvals": 1, "block_on_rejected_reviews": true}, "owned": {"block_on_official_review_requests": true},
	} {
		s.api(s.root, "POST", "/repos/acme/web/branches", object{"new_branch_name": branch}, nil)
		rule["rule_name"] = branch
		s.api(s.root, "POST", "/repos/acme/web/branch_protections", rule, nil)
	}
	bob, ada := s.token("bob", scopes...), s.token("ada", scopes...)
	for base, rule := range map[string]struct {
		by            string
		without, with string // messages without a review, and after changes were requested
	}{
		"guarded": {bob, "Does not have enough approvals; have it approved, and merge it again", "Does not have enough approvals; have it approved, and merge it again"},
		"owned":   {ada, "There are official review requests; have it approved, and merge it again", ""},
	} {
		s.push("acme/web", "to-"+base, map[string]string{base: "1\n"})
		made, _, err := c.Create(t.Context(), web, forge.New{Head: forge.Head{Branch: "to-" + base}, Base: base, Title: "Fix " + base})
		must(t, err)
		review := func(event, want string) {
			t.Helper()
			if event != "" {
				s.api(rule.by, "POST", fmt.Sprintf("/repos/acme/web/pulls/%d/reviews", made.Number), object{"event": event, "body": "see there"}, nil)
			}
			err := c.Merge(t.Context(), web, made.Number, made.SHA, forge.MergeCommit)
			if want == "" && err != nil || want != "" && (!errors.Is(err, forge.ErrConflict) || !strings.HasSuffix(err.Error(), want)) {
				t.Errorf("%s after %q: %v, want %q", base, event, err, want)
			}
		}
		review("", rule.without)
		if rule.with != "" {
			review("REQUEST_CHANGES", rule.with)
		}
		review("APPROVED", "")
		if !s.pull(web, made.Number).Merged {
			t.Errorf("%s: not merged", base)
		}
	}
}

func testComments(t *testing.T, s *server, c *forge.Client) {
	t.Helper()
	var issue struct{ Number int64 }
	s.api(s.root, "POST", "/repos/acme/web/issues", object{"title": "It is broken", "body": "Fix it."}, &issue)
	s.push("acme/web", "commented", map[string]string{"c.txt": "1\n"})
	made, _, err := c.Create(t.Context(), web, forge.New{Head: forge.Head{Branch: "commented"}, Base: "main", Title: "Fix c"})
	must(t, err)
	type comment struct {
		Body string
		User struct{ Login string }
		URL  string `json:"html_url"`
	}
	for _, thread := range []forge.Thread{{Number: issue.Number, Issue: true}, {Number: made.Number}} {
		path := fmt.Sprintf("/repos/acme/web/issues/%d/comments", thread.Number)
		s.api(s.root, "POST", path, object{"body": "mine\n<!-- millhand:report -->"}, nil)
		for range 7 { // more than a page of other lists
			s.api(s.root, "POST", path, object{"body": "talk"}, nil)
		}
		first, err := c.Comment(t.Context(), web, thread, "report", "red")
		if err != nil || !first.Created {
			t.Fatal(first, err)
		}
		again, err := c.Comment(t.Context(), web, thread, "report", "green")
		if err != nil || again.Created || again.URL != first.URL {
			t.Fatal(again, err)
		}
		other, err := c.Comment(t.Context(), web, thread, "another", "text")
		if err != nil || !other.Created || other.URL == first.URL {
			t.Fatal(other, err)
		}
		var all []comment
		s.api(s.root, "GET", path, nil, &all)
		if len(all) != 10 || all[0].User.Login != "boss" || !strings.HasPrefix(all[0].Body, "mine\n") || all[8].User.Login != "mill" || !strings.HasPrefix(all[8].Body, "green\n") || all[8].URL != first.URL {
			t.Errorf("%+v, want the URL %s", all, first.URL)
		}
	}
	if _, err := c.Comment(t.Context(), web, forge.Thread{Number: 4711, Issue: true}, "report", "x"); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("comment on a missing issue: %v", err)
	}
}

// testIssues has what agents request: issues, each once, and labels of issues, which are created.
func testIssues(t *testing.T, s *server, c *forge.Client) {
	t.Helper()
	first, err := c.CreateIssue(t.Context(), web, "request-1", "[bot] Broken", "It is.")
	must(t, err)
	again, err := c.CreateIssue(t.Context(), web, "request-1", "[bot] Broken", "It is.")
	must(t, err)
	other, err := c.CreateIssue(t.Context(), web, "request-2", "Other", "It is.")
	must(t, err)
	if first.Number == 0 || again != first || other.Number == first.Number || first.Author != "mill" {
		t.Errorf("%+v, then %+v, then %+v", first, again, other)
	}
	must(t, c.AddLabel(t.Context(), web, forge.Thread{Number: first.Number, Issue: true}, "area/new"))
	var found struct {
		Title  string
		Labels []struct{ Name string }
	}
	s.api(s.root, "GET", fmt.Sprintf("/repos/acme/web/issues/%d", first.Number), nil, &found)
	if found.Title != "[bot] Broken" || len(found.Labels) != 1 || found.Labels[0].Name != "area/new" {
		t.Errorf("%+v", found)
	}
}

// testPages has lists that are longer than a page, whose last entry counts. Gitea announces the
// next page of only some of them, and combines only the statuses of a page.
func testPages(t *testing.T, s *server, c *forge.Client) {
	t.Helper()
	s.push("acme/web", "long", map[string]string{"long.txt": "1\n"})
	made, _, err := c.Create(t.Context(), web, forge.New{Head: forge.Head{Branch: "long"}, Base: "main", Title: "Long"})
	must(t, err)
	for i := range 12 {
		state := map[bool]string{true: "failure", false: "success"}[i == 0]
		s.api(s.root, "POST", "/repos/acme/web/statuses/"+made.SHA, object{"state": "pending", "context": fmt.Sprint("ci ", i)}, nil)
		s.api(s.root, "POST", "/repos/acme/web/statuses/"+made.SHA, object{"state": state, "context": fmt.Sprint("ci ", i)}, nil)
		s.api(s.root, "POST", fmt.Sprintf("/repos/acme/web/pulls/%d/reviews", made.Number), object{"event": "COMMENT", "body": fmt.Sprint("review ", i)}, nil)
		s.api(s.root, "POST", fmt.Sprintf("/repos/acme/web/issues/%d/comments", made.Number), object{"body": fmt.Sprint("comment ", i)}, nil)
	}
	if got, err := c.Get(t.Context(), web, made.Number); err != nil || got.Checks != forge.ChecksFailed {
		t.Errorf("checks %q (%v)", got.Checks, err)
	}
	list, err := c.CheckList(t.Context(), web, made.SHA)
	if failed := slices.IndexFunc(list, func(c forge.Check) bool { return c.Status != forge.ChecksPassed }); err != nil || len(list) != 12 || failed < 0 || list[failed].Name != "ci 0" {
		t.Errorf("%+v (%v)", list, err)
	}
	if all, err := c.Remarks(t.Context(), web, made.Number); err != nil || len(all) != 24 {
		t.Errorf("%d remarks, want 24 (%v)", len(all), err)
	}
}

func testRepositories(t *testing.T, s *server, c *forge.Client) {
	t.Helper()
	s.api(s.root, "POST", "/orgs", object{"username": "many"}, nil)
	s.api(s.root, "POST", "/orgs", object{"username": "hidden", "visibility": "private"}, nil)
	want := []string{}
	for i := range 12 {
		name := fmt.Sprintf("repo-%02d", i)
		s.api(s.root, "POST", "/orgs/many/repos", object{"name": name, "description": map[bool]string{true: "The API"}[i == 3], "auto_init": true}, nil)
		want = append(want, "many/"+name)
	}
	s.api(s.root, "PUT", "/repos/many/repo-01/topics/service", nil, nil)
	s.api(s.root, "PATCH", "/repos/many/repo-02", object{"archived": true}, nil)
	s.api(s.root, "PATCH", "/repos/many/repo-04", object{"private": true}, nil)
	s.api(s.root, "POST", "/repos/acme/web/forks", object{"organization": "many"}, nil)
	s.push("many/repo-05", "main", map[string]string{"main.go": "package main\n\nfunc main() {}\n"})
	without := func(all []string, names ...string) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(names, strings.TrimPrefix(name, "many/")) }), " ")
	}
	list := func(f forge.Filter) (string, error) {
		all, err := c.ListRepos(t.Context(), f)
		var names []string
		for _, r := range all.Repos {
			names = append(names, r.Path.String())
			if r.CloneURL != s.url+"/"+r.Path.String()+".git" {
				t.Errorf("clone URL %s", r.CloneURL)
			}
		}
		return strings.Join(names, " "), err
	}
	for _, q := range []struct {
		filter forge.Filter
		want   string
	}{
		{forge.Filter{Owner: "many"}, without(want, "repo-02", "repo-04")},
		{forge.Filter{Owner: "many", Archived: true, Forks: true}, without(want, "repo-04") + " many/web"},
		{forge.Filter{Owner: "many", Topic: "service"}, "many/repo-01"},
		{forge.Filter{Owner: "many", Search: "the api"}, "many/repo-03"},
		{forge.Filter{Owner: "ada"}, ""},
	} {
		if got, err := list(q.filter); err != nil || got != q.want {
			t.Errorf("%+v: %s, want %s (%v)", q.filter, got, q.want, err)
		}
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) { // Gitea computes languages later
		got, err := list(forge.Filter{Owner: "many", Language: "go"})
		if err == nil && got == "many/repo-05" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("by language: %q %v", got, err)
		}
	}
	for _, owner := range []string{"hidden", "nobody"} {
		if _, err := list(forge.Filter{Owner: owner}); !errors.Is(err, forge.ErrNotFound) {
			t.Errorf("%s: %v", owner, err)
		}
	}
}

func testForks(t *testing.T, s *server, c *forge.Client) {
	t.Helper()
	s.repo("acme", "closed")
	closed := forge.Path{Owner: "acme", Name: "closed"}
	if r, err := c.Repo(t.Context(), closed); err != nil || r.Push || r.PushUnknown || r.DefaultBranch != "main" {
		t.Fatalf("%+v %v", r, err)
	}
	fork, err := c.Fork(t.Context(), closed, "")
	if err != nil || fork.Path != (forge.Path{Owner: "mill", Name: "closed"}) || fork.Parent != closed || !fork.Push || !fork.Fork {
		t.Fatalf("%+v %v", fork, err)
	}
	if again, err := c.Fork(t.Context(), closed, ""); err != nil || again.Path != fork.Path {
		t.Fatal(again, err)
	}
	s.push("mill/closed", "fix", map[string]string{"f.txt": "1\n"})
	head := forge.Head{Repo: fork.Path, Branch: "fix"}
	made, created, err := c.Create(t.Context(), closed, forge.New{Head: head, Base: "main", Title: "Fix f"})
	if err != nil || !created || made.Head != head {
		t.Fatal(made, created, err)
	}
	if again, created, err := c.Create(t.Context(), closed, forge.New{Head: head, Base: "main", Title: "Fix f"}); err != nil || created || again.Number != made.Number {
		t.Fatal(again, created, err)
	}
	if found, err := c.Find(t.Context(), closed, head); err != nil || found.Number != made.Number {
		t.Fatal(found, err)
	}
	if _, err := c.Find(t.Context(), closed, forge.Head{Branch: "fix"}); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("the fork's was found as one of the repository: %v", err)
	}
	s.api(s.root, "POST", "/orgs", object{"username": "taken"}, nil)
	s.repo("taken", "closed")
	if _, err := c.Fork(t.Context(), closed, "taken"); !errors.Is(err, forge.ErrConflict) {
		t.Errorf("a repository that is no fork was returned: %v", err)
	}
	if err := c.Merge(t.Context(), closed, made.Number, made.SHA, forge.MergeCommit); err == nil || s.pull(closed, made.Number).Merged {
		t.Errorf("merged without rights: %v", err)
	} else {
		t.Logf("merge without rights: %v", err)
	}
}

// testRights tests tokens that may not do what is asked of them.
func testRights(t *testing.T, s *server, _ *forge.Client) {
	t.Helper()
	s.push("acme/web", "rights", map[string]string{"r.txt": "1\n"})
	s.api(s.root, "POST", "/orgs/acme/repos", object{"name": "secret", "private": true, "auto_init": true}, nil)
	eve := s.user("eve", scopes...)
	n := forge.New{Head: forge.Head{Branch: "rights"}, Base: "main", Title: "x", Labels: []string{"bot"}}
	for what, q := range map[string]struct {
		token string
		path  forge.Path
		want  error
	}{
		"invalid":             {"0123456789012345678901234567890123456789", web, forge.ErrDenied},
		"read only":           {s.token("mill", "read:repository", "read:issue"), web, forge.ErrDenied},
		"private repository":  {eve, forge.Path{Owner: "acme", Name: "secret"}, forge.ErrNotFound},
		"missing repository":  {eve, forge.Path{Owner: "acme", Name: "none"}, forge.ErrNotFound},
		"without a token":     {"", web, forge.ErrDenied},
		"labels by strangers": {eve, web, forge.ErrDenied},
	} {
		_, _, err := s.client(q.token).Create(t.Context(), q.path, n)
		t.Logf("%s: %v", what, err)
		if !errors.Is(err, q.want) || q.token != "" && strings.Contains(err.Error(), q.token) {
			t.Errorf("%s: %v, want %v", what, err, q.want)
		}
	}
	repo, err := s.client(eve).Repo(t.Context(), web)
	if err != nil || repo.Push || repo.PushUnknown {
		t.Errorf("%+v %v", repo, err)
	}
	var failed *forge.Error
	_, err = s.client("0123456789012345678901234567890123456789").Repo(t.Context(), web)
	if !errors.As(err, &failed) || failed.Status != http.StatusUnauthorized {
		t.Error(err)
	}
}
