package action

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Actors are those whose events start runs: the input allow-actors.
type Actors struct {
	Given   bool     // otherwise it is the default, writers
	Writers bool     // everybody with write access to the repository
	Anybody bool     // every person, but no bot
	Names   []string // lower case, as logins are compared
}

// login is the form of GitHub's logins; those of apps end in [bot].
var login = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})(?:\[bot\])?$`)
})

// readActors parses the input allow-actors: write, * and logins, separated by spaces, commas or
// lines.
func readActors(text string) (Actors, error) {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == '\t' })
	a := Actors{Given: len(words) > 0, Writers: len(words) == 0}
	for _, word := range words {
		switch {
		case word == "write":
			a.Writers = true
		case word == "*":
			a.Anybody = true
		case login().MatchString(word):
			a.Names = append(a.Names, strings.ToLower(word))
		default:
			return a, fmt.Errorf("input allow-actors: invalid actor %q: use write (people with write access), * (all people) or a login such as octocat or dependabot[bot]", short(word))
		}
	}
	return a, nil
}

// Admission is the decision about who caused an event.
type Admission int

// The values of Admission.
const (
	Refused   Admission = iota
	Admitted            // whatever access the actor has
	IfWritten           // if the actor has write access
)

// Admits decides about the actor of an event. A refusal has a reason.
func (a Actors) Admits(t Trust) (admission Admission, reason string) {
	switch {
	case t.Writer && !a.Given:
		return Admitted, ""
	case t.Actor == "" && t.Writer: // a schedule has no actor
		return Admitted, ""
	case t.Actor == "":
		return Refused, "the event does not say who caused it"
	case slices.Contains(a.Names, strings.ToLower(t.Actor)):
		return Admitted, ""
	case t.Bot:
		return Refused, fmt.Sprintf("%s is a bot that the input allow-actors does not name", t.Actor)
	case a.Anybody, a.Writers && t.Writer:
		return Admitted, ""
	case a.Writers:
		return IfWritten, ""
	}
	return Refused, fmt.Sprintf("the input allow-actors does not name %s", t.Actor)
}
