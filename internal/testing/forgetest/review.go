package forgetest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/millhand/millhand/internal/text/unidiff"
)

// shown returns the diff of a pull request, by file.
func (s *Server) shown(p *Pull) []unidiff.Section {
	text := p.Diff
	if text == "" && s.Compare != nil {
		text = s.Compare(p.Repo, p.Base, s.sha(p))
	}
	return unidiff.Split(text)
}

// onDiff returns the number in the old version of a line that the diff of a pull request shows; 0 for an added line.
func (s *Server) onDiff(p *Pull, path string, line int) (old int, found bool) {
	for _, f := range s.shown(p) {
		for _, l := range unidiff.Shown(f.Hunks) {
			if f.Path == path && l.New == line {
				return l.Old, true
			}
		}
	}
	return 0, false
}

// line adds a comment on a line of a pull request.
func (s *Server) line(p *Pull, review int64, path string, line int, body string) *Note {
	n := s.comment(p.Repo, p.Number, false, body)
	n.Kind, n.Path, n.Line, n.Review = LineNote, path, line, review
	return n
}

// reviewed is a review to create, as GitHub and Gitea document it.
type reviewed struct {
	Commit   string `json:"commit_id"`
	Body     string
	Event    string
	Comments []struct {
		Path, Body, Side string
		Line             int
		New              int `json:"new_position"`
	}
}

func (s rest) reviewRoutes(mux *http.ServeMux) {
	const pull = "/repos/{owner}/{repo}/pulls"
	s.on(mux, "POST "+pull+"/{number}/reviews", s.serveReview)
	if s.Kind == "github" {
		s.on(mux, "GET "+pull+"/{number}/files", s.serveFiles)
		s.on(mux, "PATCH "+pull+"/comments/{id}", s.serveEditComment)
		return
	}
	mux.HandleFunc("GET "+pull+"/{diff}", func(w http.ResponseWriter, r *http.Request) {
		number, isDiff := strings.CutSuffix(r.PathValue("diff"), ".diff")
		if !isDiff { // the most general pattern that a ServeMux accepts
			r.SetPathValue("number", number)
			s.handler(s.serveGet)(w, r)
			return
		}
		n, _ := strconv.ParseInt(number, 10, 64)
		p := s.pull(r.PathValue("owner")+"/"+r.PathValue("repo"), n)
		if p == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		text := p.Diff
		if text == "" && s.Compare != nil {
			text = s.Compare(p.Repo, p.Base, s.sha(p))
		}
		_, _ = w.Write([]byte(text))
	})
	for verb, resolved := range map[string]bool{"resolve": true, "unresolve": false} {
		s.on(mux, "POST "+pull+"/comments/{id}/"+verb, func(r *http.Request) (int, any, error) {
			id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
			if err != nil {
				return 0, nil, err
			}
			n, err := s.note(id)
			if err == nil {
				n.Resolved = resolved
			}
			return http.StatusNoContent, nil, err
		})
	}
}

// serveReview creates a review with all its comments, or nothing.
func (s rest) serveReview(r *http.Request) (int, any, error) {
	p, err := s.findPull(r)
	if err != nil {
		return 0, nil, err
	}
	var in reviewed
	if err := input(r, &in); err != nil {
		return 0, nil, err
	}
	for _, c := range in.Comments {
		if _, ok := s.onDiff(p, c.Path, cmp.Or(c.Line, c.New)); !ok || s.Kind == "github" && c.Side != "RIGHT" {
			return 0, nil, refusal{http.StatusUnprocessableEntity, "Unprocessable Entity: Pull request review thread line must be part of the diff"}
		}
	}
	review := s.comment(p.Repo, p.Number, false, in.Body)
	review.Kind, review.State = ReviewNote, map[string]string{"github": "COMMENTED", "gitea": "COMMENT"}[s.Kind]
	for _, c := range in.Comments {
		s.line(p, review.ID, c.Path, cmp.Or(c.Line, c.New), c.Body)
	}
	doc := s.noteDoc(review, r.Host)
	doc["state"], doc["submitted_at"] = review.State, doc["created_at"]
	delete(doc, "created_at")
	delete(doc, "updated_at")
	return http.StatusOK, doc, nil
}

func (s rest) serveFiles(r *http.Request) (int, any, error) {
	p, err := s.findPull(r)
	if err != nil {
		return 0, nil, err
	}
	docs := []any{}
	for _, f := range s.shown(p) {
		doc := map[string]any{"filename": f.Path, "status": "modified", "sha": s.sha(p)}
		if f.Hunks != "" {
			doc["patch"] = strings.TrimSuffix(f.Hunks, "\n")
		}
		if f.Old != f.Path {
			doc["previous_filename"], doc["status"] = f.Old, "renamed"
		}
		docs = append(docs, doc)
	}
	return http.StatusOK, docs, nil
}

func (s lab) reviewRoutes(mux *http.ServeMux) {
	const merge = "/projects/{project}/merge_requests/{number}"
	s.on(mux, "GET "+merge+"/diffs", s.serveDiffs)
	s.on(mux, "GET "+merge+"/discussions", s.serveDiscussions)
	s.on(mux, "POST "+merge+"/discussions", s.serveDiscussion)
	s.on(mux, "PUT "+merge+"/discussions/{id}", s.serveResolve)
	s.on(mux, "PUT "+merge+"/discussions/{discussion}/notes/{id}", s.serveEditNote)
}

func (s lab) serveDiffs(r *http.Request) (int, any, error) {
	p, err := s.findMerge(r)
	if err != nil {
		return 0, nil, err
	}
	docs := []any{}
	for _, f := range s.shown(p) {
		docs = append(docs, map[string]any{
			"old_path": f.Old, "new_path": f.Path, "diff": f.Hunks, "new_file": f.Created, "deleted_file": f.Deleted, "renamed_file": f.Old != f.Path,
		})
	}
	return http.StatusOK, docs, nil
}

// discussionDoc is a discussion with one comment. Its id is that of the comment.
func (s lab) discussionDoc(n *Note) map[string]any {
	return map[string]any{"id": fmt.Sprintf("d%d", n.ID), "individual_note": n.Path == "", "notes": []any{s.noteDoc(n)}}
}

func (s lab) serveDiscussions(r *http.Request) (int, any, error) {
	repo, err := s.project(r)
	if err != nil {
		return 0, nil, err
	}
	number, _, err := thread(r)
	docs := []any{}
	for _, n := range s.comments(repo.path(), number, false) {
		docs = append(docs, s.discussionDoc(n))
	}
	return http.StatusOK, docs, err
}

func (s lab) serveDiscussion(r *http.Request) (int, any, error) {
	p, err := s.findMerge(r)
	if err != nil {
		return 0, nil, err
	}
	var in struct {
		Body     string
		Position struct {
			Base    string `json:"base_sha"`
			Head    string `json:"head_sha"`
			Start   string `json:"start_sha"`
			Kind    string `json:"position_type"`
			Path    string `json:"new_path"`
			OldPath string `json:"old_path"`
			Line    int    `json:"new_line"`
			OldLine int    `json:"old_line"`
		}
	}
	if err := input(r, &in); err != nil {
		return 0, nil, err
	}
	at := in.Position
	old, ok := s.onDiff(p, at.Path, at.Line)
	named := slices.ContainsFunc(s.shown(p), func(f unidiff.Section) bool { return f.Path == at.Path && f.Old == at.OldPath })
	if !ok || old != at.OldLine || !named || at.Kind != "text" || at.Head != s.sha(p) || at.Base == "" || at.Start == "" {
		return 0, nil, refusal{http.StatusBadRequest, `400 Bad request - Note {:line_code=>["can't be blank", "must be a valid line code"]}`}
	}
	return http.StatusCreated, s.discussionDoc(s.line(p, 0, at.Path, at.Line, in.Body)), nil
}

func (s lab) serveResolve(r *http.Request) (int, any, error) {
	id, err := strconv.ParseInt(strings.TrimPrefix(r.PathValue("id"), "d"), 10, 64)
	if err != nil {
		return 0, nil, notFound("404")
	}
	n, err := s.note(id)
	var in struct{ Resolved bool }
	if err == nil {
		err = input(r, &in)
	}
	if err != nil {
		return 0, nil, err
	}
	n.Resolved = in.Resolved
	return http.StatusOK, s.discussionDoc(n), nil
}
