package profiles

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

var exampleForm = form.Of[permission.Example]{Type: form.TypeOf((*example).keys), Read: readExample}

// example is one expected decision while it is read.
type example struct{ allowed, denied, subject string }

// readExample reads one expected decision.
func readExample(v form.Value) (permission.Example, bool) {
	var x example
	got := x.keys().Read(v)
	_, allows := got["allow"]
	_, denies := got["deny"]
	_, about := got["subject"]
	if allows == denies || !about {
		v.Problem("an example needs one tool and its subject", `write {allow: TOOL, subject: "..."} or {deny: TOOL, subject: "..."}`)
		return permission.Example{}, false
	}
	e := permission.Example{Tool: x.allowed + x.denied, Subject: x.subject, Source: fmt.Sprintf("%s:%d:%d", v.Src.Name, v.Use.Line, v.Use.Column)}
	if allows {
		e.Effect = permission.Allow
	}
	return e, e.Tool != "" && e.Subject != ""
}

func (e *example) keys() form.Table {
	return form.Table{
		{Name: "allow", Field: form.Into(&e.allowed, form.String), Doc: "Tool whose call must be allowed"},
		{Name: "deny", Field: form.Into(&e.denied, form.String), Doc: "Tool whose call must be denied"},
		{Name: "subject", Field: form.Into(&e.subject, form.String), Doc: "What the tool is called with: a path, a command line or a URL"},
	}
}

// CheckExamples compares the decisions that a profile's examples expect with
// those of decide, which judges a tool's call by the profile, and returns a
// problem for each that differs.
func CheckExamples(p permission.Profile, decide func(tool, subject string) permission.Decision) problem.List {
	var ps problem.List
	for _, e := range p.Examples {
		d := decide(e.Tool, e.Subject)
		if d.Effect == e.Effect {
			continue
		}
		at := sourceProblem(e.Source)
		at.What = fmt.Sprintf("profile %s: %s %s is %s, and the example expects %s: %s",
			p.Name, e.Tool, problem.Quote(e.Subject), verdict(d.Effect), e.Effect, d.By())
		at.Fix = "change the rules or the example"
		ps = append(ps, at)
	}
	return ps
}

func verdict(e permission.Effect) string {
	if e == permission.Allow {
		return "allowed"
	}
	return "denied"
}

// sourceProblem parses a position (file:line:col); a file's name may contain
// colons too.
func sourceProblem(source string) problem.Problem {
	file, column := cutNumber(source)
	file, line := cutNumber(file)
	return problem.Problem{File: file, Line: line, Column: column}
}

func cutNumber(s string) (string, int) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0
	}
	n, err := strconv.Atoi(s[i+1:])
	if err != nil {
		return s, 0
	}
	return s[:i], n
}
