package runner

import (
	"testing"

	"github.com/millhand/millhand/internal/event"
)

// A pull request is the run's if a process has created it, or may have when it was killed.
func TestPullRequestOfEarlierProcesses(t *testing.T) {
	pull := func(t event.Type, pr *event.PullRequest) event.Event {
		return event.Event{Type: t, Job: "a", Published: &event.Published{Hash: "h", PullRequest: pr}}
	}
	begins, updates := pull(event.PullRequestStarted, nil), pull(event.PullRequestStarted, &event.PullRequest{Number: 1})
	created, updated := pull(event.CommitPublished, &event.PullRequest{Number: 1, Created: true}), pull(event.CommitPublished, &event.PullRequest{Number: 1})
	pushed := pull(event.CommitPublished, nil)
	ended := func(code event.Code) event.Event {
		return event.Event{Type: event.JobEnded, Job: "a", JobEnd: &event.JobEnd{Code: code}}
	}
	for name, test := range map[string]struct {
		events []event.Event
		want   bool
	}{
		"none":                           {nil, false},
		"pushed":                         {[]event.Event{pushed}, false},
		"killed when it was created":     {[]event.Event{pushed, begins}, true},
		"and pushed again":               {[]event.Event{pushed, begins, pushed}, true},
		"stopped when it was created":    {[]event.Event{pushed, begins, ended(event.CodeBudget)}, true},
		"not created":                    {[]event.Event{pushed, begins, ended(event.CodePull)}, false},
		"created":                        {[]event.Event{begins, created}, true},
		"created, but not updated":       {[]event.Event{begins, created, ended(""), ended(event.CodePull)}, true},
		"killed when it was updated":     {[]event.Event{updates}, false},
		"updated":                        {[]event.Event{updates, updated}, false},
		"opened by another one":          {[]event.Event{begins, updated}, false},
		"killed when it updated its own": {[]event.Event{begins, pull(event.PullRequestStarted, &event.PullRequest{Number: 1, Created: true})}, true},
		"updated by a follow-up":         {[]event.Event{begins, created, updates, updated}, false},
		"another one after it":           {[]event.Event{begins, updated, begins}, true},
		"another one after its update":   {[]event.Event{updates, updated, begins, created}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var past Past
			for _, e := range test.events {
				if err := past.Emit(e); err != nil {
					t.Fatal(err)
				}
			}
			if got := past.job("a").published.ours(); got != test.want {
				t.Errorf("ours: %t", got)
			}
		})
	}
}

// So is a comment.
func TestCommentOfEarlierProcesses(t *testing.T) {
	started, posted := event.CommentStarted, event.CommentPosted
	for name, test := range map[string]struct {
		events []event.Event
		want   bool
	}{
		"none":                             {nil, false},
		"killed":                           {[]event.Event{{Type: started, Comment: &event.Comment{}}}, true},
		"created":                          {[]event.Event{{Type: started, Comment: &event.Comment{}}, {Type: posted, Comment: &event.Comment{URL: "u", Created: true}}}, true},
		"of an earlier run":                {[]event.Event{{Type: started, Comment: &event.Comment{URL: "u"}}}, false},
		"of an earlier process":            {[]event.Event{{Type: started, Comment: &event.Comment{URL: "u", Created: true}}}, true},
		"posted, not created":              {[]event.Event{{Type: started, Comment: &event.Comment{URL: "u"}}, {Type: posted, Comment: &event.Comment{URL: "u"}}}, false},
		"created meanwhile by another run": {[]event.Event{{Type: started, Comment: &event.Comment{}}, {Type: posted, Comment: &event.Comment{URL: "u"}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var j pastJob
			for _, e := range test.events {
				j.add(e)
			}
			if got := j.published.comment; got != test.want {
				t.Errorf("comment: %t", got)
			}
		})
	}
}
