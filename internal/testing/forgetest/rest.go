package forgetest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// rest is the API of GitHub and Gitea.
type rest struct{ *Server }

func (s rest) routes(mux *http.ServeMux) {
	const repo = "/repos/{owner}/{repo}"
	s.followRoutes(mux)
	s.reviewRoutes(mux)
	s.issueRoutes(mux)
	s.on(mux, "GET /user", s.serveUser)
	s.on(mux, "GET "+repo, s.serveRepo)
	s.on(mux, "GET "+repo+"/pulls", s.servePulls)
	s.on(mux, "POST "+repo+"/pulls", s.serveCreate)
	s.on(mux, "PATCH "+repo+"/pulls/{number}", s.serveEdit)
	s.on(mux, "POST "+repo+"/pulls/{number}/requested_reviewers", s.serveReviewers)
	s.on(mux, "POST "+repo+"/issues/{number}/labels", s.serveLabels)
	s.on(mux, "GET "+repo+"/issues/{number}/comments", s.serveComments)
	s.on(mux, "POST "+repo+"/issues/{number}/comments", s.serveComment)
	s.on(mux, "PATCH "+repo+"/issues/comments/{id}", s.serveEditComment)
	s.on(mux, "POST "+repo+"/forks", s.serveFork)
	s.countedRoutes(mux)
	s.on(mux, "GET /orgs/{owner}/repos", s.serveRepos)
	s.on(mux, "GET /users/{owner}/repos", s.serveRepos)
	if s.Kind == "github" {
		s.on(mux, "POST /graphql", s.serveGraphQL)
		s.on(mux, "GET /user/repos", s.serveOwn)
		s.on(mux, "GET "+repo+"/commits", s.serveCommits)
		s.on(mux, "POST "+repo+"/issues/{number}/assignees", s.serveAssignees)
		s.on(mux, "GET "+repo+"/commits/{sha}/check-runs", s.serveRuns)
		s.on(mux, "GET "+repo+"/commits/{sha}/status", s.serveStatus)
		s.on(mux, "PUT "+repo+"/pulls/{number}/merge", s.serveMerge)
		s.on(mux, "GET "+repo+"/pulls/{number}", s.serveGet)
	} else {
		s.on(mux, "GET "+repo+"/issues/{number}", s.serveIssue)
		s.on(mux, "GET /users/{owner}", s.serveOwner)
		s.on(mux, "POST "+repo+"/pulls/{number}/merge", s.serveMerge)
	}
}

// input reads the body of a request.
func input(r *http.Request, doc any) error {
	if err := json.NewDecoder(r.Body).Decode(doc); err != nil {
		return refusal{http.StatusBadRequest, "Problems parsing JSON"}
	}
	return nil
}

func (s rest) findRepo(r *http.Request) (*Repo, error) {
	if found := s.repo(r.PathValue("owner") + "/" + r.PathValue("repo")); found != nil {
		return found, nil
	}
	return nil, notFound("Repository")
}

func (s rest) findPull(r *http.Request) (*Pull, error) {
	number, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
	if err == nil {
		if p := s.pull(r.PathValue("owner")+"/"+r.PathValue("repo"), number); p != nil {
			return p, nil
		}
	}
	return nil, notFound("Pull request")
}

func (s rest) serveUser(*http.Request) (int, any, error) {
	if s.User == "" {
		return 0, nil, refusal{http.StatusForbidden, "Resource not accessible by integration"}
	}
	return http.StatusOK, s.userDoc(s.User, false), nil
}

func (s rest) userDoc(name string, bot bool) map[string]any {
	doc := map[string]any{"login": name, "id": len(name)}
	if s.Kind == "github" {
		doc["type"] = "User"
		if bot {
			doc["type"] = "Bot"
		}
	}
	return doc
}

func (s rest) userDocs(names []string) []any {
	docs := []any{}
	for _, name := range names {
		docs = append(docs, s.userDoc(name, false))
	}
	return docs
}

func (s rest) serveRepo(r *http.Request) (int, any, error) {
	repo, err := s.findRepo(r)
	if err != nil {
		return 0, nil, err
	}
	doc := s.repoDoc(repo, r.Host)
	if parent := s.repo(repo.Parent); parent != nil {
		doc["parent"] = s.repoDoc(parent, r.Host)
	}
	return http.StatusOK, doc, nil
}

// null is a value, or null for "".
func null(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (s rest) repoDoc(r *Repo, host string) map[string]any {
	topics := r.Topics
	if topics == nil {
		topics = []string{}
	}
	doc := map[string]any{
		"id": r.id, "name": r.Name, "full_name": r.path(), "clone_url": fmt.Sprintf("http://%s/%s.git", host, r.path()),
		"default_branch": r.Default, "description": r.Description, "language": r.Language, "topics": topics,
		"archived": r.Archived, "fork": r.Parent != "",
		"permissions": map[string]any{"admin": false, "push": !r.NoPush, "pull": true},
	}
	if s.Kind == "github" {
		doc["description"], doc["language"] = null(r.Description), null(r.Language)
		doc["size"] = len(r.Topics) // 0 also for some that are not empty
	} else {
		doc["empty"], doc["size"] = r.Empty, 24
	}
	return doc
}

func (s rest) pullDoc(p *Pull, host string) map[string]any {
	state := p.State
	merged := any(nil)
	if state == "merged" {
		state, merged = "closed", "2030-01-01T00:00:00Z"
	}
	ref := func(repo, branch, sha string) map[string]any {
		doc := map[string]any{"ref": branch, "sha": sha, "label": strings.Split(repo, "/")[0] + ":" + branch, "repo": nil}
		if r := s.repo(repo); r != nil {
			doc["repo"] = s.repoDoc(r, host)
		}
		return doc
	}
	title := p.Title
	if s.Kind == "gitea" && p.Draft {
		title = "WIP: " + title
	}
	mergeable := "clean"
	if p.Review != "" && s.Kind == "github" {
		mergeable = "blocked"
	}
	labels := []any{}
	for i, name := range p.Labels {
		labels = append(labels, map[string]any{"id": i + 1, "name": name})
	}
	return map[string]any{
		"number": p.Number, "html_url": fmt.Sprintf("http://%s/%s/pull/%d", host, p.Repo, p.Number), "state": state, "title": title, "body": p.Body,
		"created_at": p.created(),
		"draft":      p.Draft, "merged": p.State == "merged", "merged_at": merged, "mergeable": p.State == "open" && !p.Conflict && p.Checking == 0, "mergeable_state": mergeable,
		"head": ref(p.Head, p.Branch, s.sha(p)), "base": ref(p.Repo, p.Base, s.commit(p.Repo, p.Base)),
		"assignees": s.userDocs(p.Assignees), "requested_reviewers": s.userDocs(p.Reviewers), "labels": labels, "updated_at": cmp.Or(p.Updated, future),
	}
}

func (s rest) servePulls(r *http.Request) (int, any, error) {
	repo, err := s.findRepo(r)
	if err != nil {
		return 0, nil, err
	}
	query := r.URL.Query()
	docs := []any{}
	for _, v := range slices.Backward(s.pulls) {
		p := v
		state := query.Get("state")
		head := strings.Split(p.Head, "/")[0] + ":" + p.Branch
		if p.Repo != repo.path() || state == "open" && p.State != "open" || state == "closed" && p.State == "open" || query.Has("head") && query.Get("head") != head {
			continue
		}
		doc := s.pullDoc(p, r.Host)
		if s.Kind == "github" { // only single ones have these
			delete(doc, "merged")
			delete(doc, "mergeable")
			delete(doc, "mergeable_state")
		}
		docs = append(docs, doc)
	}
	return http.StatusOK, docs, nil
}

func (s rest) serveCreate(r *http.Request) (int, any, error) {
	repo, err := s.findRepo(r)
	if err != nil {
		return 0, nil, err
	}
	var in struct {
		Title, Body, Base, Head string
		HeadRepo                string `json:"head_repo"`
		Draft                   bool
	}
	if err := input(r, &in); err != nil {
		return 0, nil, err
	}
	p := Pull{Repo: repo.path(), Head: repo.path(), Base: in.Base, Branch: in.Head, Title: in.Title, Body: in.Body, Draft: in.Draft}
	if owner, branch, ok := strings.Cut(in.Head, ":"); ok {
		p.Branch, p.Head = branch, owner
		if !strings.Contains(owner, "/") {
			p.Head = owner + "/" + repo.Name
		}
	}
	if in.HeadRepo != "" {
		p.Head = repo.Owner + "/" + in.HeadRepo
	}
	s.setTitle(&p, in.Title, "WIP: ")
	made, err := s.create(p)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, s.pullDoc(made, r.Host), nil
}

func (s rest) serveGet(r *http.Request) (int, any, error) {
	p, err := s.findPull(r)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, s.pullDoc(p, r.Host), nil
}

func (s rest) serveEdit(r *http.Request) (int, any, error) {
	p, err := s.findPull(r)
	if err != nil {
		return 0, nil, err
	}
	var in struct {
		Title, Body, Base, State *string
		Assignees                []string
	}
	if err := errors.Join(input(r, &in), s.known(in.Assignees)); err != nil {
		return 0, nil, err
	}
	if s.Kind == "gitea" { // for which texts that are empty are missing, except for the body
		for _, value := range []**string{&in.Title, &in.Base} {
			if *value != nil && **value == "" {
				*value = nil
			}
		}
	}
	if in.Title != nil {
		s.setTitle(p, *in.Title, "WIP: ")
	}
	for to, value := range map[*string]*string{&p.Body: in.Body, &p.Base: in.Base, &p.State: in.State} {
		if value != nil {
			*to = *value
		}
	}
	if in.Assignees != nil {
		p.Assignees = in.Assignees
	}
	status := http.StatusOK
	if s.Kind == "gitea" {
		status = http.StatusCreated
	}
	return status, s.pullDoc(p, r.Host), nil
}

func (s rest) serveReviewers(r *http.Request) (int, any, error) {
	p, err := s.findPull(r)
	if err != nil {
		return 0, nil, err
	}
	var in struct {
		Reviewers []string
		Teams     []string `json:"team_reviewers"`
	}
	if err := input(r, &in); err != nil {
		return 0, nil, err
	}
	if err := s.known(in.Reviewers); err != nil {
		return 0, nil, err
	}
	addAll(&p.Reviewers, in.Reviewers)
	addAll(&p.Teams, in.Teams)
	if s.Kind == "gitea" {
		return http.StatusCreated, json.RawMessage("[]"), nil
	}
	return http.StatusCreated, s.pullDoc(p, r.Host), nil
}

func (s rest) serveLabels(r *http.Request) (int, any, error) {
	repo, err := s.findRepo(r)
	number, bad := strconv.ParseInt(r.PathValue("number"), 10, 64)
	var in struct{ Labels []string }
	if err := errors.Join(err, bad, input(r, &in)); err != nil {
		return 0, nil, err
	}
	labels := s.labelled(repo.path(), number, false)
	if s.Kind == "gitea" { // ignores those that don't exist
		in.Labels = slices.DeleteFunc(in.Labels, func(name string) bool { return slices.Contains(s.NoLabels, name) })
	}
	addAll(labels, in.Labels)
	docs := []any{}
	for i, name := range *labels {
		docs = append(docs, map[string]any{"id": i + 1, "name": name})
	}
	return http.StatusOK, docs, nil
}

func (s rest) serveAssignees(r *http.Request) (int, any, error) {
	p, err := s.findPull(r)
	if err != nil {
		return 0, nil, err
	}
	var in struct{ Assignees []string }
	if err := input(r, &in); err != nil {
		return 0, nil, err
	}
	addAll(&p.Assignees, in.Assignees)
	return http.StatusCreated, s.pullDoc(p, r.Host), nil
}

func (s rest) serveMerge(r *http.Request) (int, any, error) {
	p, err := s.findPull(r)
	if err != nil {
		return 0, nil, err
	}
	var in struct {
		SHA  string
		Head string `json:"head_commit_id"`
	}
	if err := input(r, &in); err != nil {
		return 0, nil, err
	}
	if err := s.merge(p, in.SHA+in.Head); err != nil {
		return 0, nil, err
	}
	if s.Kind == "gitea" {
		return http.StatusOK, nil, nil
	}
	return http.StatusOK, map[string]any{"merged": true, "message": "Pull Request successfully merged", "sha": p.SHA}, nil
}

func (s rest) noteDoc(n *Note, host string) map[string]any {
	return map[string]any{
		"id": n.ID, "body": n.Body, "user": s.userDoc(n.Author, n.Bot),
		"html_url":   fmt.Sprintf("http://%s/%s/issues/%d#issuecomment-%d", host, n.Repo, n.Number, n.ID),
		"created_at": n.at(), "updated_at": cmp.Or(n.Edited, n.at()),
	}
}

func (s rest) serveComments(r *http.Request) (int, any, error) {
	repo, err := s.findRepo(r)
	if err != nil {
		return 0, nil, err
	}
	number, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
	if s.Kind == "gitea" && number > maxIssue {
		return 0, nil, refusal{http.StatusInternalServerError, ""}
	}
	if number == NoThread {
		return 0, nil, notFound("Issue")
	}
	docs := []any{}
	for _, n := range s.comments(repo.path(), number, true) {
		docs = append(docs, s.noteDoc(n, r.Host))
	}
	return http.StatusOK, docs, err
}

func (s rest) serveComment(r *http.Request) (int, any, error) {
	repo, err := s.findRepo(r)
	if err != nil {
		return 0, nil, err
	}
	number, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
	var in struct{ Body string }
	if err := errors.Join(err, input(r, &in)); err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, s.noteDoc(s.comment(repo.path(), number, true, in.Body), r.Host), nil
}

func (s rest) serveEditComment(r *http.Request) (int, any, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return 0, nil, err
	}
	n, err := s.note(id)
	if err != nil {
		return 0, nil, err
	}
	var in struct{ Body string }
	if err := input(r, &in); err != nil {
		return 0, nil, err
	}
	n.Body = in.Body
	return http.StatusOK, s.noteDoc(n, r.Host), nil
}

// checked returns the checks of a commit: those of its pull request.
func (s rest) checked(r *http.Request) string {
	for _, p := range s.pulls {
		if s.sha(p) == r.PathValue("sha") && p.Checks != "" {
			return p.Checks
		}
	}
	return ""
}

// serveStatus combines no statuses: the checks are check runs.
func (s rest) serveStatus(r *http.Request) (int, any, error) {
	return http.StatusOK, map[string]any{"state": "pending", "total_count": 0, "sha": r.PathValue("sha"), "statuses": []any{}}, nil
}

func (s rest) serveRuns(r *http.Request) (int, any, error) {
	runs := []any{}
	switch state := s.checked(r); state {
	case "pending":
		runs = append(runs, s.runDoc(Run{Name: "ci", Status: state}))
	case "success", "failure":
		runs = append(runs, s.runDoc(Run{Name: "other", Status: "skipped"}), s.runDoc(Run{Name: "ci", Status: state}))
	}
	for _, run := range s.Review.runs[r.PathValue("sha")] {
		runs = append(runs, s.runDoc(run))
	}
	s.timeRuns(r, runs)
	return http.StatusOK, map[string]any{"total_count": len(runs), "check_runs": runs}, nil
}

func (s rest) serveFork(r *http.Request) (int, any, error) {
	repo, err := s.findRepo(r)
	if err != nil {
		return 0, nil, err
	}
	var in struct{ Organization string }
	if err := input(r, &in); err != nil {
		return 0, nil, err
	}
	if in.Organization == "" {
		in.Organization = s.User
	}
	fork, err := s.forkOf(repo, in.Organization)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusAccepted, s.repoDoc(fork, r.Host), nil
}

// serveIssue serves an issue. All exist, except for those above maxIssue.
func (s rest) serveIssue(r *http.Request) (int, any, error) {
	number, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
	if err != nil || number > maxIssue {
		return 0, nil, notFound("Issue")
	}
	return http.StatusOK, map[string]any{"number": number}, nil
}

const maxIssue = 1000

// serveOwner serves a user or an organization.
func (s rest) serveOwner(r *http.Request) (int, any, error) {
	owner := r.PathValue("owner")
	if !slices.ContainsFunc(s.repos, func(repo *Repo) bool { return repo.Owner == owner }) {
		return 0, nil, notFound("Owner")
	}
	return http.StatusOK, s.userDoc(owner, false), nil
}

// serveRepos lists the repositories of an owner.
func (s rest) serveRepos(r *http.Request) (int, any, error) {
	owner := r.PathValue("owner")
	docs := []any{}
	for _, repo := range s.repos {
		if repo.Owner == owner && !repo.Private {
			docs = append(docs, s.repoDoc(repo, r.Host))
		}
	}
	if s.Kind == "gitea" && strings.HasPrefix(r.URL.Path, "/users/") {
		return http.StatusOK, docs, nil // even if nobody has the name
	}
	if len(docs) == 0 || strings.HasPrefix(r.URL.Path, "/orgs/") && isUser(owner) {
		return 0, nil, notFound("Owner")
	}
	return http.StatusOK, docs, nil
}

// serveOwn lists the repositories of the token's user.
func (s rest) serveOwn(r *http.Request) (int, any, error) {
	docs := []any{}
	for _, repo := range s.repos {
		if repo.Owner == s.User {
			docs = append(docs, s.repoDoc(repo, r.Host))
		}
	}
	return http.StatusOK, docs, nil
}

// serveCommits lists the commits of the default branch.
func (s rest) serveCommits(r *http.Request) (int, any, error) {
	repo, err := s.findRepo(r)
	switch {
	case err != nil:
		return 0, nil, err
	case repo.Empty:
		return 0, nil, refusal{http.StatusConflict, "Git Repository is empty."}
	}
	return http.StatusOK, []any{map[string]any{"sha": s.commit(repo.path(), repo.Default)}}, nil
}

// isUser reports whether an owner is a user: the name of one starts with "user-".
func isUser(owner string) bool { return strings.HasPrefix(owner, "user-") }
