package policy

import (
	"fmt"
	"slices"
	"strings"
)

// RequestsKey is the key of [Requests] in a policy file, and what Publish allows beside modes for them.
const RequestsKey = "requests"

// Requests limits what manifests may allow agents to request on a forge.
type Requests struct {
	Labels []string       // see [AllowsLabel]
	Max    map[string]int // number by kind: labels, issue or comment
	Source string         // FILE:LINE
}

// RefusesRequests returns the first policy that allows fewer requests of a kind, or not all labels, and what it does not allow.
func (s Set) RefusesRequests(kind string, most int, labels []string) (by Rule, what string) {
	for _, p := range s {
		if p.Requests == nil {
			continue
		}
		by = Rule{Key: RequestsKey, Source: p.Requests.Source}
		if limit := p.Requests.Max[kind]; most > limit {
			return by, fmt.Sprintf("publish.requests.%s: max %d (the policy's is %d)", kind, most, limit)
		}
		for _, label := range labels {
			if !AllowsLabel(p.Requests.Labels, label) {
				return by, fmt.Sprintf("publish.requests.labels: %q", label)
			}
		}
	}
	return Rule{}, ""
}

// AllowsLabel reports whether a list of names, in which * stands for any text, has a label. For a name with * it reports
// whether one entry of the list has everything that the name stands for.
func AllowsLabel(list []string, label string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool { return matchesStars(pattern, label) })
}

func matchesStars(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	text, ok := strings.CutPrefix(text, parts[0])
	if len(parts) == 1 || !ok {
		return ok && text == ""
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return strings.HasSuffix(text, parts[last])
}
