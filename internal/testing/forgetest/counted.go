package forgetest

import (
	"cmp"
	"net/http"
	"time"
)

// longAgo is when a pull request was created, unless a test sets it.
const longAgo = "2020-01-01T00:00:00Z"

func (p *Pull) created() string { return cmp.Or(p.Created, longAgo) }

// message returns the message and the parent of a commit.
func (s *Server) message(repo, sha string) (message, parent string) {
	if s.Message == nil {
		return "", ""
	}
	return s.Message(repo, sha)
}

// times returns the start and the end of the checks of a commit.
func (s *Server) times(sha string) (from, to string) {
	start := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, p := range s.pulls {
		if s.sha(p) == sha {
			return start.Format(time.RFC3339), start.Add(time.Duration(p.Minutes) * time.Minute).Format(time.RFC3339)
		}
	}
	return start.Format(time.RFC3339), start.Format(time.RFC3339)
}

func (s rest) countedRoutes(mux *http.ServeMux) {
	const repo = "/repos/{owner}/{repo}"
	s.on(mux, "GET "+repo+"/git/commits/{sha}", func(r *http.Request) (int, any, error) {
		found, err := s.findRepo(r)
		if err != nil {
			return 0, nil, err
		}
		message, parent := s.message(found.path(), r.PathValue("sha"))
		doc := map[string]any{"sha": r.PathValue("sha"), "parents": []any{map[string]any{"sha": parent}}}
		if s.Kind == "github" {
			doc["message"] = message
		} else {
			doc["commit"] = map[string]any{"message": message}
		}
		return http.StatusOK, doc, nil
	})
}

// timed returns the statuses of a commit whose checks took time, of Gitea.
func (s rest) timed(sha string) []any {
	from, to := s.times(sha)
	if from == to {
		return nil
	}
	return []any{
		map[string]any{"id": 2, "context": "ci", "status": "success", "created_at": to, "updated_at": to},
		map[string]any{"id": 1, "context": "ci", "status": "pending", "created_at": from, "updated_at": from},
	}
}

// timeRuns adds the times to the check runs of a commit: all but the last one took none.
func (s rest) timeRuns(r *http.Request, runs []any) {
	from, to := s.times(r.PathValue("sha"))
	for i, run := range runs {
		doc := run.(map[string]any)
		doc["started_at"], doc["completed_at"] = from, any(nil)
		if doc["status"] == "completed" {
			doc["completed_at"] = from
		}
		if i == len(runs)-1 && doc["status"] == "completed" {
			doc["completed_at"] = to
		}
	}
}

func (s lab) countedRoutes(mux *http.ServeMux) {
	const commit = "/projects/{project}/repository/commits/{sha}"
	s.on(mux, "GET "+commit, func(r *http.Request) (int, any, error) {
		found, err := s.project(r)
		if err != nil {
			return 0, nil, err
		}
		message, parent := s.message(found.path(), r.PathValue("sha"))
		return http.StatusOK, map[string]any{"id": r.PathValue("sha"), "message": message, "parent_ids": []string{parent}}, nil
	})
	s.on(mux, "GET "+commit+"/statuses", func(r *http.Request) (int, any, error) {
		from, to := s.times(r.PathValue("sha"))
		return http.StatusOK, []any{
			map[string]any{"name": "test", "status": "success", "started_at": from, "finished_at": to},
			map[string]any{"name": "deploy", "status": "created", "started_at": nil, "finished_at": nil},
		}, nil
	})
}
