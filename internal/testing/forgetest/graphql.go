package forgetest

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"strings"
)

// graphqlError is an error of GitHub's GraphQL API, whose status is 200.
type graphqlError struct{ kind, text string }

// serveGraphQL serves the documents that the client sends.
func (s rest) serveGraphQL(r *http.Request) (int, any, error) {
	var in struct {
		Query     string
		Variables struct {
			Input       committed `json:"input"`
			Owner, Name string
			Ref         string
			Number      int64
		}
	}
	if err := input(r, &in); err != nil {
		return 0, nil, err
	}
	var data any
	fault := &graphqlError{"", "Parse error"}
	switch {
	case strings.Contains(in.Query, "viewer"):
		data, fault = map[string]any{"viewer": map[string]any{"login": cmp.Or(s.User, s.bot())}}, nil
	case strings.Contains(in.Query, "reviewDecision"):
		if p := s.pull(in.Variables.Owner+"/"+in.Variables.Name, in.Variables.Number); p != nil {
			data, fault = map[string]any{"repository": map[string]any{"pullRequest": map[string]any{"reviewDecision": null(p.Review)}}}, nil
		}
	case strings.Contains(in.Query, "ref(qualifiedName: $ref)"):
		var ref any
		if at := s.commit(in.Variables.Owner+"/"+in.Variables.Name, strings.TrimPrefix(in.Variables.Ref, "refs/heads/")); at != "" {
			ref = map[string]any{"target": map[string]any{"oid": at}}
		}
		data, fault = map[string]any{"repository": map[string]any{"ref": ref}}, nil
	case strings.Contains(in.Query, "createCommitOnBranch(input: $input)"):
		data, fault = s.serveCommit(in.Variables.Input)
	}
	if fault != nil {
		return http.StatusOK, map[string]any{"data": nil, "errors": []any{map[string]any{"type": fault.kind, "message": fault.text}}}, nil
	}
	return http.StatusOK, map[string]any{"data": data}, nil
}

// committed is CreateCommitOnBranchInput.
type committed struct {
	Branch struct {
		Repo string `json:"repositoryNameWithOwner"`
		Name string `json:"branchName"`
	} `json:"branch"`
	Message     struct{ Headline, Body string }
	Expected    string `json:"expectedHeadOid"`
	FileChanges struct {
		Additions []struct{ Path, Contents string }
		Deletions []struct{ Path string }
	} `json:"fileChanges"`
}

func (s rest) serveCommit(in committed) (any, *graphqlError) {
	switch now := s.commit(in.Branch.Repo, in.Branch.Name); {
	case s.repo(in.Branch.Repo) == nil:
		return nil, &graphqlError{"NOT_FOUND", "Could not resolve to a Repository with the name '" + in.Branch.Repo + "'."}
	case s.repo(in.Branch.Repo).NoPush:
		return nil, &graphqlError{"FORBIDDEN", "Resource not accessible by integration"}
	case now == "":
		return nil, &graphqlError{"NOT_FOUND", "No such branch: " + in.Branch.Name}
	case now != in.Expected:
		return nil, &graphqlError{"STALE_DATA", "Expected branch to point to \"" + in.Expected + "\" but it did not. Pull and try again."}
	}
	c := Commit{Repo: in.Branch.Repo, Branch: in.Branch.Name, Parent: in.Expected, Message: in.Message.Headline + "\n\n" + in.Message.Body, Files: map[string]string{}}
	for _, f := range in.FileChanges.Additions {
		content, err := base64.StdEncoding.DecodeString(f.Contents)
		if err != nil {
			return nil, &graphqlError{"", "Variable $input is invalid"}
		}
		c.Files[f.Path] = string(content)
	}
	for _, f := range in.FileChanges.Deletions {
		c.Deleted = append(c.Deleted, f.Path)
	}
	hash := strings.Repeat("7", 40)
	if s.Commit != nil {
		var err error
		if hash, err = s.Commit(c); err != nil {
			return nil, &graphqlError{"UNPROCESSABLE", err.Error()}
		}
	}
	return map[string]any{"createCommitOnBranch": map[string]any{"commit": map[string]any{"oid": hash}}}, nil
}
