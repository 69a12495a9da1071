package permission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxNearest is how many forms a denial names.
const maxNearest = 3

// nearest says what comes nearest to a denied request and is allowed, for who
// looks for another way; "" if nothing does.
func (p Profile) nearest(req Request) string {
	switch {
	case req.Permission == Git:
		return "everything else in the workspace, whose changes are recorded without git add or commit"
	case req.Unknown != "":
		return "a line that names every command and file in full"
	case req.Forbidden != "":
		return ""
	}
	forms := p.forms(req)
	if req.Permission == ExternalDirectory || req.Permission == ExternalRead {
		forms = append([]string{"what is inside of the workspace"}, forms...)
	}
	return strings.Join(forms, ", ")
}

// forms are the patterns of the rules, nearest first, that allow something of the
// request's permission.
func (p Profile) forms(req Request) []string {
	type form struct {
		pattern string
		near    int
	}
	var all []form
	for _, r := range p.Rules {
		known := slices.ContainsFunc(all, func(f form) bool { return f.pattern == r.Pattern })
		known = known || slices.ContainsFunc(p.Rules, func(s Rule) bool { return s.Pattern == r.Pattern+"/*" && s.Effect == Allow })
		if r.Effect == Allow && r.covers(req.Permission) && !known && p.Allows(req.Permission, sampleOf(r.Pattern)) {
			all = append(all, form{r.Pattern, likeness(r.Pattern, req.Subject())})
		}
	}
	slices.SortStableFunc(all, func(a, b form) int { return cmp.Compare(b.near, a.near) })
	var out []string
	for _, f := range all[:min(maxNearest, len(all))] {
		switch {
		case Rule{Pattern: f.pattern}.everything():
			out = append(out, "anything else that no rule denies")
		case slices.ContainsFunc(req.Subjects, func(s string) bool { return Match(f.pattern, s) }):
			out = append(out, fmt.Sprintf("%q but for what a rule denies", f.pattern))
		default:
			out = append(out, fmt.Sprintf("%q", f.pattern))
		}
	}
	if more := len(all) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return out
}

// sampleOf is something that a pattern matches, and hardly another one does.
func sampleOf(pattern string) string {
	return strings.NewReplacer("*", "example", "?", "x").Replace(pattern)
}

// likeness is how many words and directories a pattern and a subject begin with
// alike.
func likeness(pattern, subject string) int {
	n, alike := 0, 0
	for n < len(pattern) && n < len(subject) && pattern[n] == subject[n] {
		if strings.IndexByte(" /.", pattern[n]) >= 0 {
			alike++
		}
		n++
	}
	return alike
}
