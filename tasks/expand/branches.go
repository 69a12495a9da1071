package expand

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/problem"
)

// claim is a branch that a job's commit will be on.
type claim struct {
	branch string
	draft  *draft
}

// checkBranches records jobs that would run and commit to the same branch of one
// repository, and branches that git cannot have beside each other, as one is a
// directory of the other.
func checkBranches(drafts []*draft) {
	byRepo := map[string][]claim{}
	for _, d := range drafts {
		if c := d.job.Commit; c != nil && d.job.Skip == "" && d.task.Unique && !d.unsure && c.Branch != tasks.CurrentBranch && c.Branch != "" {
			id := d.repo.Top
			byRepo[id] = append(byRepo[id], claim{c.Branch, d})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byRepo)) {
		taken := map[string]*draft{}
		claims := byRepo[id]
		slices.SortStableFunc(claims, func(a, b claim) int { return cmp.Compare(len(a.branch), len(b.branch)) })
		for _, c := range claims {
			c.check(taken)
			if taken[c.branch] == nil {
				taken[c.branch] = c.draft
			}
		}
	}
}

// check compares a branch with the shorter ones of its repository.
func (c claim) check(taken map[string]*draft) {
	if other := taken[c.branch]; other != nil {
		fix := "give each task a branch of its own, with ${{ matrix.KEY }} in it if it has a matrix"
		if other.repo.ID != c.draft.repo.ID {
			fix = "they work in directories of one repository: write ${{ repo.name }} into the branch"
		}
		c.draft.task.BranchProblem(fmt.Sprintf("the jobs %s and %s would both commit to the branch %s", other.job.ID, c.draft.job.ID, problem.Quote(c.branch)), fix)
		return
	}
	for i, r := range c.branch {
		if other := taken[c.branch[:i]]; r == '/' && other != nil {
			c.draft.task.BranchProblem(fmt.Sprintf("git cannot have the branch %s (of job %s) beside %s", problem.Quote(c.branch), c.draft.job.ID, problem.Quote(c.branch[:i])),
				"rename one of them")
		}
	}
}

// slug is the readable prefix of a job's id or branch: the task, then what distinguishes
// its jobs apart.
type slug struct {
	task  string
	parts []string // values
	full  string   // everything exactly, to tell apart what looks the same
}

// maxSlug is how long a slug may be: it becomes a file's name, with room for
// what is added to it.
const maxSlug = 100

var unsafe = regexp.MustCompile(`[^A-Za-z0-9._]+`)

// sanitised makes a value safe in the name of a file or a branch.
func sanitised(s string) string {
	s = unsafe.ReplaceAllString(s, "-")
	for strings.Contains(s, "..") {
		s = strings.ReplaceAll(s, "..", ".")
	}
	return strings.Trim(s, "-.")
}

// String joins the task and the parts that leave something to read.
func (s slug) String() string {
	words := []string{s.task}
	for _, p := range s.parts {
		if w := sanitised(p); w != "" {
			words = append(words, w)
		}
	}
	joined := strings.Join(words, "-")
	if len(words) > 1 && strings.HasSuffix(strings.ToLower(joined), ".lock") {
		joined = joined[:len(joined)-len(".lock")] + "-lock"
	}
	return joined
}

// spell returns a name for each slug; equal slugs have the same name, others
// differ in more than case. A name that is too long, or that others would
// have, ends in a digest; that of a task without parts never does.
func spell(slugs []slug) []string {
	owners := map[string]map[string]bool{}
	for _, s := range slugs {
		name := strings.ToLower(s.String())
		if owners[name] == nil {
			owners[name] = map[string]bool{}
		}
		owners[name][s.full] = true
	}
	names := make([]string, len(slugs))
	for i, s := range slugs {
		name := s.String()
		if len(s.parts) > 0 && (len(name) > maxSlug || len(owners[strings.ToLower(name)]) > 1) {
			name = strings.TrimRight(name[:min(len(name), maxSlug-9)], "-.") + "-" + tasks.Digest(s.full)[:8]
		}
		names[i] = name
	}
	return names
}
