package step

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/millhand/millhand/internal/app/action"
)

// admission is what an event permits.
type admission struct {
	refused   string // why nothing is run; "" otherwise
	skipped   string // the same, if nothing is wrong: the event does not address millhand, or is of an outsider
	outsider  bool
	untrusted string // why manifests are not trusted; "" otherwise
}

// admit implements the inputs trigger-*, allow-actors, outsiders and untrusted: auto.
func (s *Step) admit(ctx context.Context, in action.Inputs) admission {
	if s.Getenv("GITHUB_ACTIONS") != "true" {
		return admission{} // started by hand
	}
	name := s.Getenv("GITHUB_EVENT_NAME")
	payload, err := s.payload(ctx)
	if err != nil {
		return admission{refused: fmt.Sprintf("read the payload of the event %s: %v", name, err)}
	}
	if missing := in.Trigger.Missing(name, payload); missing != "" {
		return admission{skipped: missing}
	}
	t, err := action.TrustOf(name, payload)
	if err != nil {
		return admission{refused: err.Error()}
	}
	admitted, reason := in.Actors.Admits(t)
	var access error
	if admitted == action.IfWritten || admitted == action.Admitted && !t.Writer && t.Untrusted == "" && in.Untrusted == "auto" {
		access = s.mayWrite(ctx, t.Actor)
	}
	switch {
	case admitted == action.Refused:
	case admitted == action.IfWritten && access != nil:
		reason = fmt.Sprintf("%s: %v", t.Actor, access)
	case in.Untrusted != "auto":
		return admission{}
	default:
		return admission{untrusted: s.untrusted(ctx, name, t, access)}
	}
	text := fmt.Sprintf("the event %s does not start millhand: %s; the input allow-actors lists who may, such as write, * or a login", name, reason)
	if in.Outsiders == "skip" && (access == nil || errors.Is(access, errNoAccess)) {
		return admission{skipped: text, outsider: true}
	}
	return admission{refused: text}
}

// untrusted returns the reason not to trust manifests, or "" to trust them. access is whether
// its actor lacks write access.
func (s *Step) untrusted(ctx context.Context, name string, t action.Trust, access error) string {
	if t.Untrusted != "" {
		return t.Untrusted
	}
	if access != nil {
		return fmt.Sprintf("%s caused the event %s: %v", t.Actor, name, access)
	}
	if t.PullRequest != 0 {
		if err := s.ownBranch(ctx, t.PullRequest); err != nil {
			return fmt.Sprintf("pull request %d: %v", t.PullRequest, err)
		}
	}
	return ""
}

// errNoAccess is the error about an actor who may not write, errNotFound that of a 404.
var (
	errNoAccess = errors.New("no write access")
	errNotFound = errors.New("GitHub responded 404 Not Found")
)

// mayWrite returns an error unless the actor has write access to the repository.
func (s *Step) mayWrite(ctx context.Context, actor string) error {
	var response struct{ Permission string }
	err := s.github(ctx, "/collaborators/"+url.PathEscape(actor)+"/permission", &response)
	if errors.Is(err, errNotFound) {
		return fmt.Errorf("%w: %w", errNoAccess, err)
	}
	if err != nil {
		return fmt.Errorf("check write access: %w", err)
	}
	if !slices.Contains([]string{"admin", "maintain", "write"}, response.Permission) {
		return errNoAccess
	}
	return nil
}

// ownBranch returns an error if a pull request is from a fork.
func (s *Step) ownBranch(ctx context.Context, number int) error {
	var response struct {
		Head struct {
			Repo *struct {
				FullName string `json:"full_name"`
			}
		}
	}
	if err := s.github(ctx, fmt.Sprintf("/pulls/%d", number), &response); err != nil {
		return fmt.Errorf("check its branch: %w", err)
	}
	if response.Head.Repo == nil || response.Head.Repo.FullName != s.Getenv("GITHUB_REPOSITORY") {
		return errors.New("from a fork")
	}
	return nil
}

// The limits of a request to GitHub.
const (
	githubTime  = 20 * time.Second
	githubBytes = 4 << 20
)

// github sends a request to GitHub's REST API about the workflow's repository.
func (s *Step) github(ctx context.Context, path string, response any) error {
	token := s.Getenv("GITHUB_TOKEN")
	if token == "" {
		return errors.New("GITHUB_TOKEN is not set: add env: GITHUB_TOKEN: ${{ github.token }} to the step")
	}
	ctx, cancel := context.WithTimeout(ctx, githubTime)
	defer cancel()
	address := s.Getenv("GITHUB_API_URL") + "/repos/" + s.Getenv("GITHUB_REPOSITORY") + path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return fmt.Errorf("request to GitHub: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/vnd.github+json")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("request to GitHub: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return errNotFound
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GitHub responded %s", resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, githubBytes)).Decode(response); err != nil {
		return fmt.Errorf("read GitHub's response: %w", err)
	}
	return nil
}
