package form

import (
	"fmt"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// Origin is where a value is written. Its methods record what is wrong there, and ask whether the
// policies of the file allow it, without reading the value.
type Origin struct {
	Src   *Source
	Use   *yaml.Node // the value, or an alias to it
	Key   *yaml.Node // the key that it belongs to, or nil
	Label string     // how messages speak of it
}

// Position returns file:line, as rules give it.
func (o Origin) Position() string { return fmt.Sprintf("%s:%d", o.Src.Name, o.Use.Line) }

// Problem records a mistake in the value.
func (o Origin) Problem(what, fix string) {
	o.Src.Report(o.Use.Line, o.Use.Column, what, fix)
}

// KeyProblem records a mistake in the key that the value belongs to, or in the value if it is an entry of a list or a file.
func (o Origin) KeyProblem(what, fix string) {
	if o.Key == nil {
		o.Problem(what, fix)
		return
	}
	o.Src.Report(o.Key.Line, o.Key.Column, what, fix)
}

// Lacks records that a key of the mapping is missing.
func (o Origin) Lacks(key, fix string) {
	o.KeyProblem(fmt.Sprintf("missing key %q in %s", key, o.Label), fix)
}

// Named reports whether the key is a name that a template can refer to.
func (o Origin) Named() bool {
	if !nameForm.MatchString(o.Key.Value) {
		o.KeyProblem("invalid name "+o.Label, "use letters, digits, _ and -, starting with a letter")
		return false
	}
	return true
}

// RuleSource is where a rule stands: the line of its key.
func (o Origin) RuleSource() string {
	line := o.Use.Line
	if o.Key != nil {
		line = o.Key.Line
	}
	return fmt.Sprintf("%s:%d", o.Src.Name, line)
}

// SeenFrom describes the position of another value.
func (o Origin) SeenFrom(other Origin) string {
	if o.Src == other.Src {
		return fmt.Sprintf("on line %d", other.Use.Line)
	}
	return "at " + other.Position()
}

// ExpandHome replaces "~" or "$HOME" at the start of a pattern by the home
// directory.
func (o Origin) ExpandHome(pattern string) (string, bool) {
	if pattern == "" {
		o.KeyProblem("an empty pattern matches nothing", `write "*" for everything`)
		return "", false
	}
	for _, sign := range []string{"~", "$HOME"} {
		rest, ok := strings.CutPrefix(pattern, sign)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		if o.Src.Home == "" {
			o.KeyProblem(fmt.Sprintf("%s is the home directory, but HOME is not set", sign), "write the path of the directory")
			return "", false
		}
		return strings.TrimSuffix(o.Src.Home, "/") + rest, true
	}
	return pattern, true
}

// Uses returns what the load of the value's file uses; nil if it does not belong to a plan.
func (o Origin) Uses() *Uses {
	if o.Src.Inputs == nil {
		return nil
	}
	return o.Src.Inputs.Uses
}

var nameForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
