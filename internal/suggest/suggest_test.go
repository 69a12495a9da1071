package suggest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/suggest"
)

// call returns a call from texts like "bash git status" of what it needs.
func call(needs ...string) suggest.Call {
	c := suggest.Call{Tool: "bash", Count: 1, Rule: "a rule", Source: "m.yaml:1"}
	for _, n := range needs {
		name, subject, _ := strings.Cut(n, " ")
		c.Needs = append(c.Needs, permission.Need(name, subject))
		c.Subject = subject
	}
	c.Tool, _, _ = strings.Cut(needs[0], " ")
	return c
}

// holds decides on an example whose subject is all that the call needs.
func holds(p permission.Profile, e permission.Example) bool {
	return p.Decide(permission.Need(permission.ForTool(e.Tool), e.Subject)).Effect == e.Effect
}

func from(used, denied []suggest.Call) suggest.Suggestion {
	return suggest.From(suggest.Record{Used: used, Denied: denied}, holds)
}

// texts returns rules as "permission pattern", with "!" before a denial.
func texts(rules []suggest.Rule) []string {
	out := []string{}
	for _, r := range rules {
		sign := ""
		if r.Effect == permission.Deny {
			sign = "!"
		}
		out = append(out, sign+r.Permission+" "+r.Pattern)
	}
	return out
}

func TestUnstated(t *testing.T) {
	unknown := suggest.Call{Tool: "bash", Subject: "$X a", Count: 2, Needs: []permission.Request{{Permission: "bash", Subjects: []string{"$X"}, Unknown: "the command name is known only at run time"}}}
	forbidden := suggest.Call{Tool: "read", Subject: "/proc/1", Count: 1, Needs: []permission.Request{{Permission: "read", Subjects: []string{"/proc/1"}, Forbidden: "never"}}}
	s := from([]suggest.Call{unknown, forbidden, unknown}, nil)
	if len(s.Unstated) != 2 || s.Unstated[0].Count != 4 || len(s.Rules) > 0 {
		t.Errorf("got %+v", s)
	}
}

func TestOpenCommands(t *testing.T) {
	c := suggest.Call{Tool: "bash", Count: 1, Needs: []permission.Request{{Permission: "bash", Subjects: []string{"echo $X"}, Open: "echo\x00"}}}
	s := from([]suggest.Call{c}, nil)
	if diff := cmp.Diff([]string{"bash echo*"}, texts(s.Rules)); diff != "" {
		t.Error(diff)
	}
}

func TestNetwork(t *testing.T) {
	s := suggest.From(suggest.Record{
		Reached: []suggest.Host{{Name: "a.org", Port: 443, Count: 2}, {Name: "b.org", Port: 443, Count: 1}, {Name: "c.org:8443", Port: 8443, Count: 1}},
		Refused: []suggest.Host{{Name: "b.org", Port: 22, Count: 1}},
	}, holds)
	var names []string
	for _, h := range s.Network {
		names = append(names, h.Name)
	}
	if diff := cmp.Diff([]string{"a.org", "b.org:443", "c.org:8443"}, names); diff != "" {
		t.Error(diff)
	}
}
