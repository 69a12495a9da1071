package programs

import (
	"regexp"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// EnvName is the form of an environment variable that commands get.
var EnvName = form.Of[form.Text]{Type: form.Type{Name: "string"}, Read: readEnvName}

// Variable is the form of an environment variable whose value is used without being shown, such as a key.
var Variable = form.Of[string]{Type: form.Type{Name: "string"}, Read: readVariable}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// IsEnvName reports whether a text can be the name of an environment variable.
func IsEnvName(s string) bool { return envName.MatchString(s) }

func readEnvName(v form.Value) (form.Text, bool) {
	t, ok := v.Filled()
	if ok && !IsEnvName(t.S) {
		v.Problem("invalid environment variable name "+problem.Quote(t.S), "write the name alone, such as CI")
		return form.Text{}, false
	}
	if ok {
		v.Refused(policy.Env, "the environment variable "+t.S, t.S)
	}
	return t, ok
}

// readVariable reads the name of an environment variable.
func readVariable(v form.Value) (string, bool) {
	t, ok := v.Filled()
	if ok && !IsEnvName(t.S) {
		v.Problem(v.Label+" must be the name of an environment variable", "write the name alone, such as EXAMPLE_API_KEY, and never the key")
		return "", false
	}
	if ok {
		v.Refused(policy.Env, "the environment variable "+t.S, t.S)
		v.Uses().Variable(t.S)
	}
	return t.S, ok
}
