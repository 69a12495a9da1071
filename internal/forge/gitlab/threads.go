package gitlab

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	gl "gitlab.com/gitlab-org/api/client-go/v2"

	"github.com/millhand/millhand/internal/forge"
)

// notes passes the comments on a thread to add, the oldest first.
func (a *API) notes(ctx context.Context, c forge.Call, t forge.Thread, add func(*gl.Note)) error {
	return forge.Each(ctx, a.Sender, c, func(ctx context.Context) ([]*gl.Note, *gl.Response, error) {
		if t.Issue {
			return a.gl.Notes.ListIssueNotes(c.Repo.String(), t.Number, &gl.ListIssueNotesOptions{Sort: new("asc"), ListOptions: largest()}, gl.WithContext(ctx))
		}
		return a.gl.Notes.ListMergeRequestNotes(c.Repo.String(), t.Number, &gl.ListMergeRequestNotesOptions{Sort: new("asc"), ListOptions: largest()}, gl.WithContext(ctx))
	}, func(j *gl.Note) error {
		if j == nil {
			return fmt.Errorf("%w: a comment that is null", forge.ErrResponse)
		}
		add(j)
		return nil
	})
}

// Comments implements [forge.API].
func (a *API) Comments(ctx context.Context, p forge.Path, t forge.Thread) ([]forge.Comment, error) {
	var all []forge.Comment
	err := a.notes(ctx, forge.OfThread(p, t), t, func(j *gl.Note) { all = append(all, a.comment(p, t, j)) })
	return all, err
}

// comment converts a comment. GitLab does not return its URL.
func (a *API) comment(p forge.Path, t forge.Thread, j *gl.Note) forge.Comment {
	if j == nil {
		return forge.Comment{}
	}
	kind := "merge_requests"
	if t.Issue {
		kind = "issues"
	}
	address := fmt.Sprintf("%s/%s/-/%s/%d#note_%d", strings.TrimSuffix(a.Server, "/"), p, kind, t.Number, j.ID)
	return forge.Comment{URL: address, ID: j.ID, Author: j.Author.Username, Text: j.Body}
}

// Comment implements [forge.API].
func (a *API) Comment(ctx context.Context, p forge.Path, t forge.Thread, id int64, body string, applied func(context.Context) (bool, error)) (forge.Comment, error) {
	c := forge.OfThread(p, t)
	if id == 0 {
		c.Applied = applied
	}
	j, err := forge.One(ctx, a.Sender, c, func(ctx context.Context) (*gl.Note, *gl.Response, error) {
		project, within := p.String(), gl.WithContext(ctx)
		switch {
		case t.Issue && id != 0:
			return a.gl.Notes.UpdateIssueNote(project, t.Number, id, &gl.UpdateIssueNoteOptions{Body: &body}, within)
		case t.Issue:
			return a.gl.Notes.CreateIssueNote(project, t.Number, &gl.CreateIssueNoteOptions{Body: &body}, within)
		case id != 0:
			return a.gl.Notes.UpdateMergeRequestNote(project, t.Number, id, &gl.UpdateMergeRequestNoteOptions{Body: &body}, within)
		}
		return a.gl.Notes.CreateMergeRequestNote(project, t.Number, &gl.CreateMergeRequestNoteOptions{Body: &body}, within)
	})
	return a.comment(p, t, j), err
}

// Remarks implements [forge.API].
func (a *API) Remarks(ctx context.Context, p forge.Path, t forge.Thread) ([]forge.Remark, error) {
	var all []forge.Remark
	err := a.notes(ctx, forge.OfRemarks(p, t), t, func(j *gl.Note) {
		if j.System || strings.TrimSpace(j.Body) == "" {
			return
		}
		r := forge.Remark{ID: "c" + strconv.FormatInt(j.ID, 10), Author: j.Author.Username, URL: a.comment(p, t, j).URL, Body: j.Body}
		if j.CreatedAt != nil {
			r.At = *j.CreatedAt
		}
		if j.UpdatedAt != nil {
			r.Edited = *j.UpdatedAt
		}
		if j.Position != nil {
			r.Path, r.Line = j.Position.NewPath, int(j.Position.NewLine)
		}
		all = append(all, r)
	})
	return all, err
}

// Writes implements [forge.API].
func (a *API) Writes(ctx context.Context, p forge.Path, user string) (bool, error) {
	ids, err := a.users(ctx, p, []string{user})
	if err != nil {
		return false, err
	}
	j, err := forge.One(ctx, a.Sender, forge.Call{What: fmt.Sprintf("get the access of %s to %s", user, p), Repo: p}, func(ctx context.Context) (*gl.ProjectMember, *gl.Response, error) {
		return a.gl.ProjectMembers.GetInheritedProjectMember(p.String(), ids[0], gl.WithContext(ctx))
	})
	return j != nil && j.AccessLevel >= gl.DeveloperPermissions, err
}

// Repos implements [forge.API].
func (a *API) Repos(ctx context.Context, f forge.Filter) ([]forge.Repository, error) {
	var topic *string
	if f.Topic != "" {
		topic = &f.Topic
	}
	id, asc := new("id"), new("asc")
	all, err := a.list(ctx, f, func(ctx context.Context) ([]*gl.Project, *gl.Response, error) {
		return a.gl.Groups.ListGroupProjects(f.Owner, &gl.ListGroupProjectsOptions{
			IncludeSubGroups: new(true), WithShared: new(false), Topic: topic, OrderBy: id, Sort: asc, ListOptions: largest(),
		}, gl.WithContext(ctx))
	})
	if errors.Is(err, forge.ErrNotFound) {
		all, err = a.list(ctx, f, func(ctx context.Context) ([]*gl.Project, *gl.Response, error) {
			return a.gl.Projects.ListUserProjects(f.Owner, &gl.ListProjectsOptions{Topic: topic, OrderBy: id, Sort: asc, ListOptions: largest()}, gl.WithContext(ctx))
		})
	}
	if err != nil || f.Language == "" {
		return all, err
	}
	f.Language = "" // lists lack it
	for i := range all {
		if !f.Matches(all[i]) || all[i].Empty {
			continue
		}
		if all[i].Language, err = a.language(ctx, all[i].Path); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// list returns the repositories of a list. The error is [forge.ErrIncomplete] if the forge announced more of them
// than it sent.
func (a *API) list(ctx context.Context, f forge.Filter, list func(context.Context) ([]*gl.Project, *gl.Response, error)) ([]forge.Repository, error) {
	var all []forge.Repository
	var total int64
	c := forge.Call{What: "list repositories of " + f.Owner, Owner: f.Owner}
	err := forge.Each(ctx, a.Sender, c, func(ctx context.Context) ([]*gl.Project, *gl.Response, error) {
		page, res, err := list(ctx)
		if res != nil {
			total = max(total, res.TotalItems)
		}
		return page, res, err
	}, func(j *gl.Project) error {
		r := repository(j)
		all = append(all, r)
		return r.Check()
	})
	if n := int64(len(all)); err == nil && n < total {
		err = fmt.Errorf("%s: %s: %w: received %d of %d repositories; try again", c.What, a.Base().Host, forge.ErrIncomplete, n, total)
	}
	return all, err
}

// language returns the language with the largest share.
func (a *API) language(ctx context.Context, p forge.Path) (string, error) {
	shares, err := forge.One(ctx, a.Sender, forge.Call{What: "get languages of " + p.String(), Repo: p}, func(ctx context.Context) (*gl.ProjectLanguages, *gl.Response, error) {
		return a.gl.Projects.GetProjectLanguages(p.String(), gl.WithContext(ctx))
	})
	if err != nil || shares == nil {
		return "", err
	}
	most := ""
	for name, share := range *shares {
		if most == "" || share > (*shares)[most] || share == (*shares)[most] && name < most {
			most = name
		}
	}
	return most, nil
}
