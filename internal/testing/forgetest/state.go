package forgetest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// repo returns a repository, nil if it does not exist.
func (s *Server) repo(path string) *Repo {
	for _, r := range s.repos {
		if strings.EqualFold(r.path(), path) {
			return r
		}
	}
	return nil
}

func (s *Server) repoByID(id int64) *Repo {
	for _, r := range s.repos {
		if r.id == id {
			return r
		}
	}
	return nil
}

func (s *Server) pull(repo string, number int64) *Pull {
	for _, p := range s.pulls {
		if strings.EqualFold(p.Repo, repo) && p.Number == number {
			return p
		}
	}
	return nil
}

// Set changes a pull request, if it exists.
func (s *Server) Set(repo string, number int64, change func(*Pull)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pull(repo, number); p != nil {
		change(p)
	}
}

// sha returns the commit of a pull request's head: the branch's, unless it is closed.
func (s *Server) sha(p *Pull) string {
	if p.State == "open" {
		if now := s.commit(p.Head, p.Branch); now != "" {
			return now
		}
	}
	return p.SHA
}

// commit returns the commit of a branch, "" if it does not exist.
func (s *Server) commit(repo, branch string) string {
	if s.Resolve != nil {
		return s.Resolve(repo, branch)
	}
	return fmt.Sprintf("%040x", len(repo+branch))
}

// create creates a pull request, and refuses what forges refuse.
func (s *Server) create(p Pull) (*Pull, error) {
	r := s.repo(p.Repo)
	duplicate, invalid := http.StatusConflict, http.StatusUnprocessableEntity
	if s.Kind == "github" {
		duplicate = http.StatusUnprocessableEntity
	}
	if s.Kind == "gitlab" {
		invalid = http.StatusBadRequest
	}
	switch {
	case r == nil || s.repo(p.Head) == nil:
		return nil, notFound("Project")
	case r.NoPulls:
		return nil, refusal{http.StatusForbidden, "Resource not accessible by integration"}
	case s.commit(p.Head, p.Branch) == "":
		return nil, refusal{invalid, "Validation Failed: head invalid"}
	case s.commit(p.Repo, p.Base) == "":
		return nil, refusal{invalid, "Validation Failed: base invalid"}
	}
	for _, other := range s.pulls {
		if other.State == "open" && other.Repo == p.Repo && other.Head == p.Head && other.Branch == p.Branch && other.Base == p.Base {
			return nil, refusal{duplicate, "A pull request already exists for " + p.Head + ":" + p.Branch}
		}
	}
	r.lastPull++
	p.Number, p.State, p.SHA = r.lastPull, "open", s.commit(p.Head, p.Branch)
	s.pulls = append(s.pulls, &p)
	return &p, nil
}

// merge merges a pull request whose head is at a commit.
func (s *Server) merge(p *Pull, sha string) error {
	switch {
	case sha != s.sha(p):
		return refusal{http.StatusConflict, "Head branch was modified. Review and try the merge again."}
	case s.Kind == "gitea" && p.State == "open" && (p.Conflict || p.Checking > 0):
		p.Checking = max(p.Checking-1, 0)
		return refusal{http.StatusMethodNotAllowed, "Please try again later"}
	case p.State == "open" && p.Review != "":
		return refusal{http.StatusMethodNotAllowed, reviews[s.Kind+" "+p.Review]}
	case p.State != "open" || p.Conflict || p.Draft:
		return refusal{http.StatusMethodNotAllowed, "Pull Request is not mergeable"}
	}
	p.SHA, p.State = sha, "merged"
	return nil
}

// reviews is what forges say about the reviews that block a merge.
var reviews = map[string]string{
	"github REVIEW_REQUIRED":   "Repository rule violations found\n\nWaiting on code owner review from acme/owners.\n\n",
	"github CHANGES_REQUESTED": "Repository rule violations found\n\nChanges requested by ada.\n\n",
	"gitlab REVIEW_REQUIRED":   "405 Method Not Allowed",
	"gitlab CHANGES_REQUESTED": "405 Method Not Allowed",
	"gitea REVIEW_REQUIRED":    "Does not have enough approvals",
	"gitea CHANGES_REQUESTED":  "There are requested changes",
}

// forkOf creates a fork, unless it exists.
func (s *Server) forkOf(r *Repo, owner string) (*Repo, error) {
	if existing := s.repo(owner + "/" + r.Name); existing != nil {
		if s.Kind == "github" {
			return existing, nil
		}
		return nil, refusal{http.StatusConflict, "The repository with the same name already exists."}
	}
	fork := s.add(Repo{Owner: owner, Name: r.Name, Default: r.Default, Parent: r.path(), Language: r.Language})
	if s.Forked != nil {
		s.Forked(fork.path(), r.path())
	}
	return fork, nil
}

// NoThread is the number of an issue or pull request that does not exist; the others do.
const NoThread = 404

// comments returns the comments on a thread.
func (s *Server) comments(repo string, number int64, issue bool) []*Note {
	var found []*Note
	for _, n := range s.notes {
		if strings.EqualFold(n.Repo, repo) && n.Number == number && (n.Kind == "" || s.Kind == "gitlab") && (n.Issue == issue || s.Kind != "gitlab") {
			found = append(found, n)
		}
	}
	return found
}

func (s *Server) comment(repo string, number int64, issue bool, body string) *Note {
	s.lastID++
	n := &Note{ID: s.lastID, Repo: repo, Number: number, Issue: issue, Author: s.User, Body: body}
	if s.User == "" {
		n.Author, n.Bot = s.bot(), true
	}
	s.notes = append(s.notes, n)
	return n
}

// future is when a pull request was updated, unless a test sets it.
const future = "2030-01-01T00:00:00Z"

// created returns when a note was created: in the order of the ids.
func created(id int64) string { return fmt.Sprintf("2029-01-01T00:%02d:%02dZ", id/60%60, id%60) }

func (n *Note) at() string { return cmp.Or(n.At, created(n.ID)) }

// bot returns the name of the token's app.
func (s *Server) bot() string { return cmp.Or(s.Tokens.Bot, "app[bot]") }

func (s *Server) note(id int64) (*Note, error) {
	for _, n := range s.notes {
		if n.ID == id {
			if n.Author != s.User && !(s.User == "" && n.Bot) {
				return nil, refusal{http.StatusForbidden, "Must have admin rights to Repository."}
			}
			return n, nil
		}
	}
	return nil, notFound("Comment")
}

// users returns the names of all users.
func (s *Server) users() []string {
	all := slices.Clone(s.Users)
	if s.User != "" {
		all = append(all, s.User)
	}
	return all
}

// known returns an error for a name that is no user's.
func (s *Server) known(names []string) error {
	for _, name := range names {
		if !slices.Contains(s.users(), name) {
			return refusal{http.StatusUnprocessableEntity, "user " + name + " does not exist"}
		}
	}
	return nil
}

// addAll adds what is missing of a list.
func addAll(to *[]string, more []string) {
	for _, m := range more {
		if !slices.Contains(*to, m) {
			*to = append(*to, m)
		}
	}
}

// setTitle sets a title. GitHub has no prefix for drafts.
func (s *Server) setTitle(p *Pull, title, prefix string) {
	p.Title = title
	if s.Kind != "github" {
		p.Title, p.Draft = strings.CutPrefix(title, prefix)
	}
}
