package manifest

import (
	"strings"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks/form"
)

// readProtect reads globs of paths that nothing may change.
func readProtect(v form.Value) ([]permission.Rule, bool) {
	globs, ok := form.ListOf(form.Glob).Read(v)
	rules := make([]permission.Rule, len(globs))
	for i, g := range globs {
		rules[i] = permission.Protect(strings.Trim(strings.TrimPrefix(g, "./"), "/"), v.RuleSource())
	}
	return rules, ok
}

var protectForm = form.Of[[]permission.Rule]{Type: form.ListOf(form.Glob).Type, Read: readProtect}
