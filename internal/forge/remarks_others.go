package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

func (g *gitea) Remarks(ctx context.Context, p Path, number int64) ([]Remark, error) {
	n := decimal(number)
	all, err := getRemarks(ctx, g.Sender, p, number, "c", inRepo(p, "issues", n, "comments"), nil)
	if err != nil {
		return nil, err
	}
	var reviews []int64
	c := call{what: commentsWhat(p, number), owner: p.Owner, method: http.MethodGet, path: inRepo(p, "pulls", n, "reviews"), query: url.Values{"limit": {giteaPage}}}
	err = pages(ctx, g.Sender, c, func(page []remarkJSON, _ http.Header) bool {
		for _, j := range page {
			if j.State != "PENDING" {
				reviews = append(reviews, j.ID)
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	texts, err := getRemarks(ctx, g.Sender, p, number, "v", inRepo(p, "pulls", n, "reviews"), url.Values{"limit": {giteaPage}})
	all = append(all, texts...)
	for _, id := range reviews {
		if err != nil {
			return nil, err
		}
		var lines []Remark
		lines, err = getRemarks(ctx, g.Sender, p, number, "r", inRepo(p, "pulls", n, "reviews", decimal(id), "comments"), nil)
		all = append(all, lines...)
	}
	return all, err
}

func (g *gitea) Writes(ctx context.Context, p Path, user string) (bool, error) {
	return mayWrite(ctx, g.Sender, p, user)
}

// AddLabel implements API.
func (g *gitea) AddLabel(ctx context.Context, p Path, pr PullRequest, label string) error {
	err := g.Change(ctx, p, pr, Change{Labels: []string{label}})
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	if err := g.createLabel(ctx, p, label); err != nil {
		return fmt.Errorf("label %s: %w", label, err)
	}
	return g.Change(ctx, p, pr, Change{Labels: []string{label}})
}

func (g *gitea) App(context.Context, string) (string, error) { return "", ErrNotFound }

// createLabel creates a label. One that was created meanwhile is no error.
func (g *gitea) createLabel(ctx context.Context, p Path, name string) error {
	_, err := g.send(ctx, call{
		what: "create a label in " + p.String(), owner: p.Owner, method: http.MethodPost, path: inRepo(p, "labels"),
		body: map[string]any{"name": name, "color": "#d93f0b", "description": "millhand has stopped following it"},
		landed: func(ctx context.Context) (bool, error) {
			found := false
			c := call{what: "get the labels of " + p.String(), owner: p.Owner, method: http.MethodGet, path: inRepo(p, "labels"), query: url.Values{"limit": {giteaPage}}}
			err := pages(ctx, g.Sender, c, func(page []labelJSON, _ http.Header) bool {
				found = found || slices.Contains(page, labelJSON{Name: name})
				return !found
			})
			return found, err
		},
	})
	return err
}

// remarkJSON is a comment or a review, as GitHub and Gitea have it.
type remarkJSON struct {
	ID        int64    `json:"id"`
	URL       string   `json:"html_url"`
	Body      string   `json:"body"`
	User      userJSON `json:"user"`
	State     string   `json:"state"` // of a review
	Path      string   `json:"path"`
	Line      int      `json:"line"`     // GitHub's
	Position  int      `json:"position"` // Gitea's line
	CreatedAt string   `json:"created_at"`
	Submitted string   `json:"submitted_at"` // of a review
}

type permissionJSON struct {
	Permission string `json:"permission"`
}

// getRemarks returns the remarks in a list of GitHub or Gitea.
func getRemarks(ctx context.Context, s *Sender, p Path, number int64, prefix string, path []string, query url.Values) ([]Remark, error) {
	var all []Remark
	c := call{what: commentsWhat(p, number), owner: p.Owner, method: http.MethodGet, path: path, query: query}
	err := pages(ctx, s, c, func(page []remarkJSON, _ http.Header) bool {
		for _, j := range page {
			if j.State == "APPROVED" || j.State == "PENDING" || j.State == "DISMISSED" || strings.TrimSpace(j.Body) == "" {
				continue
			}
			at, _ := time.Parse(time.RFC3339, cmp.Or(j.CreatedAt, j.Submitted)) // the zero time otherwise
			all = append(all, Remark{
				ID: prefix + decimal(j.ID), Author: j.User.Login, Bot: j.User.Type == "Bot", URL: j.URL, Body: j.Body, Path: j.Path, Line: cmp.Or(j.Line, j.Position), At: at,
			})
		}
		return true
	})
	return all, err
}

func commentsWhat(p Path, number int64) string {
	return "get the comments on pull request " + decimal(number) + " of " + p.String()
}

// mayWrite asks GitHub or Gitea for the permission of a user.
func mayWrite(ctx context.Context, s *Sender, p Path, user string) (bool, error) {
	var j permissionJSON
	_, err := s.send(ctx, call{what: "get the permission of " + user + " in " + p.String(), owner: p.Owner, method: http.MethodGet, path: inRepo(p, "collaborators", user, "permission"), out: &j})
	return j.Permission == "write" || j.Permission == "admin" || j.Permission == "owner", err
}
