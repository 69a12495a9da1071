package github

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/millhand/millhand/internal/forge"
)

// endpoint returns the URL of the GraphQL API, given that of the REST API.
func endpoint(base string) string {
	if enterprise, ok := strings.CutSuffix(base, "/api/v3"); ok {
		return enterprise + "/api/graphql"
	}
	return base + "/graphql"
}

// fault is an error in a response of GraphQL, whose status is 200.
type fault struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// kind returns the kind of a [forge.Error].
func (f fault) kind() error {
	switch f.Type {
	case "NOT_FOUND":
		return forge.ErrNotFound
	case "FORBIDDEN", "INSUFFICIENT_SCOPES", "UNAUTHORIZED":
		return forge.ErrDenied
	case "RATE_LIMITED", "RATE_LIMIT":
		return forge.ErrLimited
	case "STALE_DATA":
		return forge.ErrConflict
	}
	return forge.ErrInvalid
}

// graphql sends a document of GraphQL with its variables, and decodes the data of the
// response into data, which is unchanged if the request was applied without a response.
func (a *API) graphql(ctx context.Context, c forge.Call, document string, variables map[string]any, data any) error {
	var res struct {
		Data   json.RawMessage `json:"data"`
		Errors []fault         `json:"errors"`
	}
	c.GraphQL, c.Reads = true, strings.HasPrefix(document, "query")
	err := a.Do(ctx, c, func(ctx context.Context) error {
		req, err := a.gh.NewRequest(ctx, http.MethodPost, endpoint(a.Base().String()), map[string]any{"query": document, "variables": variables})
		if err == nil {
			_, err = a.gh.Do(req, &res)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case len(res.Errors) > 0:
		var texts []string
		for _, f := range res.Errors {
			texts = append(texts, f.Message)
		}
		return a.Refuse(ctx, c, res.Errors[0].kind(), texts)
	case res.Data == nil:
		return nil
	}
	if err := json.Unmarshal(res.Data, data); err != nil {
		return fmt.Errorf("%s: %w: %w", c.What, forge.ErrResponse, err)
	}
	return nil
}

// App returns the user of the token, also of an app's: NAME[bot].
func (a *API) App(ctx context.Context, owner string) (string, error) {
	var data struct {
		Viewer struct {
			Login string `json:"login"`
		} `json:"viewer"`
	}
	err := a.graphql(ctx, forge.Call{What: "get the token's user", Owner: owner}, "query { viewer { login } }", nil, &data)
	return data.Viewer.Login, err
}

const reviewDocument = "query($owner: String!, $name: String!, $number: Int!) { repository(owner: $owner, name: $name) { pullRequest(number: $number) { reviewDecision } } }"

// blocked asks what blocks a pull request: of the rules, GitHub names only the one about reviews.
func (a *API) blocked(ctx context.Context, p forge.Path, pr forge.PullRequest) (string, error) {
	var data struct {
		Repository struct {
			PullRequest struct {
				Decision string `json:"reviewDecision"` // null without a rule
			} `json:"pullRequest"`
		} `json:"repository"`
	}
	err := a.graphql(ctx, forge.OfPull("get", p, pr.Number), reviewDocument, map[string]any{"owner": p.Owner, "name": p.Name, "number": pr.Number}, &data)
	switch data.Repository.PullRequest.Decision {
	case "REVIEW_REQUIRED":
		return forge.NeedsReview, err
	case "CHANGES_REQUESTED":
		return forge.NeedsChanges, err
	}
	return "", err
}

const tipDocument = "query($owner: String!, $name: String!, $ref: String!) { repository(owner: $owner, name: $name) { ref(qualifiedName: $ref) { target { oid } } } }"

// tip returns the commit of a branch, which exists.
func (a *API) tip(ctx context.Context, p forge.Path, branch string) (string, error) {
	var data struct {
		Repository struct {
			Ref struct { // null for no branch
				Target struct {
					OID string `json:"oid"`
				} `json:"target"`
			} `json:"ref"`
		} `json:"repository"`
	}
	c := forge.Call{What: fmt.Sprintf("get branch %s of %s", branch, p), Repo: p}
	err := a.graphql(ctx, c, tipDocument, map[string]any{"owner": p.Owner, "name": p.Name, "ref": "refs/heads/" + branch}, &data)
	if err == nil && data.Repository.Ref.Target.OID == "" {
		err = fmt.Errorf("%s: %w", c.What, forge.ErrNotFound)
	}
	return data.Repository.Ref.Target.OID, err
}

const commitDocument = "mutation($input: CreateCommitOnBranchInput!) { createCommitOnBranch(input: $input) { commit { oid } } }"

// Commit implements [forge.API].
func (a *API) Commit(ctx context.Context, p forge.Path, n forge.NewCommit) (hash string, err error) {
	type addition struct {
		Path     string `json:"path"`
		Contents string `json:"contents"`
	}
	type deletion struct {
		Path string `json:"path"`
	}
	additions, deletions := []addition{}, []deletion{}
	for _, f := range n.Files {
		if f.Deleted {
			deletions = append(deletions, deletion{f.Path})
			continue
		}
		additions = append(additions, addition{f.Path, base64.StdEncoding.EncodeToString(f.Content)})
	}
	headline, body, _ := strings.Cut(strings.TrimRight(n.Message, "\n"), "\n")
	input := map[string]any{
		"branch":          map[string]any{"repositoryNameWithOwner": p.String(), "branchName": n.Branch},
		"message":         map[string]any{"headline": headline, "body": strings.TrimLeft(body, "\n")},
		"expectedHeadOid": n.Parent,
		"fileChanges":     map[string]any{"additions": additions, "deletions": deletions},
	}
	var data struct {
		Created struct {
			Commit struct {
				OID string `json:"oid"`
			} `json:"commit"`
		} `json:"createCommitOnBranch"`
	}
	applied := ""
	c := forge.Call{What: fmt.Sprintf("make a commit on branch %s of %s", n.Branch, p), Repo: p, Applied: func(ctx context.Context) (bool, error) {
		tip, err := a.tip(ctx, p, n.Branch)
		if err != nil || tip == n.Parent {
			return false, err
		}
		applied = tip
		return true, nil
	}}
	err = a.graphql(ctx, c, commitDocument, map[string]any{"input": input}, &data)
	switch {
	case err != nil:
		return "", err
	case applied != "":
		return applied, nil
	case data.Created.Commit.OID == "":
		return "", fmt.Errorf("%s: %w: no hash", c.What, forge.ErrResponse)
	}
	return data.Created.Commit.OID, nil
}
