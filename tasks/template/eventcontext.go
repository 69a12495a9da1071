package template

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/millhand/millhand/tasks"
)

// Context returns the issue or pull request that the event is about, with its texts and its time: of GitHub, Gitea and Forgejo, of
// GitLab's webhooks, and, without a file, of a pipeline of a merge request of GitLab, which getenv describes. All calls
// return the same value.
func (e *Event) Context(getenv func(string) string) (*tasks.Context, error) {
	e.once.Do(func() { e.context, e.err = e.findContext(getenv) })
	return e.context, e.err
}

func (e *Event) findContext(getenv func(string) string) (*tasks.Context, error) {
	of, err := e.Thread(getenv)
	if err != nil {
		return nil, err
	}
	c := &tasks.Context{Thread: of}
	values, missing := e.read()
	p := payload(values)
	switch {
	case missing == nil && p.text("object_kind") != "":
		p.lab(c)
	case missing == nil:
		p.hub(c)
	case c.Number > 0:
		pipeline(c, getenv)
	default:
		return nil, missing
	}
	switch {
	case c.Number < 1:
		return nil, errors.New("the event has no issue or pull request")
	case c.Repo == "":
		return nil, errors.New("the event has no repository")
	case c.At.IsZero():
		return nil, errors.New("the event has no time")
	}
	return c, nil
}

// pipeline reads what GitLab states of a pipeline of a merge request.
func pipeline(c *tasks.Context, getenv func(string) string) {
	c.At = timeOf(getenv("CI_PIPELINE_CREATED_AT"))
	c.Head = cmp.Or(getenv("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"), getenv("CI_COMMIT_SHA"))
	c.Texts = blocks(block{"title", getenv("CI_MERGE_REQUEST_TITLE")}, block{"description", getenv("CI_MERGE_REQUEST_DESCRIPTION")})
}

// block is a text of an event with its name.
type block struct{ name, text string }

// blocks returns the texts as blocks of a prompt.
func blocks(all ...block) string {
	var list []string
	for _, b := range all {
		if strings.TrimSpace(b.text) != "" {
			list = append(list, fenced(b.name, b.text))
		}
	}
	return strings.Join(list, "\n")
}

// payload is the values of an event.
type payload map[string]any

// at returns a value by its path; nil for none. A number is the index of a list.
func (p payload) at(path string) any {
	var at any = map[string]any(p)
	for key := range strings.SplitSeq(path, ".") {
		switch v := at.(type) {
		case map[string]any:
			at = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			at = v[i]
		default:
			return nil
		}
	}
	return at
}

// text returns a text by its path; "" for none.
func (p payload) text(path string) string {
	s, _ := p.at(path).(string)
	return s
}

// number returns a number by its path; 0 for none.
func (p payload) number(path string) int64 { return positive(fmt.Sprint(p.at(path))) }

// hub reads an event of GitHub, Gitea or Forgejo.
func (p payload) hub(c *tasks.Context) {
	c.Head = p.text("pull_request.head.sha")
	subject := "pull_request"
	if p.at(subject) == nil {
		subject = "issue"
	}
	at := ""
	for _, path := range []string{"comment.updated_at", "comment.created_at", "review.submitted_at", subject + ".updated_at"} {
		at = cmp.Or(at, p.text(path))
	}
	for _, run := range []string{"workflow_run", "check_run", "check_suite"} {
		if c.Number == 0 {
			c.Repo, c.Number = p.text("repository.full_name"), p.number(run+".pull_requests.0.number")
			c.Head = cmp.Or(p.text(run+".head_sha"), p.text(run+".check_suite.head_sha"))
			at = cmp.Or(at, p.text(run+".updated_at"), p.text(run+".completed_at"))
		}
	}
	c.At = timeOf(at)
	c.Texts = blocks(block{"title", p.text(subject + ".title")}, block{"description", p.text(subject + ".body")}, block{"comment", p.text("comment.body")}, block{"review", p.text("review.body")})
}

// lab reads an event of GitLab: of a merge request, an issue or a comment on one.
func (p payload) lab(c *tasks.Context) {
	c.At = timeOf(cmp.Or(p.text("object_attributes.updated_at"), p.text("object_attributes.created_at")))
	kind, subject := p.text("object_kind"), "object_attributes"
	if kind == "note" {
		subject = "merge_request"
		if p.at("merge_request") == nil {
			subject = "issue"
		}
	}
	if !c.Issue {
		c.Head = p.text(subject + ".last_commit.id")
	}
	c.Texts = blocks(block{"title", p.text(subject + ".title")}, block{"description", p.text(subject + ".description")}, block{"comment", p.text("object_attributes.note")})
}

// timeOf reads a time as forges write it; zero for other text.
func timeOf(text string) time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05 MST", "2006-01-02 15:04:05 -0700"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
