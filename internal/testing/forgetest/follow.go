package forgetest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Run is a check of a commit: a check run, a commit status or a job of a pipeline.
type Run struct {
	Name   string
	Status string // success, failure or pending
	Log    string // "" for none; Gitea has none
	Text   string // summary
	id     int64
}

// Review has what belongs to the review of pull requests.
type Review struct {
	Writers []string // users who can push
	Labels  []string // of all repositories, in lists of Gitea

	runs map[string][]Run // by commit, the newest first
}

// AddRun adds a check to the commit that a branch is at.
func (s *Server) AddRun(repo, branch string, r Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Review.runs == nil {
		s.Review.runs = map[string][]Run{}
	}
	s.lastID++
	r.id = s.lastID
	sha := s.commit(repo, branch)
	s.Review.runs[sha] = append([]Run{r}, s.Review.runs[sha]...)
}

// SetChecks makes the pull requests of a branch have the result of its checks, where it is
// in the pull request.
func (s *Server) SetChecks(repo, branch string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Kind == "github" {
		return // it is in the check runs
	}
	for _, p := range s.pulls {
		if p.Head != repo || p.Branch != branch {
			continue
		}
		p.Checks = "success"
		for _, r := range s.Review.runs[s.sha(p)] {
			if r.Status != "success" && p.Checks != "failure" {
				p.Checks = r.Status
			}
		}
	}
}

// log returns the log of a check with an id; false for none.
func (s *Server) log(id string) (string, bool) {
	for _, runs := range s.Review.runs {
		for _, r := range runs {
			if strconv.FormatInt(r.id, 10) == id && r.Log != "" {
				return r.Log, true
			}
		}
	}
	return "", false
}

// logPath is where GitHub's logs are: it redirects to another server, which accepts no token.
const logPath = "/log-storage/"

// serveLog serves a log outside of the API.
func (s *Server) serveLog(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	text, found := s.log(strings.TrimPrefix(r.URL.Path, logPath))
	s.mu.Unlock()
	if !found || r.Header.Get("Authorization") != "" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	_, _ = w.Write([]byte(text))
}

// permission is what a user may do in all repositories: write for Writers, else read.
func (s *Server) permission(user string) string {
	if slices.Contains(s.Review.Writers, user) || user == s.User && user != "" {
		return "write"
	}
	return "read"
}

func (s rest) followRoutes(mux *http.ServeMux) {
	const repo = "/repos/{owner}/{repo}"
	s.on(mux, "GET "+repo+"/commits/{sha}/statuses", s.serveStatuses)
	s.on(mux, "GET "+repo+"/collaborators/{user}/permission", s.servePermission)
	s.on(mux, "GET "+repo+"/pulls/{number}/reviews", s.serveReviews)
	if s.Kind == "github" {
		s.on(mux, "GET "+repo+"/pulls/{number}/comments", s.serveLines)
		mux.HandleFunc("GET "+repo+"/actions/jobs/{id}/logs", func(w http.ResponseWriter, r *http.Request) {
			if _, found := s.log(r.PathValue("id")); !found {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			w.Header().Set("Location", "http://"+r.Host+logPath+r.PathValue("id"))
			w.WriteHeader(http.StatusFound)
		})
		return
	}
	s.on(mux, "GET "+repo+"/pulls/{number}/reviews/{id}/comments", s.serveLines)
	s.on(mux, "GET "+repo+"/labels", s.serveAllLabels)
	s.on(mux, "POST "+repo+"/labels", s.serveNewLabel)
}

func (s rest) serveStatuses(r *http.Request) (int, any, error) {
	docs := []any{}
	if s.Kind == "gitea" {
		docs = append(docs, s.timed(r.PathValue("sha"))...)
		if state := s.checked(r); state != "" && len(s.Review.runs[r.PathValue("sha")]) == 0 {
			docs = append(docs, map[string]any{"id": 3, "status": state, "context": "ci"})
		}
		for _, run := range s.Review.runs[r.PathValue("sha")] {
			docs = append(docs, map[string]any{"id": run.id, "status": run.Status, "context": run.Name, "description": run.Text, "target_url": "https://ci.example.com/" + strconv.FormatInt(run.id, 10)})
		}
	}
	return http.StatusOK, docs, nil
}

func (s rest) runDoc(run Run) map[string]any {
	doc := map[string]any{
		"id": run.id, "name": run.Name, "status": "completed", "conclusion": run.Status, "html_url": "https://ci.example.com/" + strconv.FormatInt(run.id, 10),
		"output": map[string]any{"title": nil, "summary": null(run.Text), "text": nil}, "app": nil,
	}
	if run.Log != "" {
		doc["app"] = map[string]any{"slug": "github-actions"}
	}
	if run.Status == "pending" {
		doc["status"], doc["conclusion"] = "in_progress", nil
	}
	return doc
}

func (s rest) servePermission(r *http.Request) (int, any, error) {
	return http.StatusOK, map[string]any{"permission": s.permission(r.PathValue("user"))}, nil
}

// marks returns the notes of a kind on a pull request.
func (s rest) marks(r *http.Request, kind string) ([]*Note, error) {
	repo, err := s.findRepo(r)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
	var found []*Note
	for _, n := range s.notes {
		if strings.EqualFold(n.Repo, repo.path()) && n.Number == number && n.Kind == kind {
			found = append(found, n)
		}
	}
	return found, err
}

func (s rest) serveReviews(r *http.Request) (int, any, error) {
	found, err := s.marks(r, ReviewNote)
	docs := []any{}
	for _, n := range found {
		doc := s.noteDoc(n, r.Host)
		doc["state"], doc["submitted_at"] = n.State, doc["created_at"]
		delete(doc, "created_at")
		delete(doc, "updated_at")
		docs = append(docs, doc)
	}
	return http.StatusOK, docs, err
}

func (s rest) serveLines(r *http.Request) (int, any, error) {
	found, err := s.marks(r, LineNote)
	docs := []any{}
	for _, n := range found {
		if id := r.PathValue("id"); id != "" && n.Review != 0 && id != strconv.FormatInt(n.Review, 10) {
			continue
		}
		doc := s.noteDoc(n, r.Host)
		doc["path"], doc["position"] = n.Path, n.Line
		if s.Kind == "gitea" && n.Resolved {
			doc["resolver"] = s.userDoc(n.Author, false)
		}
		if s.Kind == "github" {
			doc["line"] = n.Line
		}
		docs = append(docs, doc)
	}
	return http.StatusOK, docs, err
}

func (s rest) serveAllLabels(*http.Request) (int, any, error) {
	docs := []any{}
	for i, name := range s.Review.Labels {
		docs = append(docs, map[string]any{"id": i + 1, "name": name})
	}
	return http.StatusOK, docs, nil
}

func (s rest) serveNewLabel(r *http.Request) (int, any, error) {
	var in struct{ Name string }
	if err := input(r, &in); err != nil {
		return 0, nil, err
	}
	s.Review.Labels = append(s.Review.Labels, in.Name)
	s.NoLabels = slices.DeleteFunc(s.NoLabels, func(name string) bool { return name == in.Name })
	return http.StatusCreated, map[string]any{"id": 1, "name": in.Name}, nil
}

func (s lab) followRoutes(mux *http.ServeMux) {
	s.on(mux, "GET /projects/{project}/pipelines", func(r *http.Request) (int, any, error) {
		docs := []any{}
		if runs := s.Review.runs[r.URL.Query().Get("sha")]; len(runs) > 0 {
			docs = append(docs, map[string]any{"id": runs[0].id})
		}
		return http.StatusOK, docs, nil
	})
	s.on(mux, "GET /projects/{project}/pipelines/{id}/jobs", s.serveJobs)
	mux.HandleFunc("GET /projects/{project}/jobs/{id}/trace", func(w http.ResponseWriter, r *http.Request) {
		text, found := s.log(r.PathValue("id"))
		if !found {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(text))
	})
	s.on(mux, "GET /projects/{project}/members/all/{id}", func(r *http.Request) (int, any, error) {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil || id < 1 || id > len(s.users()) {
			return 0, nil, notFound("404")
		}
		level := map[string]int{"write": 30, "read": 20}[s.permission(s.users()[id-1])]
		return http.StatusOK, map[string]any{"id": id, "access_level": level}, nil
	})
}

func (s lab) serveJobs(r *http.Request) (int, any, error) {
	docs := []any{}
	for _, runs := range s.Review.runs {
		if len(runs) == 0 || fmt.Sprint(runs[0].id) != r.PathValue("id") {
			continue
		}
		for _, run := range runs {
			status := map[string]string{"success": "success", "failure": "failed", "pending": "running"}[run.Status]
			docs = append(docs, map[string]any{"id": run.id, "name": run.Name, "status": status, "web_url": "https://ci.example.com/" + fmt.Sprint(run.id)})
		}
	}
	return http.StatusOK, docs, nil
}
