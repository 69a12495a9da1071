package forgetest

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// lab is the API of GitLab.
type lab struct{ *Server }

func (s lab) routes(mux *http.ServeMux) {
	const merge = "/projects/{project}/merge_requests"
	s.followRoutes(mux)
	s.reviewRoutes(mux)
	s.issueRoutes(mux)
	s.on(mux, "GET /user", s.serveUser)
	s.on(mux, "GET /users", s.serveUsers)
	s.countedRoutes(mux)
	s.on(mux, "GET /projects/{project}", s.serveProject)
	s.on(mux, "GET /projects/{project}/languages", s.serveLanguages)
	s.on(mux, "POST /projects/{project}/fork", s.serveFork)
	s.on(mux, "GET /groups/{owner}/projects", s.serveProjects)
	s.on(mux, "GET /users/{owner}/projects", s.serveProjects)
	s.on(mux, "GET "+merge, s.serveMerges)
	s.on(mux, "POST "+merge, s.serveCreate)
	s.on(mux, "GET "+merge+"/{number}", s.serveGet)
	s.on(mux, "PUT "+merge+"/{number}", s.serveEdit)
	s.on(mux, "PUT "+merge+"/{number}/merge", s.serveMerge)
	for _, thread := range []string{merge, "/projects/{project}/issues"} {
		s.on(mux, "GET "+thread+"/{number}/notes", s.serveNotes)
		s.on(mux, "POST "+thread+"/{number}/notes", s.serveNote)
		s.on(mux, "PUT "+thread+"/{number}/notes/{id}", s.serveEditNote)
	}
}

// userID returns the number of a user: its position.
func (s lab) userID(name string) int64 { return int64(slices.Index(s.users(), name) + 1) }

func (s lab) userDoc(name string) map[string]any {
	return map[string]any{"id": s.userID(name), "username": name, "name": name, "state": "active"}
}

func (s lab) serveUser(*http.Request) (int, any, error) {
	if s.User == "" {
		return 0, nil, refusal{http.StatusForbidden, "403 Forbidden"}
	}
	return http.StatusOK, s.userDoc(s.User), nil
}

func (s lab) serveUsers(r *http.Request) (int, any, error) {
	docs := []any{}
	for _, name := range s.users() {
		if name == r.URL.Query().Get("username") {
			docs = append(docs, s.userDoc(name))
		}
	}
	return http.StatusOK, docs, nil
}

func (s lab) project(r *http.Request) (*Repo, error) {
	if found := s.repo(r.PathValue("project")); found != nil {
		return found, nil
	}
	return nil, notFound("404 Project")
}

func (s lab) projectDoc(r *Repo, host string) map[string]any {
	topics := r.Topics
	if topics == nil {
		topics = []string{}
	}
	level := 30
	if r.NoPush {
		level = 20
	}
	doc := map[string]any{
		"id": r.id, "path_with_namespace": r.path(), "http_url_to_repo": fmt.Sprintf("http://%s/%s.git", host, r.path()),
		"default_branch": r.Default, "description": null(r.Description), "topics": topics, "archived": r.Archived, "empty_repo": r.Empty,
		"permissions": map[string]any{"project_access": map[string]any{"access_level": level, "notification_level": 3}, "group_access": nil},
	}
	if parent := s.repo(r.Parent); parent != nil {
		doc["forked_from_project"] = map[string]any{"id": parent.id, "path_with_namespace": parent.path()}
	}
	return doc
}

func (s lab) serveProject(r *http.Request) (int, any, error) {
	repo, err := s.project(r)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, s.projectDoc(repo, r.Host), nil
}

func (s lab) serveLanguages(r *http.Request) (int, any, error) {
	repo, err := s.project(r)
	if err != nil {
		return 0, nil, err
	}
	shares := map[string]any{"Shell": 10.5}
	if repo.Language != "" {
		shares[repo.Language] = 89.5
	}
	return http.StatusOK, shares, nil
}

func (s lab) serveFork(r *http.Request) (int, any, error) {
	repo, err := s.project(r)
	if err != nil {
		return 0, nil, err
	}
	var in struct {
		Namespace string `json:"namespace_path"`
	}
	if err := input(r, &in); err != nil {
		return 0, nil, err
	}
	if in.Namespace == "" {
		in.Namespace = s.User
	}
	fork, err := s.forkOf(repo, in.Namespace)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, s.projectDoc(fork, r.Host), nil
}

func (s lab) serveProjects(r *http.Request) (int, any, error) {
	owner, query := r.PathValue("owner"), r.URL.Query()
	docs, exists := []any{}, false
	for _, repo := range s.repos {
		if repo.Owner != owner && (query.Get("include_subgroups") != "true" || !strings.HasPrefix(repo.Owner, owner+"/")) {
			continue
		}
		exists = true
		if query.Get("archived") == "false" && repo.Archived || query.Has("topic") && !slices.Contains(repo.Topics, query.Get("topic")) {
			continue
		}
		docs = append(docs, s.projectDoc(repo, r.Host))
	}
	if !exists || strings.HasPrefix(r.URL.Path, "/groups/") && isUser(owner) {
		return 0, nil, notFound("404 Group")
	}
	return http.StatusOK, docs, nil
}

func (s lab) doc(p *Pull, host string) map[string]any {
	state, title, status := p.State, p.Title, "mergeable"
	if state == "open" {
		state = "opened"
	}
	if p.Draft {
		title, status = "Draft: "+title, "draft_status"
	}
	switch {
	case p.Conflict:
		status = "conflict"
	case p.Review != "":
		status = map[string]string{"REVIEW_REQUIRED": "not_approved", "CHANGES_REQUESTED": "requested_changes"}[p.Review]
	case p.State != "open":
		status = "not_open"
	}
	source := any(nil)
	if r := s.repo(p.Head); r != nil {
		source = r.id
	}
	people := func(names []string) []any {
		docs := []any{}
		for _, name := range names {
			docs = append(docs, s.userDoc(name))
		}
		return docs
	}
	var pipeline any
	if p.Checks != "" {
		pipeline = map[string]any{"id": 1, "status": map[string]string{"success": "success", "failure": "failed", "pending": "running"}[p.Checks]}
	}
	return map[string]any{
		"iid": p.Number, "web_url": fmt.Sprintf("http://%s/%s/-/merge_requests/%d", host, p.Repo, p.Number), "state": state,
		"created_at": p.created(),
		"title":      title, "description": p.Body, "draft": p.Draft, "source_branch": p.Branch, "target_branch": p.Base,
		"source_project_id": source, "target_project_id": s.repo(p.Repo).id, "sha": s.sha(p), "detailed_merge_status": status, "has_conflicts": p.Conflict,
		"assignees": people(p.Assignees), "reviewers": people(p.Reviewers), "head_pipeline": pipeline,
		"labels": append([]string{}, p.Labels...), "updated_at": cmp.Or(p.Updated, future), "diff_refs": map[string]any{"base_sha": s.commit(p.Repo, p.Base), "start_sha": s.commit(p.Repo, p.Base), "head_sha": s.sha(p)},
	}
}

func (s lab) serveMerges(r *http.Request) (int, any, error) {
	repo, err := s.project(r)
	if err != nil {
		return 0, nil, err
	}
	docs := []any{}
	for _, v := range slices.Backward(s.pulls) {
		p := v
		query := r.URL.Query()
		if p.Repo == repo.path() && p.Branch == query.Get("source_branch") && (p.State == "open" || query.Get("state") == "all") {
			doc := s.doc(p, r.Host)
			delete(doc, "head_pipeline") // only single ones have it
			docs = append(docs, doc)
		}
	}
	return http.StatusOK, docs, nil
}

func (s lab) serveCreate(r *http.Request) (int, any, error) {
	head, err := s.project(r)
	if err != nil {
		return 0, nil, err
	}
	var in struct {
		Title, Description string
		Source             string `json:"source_branch"`
		Target             string `json:"target_branch"`
		Project            int64  `json:"target_project_id"`
	}
	if err := input(r, &in); err != nil {
		return 0, nil, err
	}
	target := head
	if in.Project != 0 {
		if target = s.repoByID(in.Project); target == nil {
			return 0, nil, notFound("404 Project")
		}
	}
	p := Pull{Repo: target.path(), Head: head.path(), Branch: in.Source, Base: in.Target, Body: in.Description}
	s.setTitle(&p, in.Title, "Draft: ")
	made, err := s.create(p)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, s.doc(made, r.Host), nil
}

func (s lab) findMerge(r *http.Request) (*Pull, error) {
	number, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
	if err == nil {
		if p := s.pull(r.PathValue("project"), number); p != nil {
			return p, nil
		}
	}
	return nil, notFound("404")
}

func (s lab) serveGet(r *http.Request) (int, any, error) {
	p, err := s.findMerge(r)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, s.doc(p, r.Host), nil
}

func (s lab) serveEdit(r *http.Request) (int, any, error) {
	p, err := s.findMerge(r)
	if err != nil {
		return 0, nil, err
	}
	var in struct {
		Title, Description *string
		Target             *string `json:"target_branch"`
		Event              string  `json:"state_event"`
		Labels             string  `json:"add_labels"`
		Assignees          []int64 `json:"assignee_ids"`
		Reviewers          []int64 `json:"reviewer_ids"`
	}
	if err := input(r, &in); err != nil {
		return 0, nil, err
	}
	if in.Title != nil {
		s.setTitle(p, *in.Title, "Draft: ")
	}
	for to, value := range map[*string]*string{&p.Body: in.Description, &p.Base: in.Target} {
		if value != nil {
			*to = *value
		}
	}
	if in.Event == "close" {
		p.State = "closed"
	}
	addAll(&p.Labels, strings.FieldsFunc(in.Labels, func(r rune) bool { return r == ',' }))
	for to, ids := range map[*[]string][]int64{&p.Assignees: in.Assignees, &p.Reviewers: in.Reviewers} {
		if ids == nil {
			continue
		}
		*to = nil
		for _, id := range ids {
			*to = append(*to, s.users()[id-1])
		}
	}
	return http.StatusOK, s.doc(p, r.Host), nil
}

func (s lab) serveMerge(r *http.Request) (int, any, error) {
	p, err := s.findMerge(r)
	if err != nil {
		return 0, nil, err
	}
	var in struct{ SHA string }
	if err := input(r, &in); err != nil {
		return 0, nil, err
	}
	if err := s.merge(p, in.SHA); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, s.doc(p, r.Host), nil
}

func (s lab) noteDoc(n *Note) map[string]any {
	doc := map[string]any{"id": n.ID, "body": n.Body, "author": s.userDoc(n.Author), "system": false, "created_at": n.at(), "updated_at": cmp.Or(n.Edited, n.at())}
	if n.Path != "" {
		doc["resolvable"], doc["resolved"] = true, n.Resolved
		doc["position"] = map[string]any{"position_type": "text", "new_path": n.Path, "old_path": n.Path, "new_line": n.Line}
	}
	return doc
}

// thread returns the number of what a request is about, and whether it is an issue.
func thread(r *http.Request) (number int64, issue bool, err error) {
	number, err = strconv.ParseInt(r.PathValue("number"), 10, 64)
	return number, strings.Contains(r.URL.Path, "/issues/"), err
}

func (s lab) serveNotes(r *http.Request) (int, any, error) {
	repo, err := s.project(r)
	if err != nil {
		return 0, nil, err
	}
	number, issue, err := thread(r)
	if number == NoThread {
		return 0, nil, notFound("404 Issue")
	}
	docs := []any{}
	for _, n := range s.comments(repo.path(), number, issue) {
		docs = append(docs, s.noteDoc(n))
	}
	return http.StatusOK, docs, err
}

func (s lab) serveNote(r *http.Request) (int, any, error) {
	repo, err := s.project(r)
	if err != nil {
		return 0, nil, err
	}
	number, issue, err := thread(r)
	var in struct{ Body string }
	if err := errors.Join(err, input(r, &in)); err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, s.noteDoc(s.comment(repo.path(), number, issue, in.Body)), nil
}

func (s lab) serveEditNote(r *http.Request) (int, any, error) {
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
	return http.StatusOK, s.noteDoc(n), nil
}
