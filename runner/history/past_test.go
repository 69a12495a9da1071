package history

import (
	"testing"

	"github.com/millhand/millhand/internal/event"
)

// publishedAfter returns what job a has published after the first event and others.
func publishedAfter(t *testing.T, first event.Event, others []event.Event) Published {
	t.Helper()
	var past Past
	for _, e := range append([]event.Event{first}, others...) {
		if err := past.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	return past.job("a").Published
}

// A pull request is the run's if a process has created it, or may have when it was killed.
func TestPullRequestOfEarlierProcesses(t *testing.T) {
	pull := func(t event.Type, url string, created bool) event.Event {
		p := &event.Published{Hash: "h", PullRequest: &event.PullRequest{URL: url, Created: created}}
		if url == "" {
			p.PullRequest = nil
		}
		return event.Event{Type: t, Job: "a", Published: p}
	}
	const started, published = event.PullRequestStarted, event.CommitPublished
	process, pushed, begins := event.Event{Type: event.RunStarted, Run: &event.Run{}}, pull(published, "", false), pull(started, "", false)
	created, updates, updated := pull(published, "u", true), pull(started, "u", false), pull(published, "u", false)
	ended := func(code event.Code) event.Event {
		return event.Event{Type: event.JobEnded, Job: "a", JobEnd: &event.JobEnd{Code: code}}
	}
	unsure, known, none := Earlier{Unsure: true}, Earlier{URL: "u"}, Earlier{}
	for name, test := range map[string]struct {
		events []event.Event
		want   Earlier
	}{
		"none":                              {nil, none},
		"pushed":                            {[]event.Event{pushed}, none},
		"killed when it was created":        {[]event.Event{pushed, begins}, unsure},
		"and pushed again":                  {[]event.Event{pushed, begins, process, pushed}, unsure},
		"and not found, because of a fault": {[]event.Event{pushed, begins, process, pushed, ended(event.CodePull)}, unsure},
		"and refused then":                  {[]event.Event{pushed, begins, process, pushed, begins, ended(event.CodePull)}, none},
		"stopped when it was created":       {[]event.Event{pushed, begins, ended(event.CodeBudget)}, unsure},
		"refused":                           {[]event.Event{pushed, begins, ended(event.CodePull)}, none},
		"created":                           {[]event.Event{begins, created}, known},
		"created, but not updated":          {[]event.Event{begins, created, ended(""), process, ended(event.CodePull)}, known},
		"killed when it was updated":        {[]event.Event{updates}, none},
		"updated":                           {[]event.Event{updates, updated}, none},
		"opened by another one":             {[]event.Event{begins, updated}, none},
		"killed when its own was updated":   {[]event.Event{begins, process, pull(started, "u", true)}, known},
		"updated by a follow-up":            {[]event.Event{begins, created, updates, updated}, known},
		"closed, and another one created":   {[]event.Event{begins, pull(published, "v", true), begins, created}, known},
		"closed, and another one killed":    {[]event.Event{begins, created, begins}, Earlier{URL: "u", Unsure: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := publishedAfter(t, process, test.events).Pull.Earlier; got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

// So is a comment.
func TestCommentOfEarlierProcesses(t *testing.T) {
	comment := func(t event.Type, url string, created bool) event.Event {
		return event.Event{Type: t, Job: "a", Comment: &event.Comment{URL: url, Created: created}}
	}
	const started, posted = event.CommentStarted, event.CommentPosted
	begins, failed := comment(started, "", false), event.Event{Type: event.JobEnded, Job: "a", JobEnd: &event.JobEnd{Code: event.CodeComment}}
	process := event.Event{Type: event.RunStarted, Run: &event.Run{}}
	unsure, known, none := Earlier{Unsure: true}, Earlier{URL: "u"}, Earlier{}
	for name, test := range map[string]struct {
		events []event.Event
		want   Earlier
	}{
		"killed":                           {[]event.Event{begins}, unsure},
		"not found then":                   {[]event.Event{begins, process, failed}, unsure},
		"refused":                          {[]event.Event{begins, failed}, none},
		"created":                          {[]event.Event{begins, comment(posted, "u", true)}, known},
		"of an earlier run":                {[]event.Event{comment(started, "u", false)}, none},
		"of an earlier process":            {[]event.Event{comment(started, "u", true)}, known},
		"updated":                          {[]event.Event{comment(started, "u", false), comment(posted, "u", false)}, none},
		"created meanwhile by another run": {[]event.Event{begins, comment(posted, "u", false)}, none},
	} {
		t.Run(name, func(t *testing.T) {
			if got := publishedAfter(t, process, test.events).Comment.Earlier; got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}
