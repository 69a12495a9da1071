package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/millhand/millhand/internal/action"
)

// untrusted decides what the input untrusted: auto comes out at: why manifests are
// not to be trusted, or "".
func (s *actionStep) untrusted(ctx context.Context) string {
	if s.Getenv("GITHUB_ACTIONS") != "true" {
		return "" // whoever starts this by hand has the manifest before them
	}
	name := s.Getenv("GITHUB_EVENT_NAME")
	payload, err := os.ReadFile(s.Getenv("GITHUB_EVENT_PATH"))
	if err != nil {
		return fmt.Sprintf("the payload of the event %s can't be read: %v", name, err)
	}
	t := action.TrustOf(name, payload)
	if t.Untrusted != "" || t.Actor == "" {
		return t.Untrusted
	}
	if err := s.mayWrite(ctx, t.Actor); err != nil {
		return fmt.Sprintf("%s caused the event %s: %v", t.Actor, name, err)
	}
	if t.PullRequest != 0 {
		if err := s.ownBranch(ctx, t.PullRequest); err != nil {
			return fmt.Sprintf("pull request %d: %v", t.PullRequest, err)
		}
	}
	return ""
}

// mayWrite is the error of an actor without write access to the repository.
func (s *actionStep) mayWrite(ctx context.Context, actor string) error {
	var answer struct{ Permission string }
	if err := s.github(ctx, "/collaborators/"+url.PathEscape(actor)+"/permission", &answer); err != nil {
		return fmt.Errorf("write access can't be told: %w", err)
	}
	if !slices.Contains([]string{"admin", "maintain", "write"}, answer.Permission) {
		return errors.New("no write access")
	}
	return nil
}

// ownBranch is the error of a pull request from a fork.
func (s *actionStep) ownBranch(ctx context.Context, number int) error {
	var answer struct {
		Head struct {
			Repo *struct {
				FullName string `json:"full_name"`
			}
		}
	}
	if err := s.github(ctx, fmt.Sprintf("/pulls/%d", number), &answer); err != nil {
		return fmt.Errorf("its branch can't be told: %w", err)
	}
	if answer.Head.Repo == nil || answer.Head.Repo.FullName != s.Getenv("GITHUB_REPOSITORY") {
		return errors.New("it comes from a fork")
	}
	return nil
}

// The bounds of a question to GitHub.
const (
	githubTime  = 20 * time.Second
	githubBytes = 4 << 20
)

// github asks GitHub's REST API about the workflow's repository.
func (s *actionStep) github(ctx context.Context, path string, answer any) error {
	token := s.Getenv("GITHUB_TOKEN")
	if token == "" {
		return errors.New("give the step env: GITHUB_TOKEN: ${{ github.token }} to let it ask")
	}
	ctx, cancel := context.WithTimeout(ctx, githubTime)
	defer cancel()
	address := s.Getenv("GITHUB_API_URL") + "/repos/" + s.Getenv("GITHUB_REPOSITORY") + path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return fmt.Errorf("ask GitHub: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/vnd.github+json")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask GitHub: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GitHub says %s", resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, githubBytes)).Decode(answer); err != nil {
		return fmt.Errorf("read GitHub's response: %w", err)
	}
	return nil
}
