package runner

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/tasks"
)

func TestTheStartOfAJobIsReported(t *testing.T) {
	s := setUp(t)
	j := s.begin(&tasks.Plan{}, s.job("a"))
	p := s.prepared(j)
	j.started(p)
	dir := filepath.Join(s.opts.Work, "trees", "a")
	started := s.of(event.JobStarted)
	if len(started) != 1 {
		t.Fatalf("%d jobs started", len(started))
	}
	want := &event.JobStart{Sandbox: event.Sandbox{Level: "none"}, Workspace: dir, Base: p.Base, Branch: "millhand/a", Repository: s.repo, BaseRef: "main"}
	want.Landing = &event.Landing{Branch: "millhand/a", Message: j.Message(p.Base, "", "")}
	if diff := cmp.Diff(want, started[0].JobStart); diff != "" {
		t.Errorf("the job's start (-want +got):\n%s", diff)
	}
}

// A process that publishes the job later knows from the start how it saves its changes.
func TestTheStartOfAJobHasHowItLands(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*stage, *tasks.Plan, *tasks.Job)
		want   *event.Landing
		remote bool // of a job that commits nothing
	}{
		"a push": {func(_ *stage, _ *tasks.Plan, j *tasks.Job) { j.Publish = tasks.PublishPush }, &event.Landing{Publish: "push", Branch: "millhand/a", Remote: "REMOTE"}, false},
		"a forge": {func(s *stage, p *tasks.Plan, _ *tasks.Job) {
			git(s.t, s.repo, "remote", "set-url", "origin", "https://Git.example.com/o/r.git")
			p.Forges = []tasks.Forge{{Host: "git.example.com", Kind: "gitea"}}
		}, &event.Landing{Branch: "millhand/a", Remote: "https://Git.example.com/o/r.git", Forge: "gitea"}, false},
		"an author and a key": {func(_ *stage, _ *tasks.Plan, j *tasks.Job) {
			j.Commit.Author, j.Commit.Sign, j.Commit.IfExists = tasks.Person{Name: "A", Email: "a@example.com"}, tasks.SignSSH, tasks.ReplaceIfExists
		}, &event.Landing{Branch: "millhand/a", Remote: "REMOTE", Author: "A <a@example.com>", Sign: "ssh", Exists: string(tasks.ReplaceIfExists)}, false},
		"in place": {func(_ *stage, _ *tasks.Plan, j *tasks.Job) { j.Commit.Branch = tasks.CurrentBranch }, &event.Landing{Branch: "main", OnBase: true, Remote: "REMOTE"}, false},
		"a pull request from a fork, which a later process publishes": {func(_ *stage, _ *tasks.Plan, j *tasks.Job) {
			j.Later = &tasks.Later{Publish: tasks.PublishPR, Comment: &tasks.Comment{Number: 4, Inline: true}, Pull: &tasks.PullRequest{
				Base: "main", Title: "T", Body: "B", Fork: "me/web", Draft: true, Labels: []string{"l"}, Reviewers: []string{"r"}, Assignees: []string{"x"}, IfExists: tasks.AppendIfExists,
			}}
		}, &event.Landing{Branch: "millhand/a", Remote: "REMOTE", PullRequest: &event.PullRequestSpec{
			Fork: "me/web", Base: "main", Title: "T", Body: "B", Draft: true, Labels: []string{"l"}, Reviewers: []string{"r"}, Assignees: []string{"x"}, Exists: string(tasks.AppendIfExists),
		}}, false},
		"nothing": {func(_ *stage, _ *tasks.Plan, j *tasks.Job) { j.Commit = nil }, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			url := s.remote()
			spec, plan := s.job("a"), &tasks.Plan{}
			c.change(s, plan, &spec)
			j := s.begin(plan, spec)
			p := s.prepared(j)
			j.started(p)
			got := s.of(event.JobStarted)[0].JobStart
			if c.want != nil {
				c.want.Message = j.Message(p.Base, "", "")
				c.want.Remote = strings.Replace(c.want.Remote, "REMOTE", j.landing(p).Remote, 1)
			}
			if diff := cmp.Diff(c.want, got.Landing); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if later := spec.Later; later != nil {
				want := &event.Later{Publish: string(later.Publish), Remote: got.Landing.Remote, Comment: &event.CommentSpec{Number: 4, Inline: true}}
				if diff := cmp.Diff(want, got.Later); diff != "" {
					t.Errorf("later (-want +got):\n%s", diff)
				}
				j.Start.Pull = publish.Target{Base: "dev", Fork: publish.Fork{Path: forge.Path{Owner: "you", Name: "web"}}} // what the forge has
				if pull := j.landing(p).PullRequest; pull.Fork != "you/web" || pull.Base != "dev" {
					t.Errorf("the forge's: %+v", pull)
				}
			} else if got.Later != nil {
				t.Errorf("later %+v", got.Later)
			}
			if c.remote != (got.Remote != "") || c.want != nil && c.want.Remote == "" {
				t.Errorf("the remote is %q, of %s", got.Remote, url)
			}
		})
	}
}
