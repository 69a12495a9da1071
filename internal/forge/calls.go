package forge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// OfHead returns the call of a request about the pull request of a head; the verb is such as "find".
func OfHead(verb string, p Path, h Head) Call {
	return Call{What: fmt.Sprintf("%s pull request for %s in %s", verb, h.Branch, p), Repo: p}
}

// OfPull returns the call of a request about a pull request; the verb is such as "get".
func OfPull(verb string, p Path, number int64) Call {
	return Call{What: fmt.Sprintf("%s pull request %d of %s", verb, number, p), Repo: p}
}

// OfThread returns the call of a request about the comments on a thread.
func OfThread(p Path, t Thread) Call {
	return Call{What: fmt.Sprintf("comment on %s of %s", t, p), Repo: p}
}

// OfLabels returns the call of a request that adds labels to a thread.
func OfLabels(p Path, t Thread) Call {
	return Call{What: fmt.Sprintf("label %s of %s", t, p), Repo: p}
}

// OfRemarks returns the call of a request for the remarks on a thread.
func OfRemarks(p Path, t Thread) Call {
	return Call{What: fmt.Sprintf("get the comments on %s of %s", t, p), Repo: p}
}

// OfCommit returns the call of a request for the checks of a commit.
func OfCommit(p Path, sha string) Call {
	return Call{What: "get the checks of " + sha + " in " + p.String(), Repo: p}
}

// IfApplied returns the call with a check whether a write whose response was lost happened.
func (c Call) IfApplied(applied func(context.Context) (bool, error)) Call {
	c.Applied = applied
	return c
}

// One is [Sender.Do] for a function that returns a value and its response. The value is zero if the request
// was applied without a response.
func One[T, R any](ctx context.Context, s *Sender, c Call, get func(context.Context) (T, R, error)) (value T, err error) {
	err = s.Do(ctx, c, func(ctx context.Context) (err error) {
		value, _, err = get(ctx)
		return err
	})
	return value, err
}

// Each is [Sender.Pages] for a function that returns the entries of a page, which it passes to add. An error
// of add ends the list.
func Each[T, R any](ctx context.Context, s *Sender, c Call, list func(context.Context) ([]T, R, error), add func(T) error) error {
	var invalid error
	err := s.Pages(ctx, c, func(ctx context.Context) (int, bool, error) {
		page, _, err := list(ctx)
		for _, v := range page {
			if invalid = add(v); invalid != nil {
				return len(page), false, err
			}
		}
		return len(page), true, err
	})
	if err == nil && invalid != nil {
		err = fmt.Errorf("%s: %w", c.What, invalid)
	}
	return err
}

// Refuse returns the error of a request whose response of success has errors.
func (s *Sender) Refuse(ctx context.Context, c Call, kind error, texts []string) error {
	e := &exchange{s: s, Call: c}
	e.token, _ = s.token(ctx, cmp.Or(c.Owner, c.Repo.Owner)) // which only cleans the texts
	return e.fail(nil, kind, strings.Join(texts, ": "), time.Time{})
}

// Behind is why a pull request is blocked that lacks commits of its base.
func Behind(base string) string { return "it is behind " + base + ": update its branch" }

// What reviews are required, for Blocked.
const (
	NeedsReview  = "it requires an approving review, perhaps of a code owner: have it approved, and merge it again"
	NeedsChanges = "a reviewer has requested changes: respond to the review (millhand follow), and merge it again"
)

// Reviewers separates teams, ORG/TEAM, of which the team's name is returned, from users.
func Reviewers(names []string) (users, teams []string) {
	for _, name := range names {
		if _, team, ok := strings.Cut(name, "/"); ok {
			teams = append(teams, team)
			continue
		}
		users = append(users, name)
	}
	return users, teams
}

// Plain removes the prefix of a draft's title.
func Plain(pr PullRequest, prefix string) PullRequest {
	if pr.Draft {
		pr.Title = strings.TrimPrefix(pr.Title, prefix)
	}
	return pr
}

// Titled returns the title of a pull request after a change, with the prefix that makes
// it a draft; false if it does not change.
func Titled(pr PullRequest, c Change, prefix string) (string, bool) {
	title, draft := pr.Title, pr.Draft
	if c.Title != nil {
		title = *c.Title
	}
	if c.Draft != nil {
		draft = *c.Draft
	}
	changed := title != pr.Title || draft != pr.Draft
	if draft {
		title = prefix + title
	}
	return title, changed
}

// Union returns the elements of a, and those of b that are not in a.
func Union[T comparable](a, b []T) []T {
	all := slices.Clone(a)
	for _, v := range b {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}
