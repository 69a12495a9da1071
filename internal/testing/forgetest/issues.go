package forgetest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Issue is an issue of the forge. Any number that is no pull request's is one, but lists have only those with a title.
type Issue struct {
	Repo        string
	Number      int64
	Author      string
	Bot         bool
	Title, Body string
	Labels      []string
}

// AddIssue adds an issue, and Issues returns them.
func (s *Server) AddIssue(i Issue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.issues = append(s.issues, &i)
	if r := s.repo(i.Repo); r != nil {
		r.lastPull = max(r.lastPull, i.Number)
	}
}

// Issues is described at AddIssue.
func (s *Server) Issues() (all []Issue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.issues {
		all = append(all, *i)
	}
	return all
}

func (s *Server) issue(repo string, number int64) *Issue {
	for _, i := range s.issues {
		if strings.EqualFold(i.Repo, repo) && i.Number == number {
			return i
		}
	}
	i := &Issue{Repo: repo, Number: number}
	s.issues = append(s.issues, i)
	if r := s.repo(repo); r != nil {
		r.lastPull = max(r.lastPull, number)
	}
	return i
}

// newIssue creates an issue of the token's user.
func (s *Server) newIssue(r *Repo, title, body string) *Issue {
	r.lastPull++
	i := s.issue(r.path(), r.lastPull)
	i.Title, i.Body, i.Author = title, body, s.User
	if s.User == "" {
		i.Author, i.Bot = s.bot(), true
	}
	return i
}

// listed returns the issues of a repository and an author, "" for all, the newest first.
func (s *Server) listed(repo, author string) (all []*Issue) {
	for _, i := range slices.Backward(s.issues) {
		if i.Title != "" && strings.EqualFold(i.Repo, repo) && (author == "" || i.Author == author) {
			all = append(all, i)
		}
	}
	return all
}

// labelled returns the labels of an issue or a pull request.
func (s *Server) labelled(repo string, number int64, issue bool) *[]string {
	if p := s.pull(repo, number); p != nil && !issue {
		return &p.Labels
	}
	return &s.issue(repo, number).Labels
}

func (s rest) issueRoutes(mux *http.ServeMux) {
	s.on(mux, "GET /repos/{owner}/{repo}/issues", s.serveIssues)
	s.on(mux, "POST /repos/{owner}/{repo}/issues", s.serveNewIssue)
}

func (s rest) issueDoc(i *Issue, host string) map[string]any {
	return map[string]any{
		"number": i.Number, "html_url": fmt.Sprintf("http://%s/%s/issues/%d", host, i.Repo, i.Number), "body": i.Body, "user": s.userDoc(i.Author, i.Bot),
	}
}

func (s rest) serveIssues(r *http.Request) (int, any, error) {
	repo, err := s.findRepo(r)
	if err != nil {
		return 0, nil, err
	}
	docs := []any{}
	for _, i := range s.listed(repo.path(), r.URL.Query().Get("creator")+r.URL.Query().Get("created_by")) {
		docs = append(docs, s.issueDoc(i, r.Host))
	}
	return http.StatusOK, docs, nil
}

func (s rest) serveNewIssue(r *http.Request) (int, any, error) {
	repo, err := s.findRepo(r)
	var in struct{ Title, Body string }
	if err := errors.Join(err, input(r, &in)); err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, s.issueDoc(s.newIssue(repo, in.Title, in.Body), r.Host), nil
}

func (s lab) issueRoutes(mux *http.ServeMux) {
	const issues = "/projects/{project}/issues"
	s.on(mux, "GET "+issues, s.serveIssues)
	s.on(mux, "POST "+issues, s.serveNewIssue)
	s.on(mux, "PUT "+issues+"/{number}", s.serveEditIssue)
}

func (s lab) issueDoc(i *Issue, host string) map[string]any {
	return map[string]any{
		"iid": i.Number, "web_url": fmt.Sprintf("http://%s/%s/-/issues/%d", host, i.Repo, i.Number), "description": i.Body, "author": s.userDoc(i.Author),
	}
}

func (s lab) serveIssues(r *http.Request) (int, any, error) {
	repo, err := s.project(r)
	if err != nil {
		return 0, nil, err
	}
	docs := []any{}
	for _, i := range s.listed(repo.path(), r.URL.Query().Get("author_username")) {
		docs = append(docs, s.issueDoc(i, r.Host))
	}
	return http.StatusOK, docs, nil
}

func (s lab) serveNewIssue(r *http.Request) (int, any, error) {
	repo, err := s.project(r)
	var in struct{ Title, Description string }
	if err := errors.Join(err, input(r, &in)); err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, s.issueDoc(s.newIssue(repo, in.Title, in.Description), r.Host), nil
}

func (s lab) serveEditIssue(r *http.Request) (int, any, error) {
	repo, err := s.project(r)
	number, bad := strconv.ParseInt(r.PathValue("number"), 10, 64)
	var in struct {
		Labels string `json:"add_labels"`
	}
	if err := errors.Join(err, bad, input(r, &in)); err != nil {
		return 0, nil, err
	}
	i := s.issue(repo.path(), number)
	addAll(&i.Labels, strings.FieldsFunc(in.Labels, func(r rune) bool { return r == ',' }))
	return http.StatusOK, s.issueDoc(i, r.Host), nil
}
