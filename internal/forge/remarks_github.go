package forge

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
)

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

func (g *github) Remarks(ctx context.Context, p Path, number int64) ([]Remark, error) {
	n := decimal(number)
	all, err := getRemarks(ctx, g.Sender, p, number, "c", inRepo(p, "issues", n, "comments"), url.Values{"per_page": {perPage}})
	for _, list := range []struct {
		prefix string
		path   []string
	}{{"r", inRepo(p, "pulls", n, "comments")}, {"v", inRepo(p, "pulls", n, "reviews")}} {
		if err != nil {
			return nil, err
		}
		var more []Remark
		more, err = getRemarks(ctx, g.Sender, p, number, list.prefix, list.path, url.Values{"per_page": {perPage}})
		all = append(all, more...)
	}
	return all, err
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

func (g *github) Writes(ctx context.Context, p Path, user string) (bool, error) {
	return mayWrite(ctx, g.Sender, p, user)
}

// mayWrite asks GitHub or Gitea for the permission of a user.
func mayWrite(ctx context.Context, s *Sender, p Path, user string) (bool, error) {
	var j permissionJSON
	_, err := s.send(ctx, call{what: "get the permission of " + user + " in " + p.String(), owner: p.Owner, method: http.MethodGet, path: inRepo(p, "collaborators", user, "permission"), out: &j})
	return j.Permission == "write" || j.Permission == "admin" || j.Permission == "owner", err
}
